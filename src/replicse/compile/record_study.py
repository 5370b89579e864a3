"""The study of the record: cells whose values others measured, instead of runs of ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from replicse.compile.paths import Paths
from replicse.compile.selection import load_scales, papers_scale
from replicse.compile.study import Cell, Study
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.cell_names import is_measured
from replicse.spec.columns import AnyColumn
from replicse.spec.config import Config, by_paper
from replicse.spec.models import Encoder, EncoderRequest, EncoderSource, layered
from replicse.spec.papers import Paper, printed_of
from replicse.spec.record import Reading, Record, Setting, Source
from replicse.spec.scales import load_scale
from replicse.spec.tables import Item, Row

RECORD = "record"  # the name of the study
RELEASED = "released"  # the protocol of a checkpoint that the authors published


@dataclass(frozen=True)
class SourceCell:
    """One cell as one source measured it in one setting: a cell of a study whose jobs are the readings.

    `trained` says that the values depend on a training seed, stated or not.
    """

    cell: Cell
    source: Source
    setting_name: str
    readings: tuple[Reading, ...]
    trained: bool

    @property
    def setting(self) -> Setting:
        """Return how the source made its values."""
        return self.source.settings[self.setting_name]

    @cached_property
    def half_digit(self) -> float:
        """Return the coarsest rounding of the readings."""
        return max(reading.number.half_digit for reading in self.readings)

    @property
    def priority(self) -> tuple[bool, int, float, str, str]:
        """Return the sort key by which sources are ordered: printed setting, most values, finest rounding, name."""
        printed, count = self.setting.is_printed, len(self.cell.jobs)
        return not printed, -count, self.half_digit, self.source.name, self.setting_name


@dataclass(frozen=True)
class RecordStudy:
    """The study of the record, and all source cells of each of its cells, the one that decides first."""

    study: Study
    sources: Mapping[str, Sequence[SourceCell]]


def record_study(
    workflow: Path, papers: Mapping[str, Paper], record: Record, only: Iterable[str] | None = None
) -> RecordStudy:
    """Return the study of the items that the record has readings of.

    A cell has the readings of one source: the one with most seeds in the printed setting. Readings of a checkpoint that
    the authors released are cells of their own when the cell itself is trained.

    Args:
        workflow: The folder of papers and scales.
        papers: The papers by key.
        record: The record.
        only: The items to include; default: all.
    """
    scales = load_scales(workflow)
    scale = load_scale(scales[papers_scale(workflow)], scales)
    measured = {"/".join(reading.cell.split("/")[:2]) for reading in record.readings}
    every = [item for paper in papers.values() for item in paper.items.values() if item.id in measured]
    items = [item for item in every if only is None or item.id in only]
    study = Study(
        config=Config(scale=scale.name, papers=by_paper(item.id for item in items), seeds=(0,)),
        workflow=workflow,
        scale=scale,
        papers=papers,
        paths=Paths(scale.name),
    )
    sources: dict[str, Sequence[SourceCell]] = {}
    for item in items:
        study.items[item.id] = item
        study.cells[item.id] = list(_cells_of(papers, record, item, sources))
    for cell in (each for several in sources.values() for each in several):
        repository = cell.source.repository or cell.source.thread
        encoder = Encoder(source=EncoderSource(hub=repository, revision=cell.source.commit))
        study.encoders.update(dict.fromkeys(cell.cell.encoders, encoder))
    return RecordStudy(study.frozen(), sources)


def _cells_of(
    papers: Mapping[str, Paper], record: Record, item: Item, sources: dict[str, Sequence[SourceCell]]
) -> Iterator[Cell]:
    """Yield the cells of an item, those of a row by protocol, and add their source cells to `sources`."""
    for row in item.rows:
        cells = [_empty_cell(papers, item, row, column) for column in item.columns]
        released: list[Cell] = []
        for place, cell in enumerate(cells):
            for protocol, found in _by_protocol(record, cell).items():
                found.sort(key=lambda each: each.priority)
                sources[str(found[0].cell.id)] = found
                decides = found[0].cell if found[0].setting.is_printed else replace(cell, protocol=protocol)
                if protocol == RELEASED:
                    released.append(decides)
                else:
                    cells[place] = decides
        yield from (*cells, *released)


def _empty_cell(papers: Mapping[str, Paper], item: Item, row: Row, column: AnyColumn) -> Cell:
    return Cell(
        item=item,
        row=row,
        column=column,
        metric_path=item.path(row, column),
        jobs=(),
        seeds=(),
        reported=printed_of(papers, item, row, column),
    )


def _by_protocol(record: Record, cell: Cell) -> dict[str, list[SourceCell]]:
    """Return the source cells of a cell by protocol: as described, and of a checkpoint of the authors."""
    found: dict[str, list[SourceCell]] = {}
    if cell.column.kind != "score" or not is_measured(cell.column):
        return found
    groups: dict[tuple[str, str], list[Reading]] = {}
    for reading in record.of_cell(cell.id):
        groups.setdefault((reading.source, reading.setting), []).append(reading)
    for (source_name, setting_name), readings in groups.items():
        source = record.sources[source_name]
        each = _source_cell(cell, source, setting_name, readings)
        found.setdefault(each.cell.protocol, []).append(each)
    return found


def _source_cell(cell: Cell, source: Source, setting_name: str, readings: Sequence[Reading]) -> SourceCell:
    """Return a cell as a source measured it: its readings by seed, those without a stated seed in their order."""
    is_retrained = source.settings[setting_name].encoder == "retrained"
    ordered = sorted(readings, key=lambda reading: (reading.seed is None, reading.seed or 0))
    # A checkpoint read twice is still one value: the finest one.
    counted = ordered if is_retrained else [min(ordered, key=lambda reading: reading.number.half_digit)]
    stem = "/".join([source.name, setting_name, cell.item.name, cell.row.id])
    if _has_own_encoder(cell):
        stem += f"/{cell.column.id}"
    runs = [_run_name(reading, place, len(counted)) for place, reading in enumerate(counted, start=1)]
    measured = replace(
        cell,
        jobs=tuple((f"{stem}{run}",) for run in runs),
        seeds=tuple(reading.seed for reading in counted),
        protocol=AS_DESCRIBED if is_retrained or not _is_trained(cell) else RELEASED,
    )
    again = [reading for reading in ordered if reading not in counted]
    return SourceCell(measured, source, setting_name, (*counted, *again), is_retrained)


def _run_name(reading: Reading, place: int, count: int) -> str:
    """Return the name of the run behind a reading: its seed, else its place among several."""
    if reading.seed is not None:
        return f"/s{reading.seed}"
    return f"/run-{place}" if count > 1 else ""


def _is_trained(cell: Cell) -> bool:
    """Return whether the paper trains the encoder of a cell."""
    row, own = cell.row, cell.row.cells.get(cell.column.id, EncoderRequest())
    return bool(layered(cell.item.encoder, cell.column.encoder, row.encoder, own).use)


def _has_own_encoder(cell: Cell) -> bool:
    """Return whether the encoder of a cell is not that of its row."""
    return cell.column.id in cell.row.cells or bool(cell.column.encoder.model_fields_set)
