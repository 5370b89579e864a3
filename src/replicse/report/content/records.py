"""The tidy data of the figures that are drawn from an item's own cells."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from replicse.errors import BadInput
from replicse.report.content.items import Column, Item, Result
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.results.verdict import printed_number

SOURCES = ("reported", "reproduced")
PLANE = ("alignment", "uniformity")


def records_of(item: Item) -> list[dict[str, Any]]:
    """Return the tidy records of an item whose figure is drawn from its own cells.

    These are trajectory, scatter, profile and bars (of the first column); a spectrum and a density come from
    evaluations. Cells without a number give no record.
    """
    if item.figure in ("trajectory", "scatter"):
        return _plane_records(item)
    if item.figure in ("profile", "bars"):
        return _profile_records(item)
    raise BadInput(f'{item.id}: figure "{item.figure}" is not drawn from cells but from evaluations')


def _plane_records(item: Item) -> list[dict[str, Any]]:
    """Return alignment and uniformity (and a score) by row, place in training and source."""
    ids = list(dict.fromkeys(column.id for column in item.columns))
    steps = [[column for column in item.columns if column.id == name] for name in ids]
    if item.figure == "scatter":
        steps = [list(item.columns)]
    records = []
    # A variant of the protocol is one more panel of a trajectory: the same runs, measured otherwise.
    variants = item.variants if item.figure == "trajectory" else {}
    for source in (*SOURCES, *variants.values()):
        for row in item.rows:
            for step in steps:
                values = {_short(column): _value(item, row.id, column, source) for column in step}
                plane = {name: values.get(name) for name in PLANE}
                if None in plane.values():
                    continue
                if item.figure == "trajectory":
                    records.append({"method": row.label, "step": step[0].id, **plane, "source": source})
                    continue
                metric = next((name for name in values if name not in PLANE), "")
                score = {"score": values.get(metric), "metric": metric}
                records.append({"label": row.label, **plane, **score, "source": source})
    return records


def _profile_records(item: Item) -> list[dict[str, Any]]:
    column = item.columns[0]
    records = []
    for row in item.rows:
        result = _result(item, row.id, column)
        values = {source: _value(item, row.id, column, source) for source in SOURCES}
        if result is not None and any(value is not None for value in values.values()):
            bounds = {"low": result.low, "high": result.high}
            records.append({"row": row.label, **values, **bounds, "metric": _axis(column)})
    return records


def _result(item: Item, row: str, column: Column, variant: str = "") -> Result | None:
    """Return the cell under a variant, else under the first protocol, the paper's text where that was run."""
    found = [
        entry
        for entry in item.results
        if (entry.row, entry.column, entry.metric) == (row, column.id, column.metric)
        and (item.variants.get(entry.protocol, "") == variant)
    ]
    return min(found, key=lambda entry: entry.protocol != AS_DESCRIBED, default=None)


def _value(item: Item, row: str, column: Column, source: str) -> float | None:
    result = _result(item, row, column, "" if source in SOURCES else source)
    if result is None:
        return None
    if source != "reported":
        return result.reproduced
    number = printed_number(result.reported)
    return number.value if number else None


def _axis(column: Column) -> str:
    metric = _short(column)
    return column.label if metric.lower() in ("", column.label.lower()) else f"{column.label} ({metric})"


def _short(column: Column) -> str:
    return column.metric.rpartition("/")[2]


def spectrum_records(spectra: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of a spectrum figure; `spectra` holds `suites.spectrum` by encoder label."""
    return [
        {"encoder": encoder, "index": index, "value": value}
        for encoder, found in spectra.items()
        for index, value in enumerate(found["singular_values"] or (), start=1)
    ]


def density_records(densities: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of a density figure; `densities` holds `suites.density` by encoder label."""
    records = []
    for encoder, found in densities.items():
        middles = [(low + high) / 2 for low, high in pairwise(found["edges"])]
        groups = {
            name: part for name, part in found.items() if isinstance(part, Mapping) and "density" in part
        }
        for group, part in groups.items():
            curve = zip(middles, part["density"] or (), strict=False)
            records += [
                {"encoder": encoder, "group": group, "cosine": cosine, "density": height}
                for cosine, height in curve
            ]
    return records
