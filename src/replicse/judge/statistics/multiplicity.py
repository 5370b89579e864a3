"""Correct for multiple tests.

Verdicts of a paper are adjusted by Benjamini-Hochberg, parts of claims and effects by Holm.
"""

from collections.abc import Sequence

from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.registry.levels import LEVEL
from replicse.spec.cell_id import AS_DESCRIBED

FALSE = 1 - LEVEL  # the expected share of false verdicts among the cells with verdict higher or lower


def adjust_verdicts(results: Sequence[ItemResult]) -> list[ItemResult]:
    """Adjust the verdicts of results within each paper by Benjamini-Hochberg.

    Cells without p are unchanged.

    Cells of the protocol `as-described` are one family of tests, cells of variants another one.
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

    These are the smallest ones.
    """
    count = len(p_values)
    for place, p in enumerate(sorted(p_values)):
        if p > level / (count - place) * (1 + 1e-12):
            return place
    return count
