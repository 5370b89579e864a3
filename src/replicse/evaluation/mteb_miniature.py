"""Miniatures of MTEB: the measure of each category over a few rows of the embedded world, without the library.

The measures are those of Muennighoff et al. (2023), section 3.2, computed as the library `mteb` computes the main score
of a task of the category: a test compares the two on the same rows.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.data.transfer import load_transfer
from replicse.errors import MissingData
from replicse.evaluation.correlation import cosines, spearman
from replicse.evaluation.neighbours import cosine_matrix, unit_rows
from replicse.evaluation.suites import Vectors

ROWS = 80  # of each set: seconds for all seven
CANDIDATES = 16  # that a reranking orders
SEED, DRAWS, OF_A_CLASS = 42, 10, 8  # of a classification, as in the library
BATCH = 500  # of a clustering


def miniature(root: Path, vectors: Vectors, category: str) -> float:
    """Return the main score of a category's miniature, at most 1.

    MissingData where there is none, or a file that it is made of is absent.
    """
    if category not in MEASURES:
        raise MissingData(f"no miniature replaces {category}; run it at a scale with the data of the hub")
    return MEASURES[category](root, vectors)


def classification(root: Path, vectors: Vectors) -> float:
    """Return the accuracy of a logistic regression on 8 questions of a class, the mean of ten draws."""
    from sklearn.linear_model import LogisticRegression

    splits = load_transfer(root, "TREC").splits
    (rows, labels), (asked, wanted) = (
        (vectors(splits[name].first[:ROWS]), splits[name].labels[:ROWS]) for name in ("train", "test")
    )
    order, shares = np.arange(len(labels)), []
    for _ in range(DRAWS):
        # The same seed each time, but what it shuffles is the order of the draw before.
        np.random.RandomState(SEED).shuffle(order)
        same = labels[order] == labels[order][:, None]
        drawn = order[np.tril(same).sum(1) <= OF_A_CLASS]
        model = LogisticRegression(max_iter=100, random_state=SEED).fit(rows[drawn], labels[drawn])
        shares.append(np.mean(model.predict(asked) == wanted))
    return float(np.mean(shares))


def clustering(root: Path, vectors: Vectors) -> float:
    """Return the V-measure of sentences of four data sets, clustered by k-means, with where they come from."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import v_measure_score

    sources = {
        name: load_transfer(root, name).splits["all"].first[: ROWS // 4]
        for name in ("MR", "CR", "SUBJ", "MPQA")
    }
    labels = [name for name, texts in sources.items() for _ in texts]
    model = MiniBatchKMeans(len(sources), batch_size=BATCH, n_init="auto", random_state=SEED)
    clusters = model.fit_predict(vectors([text for texts in sources.values() for text in texts]))
    return float(v_measure_score(labels, clusters))


def pair_classification(root: Path, vectors: Vectors) -> float:
    """Return the average precision of paraphrases, the largest over four similarities."""
    from sklearn.metrics import average_precision_score

    split = load_transfer(root, "MRPC").splits["test"]
    assert split.second is not None, "MRPC holds pairs"
    left, right = vectors(split.first[:ROWS]), vectors(split.second[:ROWS])
    similarities = (
        cosines(left, right),
        np.einsum("ij,ij->i", left, right),
        -np.linalg.norm(left - right, axis=1),
        -np.abs(left - right).sum(axis=1),
    )
    return max(float(average_precision_score(split.labels[:ROWS], each)) for each in similarities)


def sts(root: Path, vectors: Vectors) -> float:
    """Return Spearman's correlation of cosines with the scores of STS-B."""
    (subset,) = load_sts(root, "STS-B", "test")
    found = cosines(vectors(subset.first[:ROWS]), vectors(subset.second[:ROWS]))
    return _mean([spearman(found, subset.gold[:ROWS])])


def summarization(root: Path, vectors: Vectors) -> float:
    """Return the mean correlation over texts: a premise has an entailed hypothesis, another one and a contradiction.

    They are its summaries, rated 5, 3 and 1.
    """
    nli = read_corpus(
        root, {"format": "nli", "files": ["nli/nli.jsonl"], "neutral": "neutral", "limit": ROWS}
    )
    rows = vectors(nli["anchor"])
    ranked = np.stack([cosines(rows, vectors(nli[name])) for name in ("positive", "neutral", "negative")], 1)
    return _mean([spearman(each, np.array([5, 3, 1])) for each in ranked])


def reranking(root: Path, vectors: Vectors) -> float:
    """Return the mean average precision of the captions of an image among those that follow in the file."""
    queries, documents, relevant = captions(root)
    ranks = [
        [(wanted[0] + step) % len(documents) for step in range(min(CANDIDATES, len(documents)))]
        for wanted in relevant
    ]
    found = _hits(vectors, queries, documents, relevant, ranks)
    precisions = [
        (hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / len(wanted)
        for hits, wanted in zip(found, relevant, strict=True)
    ]
    return float(np.mean(precisions))


def retrieval(root: Path, vectors: Vectors) -> float:
    """Return the nDCG at 10 of the other captions of an image among all: the first one is the query."""
    queries, documents, relevant = captions(root)
    found = _hits(vectors, queries, documents, relevant, [range(len(documents))] * len(queries))
    gains = 1 / np.log2(np.arange(2, 12))
    shares = [
        (hits[:10] * gains[: len(hits)]).sum() / gains[: len(wanted)].sum()
        for hits, wanted in zip(found, relevant, strict=True)
    ]
    return float(np.mean(shares))


def captions(root: Path) -> tuple[list[str], list[str], list[list[int]]]:
    """Return queries, documents, and of each query the places of its documents."""
    pairs = read_corpus(
        root, {"format": "captions", "file": "pairs/flickr30k/captions.tsv.gz", "limit": 10 * ROWS}
    )
    place = {text: number for number, text in enumerate(dict.fromkeys(pairs["positive"]))}
    wanted: dict[str, list[int]] = {}
    for query, document in zip(pairs["anchor"], pairs["positive"], strict=True):
        wanted.setdefault(query, []).append(place[document])
    queries = [text for text in wanted if text not in place][:ROWS]
    return queries, list(place), [list(dict.fromkeys(wanted[text])) for text in queries]


def _hits(
    vectors: Vectors,
    queries: Sequence[str],
    documents: Sequence[str],
    relevant: Sequence[Sequence[int]],
    candidates: Iterable[Sequence[int]],
) -> list[np.ndarray]:
    """Return of each query whether its candidates, nearest first, are relevant."""
    rows = cosine_matrix(unit_rows(vectors(queries)), unit_rows(vectors(documents)))
    return [
        np.isin(np.array(places)[np.argsort(-row[places], kind="stable")], wanted)
        for row, wanted, places in zip(rows, relevant, map(list, candidates), strict=True)
    ]


def _mean(correlations: Iterable[float | None]) -> float:
    """Return the mean of those that are defined, nan where none is."""
    defined = [each for each in correlations if each is not None]
    return float(np.mean(defined)) if defined else float("nan")


MEASURES = {
    "Classification": classification,
    "Clustering": clustering,
    "PairClassification": pair_classification,
    "Reranking": reranking,
    "Retrieval": retrieval,
    "STS": sts,
    "Summarization": summarization,
}
