"""Variance components of crossed rows.

A crossed row is trained with every seed on the backbone of every seed.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from operator import sub
from typing import Any

from replicse.judge.statistics.intervals import variance_components
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.printable import number
from replicse.spec.cell_id import CellId
from replicse.spec.protocols import ON_BACKBONE

Crossed = list[list[float]]


def crossed_notes(result: ItemResult) -> Iterator[str]:
    """Yield sentences on crossed numbers and differences to the baseline."""
    designs = crossed_designs(result)
    for column in result.columns:
        for row in result.rows:
            cell = result.id_at(row.id, column)
            if cell not in designs:
                continue
            yield from _sentence(f"{row.label}, {column.label}", designs[cell])
            difference = crossed_difference(designs, result.baseline, cell)
            if difference:
                baseline = result.row_names[result.baseline]
                yield from _sentence(f"{row.label} minus {baseline}, {column.label}", difference)


def crossed_difference(designs: Mapping[CellId, Crossed], baseline: str, cell: CellId) -> Crossed | None:
    """Subtract the baseline row from a crossed cell, by backbone and seed.

    Args:
        designs: dict from cell to values, as returned by `crossed_designs`.
        baseline: the id of the baseline row.
        cell: the cell.

    Returns:
        The differences, (backbones, seeds); None if the cell or its baseline is not crossed, or if the cell is in the
        baseline row.
    """
    design, base = designs.get(cell), designs.get(cell.at(baseline))
    if cell.row == baseline or design is None or base is None:
        return None
    return [list(map(sub, line, base_line)) for line, base_line in zip(design, base, strict=True)]


def crossed_designs(result: ItemResult) -> dict[CellId, Crossed]:
    """Return the values of each crossed cell, (backbones, seeds).

    Cells with missing values are skipped.

    Args:
        result: the result of an item.

    Returns:
        Dict from cell to a list with a list of values for each backbone.
    """
    cells: dict[CellId, list[CellResult]] = {}
    for cell in result.cells:
        if cell.protocol.startswith(ON_BACKBONE):
            cells.setdefault(result.id_of(cell).described, []).append(cell)
    designs = {}
    for key, lines in cells.items():
        design: list[list[Any]] = []
        for line in lines:
            design.append([each.value for each in line.values])
        if all(isinstance(value, float) for value in chain.from_iterable(design)):
            designs[key] = design
    return designs


def _sentence(subject: str, design: Crossed) -> Iterator[str]:
    sd = variance_components(design)
    if sd:
        mean = number(sum(map(sum, design)) / sum(map(len, design)))
        yield (
            f"{subject}: {len(design)} backbones × {len(design[0])} fine-tunings, mean {mean}; standard deviation"
            f" {sd.between:.2f} between backbones, {sd.within:.2f} between fine-tunings on the same backbone."
        )
