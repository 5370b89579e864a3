"""Corrections for multiple tests.

Verdicts are adjusted by Benjamini-Hochberg within each paper. Parts of claims and effects are adjusted by Holm.
"""

from collections.abc import Sequence

from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.registry.levels import LEVEL
from replicse.spec.cell_id import AS_DESCRIBED

FALSE = 1 - LEVEL  # the expected share of false verdicts among the cells with verdict higher or lower


def adjust_verdicts(results: Sequence[ItemResult]) -> list[ItemResult]:
    """Adjust the verdicts of each paper by Benjamini-Hochberg.

    The cells of the protocol `as-described` are one family of tests, and the cells of variants are another. Cells
    without a p-value are not changed.

    Args:
        results: the results of items; they should contain all items of each paper.

    Returns:
        List of copies of the results with adjusted p-values and verdicts.
    """
    cells = {}
    families: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for result in results:
        for place, cell in enumerate(result.cells):
            key = result.item, place
            cells[key] = cell
            if cell.p is not None:
                families.setdefault((result.paper, cell.protocol == AS_DESCRIBED), []).append(key)
    for keys in families.values():
        # The import takes longer than everything else in `show`, and only full-scale cells have a p.
        from scipy.stats import false_discovery_control

        adjusted = false_discovery_control([cells[key].p for key in keys])
        for key, p in zip(keys, adjusted.tolist(), strict=True):
            cells[key] = _adjust_cell(cells[key], p, len(keys))
    copies = []
    for result in results:
        of_item = tuple(cells[result.item, place] for place in range(len(result.cells)))
        copies.append(result.model_copy(update={"cells": of_item}))
    return copies


def _adjust_cell(cell: CellResult, adjusted: float, count: int) -> CellResult:
    among = f"{adjusted:.2g} among {count} cells of the paper (Benjamini-Hochberg)"
    change = {"p_adjusted": adjusted, "reason": f"{cell.reason}; p = {cell.p:.2g}, {among}"}
    if cell.verdict in ("higher", "lower") and adjusted >= FALSE:
        change |= {"verdict": "within seed spread", "if_best": ""}
    return cell.model_copy(update=change)


def count_significant(p_values: Sequence[float], level: float = FALSE) -> int:
    """Count the p-values that are significant together by Holm's method.

    The significant p-values are the smallest ones.

    Args:
        p_values: list of p-values in any order.
        level: the significance level. Default: 0.05.
    """
    count = len(p_values)
    for place, p in enumerate(sorted(p_values)):
        if p > level / (count - place) * (1 + 1e-12):
            return place
    return count
