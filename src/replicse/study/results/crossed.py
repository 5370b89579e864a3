"""Rows that were run under every seed on the backbone of every seed: how much of their spread is whose."""

from collections.abc import Iterator
from typing import Any

from replicse.study.paper.protocols import ON_BACKBONE
from replicse.study.results.statistics import components
from replicse.study.results.table import CellResult, ItemResult

Crossed = list[list[float]]


def crossed_notes(result: ItemResult) -> Iterator[str]:
    """Yield a sentence for each number of a crossed row, and for its difference to a baseline that is crossed too.

    Cells are paired: the difference of two rows is taken on the same backbone under the same seed.
    """
    designs = _designs(result)
    for column in result.columns:
        base = designs.get((result.baseline, column.id, column.metric))
        for row in result.rows:
            own = designs.get((row.id, column.id, column.metric))
            if own is None:
                continue
            yield from _told(f"{row.label}, {column.label}", own)
            if base and row.id != result.baseline:
                less = [
                    [one - other for one, other in zip(*pair, strict=True)]
                    for pair in zip(own, base, strict=True)
                ]
                yield from _told(
                    f"{row.label} less {result.row_names[result.baseline]}, {column.label}", less
                )


def _designs(result: ItemResult) -> dict[tuple[str, str, str], Crossed]:
    """Return the values of each crossed cell, backbones by seeds; a design that lacks a value is left out."""
    lines: dict[tuple[str, str, str], list[CellResult]] = {}
    for cell in result.cells:
        if cell.protocol.startswith(ON_BACKBONE):
            lines.setdefault(cell.key, []).append(cell)
    found: dict[tuple[str, str, str], list[list[Any]]]
    found = {key: [[each.value for each in cell.values] for cell in cells] for key, cells in lines.items()}
    return {
        key: design
        for key, design in found.items()
        if all(isinstance(value, float) for line in design for value in line)
    }


def _told(what: str, design: Crossed) -> Iterator[str]:
    found = components(design)
    if found:
        mean = sum(map(sum, design)) / sum(map(len, design))
        yield (
            f"{what}: {len(design)} backbones x {len(design[0])} fine-tunings, mean {mean:.2f}; standard deviation"
            f" {found.between:.2f} between backbones, {found.within:.2f} between fine-tunings on one backbone."
        )
