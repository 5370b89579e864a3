"""The distribution of cosines of STS-B pairs by human rating (SimCSE Figure G.1, DiffCSE Figure 2)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import load_sts
from replicse.evaluation import geometry
from replicse.evaluation.correlation import cosines
from replicse.evaluation.geometry import SPLITS
from replicse.evaluation.suites import Vectors
from replicse.registry.suites import QUANTILES, RATINGS

BINS = 100


def sentences(root: Path, splits: Sequence[str] = SPLITS, bins: int = BINS) -> Iterator[str]:
    """Yield the sentences of some splits of STS-B, whatever their cosines are binned by."""
    return geometry.sentences(root, splits)


def evaluate(
    root: Path, vectors: Vectors, splits: Sequence[str] = SPLITS, bins: int = BINS
) -> dict[str, Any]:
    """Return, for each group of ratings, n, mean, quantiles and the density over the bins that `edges` bound.

    Five groups of width 1 on the scale 0 to 5; a rating on a bound belongs to the higher group, 5 to the
    highest. The density of a group integrates to 1 over cosines -1 to 1. SimCSE does not name a split (all by
    default), DiffCSE uses `splits=("test",)`.
    """
    subsets = [subset for split in splits for subset in load_sts(root, "STS-B", split)]
    gold = np.concatenate([subset.gold for subset in subsets])
    similarities = np.concatenate([cosines(vectors(one.first), vectors(one.second)) for one in subsets])
    edges = np.linspace(-1, 1, bins + 1)
    groups = rating_groups(gold)
    result: dict[str, Any] = {"edges": edges.tolist()}
    failures: dict[str, str] = {}
    for number, name in enumerate(RATINGS):
        result[name], reason = describe(similarities[groups == number], edges)
        failures |= {f"{name}/{key}": reason for key in result[name] if reason and key != "n"}
    return {**result, "failures": failures} if failures else result


def rating_groups(gold: np.ndarray) -> np.ndarray:
    """Return the place in RATINGS of each rating."""
    return np.clip(np.floor(gold), 0, len(RATINGS) - 1).astype(np.int64)


def describe(similarities: np.ndarray, edges: np.ndarray) -> tuple[dict[str, Any], str]:
    """Return n, mean, quantiles and density of cosines, and why they are None where they are."""
    if not len(similarities) or not np.isfinite(similarities).all():
        reason = "a sentence vector is not finite" if len(similarities) else "no pair has such a rating"
        return {"n": len(similarities), **dict.fromkeys(("mean", *QUANTILES, "density"))}, reason
    # Rounding may lift a cosine just out of the histogram.
    density, _ = np.histogram(np.clip(similarities, -1, 1), bins=edges, density=True)
    return {
        "n": len(similarities),
        "mean": float(similarities.mean()),
        **{name: float(np.quantile(similarities, share)) for name, share in QUANTILES.items()},
        "density": density.tolist(),
    }, ""
