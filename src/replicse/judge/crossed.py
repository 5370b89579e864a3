"""Rows that were run under every seed on the backbone of every seed: how much of their spread is whose."""

from collections.abc import Iterator, Mapping
from typing import Any

from replicse.judge.statistics import components
from replicse.judge.table import CellResult, ItemResult
from replicse.printable import number
from replicse.spec.cell_id import CellId
from replicse.spec.protocols import ON_BACKBONE

Crossed = list[list[float]]


def crossed_notes(result: ItemResult) -> Iterator[str]:
    """Yield a sentence for each number of a crossed row, and for its difference to a baseline that is crossed too."""
    designs = crossed_designs(result)
    for column in result.columns:
        for row in result.rows:
            design = designs.get(result.id_at(row.id, column))
            if design is None:
                continue
            yield from _sentence(f"{row.label}, {column.label}", design)
            less = crossed_difference(designs, result.baseline, result.id_at(row.id, column))
            if less:
                yield from _sentence(
                    f"{row.label} less {result.row_names[result.baseline]}, {column.label}", less
                )


def crossed_difference(designs: Mapping[CellId, Crossed], baseline: str, cell: CellId) -> Crossed | None:
    """Return a crossed cell less that of the baseline row, on the same backbone under the same seed; None without both.

    Nothing is returned for the baseline row itself.
    """
    design, base = designs.get(cell), designs.get(cell.at(baseline))
    if cell.row == baseline or design is None or base is None:
        return None
    return [
        [one - other for one, other in zip(*pair, strict=True)] for pair in zip(design, base, strict=True)
    ]


def crossed_designs(result: ItemResult) -> dict[CellId, Crossed]:
    """Return the values of each crossed cell, backbones by seeds; a design that lacks a value is left out."""
    lines: dict[CellId, list[CellResult]] = {}
    for cell in result.cells:
        if cell.protocol.startswith(ON_BACKBONE):
            lines.setdefault(result.id_of(cell).described, []).append(cell)
    designs: dict[CellId, list[list[Any]]]
    designs = {key: [[each.value for each in cell.values] for cell in cells] for key, cells in lines.items()}
    return {
        key: design
        for key, design in designs.items()
        if all(isinstance(value, float) for line in design for value in line)
    }


def _sentence(what: str, design: Crossed) -> Iterator[str]:
    sd = components(design)
    if sd:
        mean = number(sum(map(sum, design)) / sum(map(len, design)))
        yield (
            f"{what}: {len(design)} backbones × {len(design[0])} fine-tunings, mean {mean}; standard deviation"
            f" {sd.between:.2f} between backbones, {sd.within:.2f} between fine-tunings on one backbone."
        )
