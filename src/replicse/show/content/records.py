"""Convert the result of an item to the tidy data of a figure."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from replicse.judge.report.report_types import JudgedItem
from replicse.judge.verdicts.table import CellResult, ColumnHead, ItemResult
from replicse.show.strip_plots import readings_records
from replicse.spec.cell_id import CellId

SOURCES = ("reported", "reproduced")
PLANE = ("alignment", "uniformity")
Record = dict[str, Any]
Cells = Mapping[tuple[str, CellId], CellResult]  # keys: title of the variant ("" without a variant), cell


def records_of(item: JudgedItem) -> list[Record]:
    """Return the tidy records of an item's figure.

    Cells without a number are skipped. A profile uses the first column. A spectrum and a density use the curves of the
    item.

    Returns:
        A list of dicts with the columns of the figure; `replicse.show.figures.DRAWERS` describes them.
    """
    makers = {
        "trajectory": _trajectory,
        "scatter": _scatter,
        "spectrum": _spectrum,
        "density": _density,
        "density-own-scales": _density,
        "heat": _heat,
        "effects": _effects,
        "readings": readings_records,
    }
    return list(makers.get(item.figure, _profile)(item))


def as_csv(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Convert the tuples in records to strings for a CSV file.

    Values of seeds are joined by spaces, coordinates by commas.
    """
    rows = []
    for record in records:
        row = dict(record)
        for name, value in record.items():
            if isinstance(value, tuple):
                row[name] = " ".join(map(_value_text, value))
        rows.append(row)
    return rows


def _value_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(repr, value))
    return repr(value)


def _trajectory(item: ItemResult) -> Iterator[Record]:
    """Yield alignment and uniformity of the mean, then of each seed.

    The last step is the selected checkpoint. A variant of the protocol is a source, because it measures the same runs
    differently.
    """
    steps: dict[int, list[ColumnHead]] = {}
    for column in item.columns:
        if column.step is not None:
            steps.setdefault(column.step, []).append(column)
    cells = _cells(item)
    for source in (*SOURCES, *item.variants.values()):
        for row in item.rows:
            for columns in steps.values():
                if measures := _measures(item, cells, source, row.id, columns):
                    selected = "selected" if columns[0].step == -1 else ""
                    about = {"method": row.label, "step": columns[0].id, "selected": selected}
                    for seed, place in (("", measures), *measures["by_seed"]):
                        point = {"alignment": place["alignment"], "uniformity": place["uniformity"]}
                        yield {**about, **point, "source": source, "seed": seed}


def _scatter(item: ItemResult) -> Iterator[Record]:
    """Yield alignment, uniformity and the first score by source and row."""
    cells = _cells(item)
    metric = _first_score(item, cells)
    for source in SOURCES:
        for row in item.rows:
            if point := _measures(item, cells, source, row.id, item.columns):
                yield {
                    "label": row.label,
                    "alignment": point["alignment"],
                    "uniformity": point["uniformity"],
                    "score": point.get(metric),
                    "metric": metric,
                    "source": source,
                    "seeds": point["seeds"],
                }


def _first_score(item: ItemResult, cells: Cells) -> str:
    """Return the metric of the first score with a number, or ""."""
    scored = {name.column for (_, name), cell in cells.items() if {cell.printed, cell.reproduced} != {None}}
    for column in item.columns:
        if column.id in scored and _metric(column) not in PLANE:
            return _metric(column)
    return ""


def _measures(
    item: ItemResult, cells: Cells, source: str, row: str, columns: Iterable[ColumnHead]
) -> dict[str, Any]:
    """Return the values of a row as a dict from metric to number.

    The dict also has the keys `seeds`, a tuple of (uniformity, alignment) for each seed if there are too few seeds for
    an interval, and `by_seed`, the values of each seed if there are several. It is empty if alignment or uniformity is
    missing.
    """
    variant = "" if source in SOURCES else source
    is_reported = source == "reported"
    keys = {}
    for column in columns:
        keys[_metric(column)] = variant, item.id_at(row, column)
    there, values = {}, {}
    for metric, key in keys.items():
        if key in cells:
            there[metric] = cells[key]
            values[metric] = cells[key].printed if is_reported else cells[key].reproduced
    if any(values.get(name) is None for name in PLANE):
        return {}
    if is_reported:
        return {**values, "seeds": (), "by_seed": ()}
    pairs = zip(there["uniformity"].few, there["alignment"].few, strict=False)
    return {**values, "seeds": tuple(pairs), "by_seed": _by_seed(there)}


