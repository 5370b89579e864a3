"""Tabulate: from an item and the measurements of its encoders to its result."""

from collections.abc import Collection, Iterator
from typing import Any

from replicse.compile.item_plan import ItemPlan
from replicse.judge.cells import cell_result
from replicse.judge.crossed import crossed_notes
from replicse.judge.measurements import Measurements
from replicse.judge.table import ColumnHead, ItemResult, RowHead
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.columns import AnyColumn, StepScore
from replicse.spec.tables import OWN, Item

# Figures of curves that evaluations hold, not of cells.
CURVES = ("spectrum", "density", "density-own-scales")


def item_result(
    plan: ItemPlan, measurements: Measurements, only: Collection[CellId] | None = None
) -> ItemResult:
    """Judge an item: its heads, and a judged cell per row, protocol and column.

    Args:
        plan: the plan of the item.
        measurements: the measurements of its encoders.
        only: judge only these cells, and leave out the notes about all of them.
    """
    # The protocols of a row stand by name, so that adjudicating one more item moves no other line.
    item = plan.item
    order = {row.id: place for place, row in enumerate(item.rows)}
    wanted = (cell for cell in plan.planned if only is None or cell.id in only)
    cells = sorted(wanted, key=lambda cell: (order[cell.row.id], cell.protocol))
    merged = _merged_rows(plan)
    result = ItemResult(
        item=item.id,
        paper=item.paper,
        scale=plan.scale,
        comparable=plan.is_comparable,
        kind=item.kind,
        figure=item.figure,
        title=item.title,
        place=item.place,
        setting={key: str(entry) for key, entry in item.setting.plain().items()},
        baseline=item.baseline,
        columns=tuple(_head(item, column) for column in item.columns),
        rows=tuple(
            RowHead(
                id=row.id,
                label=row.label or row.id,
                group=row.group,
                quoted=row.quoted,
                note=row.note,
                merged=merged.get(row.id, ()),
            )
            for row in item.rows
        ),
        cells=tuple(cell_result(cell, plan, measurements) for cell in cells),
        variants=dict(plan.variants),
        notes=item.notes,
        deviations=plan.deviations,
        curves=_curves(plan, measurements) if item.figure in CURVES else {},
    )
    if only is not None:
        return result
    # Scores on generated sentences are not compared with the paper's.
    own = own_notes(result) if not plan.is_embedded else ()
    scale_notes = [f"{text[0].upper()}{text[1:]}." for text in plan.scale_notes]
    return result.model_copy(update={"notes": (*result.notes, *scale_notes, *crossed_notes(result), *own)})


def own_notes(result: ItemResult) -> Iterator[str]:
    """Yield, for each row of a person's own, its average (or last number) less that of each printed row."""
    heads = [column for column in result.columns if column.kind in ("score", "derived")]
    head = next((column for column in heads if column.average), heads[-1] if heads else None)
    if head is None or not any(row.group == OWN for row in result.rows):
        return
    at = {
        cell.row: cell
        for cell in result.cells
        if (cell.column, cell.metric, cell.protocol) == (head.id, head.metric, AS_DESCRIBED)
    }
    prints = {
        result.row_names[row.id]: cell.reported.number.value
        for row in result.rows
        if (cell := at.get(row.id)) and row.group != OWN and cell.reported and cell.reported.number
    }
    for row in result.rows:
        ours = at[row.id].reproduced if row.group == OWN and row.id in at else None
        if ours is not None and prints:
            less = ", ".join(f"{ours - value:+.2f} {label}" for label, value in prints.items())
            yield f"{row.label} less the printed rows, {head.label}: {less}."


def _head(item: Item, column: AnyColumn) -> ColumnHead:
    path, over = column.metric_path, column.over
    suites = {other.metric_path.partition("/")[0] for other in item.columns if _is_average(other)}
    average = _is_average(column)
    return ColumnHead(
        id=column.id,
        label=column.label,
        metric=column.metric,
        kind=column.kind,
        metric_path=path,
        better=column.better,
        average=average,
        task=path.partition("/")[0] in suites and not average and column.kind == "score",
        step=(-1 if column.step is None else column.step) if isinstance(column, StepScore) else None,
        statistic=over.seeds.name if over else "mean",
        chosen=(over.jobs.shows or "") if over and over.jobs else "",
    )


def _is_average(column: AnyColumn) -> bool:
    """Return whether a column reads an average over tasks, and no difference of one."""
    return column.kind == "score" and column.metric_path.rpartition("/")[2].startswith("avg")


def _merged_rows(plan: ItemPlan) -> dict[str, tuple[str, ...]]:
    """Return, for each row that reads nothing but what rows above it read, the ids of those rows."""
    read: dict[str, dict[CellId, tuple[Any, ...]]] = {}
    for cell in plan.described:
        if cell.jobs and cell.seeds != (None,):
            read.setdefault(cell.row.id, {})[cell.id.at("")] = (cell.jobs, cell.metric_path)
    merged = {}
    for place, (row, reading) in enumerate(read.items()):
        same = tuple(above for above in list(read)[:place] if read[above] == reading)
        if same:
            merged[row] = same
    return merged


def _curves(plan: ItemPlan, measurements: Measurements) -> dict[str, Any]:
    """Return what a spectrum or a density is drawn from: the first seed of each row, by label."""
    curves = {}
    for cell in plan.described:
        label = cell.row.label or cell.row.id
        if label not in curves and cell.jobs:
            # A suite may stand under two names: SimCSE's figure is of all splits of STS-B, DiffCSE's of its test set.
            curve = measurements.at(cell.encoders[0], cell.metric_path.partition("/")[0]).value
            if curve is not None:
                curves[label] = dict(curve)
    return curves
