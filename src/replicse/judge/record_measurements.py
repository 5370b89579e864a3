"""The measurements of the record: what others measured, as the values of a study."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from replicse.compile.item_plan import CellFacts, ItemPlan, plan_item
from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD, RecordStudy, SourceCell, record_study
from replicse.compile.study import Cell
from replicse.judge.measurements import Measurement, Measurements
from replicse.judge.measurements import Record as Provenance
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.papers import Paper
from replicse.spec.printed import Rounded, Spread
from replicse.spec.record import check_record, load_record
from replicse.spec.record_spreads import has_printed_hyperparameters, spread_of_runs
from replicse.spec.tables import Item


class RecordMeasurements(Measurements):
    """The values of source cells by encoder and metric path, as those of a results folder."""

    def __init__(self, record: RecordStudy) -> None:
        super().__init__(record.study, paths=Paths(record.study.scale.name, RECORD))
        self.record = record
        self._plans: dict[str, ItemPlan] = {}
        self._numbers: dict[tuple[str, str], Rounded] = {}
        self._source_cells: dict[tuple[str, str], SourceCell] = {}
        for each in (each for several in record.sources.values() for each in several):
            for (encoder,), reading in zip(each.cell.jobs, each.readings, strict=False):
                self._numbers[encoder, each.cell.metric_path] = reading.number
                self._source_cells[encoder, each.cell.metric_path] = each

    def at(self, encoder: str, metric_path: str) -> Measurement:
        """Return what a source measured of an encoder at a metric path."""
        number = self._numbers.get((encoder, metric_path))
        if number is None:
            return Measurement(encoder, metric_path)
        return Measurement(encoder, metric_path, value=number.value, half_digit=number.half_digit)

    def plan_item(self, item: Item) -> ItemPlan:
        """Return the plan of an item, whose cells are comparable if their source has the printed setting."""
        if item.id not in self._plans:
            plan = plan_item(self.study, item)
            facts = {cell.id: self._facts(cell) for cell in plan.planned}
            self._plans[item.id] = replace(plan, facts=facts)
        return self._plans[item.id]

    def plan_cell(self, cell: Cell) -> ItemPlan:
        """Return the plan of an item for one cell of a source, which need not be the deciding one."""
        return replace(self.plan_item(cell.item), facts={cell.id: self._facts(cell)})

    def _facts(self, cell: Cell) -> CellFacts:
        return CellFacts("", self.why_not_comparable(cell), self.borrowed_spread(cell))

    def source_cell(self, cell: Cell) -> SourceCell | None:
        """Return the source cell of a cell; None when nobody measured it in the printed setting."""
        return self._source_cells.get((cell.encoders[0], cell.metric_path)) if cell.encoders else None

    def is_seedless(self, cell: Cell) -> bool:
        """Return whether a cell is of a checkpoint that was not trained again."""
        measured = self.source_cell(cell)
        return measured is not None and not measured.trained

    def why_not_comparable(self, cell: Cell) -> str:
        """Return what differs from the printed setting; blank when nothing does."""
        measured = self.source_cell(cell)
        return "" if measured is None else difference_text(measured)

    def borrowed_spread(self, cell: Cell) -> Spread | None:
        """Return the spread of another source when a source has too few seeds for its own.

        It is that of the source with most seeds and the printed hyper-parameters, be the code its own. Sources with
        three seeds or more rest on their own.
        """
        measured = self.source_cell(cell)
        if measured is None or not measured.trained or len(cell.jobs) >= FEWEST_SEEDS:
            return None
        others = self.record.sources[str(cell.id)]
        spreads = [
            spread
            for each in others
            if each.source_name != measured.source_name and each.trained
            if has_printed_hyperparameters(each.setting) and (spread := spread_of_runs(each.numbers))
        ]
        return max(spreads, key=lambda spread: spread.degrees, default=None)

    def records_behind(self, cell: Cell) -> list[Provenance]:
        """Return no records: what a source ran is in its YAML file."""
        return []


def load_record_measurements(
    workflow: Path, papers: Mapping[str, Paper], only: Collection[str] | None = None
) -> RecordMeasurements:
    """Return what others measured of the cells of all papers, or of `only` some; BadInput names a mistake.

    Args:
        workflow: The folder of papers and scales; the record is in its folder `record`, and in that of the workspace.
        papers: All papers by key.
        only: The papers whose cells are wanted.
    """
    record = load_record(workflow)
    check_record(record, papers)
    return RecordMeasurements(record_study(workflow, papers, record, only))


def difference_text(measured: SourceCell) -> str:
    """Return in one clause how a setting differs from the printed one; blank when it does not."""
    setting = measured.setting
    if setting.is_printed:
        return ""
    if setting.as_:
        return setting.as_
    facts = [f"{name} {value}" for name, value in setting.facts.items()]
    return ", ".join([*facts, *setting.other])
