"""Computation of the result of an item."""

from collections.abc import Collection, Iterator
from typing import Any

from replicse.compile.cell import Cell
from replicse.compile.item_plan import ItemPlan
from replicse.judge.statistics.crossed import crossed_notes
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.cells import cell_result
from replicse.judge.verdicts.table import ColumnHead, ItemResult, RowHead
from replicse.spec.cell_id import CellId
from replicse.spec.columns import AnyColumn, StepScore
from replicse.spec.tables import OWN, Item

# Figures that are plotted from curves in the evaluations and not from cells.
CURVES = ("spectrum", "density", "density-own-scales")


def item_result(
    plan: ItemPlan, measurements: Measurements, only: Collection[CellId] | None = None
) -> ItemResult:
    """Judge all cells of an item.

    Args:
        plan: the plan of the item.
        measurements: the measurements of its encoders.
        only: the cells to judge; notes on all cells are skipped then. Default: all cells.
    """
    item = plan.item
    columns = [_column_head(item, column) for column in item.columns]
    cells = [cell_result(cell, plan, measurements) for cell in _cells_in_order(plan, only)]
    result = ItemResult(
        item=item.id,
        paper=item.paper,
        scale=plan.scale,
        comparable=plan.is_comparable,
        is_embedded=plan.is_embedded,
        kind=item.kind,
        figure=item.figure,
        title=item.title,
        place=item.place,
        setting={key: str(entry) for key, entry in item.setting.plain().items()},
        baseline=item.baseline,
        columns=tuple(columns),
        rows=tuple(_row_heads(plan)),
        cells=tuple(cells),
        variants=dict(plan.variants),
        notes=item.notes,
        deviations=plan.deviations,
        curves=_curves(plan, measurements) if item.figure in CURVES else {},
    )
    if only is not None:
        return result
    notes = list(result.notes)
    notes += [f"{text[0].upper()}{text[1:]}." for text in plan.scale_notes]
    notes += crossed_notes(result)
    # Scores on generated sentences are not compared with the paper's.
    if not plan.is_embedded:
        notes += own_notes(result)
    return result.model_copy(update={"notes": tuple(notes)})


def _cells_in_order(plan: ItemPlan, only: Collection[CellId] | None) -> list[Cell]:
    """Return the cells to judge in the order of rows, then protocols by name.

    With this order, adjudicating another item does not move lines.
    """
    order = {row.id: place for place, row in enumerate(plan.item.rows)}
    cells = [cell for cell in plan.planned if only is None or cell.id in only]
    return sorted(cells, key=lambda cell: (order[cell.row.id], cell.protocol))


def _row_heads(plan: ItemPlan) -> Iterator[RowHead]:
    merged = _merged_rows(plan)
    for row in plan.item.rows:
        yield RowHead(
            id=row.id,
            label=row.label or row.id,
            group=row.group,
            quoted=row.quoted,
            note=row.note,
            merged=merged.get(row.id, ()),
        )


def own_notes(result: ItemResult) -> Iterator[str]:
    """Yield a sentence that compares each row of the user with the paper.

    The average of the row (or the last number, if there is no average) is compared with each printed row.

    Args:
        result: the result of an item.
    """
    heads = [column for column in result.columns if column.kind in ("score", "derived")]
    averages = [column for column in heads if column.average]
    if not heads or not any(row.group == OWN for row in result.rows):
        return
    head = averages[0] if averages else heads[-1]
    described, labels = result.described, result.row_names
    printed, ours = {}, []
    for row in result.rows:
        cell = described.get(result.id_at(row.id, head))
        if cell is not None and row.group != OWN and cell.printed is not None:
            printed[labels[row.id]] = cell.printed
        if cell is not None and row.group == OWN and cell.reproduced is not None:
            ours.append((row.label, cell.reproduced))
    if not printed:
        return
    for own_label, reproduced in ours:
        differences = [f"{reproduced - value:+.2f} {label}" for label, value in printed.items()]
        yield f"{own_label} minus the printed rows, {head.label}: {', '.join(differences)}."


def _column_head(item: Item, column: AnyColumn) -> ColumnHead:
    path, over = column.metric_path, column.over
    averaged_suites = set()
    for other in item.columns:
        if _is_average(other):
            averaged_suites.add(other.metric_path.partition("/")[0])
    is_average = _is_average(column)
    step, chosen = None, ""
    if isinstance(column, StepScore):
        step = -1 if column.step is None else column.step
    if over and over.jobs:
        chosen = over.jobs.shows or ""
    return ColumnHead(
        id=column.id,
        label=column.label,
        metric=column.metric,
        kind=column.kind,
        metric_path=path,
        better=column.better,
        average=is_average,
        task=path.partition("/")[0] in averaged_suites and not is_average and column.kind == "score",
        step=step,
        statistic=over.seeds.name if over else "mean",
        chosen=chosen,
    )


def _is_average(column: AnyColumn) -> bool:
    """Return whether a column shows an average over tasks."""
    return column.kind == "score" and column.metric_path.rpartition("/")[2].startswith("avg")


def _merged_rows(plan: ItemPlan) -> dict[str, tuple[str, ...]]:
    """Return for each row the first row above with the same numbers.

    Rows without such a row are skipped. The other rows have the same first row, and lists of all of them would grow
    quadratically.
    """
    read: dict[str, dict[CellId, tuple[Any, ...]]] = {}
    for cell in plan.described:
        if cell.jobs and cell.seeds != (None,):
            read.setdefault(cell.row.id, {})[cell.id.at("")] = (cell.jobs, cell.metric_path)
    merged: dict[str, tuple[str, ...]] = {}
    rows = list(read)
    for place, row in enumerate(rows):
        first = next((above for above in rows[:place] if read[above] == read[row]), None)
        if first is not None:
            merged[row] = (first,)
    return merged


def _curves(plan: ItemPlan, measurements: Measurements) -> dict[str, Any]:
    """Return the data of a spectrum or a density, by row label.

    The first seed of each row is used.
    """
    curves = {}
    for cell in plan.described:
        label = cell.row.label or cell.row.id
        if label not in curves and cell.jobs:
            # A suite may have two names: SimCSE's figure uses all splits of STS-B, DiffCSE's figure the test set.
            curve = measurements.at(cell.encoders[0], cell.metric_path.partition("/")[0]).value
            if curve is not None:
                curves[label] = dict(curve)
    return curves
