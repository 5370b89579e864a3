"""Accuracy of nearest neighbours, compared with a slow vote."""

import numpy as np
import pytest
from papers.cropping import knn
from papers.cropping.method import ClassifiedTexts
from sklearn.model_selection import train_test_split
from small_stsb import RandomVectors

from replicse.errors import BadInput

GROUPS = {"a.x": (4.0, 0.0), "a.y": (0.0, 4.0), "b": (-4.0, -4.0)}


@pytest.fixture
def texts(tmp_path):
    """Write 120 texts around three centres.

    Returns:
        Dict from a text to a vector, and a list of class names.
    """
    random = np.random.default_rng(0)
    names = [list(GROUPS)[place] for place in random.integers(0, 3, 120)]
    vectors = {f"t{row}": random.normal(GROUPS[name], 3.0) for row, name in enumerate(names)}
    table = "".join(f"t{row},{name}\n" for row, name in enumerate(names))
    (tmp_path / "texts.csv").write_text(f"text,field\n{table}", encoding="utf-8")
    return vectors, names


def of_table(**more):
    corpus = {"format": "documents", "file": "texts.csv", "text": "text", "label": "field"}
    return {"set": ClassifiedTexts.of({"corpus": corpus, **more}, "set")}


def slow_accuracy(rows, classes, cosine):
    """Return the accuracy if ten neighbours vote.

    Distances are computed pair by pair in float64.

    Args:
        rows: Array of shape (texts, dimensions).
        classes: List of class names.
        cosine: Whether to use cosine distances instead of Euclidean distances.
    """
    learned, asked, known, wanted = train_test_split(rows, classes, test_size=0.1, random_state=42)
    right = 0
    for row, name in zip(asked, wanted, strict=True):
        distances = []
        for other in learned:
            size = np.sqrt(row @ row) * np.sqrt(other @ other)
            distances.append(1 - row @ other / size if cosine else np.sqrt(((row - other) ** 2).sum()))
        nearest = [known[place] for place in np.argsort(distances)[:10]]
        # If classes are tied, the first class by name wins.
        right += name == max(sorted(set(nearest)), key=nearest.count)
    return right / len(wanted)


def test_accuracy_is_that_of_a_slow_vote(tmp_path, texts):
    vectors, names = texts
    found = knn.evaluate(tmp_path, RandomVectors(2, fixed=vectors), of_table())
    rows = np.array(list(vectors.values()))
    for distance in ("euclidean", "cosine"):
        expected = 100 * slow_accuracy(rows, names, distance == "cosine")
        assert found["set"][distance] == pytest.approx(expected)
    assert found["set"]["n"] == 120 and found["failures"] == {}
    assert list(knn.sentences(tmp_path, of_table())) == list(vectors)


def test_classes_are_dropped_and_cut_at_a_mark(tmp_path, texts):
    _, names = texts
    (one,) = of_table(until=".", drop=["b"]).values()
    kept, classes = knn.load_classified(tmp_path, one)
    assert set(classes) == {"a"} and len(kept) == sum(name != "b" for name in names)


def test_what_cannot_be_scored_says_why(tmp_path, texts):
    vectors, _ = texts
    broken = RandomVectors(2, fixed={**vectors, "t0": (np.nan, 0.0)})
    found = knn.evaluate(tmp_path, broken, of_table())
    assert found["set"]["euclidean"] is None
    assert found["failures"]["set/cosine"] == "a sentence vector is not finite"
    (tmp_path / "texts.csv").write_text("text,field\n" + "t0,b\n" * 9, encoding="utf-8")
    with pytest.raises(BadInput, match="9 texts are too few for 10 neighbours"):
        knn.evaluate(tmp_path, RandomVectors(2, fixed=vectors), of_table())
    with pytest.raises(BadInput, match="a corpus with the columns text and class, not text"):
        ClassifiedTexts.of({"corpus": {"format": "lines", "file": "a.txt"}}, "set")
