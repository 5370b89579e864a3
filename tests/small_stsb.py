"""A small STS-B dataset in the SentEval layout, and random vectors."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

Pair = tuple[float, str, str]  # score, first, second


def write_stsb(root: Path, splits: Mapping[str, Sequence[Pair]]) -> Path:
    """Write a small STS-B dataset.

    Args:
        root: Folder of datasets to create.
        splits: Dict from a split, such as "dev", to a list of (score, first, second).

    Returns:
        The data root.
    """
    folder = root / "SentEval" / "downstream" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split, pairs in splits.items():
        rows = [
            f"genre\tfile\tyear\t{number}\t{score}\t{first}\t{second}\n"
            for number, (score, first, second) in enumerate(pairs)
        ]
        (folder / f"sts-{split}.csv").write_text("".join(rows), encoding="utf-8")
    return root


class RandomVectors:
    """An encoder with a random normal vector for each sentence.

    Args:
        dimensions: Size of the vectors.
        seed: Seed of the random generator. Default: 0.
        fixed: Dict from sentences to vectors, used instead of random vectors. Default: empty.
    """

    def __init__(self, dimensions: int, seed: int = 0, fixed: Mapping[str, Sequence[float]] | None = None):
        self.dimensions, self.generator = dimensions, np.random.default_rng(seed)
        self.known = {text: np.array(vector, dtype=np.float32) for text, vector in (fixed or {}).items()}
        self.asked: list[str] = []

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        self.asked += sentences
        for sentence in sentences:
            if sentence not in self.known:
                self.known[sentence] = self.generator.normal(size=self.dimensions).astype(np.float32)
        return np.array([self.known[sentence] for sentence in sentences], dtype=np.float32)

    def prepare(self, sentences: Sequence[str]) -> None:
        """Do nothing, because vectors are computed when they are needed."""
