"""The distribution of cosines of STS-B pairs by human rating.

SimCSE Figure G.1, DiffCSE Figure 2.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.evaluation import geometry
from replicse.evaluation.correlation import cosines
from replicse.evaluation.geometry import SPLITS, load_splits
from replicse.evaluation.suites import Vectors
from replicse.registry.suites import QUANTILES, RATINGS

BINS = 100


def sentences(root: Path, splits: Sequence[str] = SPLITS, bins: int = BINS) -> Iterator[str]:
    """Yield the sentences that `evaluate` encodes with these options.

    Args:
        root: The data root, a folder of datasets.
        splits: The splits of STS-B. Default: all.
        bins: Not used.
    """
    return geometry.sentences(root, splits)


def evaluate(
    root: Path, vectors: Vectors, splits: Sequence[str] = SPLITS, bins: int = BINS
) -> dict[str, Any]:
    """Compute n, mean, quantiles and density of cosines by group of ratings.

    The five groups have width 1 on the scale from 0 to 5. A rating on a bound belongs to the higher group,
    and 5 to the highest.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        splits: The splits of STS-B. Default: all, because SimCSE does not mention a split. DiffCSE uses
            `("test",)`.
        bins: The number of bins of the density over cosines from -1 to 1. Default: 100.

    Returns:
        A dict with `edges`, the list of the bounds of the bins, and a dict for each group. The density of a
        group integrates to 1.
    """
    subsets = load_splits(root, splits)
    gold = np.concatenate([subset.gold for subset in subsets])
    similarities = np.concatenate(
        [cosines(vectors(subset.first), vectors(subset.second)) for subset in subsets]
    )
    edges = np.linspace(-1, 1, bins + 1)
    groups = rating_groups(gold)
    result: dict[str, Any] = {"edges": edges.tolist()}
    failures: dict[str, str] = {}
    for number, name in enumerate(RATINGS):
        result[name], reason = describe(similarities[groups == number], edges)
        if reason:
            failures |= {f"{name}/{key}": reason for key in result[name] if key != "n"}
    return {**result, "failures": failures} if failures else result


def rating_groups(gold: np.ndarray) -> np.ndarray:
    """Return the index in RATINGS of each rating.

    Args:
        gold: Ratings from 0 to 5, (n,).

    Returns:
        Int64 array of shape (n,).
    """
    return np.clip(np.floor(gold), 0, len(RATINGS) - 1).astype(np.int64)


def describe(similarities: np.ndarray, edges: np.ndarray) -> tuple[dict[str, Any], str]:
    """Describe the distribution of cosines.

    Args:
        similarities: The cosines, (n,).
        edges: The bounds of the bins, (bins + 1,).

    Returns:
        A dict with n, mean, quantiles and density, and the reason why they are None. The reason is an empty
        string if they are numbers.
    """
    if not len(similarities) or not np.isfinite(similarities).all():
        reason = (
            "a sentence vector is not finite"
            if len(similarities)
            else "the dataset does not contain pairs with such a rating"
        )
        return {"n": len(similarities), **dict.fromkeys(("mean", *QUANTILES, "density"))}, reason
    # A rounding error can move a cosine out of the histogram.
    density, _ = np.histogram(np.clip(similarities, -1, 1), bins=edges, density=True)
    return {
        "n": len(similarities),
        "mean": float(similarities.mean()),
        **{name: float(np.quantile(similarities, share)) for name, share in QUANTILES.items()},
        "density": density.tolist(),
    }, ""
