"""Measurements of the record, used like the measurements of a study."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

from replicse.compile.cell import Cell
from replicse.compile.item_plan import CellFacts, ItemPlan, plan_item
from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD, RecordStudy, SourceCell, record_study
from replicse.judge.values.measurements import Measurement, Measurements
from replicse.judge.values.measurements import Record as Provenance
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.papers import Paper
from replicse.spec.printed import Rounded, Spread
from replicse.spec.record import check_record, load_record
from replicse.spec.record_spreads import has_printed_hyperparameters, spread_of_runs
from replicse.spec.tables import Item


class RecordMeasurements(Measurements):
    """The values of source cells by encoder and metric path.

    Args:
        record: the study of the record.
    """

    def __init__(self, record: RecordStudy) -> None:
        super().__init__(record.study, paths=Paths(record.study.scale.name, RECORD))
        self.record = record
        self._plans: dict[str, ItemPlan] = {}
        self._numbers: dict[tuple[str, str], Rounded] = {}
        self._source_cells: dict[tuple[str, str], SourceCell] = {}
        for each in chain.from_iterable(record.sources.values()):
            for (encoder,), reading in zip(each.cell.jobs, each.readings, strict=False):
                self._numbers[encoder, each.cell.metric_path] = reading.number
                self._source_cells[encoder, each.cell.metric_path] = each

    def at(self, encoder: str, metric_path: str) -> Measurement:
        """Return the measurement of an encoder at a metric path."""
        number = self._numbers.get((encoder, metric_path))
        if number is None:
            return Measurement(encoder, metric_path)
        return Measurement(encoder, metric_path, value=number.value, half_digit=number.half_digit)

    def plan_item(self, item: Item) -> ItemPlan:
        """Return the plan of an item.

        Cells are comparable if their source used the printed setting.
        """
        if item.id not in self._plans:
            plan = plan_item(self.study, item)
            facts = {cell.id: self._facts(cell) for cell in plan.planned}
            self._plans[item.id] = replace(plan, facts=facts)
        return self._plans[item.id]

    def plan_cell(self, cell: Cell) -> ItemPlan:
        """Return the plan of an item for one cell of any source."""
        return replace(self.plan_item(cell.item), facts={cell.id: self._facts(cell)})

    def _facts(self, cell: Cell) -> CellFacts:
        return CellFacts("", self.why_not_comparable(cell), self.borrowed_spread(cell))

    def source_cell(self, cell: Cell) -> SourceCell | None:
        """Return the source cell of a cell.

        Returns None if nobody measured the cell in the printed setting.
        """
        return self._source_cells.get((cell.encoders[0], cell.metric_path)) if cell.encoders else None

    def is_seedless(self, cell: Cell) -> bool:
        """Return whether nobody trained the encoder of a cell again."""
        measured = self.source_cell(cell)
        return measured is not None and not measured.trained

    def why_not_comparable(self, cell: Cell) -> str:
        """Return how the setting differs from the printed setting.

        Returns an empty string for the printed setting.
        """
        measured = self.source_cell(cell)
        return "" if measured is None else difference_text(measured)

    def borrowed_spread(self, cell: Cell) -> Spread | None:
        """Return the standard deviation of another source.

        It is used if the source of a cell has fewer than three seeds. The other source is the source with the most
        seeds among all sources with the printed hyper-parameters, in any code. Returns None if the source has enough
        seeds.
        """
        measured = self.source_cell(cell)
        if measured is None or not measured.trained or len(cell.jobs) >= FEWEST_SEEDS:
            return None
        spreads = []
        for each in self.record.sources[str(cell.id)]:
            is_other = each.source_name != measured.source_name and each.trained
            if is_other and has_printed_hyperparameters(each.setting):
                spreads.append(spread_of_runs(each.numbers))
        return max(filter(None, spreads), key=lambda spread: spread.degrees, default=None)

    def records_behind(self, cell: Cell) -> list[Provenance]:
        """Return an empty list, because sources have no provenance records."""
        return []


def load_record_measurements(
    workflow: Path, papers: Mapping[str, Paper], only: Collection[str] | None = None
) -> RecordMeasurements:
    """Load others' measurements of the cells of papers.

    Args:
        workflow: the folder of papers and scales, which contains the folder `record`.
        papers: all papers by key.
        only: the keys of papers to load. Default: all papers.

    Raises:
        BadInput: if the record contains a mistake.
    """
    record = load_record(workflow)
    check_record(record, papers)
    return RecordMeasurements(record_study(workflow, papers, record, only))


def difference_text(measured: SourceCell) -> str:
    """Return how a setting differs from the printed setting, in one clause.

    Returns an empty string for the printed setting.
    """
    setting = measured.setting
    if setting.is_printed:
        return ""
    if setting.as_:
        return setting.as_
    facts = [f"{name} {value}" for name, value in setting.facts.items()]
    return ", ".join([*facts, *setting.other])
