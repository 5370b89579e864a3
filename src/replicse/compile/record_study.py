"""The study of the record: cells with values measured by others."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from replicse.compile.cell import Cell
from replicse.compile.paths import Paths
from replicse.compile.requests import merge_cell_request
from replicse.compile.selection import load_scales, papers_scale
from replicse.compile.study import Study
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.cell_names import CellNames, is_measured
from replicse.spec.columns import AnyColumn
from replicse.spec.config import Config, by_paper
from replicse.spec.models import SOURCES, Encoder, EncoderRequest, EncoderSource
from replicse.spec.papers import Paper, printed_of
from replicse.spec.record import Record, Source, SourceReading, SourceSetting
from replicse.spec.scales import load_scale
from replicse.spec.tables import Item, Row

RECORD = "record"  # the name of the study
RELEASED = "released"  # the protocol of a checkpoint that the authors published


@dataclass(frozen=True)
class SourceCell:
    """A cell as a source measured it in a setting.

    Args:
        cell: the cell, whose jobs are the readings.
        source: the source.
        source_name: the name of the source.
        setting_name: the name of the setting.
        readings: the readings, counted readings first.
        trained: whether the values depend on a training seed, even if it is unknown.
    """

    cell: Cell
    source: Source
    source_name: str
    setting_name: str
    readings: tuple[SourceReading, ...]
    trained: bool

    @property
    def setting(self) -> SourceSetting:
        """Return the setting of the values."""
        return self.source.settings[self.setting_name]

    @property
    def numbers(self) -> list[float]:
        """Return the value of each job."""
        return [reading.number.value for reading in self.readings[: len(self.cell.jobs)]]

    @cached_property
    def half_digit(self) -> float:
        """Return the coarsest rounding of the readings."""
        return max(reading.number.half_digit for reading in self.readings)

    @property
    def priority(self) -> tuple[bool, int, float, str, str]:
        """Return the sort key of sources.

        The order is: printed setting, most values, finest rounding, name.
        """
        printed, count = self.setting.is_printed, len(self.cell.jobs)
        return not printed, -count, self.half_digit, self.source_name, self.setting_name


@dataclass(frozen=True)
class RecordStudy:
    """The study of the record, and the source cells by cell name.

    The first source cell of a name is used.
    """

    study: Study
    sources: Mapping[str, Sequence[SourceCell]]


def record_study(
    workflow: Path, papers: Mapping[str, Paper], record: Record, only: Collection[str] | None = None
) -> RecordStudy:
    """Create the study of the items with recorded cells.

    A cell has the readings of one source: the source with most seeds in the printed setting. If the paper trains the
    encoder, readings of a checkpoint that the authors released are separate cells. Cells with the same encoder and
    metric share their readings, also between tables.

    Args:
        workflow: the folder of papers and scales.
        papers: a dict from keys to papers.
        record: the record.
        only: the keys of papers to include. Default: all papers.

    Returns:
        The study, and a dict from the names of cells to source cells.
    """
    scales = load_scales(workflow)
    scale = load_scale(scales[papers_scale(workflow)], scales)
    readings = _Readings(papers, record)
    sources: dict[str, Sequence[SourceCell]] = {}
    cells: dict[str, list[Cell]] = {}
    keys = papers if only is None else [key for key in papers if key in only]
    for key in keys:
        for item in papers[key].items.values():
            measured: dict[str, Sequence[SourceCell]] = {}
            item_cells = list(_list_cells(papers, item, readings, measured))
            # An item without reported numbers is included if a source names a cell of it.
            if item.id in readings.items or any(several[0].cell.reported for several in measured.values()):
                cells[item.id] = item_cells
                sources |= measured
    study = Study(
        config=Config(scale=scale.name, papers=by_paper(cells), seeds=(0,)),
        workflow=workflow,
        scale=scale,
        papers=papers,
        paths=Paths(scale.name),
        items={name: papers[name.partition("/")[0]].items[name.partition("/")[2]] for name in cells},
        cells=dict(cells),
    )
    for source_cell in chain.from_iterable(sources.values()):
        repository = source_cell.source.repository or source_cell.source.thread
        encoder = Encoder(source=EncoderSource(hub=repository, revision=source_cell.source.commit))
        study.encoders.update(dict.fromkeys(source_cell.cell.encoders, encoder))
    return RecordStudy(study.frozen(), sources)


class _Readings:
    """The readings of the record by encoder and metric path.

    `items` contains the items with a reading.
    """

    def __init__(self, papers: Mapping[str, Paper], record: Record) -> None:
        self.record = record
        self._encoders: dict[tuple[str, str, str], _EncoderOfCell] = {}
        self._groups: dict[tuple[str, str], dict[tuple[str, str], list[SourceReading]]] = {}
        self.items = {"/".join(reading.cell.split("/")[:2]) for reading in record.readings}
        names = CellNames(papers)
        for reading in record.readings:
            cell = names.cell(reading.cell)
            item = papers[cell.paper].items.get(cell.item_name)
            place = item.place_of(cell) if item else None
            if item is None or place is None or not _is_read(place[1]):
                continue
            released = record.setting(reading).encoder == RELEASED
            key = self._encoder(item, *place).key(released), item.path(*place)
            group = self._groups.setdefault(key, {})
            group.setdefault((reading.source, reading.setting), []).append(reading)

    def of_cell(self, cell: Cell) -> dict[str, list[SourceCell]]:
        """Return the source cells of a cell by protocol.

        The protocols are as described, and the released checkpoint.
        """
        if not _is_read(cell.column):
            return {}
        encoder = self._encoder(cell.item, cell.row, cell.column)
        found: dict[str, list[SourceCell]] = {}
        for released in (False, True):
            protocol = RELEASED if released and encoder.is_trained else AS_DESCRIBED
            groups = self._groups.get((encoder.key(released), cell.metric_path), {})
            cells = found.setdefault(protocol, [])
            for (source, setting), readings in groups.items():
                measured = replace(cell, protocol=protocol)
                cells.append(_source_cell(measured, self.record.sources[source], setting, readings))
        return {protocol: sorted(each, key=_priority) for protocol, each in found.items() if each}

    def _encoder(self, item: Item, row: Row, column: AnyColumn) -> "_EncoderOfCell":
        known = item.id, row.id, column.id if _has_own_encoder(row, column) else ""
        if known not in self._encoders:
            self._encoders[known] = _encoder_of(item, row, column)
        return self._encoders[known]


@dataclass(frozen=True)
class _EncoderOfCell:
    """The described and released encoders of a cell, as comparable strings."""

    described: str
    released: str
    is_trained: bool

    def key(self, released: bool) -> str:
        return self.released if released else self.described


def _encoder_of(item: Item, row: Row, column: AnyColumn) -> _EncoderOfCell:
    request = merge_cell_request(item, column, [row.encoder], row)
    described = _request_key(item, row, request)
    if RELEASED in row.also:
        checkpoint = _request_key(item, row, merge_cell_request(item, column, [row.also[RELEASED]], row))
        return _EncoderOfCell(described, checkpoint, is_trained=True)
    checkpoint = f"{RELEASED} {described}" if request.use else described
    return _EncoderOfCell(described, checkpoint, is_trained=bool(request.use))


def _request_key(item: Item, row: Row, request: EncoderRequest) -> str:
    if not any(getattr(request, key) for key in SOURCES):
        return f"{item.id}/{row.id}"
    if request.use and "/" not in request.use:
        request = request.replace(use=f"{item.paper}/{request.use}")
    return request.model_dump_json(exclude_unset=True)


def _priority(measured: SourceCell) -> tuple[bool, int, float, str, str]:
    return measured.priority


def _has_own_encoder(row: Row, column: AnyColumn) -> bool:
    """Return whether a cell's encoder differs from the row's encoder."""
    return column.id in row.cells or bool(column.encoder.model_fields_set)


def _is_read(column: AnyColumn) -> bool:
    """Return whether a column contains values of single runs."""
    of_runs = column.over is None or column.over.seeds.statistic == "mean"
    return column.kind == "score" and is_measured(column) and of_runs


def _list_cells(
    papers: Mapping[str, Paper], item: Item, readings: _Readings, sources: dict[str, Sequence[SourceCell]]
) -> Iterator[Cell]:
    """Yield the cells of an item and add their source cells to `sources`."""
    for row in item.rows:
        cells: dict[str, list[Cell]] = {AS_DESCRIBED: [], RELEASED: []}
        for column in item.columns:
            empty = _empty_cell(papers, item, row, column)
            found = readings.of_cell(empty)
            for protocol, several in found.items():
                sources[str(several[0].cell.id)] = several
                cell = replace(empty, protocol=protocol)
                if several[0].setting.is_printed:
                    cell = several[0].cell
                cells[protocol].append(cell)
            if AS_DESCRIBED not in found:
                cells[AS_DESCRIBED].append(empty)
        yield from (*cells[AS_DESCRIBED], *cells[RELEASED])


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


def _source_cell(
    cell: Cell, source: Source, setting_name: str, readings: Sequence[SourceReading]
) -> SourceCell:
    """Return a cell as a source measured it, readings with seeds first."""
    is_retrained = source.settings[setting_name].encoder == "retrained"
    ordered = sorted(readings, key=lambda reading: (reading.seed is None, reading.seed or 0))
    counted = ordered
    if not is_retrained:
        # Several readings of a checkpoint count as a single value, the most precise reading.
        counted = [min(ordered, key=lambda reading: reading.number.half_digit)]
    again = [reading for reading in ordered if reading not in counted]
    # Cells with the same readings have the same encoder names, so the names contain the source, not the cell.
    first = readings[0]
    _, item, row, column, *_ = first.cell.split("/")
    stem = "/".join([first.source, setting_name, item, row])
    if _has_own_encoder(cell.row, cell.column):
        stem += f"/{column}"
    jobs = []
    for number, reading in enumerate(counted, start=1):
        jobs.append((stem + _run_name(reading, number, len(counted)),))
    measured = replace(cell, jobs=tuple(jobs), seeds=tuple(reading.seed for reading in counted))
    return SourceCell(measured, source, first.source, setting_name, (*counted, *again), is_retrained)


def _run_name(reading: SourceReading, number: int, count: int) -> str:
    """Return the name of a reading's run: the seed or, if several, a number."""
    if reading.seed is not None:
        return f"/s{reading.seed}"
    return f"/run-{number}" if count > 1 else ""
