"""Accuracy of a k-nearest-neighbour classifier on sentence vectors.

This is the evaluation of Gonzalez-Marquez et al. (2026). The classifier and the split are from scikit-learn, with the
settings of the authors' code: ten neighbours with equal votes, and a random tenth of the texts as the test set with
seed 42.
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
    """Yield all texts of the datasets.

    Args:
        root: The data root, a folder of datasets.
        sets: A dict from names to texts with classes.
    """
    for texts in sets.values():
        yield from load_classified(root, texts)[0]


def evaluate(root: Path, vectors: Vectors, sets: Sets) -> dict[str, Any]:
    """Compute the accuracies of each dataset.

    If post-processing depends on the task, it is fitted on each dataset separately.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        sets: A dict from names to texts with classes.

    Returns:
        A dict from names to dicts with the accuracies (x 100) `euclidean` and `cosine`, and `n`, the number of training
        and test texts. If vectors are not finite, accuracies are None, with the reason in `failures`.

    Raises:
        BadInput: If a set has too few texts.
    """
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name, classified_texts in sets.items():
        texts, classes = load_classified(root, classified_texts)
        if (1 - TEST_SHARE) * len(texts) < NEIGHBOURS + 1:
            raise BadInput(
                f"knn/{name}: {len(texts)} texts are too few for {NEIGHBOURS} neighbours; add texts"
            )
        rows = focused(vectors, texts)(texts)
        scores[name] = {"n": len(texts), **dict.fromkeys(DISTANCES)}
        if np.isfinite(rows).all():
            scores[name] |= {distance: 100 * accuracy(rows, classes, distance) for distance in DISTANCES}
        else:
            reason = "a sentence vector is not finite"
            failures |= {f"{name}/{distance}": reason for distance in DISTANCES}
    return {**scores, "failures": failures}


def load_classified(root: Path, settings: ClassifiedTexts) -> tuple[list[str], list[str]]:
    """Load the texts of a dataset and their classes.

    Args:
        root: The data root, a folder of datasets.
        settings: The corpus, the classes to skip, and the string at which names of classes are cut.

    Returns:
        Two lists of equal length.
    """
    columns = read_corpus(root, settings.corpus)
    texts, classes = [], []
    for text, name in zip(columns["text"], columns["class"], strict=True):
        if name not in settings.drop:
            texts.append(text)
            classes.append(name.split(settings.until)[0] if settings.until else name)
    return texts, classes


def accuracy(rows: np.ndarray, classes: list[str], distance: str) -> float:
    """Compute the accuracy of the classifier on the test rows, in [0, 1].

    Args:
        rows: The vectors, (n, width).
        classes: The class of each vector.
        distance: "euclidean" or "cosine".
    """
    from sklearn.model_selection import train_test_split  # a slow import
    from sklearn.neighbors import KNeighborsClassifier

    train_rows, test_rows, train_classes, test_classes = train_test_split(
        rows, classes, test_size=TEST_SHARE, random_state=SEED
    )
    classifier = KNeighborsClassifier(NEIGHBOURS, algorithm="brute", metric=distance)
    classifier.fit(train_rows, train_classes)
    return float(classifier.score(test_rows, test_classes))
