"""Many tests together: verdicts of a paper by Benjamini-Hochberg, claims of several parts and effects by Holm."""

from collections.abc import Sequence

from replicse.judge.table import CellResult, ItemResult
from replicse.registry.levels import LEVEL
from replicse.spec.cell_id import AS_DESCRIBED

FALSE = 1 - LEVEL  # the share of false ones among the cells that are called higher or lower


def controlled(results: Sequence[ItemResult]) -> list[ItemResult]:
    """Return results whose verdicts are controlled within each paper; a cell without p stays as it is.

    Cells of variants are a second family, next to those of the paper's text.
    """
    families: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    cells = {(result.item, place): cell for result in results for place, cell in enumerate(result.cells)}
    papers = {result.item: result.paper for result in results}
    for key, cell in cells.items():
        if cell.p is not None:
            families.setdefault((papers[key[0]], cell.protocol == AS_DESCRIBED), []).append(key)
    for keys in families.values():
        # Imported here: it takes longer than all else that `show` does, and only full-scale cells have a p.
        from scipy.stats import false_discovery_control

        adjusted = false_discovery_control([cells[key].p for key in keys])
        for key, p in zip(keys, adjusted.tolist(), strict=True):
            cells[key] = _controlled(cells[key], p, len(keys))
    kept = [tuple(cells[each.item, place] for place in range(len(each.cells))) for each in results]
    return [each.model_copy(update={"cells": own}) for each, own in zip(results, kept, strict=True)]


def _controlled(cell: CellResult, adjusted: float, count: int) -> CellResult:
    among = f"{adjusted:.2g} among {count} cells of the paper (Benjamini-Hochberg)"
    change = {"p_adjusted": adjusted, "reason": f"{cell.reason}; p = {cell.p:.2g}, {among}"}
    if cell.verdict in ("higher", "lower") and adjusted >= FALSE:
        change |= {"verdict": "within seed spread", "if_best": ""}
    return cell.model_copy(update=change)


def count_significant(p_values: Sequence[float], level: float = FALSE) -> int:
    """Return how many of some p-values, the smallest ones, are significant together (Holm)."""
    count = len(p_values)
    for place, p in enumerate(sorted(p_values)):
        if p > level / (count - place) * (1 + 1e-12):
            return place
    return count