def _by_seed(cells: Mapping[str, CellResult]) -> list[tuple[str, Record]]:
    """Return alignment and uniformity by seed if several seeds have both."""
    alignment, uniformity = map(_values_by_seed, (cells["alignment"], cells["uniformity"]))
    points = []
    for seed, value in alignment.items():
        if seed in uniformity:
            points.append((str(seed), {"alignment": value, "uniformity": uniformity[seed]}))
    return points if len(points) > 1 else []


def _values_by_seed(cell: CellResult) -> dict[Any, Any]:
    return {each.seed: each.value for each in cell.values if each.value is not None}


def _profile(item: ItemResult) -> Iterator[Record]:
    """Yield both numbers of each row, with the interval or the seeds.

    A table uses the first column. Bars have a panel for each column, a profile has a panel for each group of rows.
    """
    cells, columns = _cells(item), item.columns[:1]
    panels = item.figure == "bars" and item.kind == "figure"
    if panels:
        columns = item.columns
    for column in columns:
        metric = _metric(column)
        axis = column.label
        if metric.lower() not in ("", column.label.lower()):
            axis += f" ({metric})"
        for row in item.rows:
            cell = cells.get(("", item.id_at(row.id, column)))
            if cell is None or {cell.printed, cell.reproduced} == {None}:
                continue
            record = {
                "row": row.label,
                "reported": cell.printed,
                "reproduced": cell.reproduced,
                "low": cell.low,
                "high": cell.high,
                "seeds": cell.few,
                "metric": axis,
            }
            if panels:
                record["group"] = axis
            elif item.figure == "profile" and row.group:
                record["group"] = row.group
            yield record


def _effects(item: JudgedItem) -> Iterator[Record]:
    """Yield the difference of each row to the baseline row, paired by seed."""
    base = item.row_names[item.baseline]
    for each in item.effects:
        yield {
            "group": each.column,
            "row": item.row_names[each.cell.row],
            "value": each.ours.mean,
            "low": each.ours.low,
            "high": each.ours.high,
            "metric": f"{each.column} less {base}'s, paired by seed",
        }


def _spectrum(item: ItemResult) -> Iterator[Record]:
    """Yield the singular values of each encoder."""
    for encoder, curve in item.curves.items():
        for index, value in enumerate(curve["singular_values"] or (), start=1):
            yield {"encoder": encoder, "index": index, "value": value}


def _density(item: ItemResult) -> Iterator[Record]:
    """Yield the density of the cosine by encoder, group of ratings and bin."""
    for encoder, curve in item.curves.items():
        middles = [(low + high) / 2 for low, high in pairwise(curve["edges"])]
        for group, part in curve.items():
            if isinstance(part, Mapping) and "density" in part:
                for cosine, height in zip(middles, part["density"] or (), strict=False):
                    yield {"encoder": encoder, "group": group, "cosine": cosine, "density": height}


def _heat(item: ItemResult) -> Iterator[Record]:
    """Yield the reproduced number of each row and column."""
    cells = _cells(item)
    for row in item.rows:
        for column in item.columns:
            cell = cells.get(("", item.id_at(row.id, column)))
            if cell is not None and cell.reproduced is not None:
                yield {
                    "row": row.label,
                    "column": column.label,
                    "value": cell.reproduced,
                    "metric": _metric(column),
                }


def _cells(item: ItemResult) -> Cells:
    """Return a dict of cells by variant and described name.

    If several protocols are not variants, the described protocol is used.
    """
    cells = {}
    for cell in reversed(item.cells):
        cells[item.variants.get(cell.protocol, ""), item.id_of(cell).described] = cell
    return cells | {("", name): cell for name, cell in item.described.items()}


def _metric(column: ColumnHead) -> str:
    return column.metric.rpartition("/")[2]
