"""Miniatures of MTEB: the metric of each category on a few rows.

They do not use the `mteb` library. The metrics are defined by Muennighoff et al. (2023), section 3.2, and
computed like the main score of a task in the library; a test compares the two on the same rows.
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

ROWS = 80  # rows per dataset; all seven categories take seconds
CANDIDATES = 16  # documents per query of the reranking
SEED, DRAWS, OF_A_CLASS = (
    42,
    10,
    8,
)  # seed, samples and rows per class of the classification, as in the library
BATCH = 500  # batch size of the clustering


def miniature(root: Path, vectors: Vectors, category: str) -> float:
    """Compute the main score of a category's miniature.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        category: The category, such as "Clustering".

    Returns:
        The score, at most 1.

    Raises:
        MissingData: If the category has no miniature, or a file does not exist.
    """
    if category not in MEASURES:
        raise MissingData(
            f"{category} does not have a miniature dataset; run it at a scale with datasets of the hub"
        )
    return MEASURES[category](root, vectors)


def classification(root: Path, vectors: Vectors) -> float:
    """Compute the mean accuracy of logistic regressions with 8 rows per class.

    The mean is over ten samples of the training questions.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    from sklearn.linear_model import LogisticRegression

    splits = load_transfer(root, "TREC").splits
    rows, labels = vectors(splits["train"].first[:ROWS]), splits["train"].labels[:ROWS]
    questions, wanted = vectors(splits["test"].first[:ROWS]), splits["test"].labels[:ROWS]
    order, shares = np.arange(len(labels)), []
    for _ in range(DRAWS):
        # The seed is the same each time, but it shuffles the order of the previous sample.
        np.random.RandomState(SEED).shuffle(order)
        same = labels[order] == labels[order][:, None]
        drawn = order[np.tril(same).sum(1) <= OF_A_CLASS]
        model = LogisticRegression(max_iter=100, random_state=SEED).fit(rows[drawn], labels[drawn])
        shares.append(np.mean(model.predict(questions) == wanted))
    return float(np.mean(shares))


def clustering(root: Path, vectors: Vectors) -> float:
    """Compute the V-measure of k-means clusters of sentences of four datasets.

    The label of a sentence is the name of the dataset.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import v_measure_score

    names = ("MR", "CR", "SUBJ", "MPQA")
    texts: list[str] = []
    labels: list[str] = []
    for name in names:
        some = load_transfer(root, name).splits["all"].first[: ROWS // 4]
        texts += some
        labels += [name] * len(some)
    model = MiniBatchKMeans(len(names), batch_size=BATCH, n_init="auto", random_state=SEED)
    clusters = model.fit_predict(vectors(texts))
    return float(v_measure_score(labels, clusters))


def pair_classification(root: Path, vectors: Vectors) -> float:
    """Compute the average precision of paraphrases.

    The result is the maximum over four similarities of vectors.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    from sklearn.metrics import average_precision_score

    split = load_transfer(root, "MRPC").splits["test"]
    assert split.second is not None, "MRPC contains pairs"
    left, right = vectors(split.first[:ROWS]), vectors(split.second[:ROWS])
    similarities = (
        cosines(left, right),
        np.einsum("ij,ij->i", left, right),
        -np.linalg.norm(left - right, axis=1),
        -np.abs(left - right).sum(axis=1),
    )
    return max(float(average_precision_score(split.labels[:ROWS], scores)) for scores in similarities)


def sts(root: Path, vectors: Vectors) -> float:
    """Compute Spearman's correlation of cosines and gold scores of STS-B.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    (subset,) = load_sts(root, "STS-B", "test")
    found = cosines(vectors(subset.first[:ROWS]), vectors(subset.second[:ROWS]))
    return _mean([spearman(found, subset.gold[:ROWS])])


def summarization(root: Path, vectors: Vectors) -> float:
    """Compute the mean correlation of similarities and ratings over texts.

    The texts are premises; the summaries of a premise are an entailed, a neutral and a contradicting
    hypothesis, rated 5, 3 and 1.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    nli = read_corpus(
        root, {"format": "nli", "files": ["nli/nli.jsonl"], "neutral": "neutral", "limit": ROWS}
    )
    rows = vectors(nli["anchor"])
    ranked = np.stack([cosines(rows, vectors(nli[name])) for name in ("positive", "neutral", "negative")], 1)
    return _mean([spearman(scores, np.array([5, 3, 1])) for scores in ranked])


def reranking(root: Path, vectors: Vectors) -> float:
    """Compute the mean average precision of an image's captions.

    The candidates are the captions that follow the first relevant caption in the file.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    queries, documents, relevant = captions(root)
    steps = range(min(CANDIDATES, len(documents)))
    candidates = []
    for wanted in relevant:
        candidates.append([(wanted[0] + step) % len(documents) for step in steps])
    found = _hits(vectors, queries, documents, relevant, candidates)
    precisions = []
    for hits, wanted in zip(found, relevant, strict=True):
        precisions.append((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / len(wanted))
    return float(np.mean(precisions))


def retrieval(root: Path, vectors: Vectors) -> float:
    """Compute the nDCG at 10 of an image's other captions among all captions.

    The first caption is the query.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
    """
    queries, documents, relevant = captions(root)
    found = _hits(vectors, queries, documents, relevant, [range(len(documents))] * len(queries))
    gains = 1 / np.log2(np.arange(2, 12))
    shares = []
    for hits, wanted in zip(found, relevant, strict=True):
        shares.append((hits[:10] * gains[: len(hits)]).sum() / gains[: len(wanted)].sum())
    return float(np.mean(shares))


def captions(root: Path) -> tuple[list[str], list[str], list[list[int]]]:
    """Load captions as queries and documents.

    Args:
        root: The data root, a folder of datasets.

    Returns:
        A list of queries, a list of documents, and for each query a list of the indices of the relevant
        documents.
    """
    pairs = read_corpus(
        root, {"format": "captions", "file": "pairs/flickr30k/captions.tsv.gz", "limit": 10 * ROWS}
    )
    place = {text: number for number, text in enumerate(dict.fromkeys(pairs["positive"]))}
    wanted: dict[str, list[int]] = {}
    for query, document in zip(pairs["anchor"], pairs["positive"], strict=True):
        wanted.setdefault(query, []).append(place[document])
    queries = [text for text in wanted if text not in place][:ROWS]
    relevant = [list(dict.fromkeys(wanted[text])) for text in queries]
    return queries, list(place), relevant


def _hits(
    vectors: Vectors,
    queries: Sequence[str],
    documents: Sequence[str],
    relevant: Sequence[Sequence[int]],
    candidates: Iterable[Sequence[int]],
) -> list[np.ndarray]:
    """Return which candidates of each query are relevant, nearest first."""
    rows = cosine_matrix(unit_rows(vectors(queries)), unit_rows(vectors(documents)))
    hits = []
    for row, wanted, places in zip(rows, relevant, map(list, candidates), strict=True):
        order = np.argsort(-row[places], kind="stable")
        hits.append(np.isin(np.array(places)[order], wanted))
    return hits


def _mean(correlations: Iterable[float | None]) -> float:
    """Return the mean of the defined correlations, NaN if there are none."""
    defined = [correlation for correlation in correlations if correlation is not None]
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
