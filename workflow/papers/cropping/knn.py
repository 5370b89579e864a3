"""Accuracy of a k-nearest-neighbour classifier on sentence vectors as they are (Gonzalez-Marquez et al. 2026).

Classifier and split are those of scikit-learn with the settings of their code: ten neighbours with equal votes, a tenth
of the texts as the test set, drawn with seed 42.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.corpora import read_corpus
from replicse.errors import BadInput
from replicse.evaluation.suites import Vectors, focused

from .method import DISTANCES, ClassifiedTexts

NEIGHBOURS, TEST_SHARE, SEED = 10, 0.1, 42

Sets = Mapping[str, ClassifiedTexts]


def sentences(root: Path, sets: Sets) -> Iterator[str]:
    """Yield every text of the sets."""
    for one in sets.values():
        yield from classified(root, one)[0]


def evaluate(root: Path, vectors: Vectors, sets: Sets) -> dict[str, Any]:
    """Return by set the accuracies (x 100) by distance and the texts `n`, test texts included.

    An accuracy is None where vectors are not finite, with its reason under `failures`. Post-processing that is fitted
    on its target is so on each set by itself. Raises BadInput for a set of too few texts.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name, one in sets.items():
        texts, classes = classified(root, one)
        if (1 - TEST_SHARE) * len(texts) < NEIGHBOURS + 1:
            raise BadInput(
                f"knn/{name}: {len(texts)} texts are too few for {NEIGHBOURS} neighbours; add some"
            )
        rows = focused(vectors, texts)(texts)
        scores[name] = {"n": len(texts), **dict.fromkeys(DISTANCES)}
        if np.isfinite(rows).all():
            scores[name] |= {distance: 100 * accuracy(rows, classes, distance) for distance in DISTANCES}
        else:
            reason = "a sentence vector is not finite"
            failures |= {f"{name}/{distance}": reason for distance in DISTANCES}
    return {**scores, "failures": failures}


def classified(root: Path, one: ClassifiedTexts) -> tuple[list[str], list[str]]:
    """Return the texts of a set and their classes."""
    columns = read_corpus(root, one.corpus)
    kept = [pair for pair in zip(columns["text"], columns["class"], strict=True) if pair[1] not in one.drop]
    return [text for text, _ in kept], [name.split(one.until)[0] if one.until else name for _, name in kept]


def accuracy(rows: np.ndarray, classes: list[str], distance: str) -> float:
    """Return the share of test rows whose class most of their neighbours among the other rows have, in [0, 1]."""
    from sklearn.model_selection import train_test_split  # a second that no other suite needs
    from sklearn.neighbors import KNeighborsClassifier

    learned, asked, known, wanted = train_test_split(rows, classes, test_size=TEST_SHARE, random_state=SEED)
    classifier = KNeighborsClassifier(NEIGHBOURS, algorithm="brute", metric=distance).fit(learned, known)
    return float(classifier.score(asked, wanted))
