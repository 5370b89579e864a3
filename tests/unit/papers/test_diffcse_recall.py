"""Recall of paraphrases, compared with a sorting loop, including ties."""

import numpy as np
import pytest
from papers.diffcse import recall
from small_stsb import RandomVectors, write_stsb


def random_pairs(count, seed):
    """Return pairs with repeated sentences; some pairs have score 5.0."""
    generator = np.random.default_rng(seed)
    draw = iter(generator.integers(0, 3 * count // 2, 2 * count))
    scores = generator.choice([5.0, 4.9, 2.0], count)
    return [(score, f"s{next(draw)}", f"t{next(draw)}") for score in scores]


def slow_recall(pairs, vectors, cutoff, directions, distinct):
    """Compute recall by sorting the whole corpus for each query.

    If distances are tied, the order of the corpus is used.

    Args:
        pairs: List of (score, first, second).
        vectors: `RandomVectors`, which contains the vector of each sentence.
        cutoff: Number of retrieved sentences.
        directions: List of "forward" and "backward".
        distinct: Whether duplicates are removed.
    """
    _, first, second = zip(*pairs, strict=True)
    texts = [*first, *second]
    if distinct:
        texts = list(dict.fromkeys(texts))
    hits = []
    for direction in directions:
        for number, (score, *sides) in enumerate(pairs):
            if score != 5.0 or (distinct and sides[0] == sides[1]):
                continue
            asked, mate = sides if direction == "forward" else sides[::-1]
            places = (
                [number, number + len(pairs)] if direction == "forward" else [number + len(pairs), number]
            )
            if distinct:
                places = [texts.index(asked), texts.index(mate)]
            query = vectors.known[asked].astype(np.float64)
            cosines = []
            for place, text in enumerate(texts):
                other = vectors.known[text].astype(np.float64)
                cosine = query @ other / np.sqrt((query @ query) * (other @ other))
                if place != places[0]:
                    cosines.append((-round(cosine, 9), place))
            ranking = [place for _, place in sorted(cosines)]
            hits.append(ranking.index(places[1]) < cutoff)
    return 100 * np.mean(hits)


@pytest.mark.parametrize("seed", range(2))
def test_recalls_equal_a_sorting_loop(tmp_path, seed):
    pairs = random_pairs(40, seed)
    vectors = RandomVectors(3, seed)
    root = write_stsb(tmp_path, {"test": pairs})
    found = recall.evaluate(root, vectors)
    assert set(vectors.asked) == set(recall.sentences(root))
    both, asked = ["forward", "backward"], sum(score == 5.0 for score, *_ in pairs)
    assert (found["all"]["forward"]["n"], found["all"]["both"]["n"]) == (asked, 2 * asked)
    assert (
        found["all"]["both"]["corpus"] == 80 > found["distinct"]["both"]["corpus"] == len(set(vectors.asked))
    )
    for cutoff in (1, 5, 10):
        for name, directions in (("forward", both[:1]), ("backward", both[1:]), ("both", both)):
            for distinct, corpus in ((False, "all"), (True, "distinct")):
                expected = slow_recall(pairs, vectors, cutoff, directions, distinct)
                assert found[corpus][name][f"at{cutoff}"] == pytest.approx(expected), (corpus, name, cutoff)


def test_pairs_of_equal_texts_are_no_distinct_queries(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "a"), (1.0, "b", "c")]})
    found = recall.evaluate(root, RandomVectors(3))
    assert found["all"]["forward"]["at1"] == 100
    assert found["distinct"]["both"]["n"] == 0 and found["distinct"]["both"]["at1"] is None
    assert found["failures"]["distinct/both/at1"] == "the dataset does not contain queries"
    assert "all/both/at1" not in found["failures"]
    broken = recall.evaluate(root, RandomVectors(2, fixed={"b": [np.nan, 0]}))
    assert broken["failures"]["all/forward/at1"] == "a sentence vector is not finite"
