"""Retrieval against sorting loops, ties and repetitions included."""

import gzip

import numpy as np
import pytest
from small_stsb import RandomVectors, write_stsb

from replicse.evaluation import retrieval
from replicse.evaluation.neighbours import neighbours, unit_rows


def random_pairs(count, seed):
    """Pairs with repeated sentences, some of them scored 5.0."""
    generator = np.random.default_rng(seed)
    draw = iter(generator.integers(0, 3 * count // 2, 2 * count))
    scores = generator.choice([5.0, 4.9, 2.0], count)
    return [(score, f"s{next(draw)}", f"t{next(draw)}") for score in scores]


def slow_recall(pairs, vectors, cutoff, directions, distinct):
    """Sort the whole corpus for each query; ties in the order of the corpus."""
    texts = [pair[1] for pair in pairs] + [pair[2] for pair in pairs]
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


@pytest.mark.parametrize("seed", range(4))
def test_recalls_equal_a_sorting_loop(tmp_path, seed):
    pairs = random_pairs(40, seed)
    vectors = RandomVectors(3, seed)
    found = retrieval.evaluate(write_stsb(tmp_path, {"test": pairs}), vectors)
    for cutoff in (1, 5, 10):
        for name, directions in (
            ("forward", ["forward"]),
            ("backward", ["backward"]),
            ("both", ["forward", "backward"]),
        ):
            for distinct in (False, True):
                key = f"{name}-distinct" if distinct else name
                expected = slow_recall(pairs, vectors, cutoff, directions, distinct)
                assert found[key][f"recall@{cutoff}"] == pytest.approx(expected), (key, cutoff)


def test_a_copy_of_the_query_outranks_the_mate_unless_repetitions_are_dropped(tmp_path):
    pairs = [(5.0, "a", "b"), (1.0, "a", "c"), (1.0, "d", "e")]
    fixed = {"a": [1, 0, 0], "b": [1, 0.1, 0], "c": [0, 1, 0], "d": [0, 0, 1], "e": [0, 1, 1]}
    found = retrieval.evaluate(write_stsb(tmp_path, {"test": pairs}), RandomVectors(3, fixed=fixed))
    assert found["forward"] == {
        "recall@1": 0,
        "recall@5": 100,
        "recall@10": 100,
        "n_queries": 1,
        "n_corpus": 6,
    }
    assert found["backward"]["recall@1"] == 100
    assert found["both"]["recall@1"] == 50 and found["both"]["n_queries"] == 2
    assert found["forward-distinct"]["recall@1"] == 100 and found["forward-distinct"]["n_corpus"] == 5


def test_pairs_of_equal_texts_are_no_distinct_queries(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "a"), (1.0, "b", "c")]})
    found = retrieval.evaluate(root, RandomVectors(3))
    assert found["forward"]["recall@1"] == 100
    assert found["both-distinct"]["n_queries"] == 0 and found["both-distinct"]["recall@1"] is None
    assert found["failures"]["both-distinct/recall@1"] == "no queries"
    assert "both/recall@1" not in found["failures"]


def test_undefined_vectors_are_failures(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "b")]})
    found = retrieval.evaluate(root, RandomVectors(2, fixed={"b": [np.nan, 0]}))
    assert found["forward"]["recall@1"] is None
    assert found["failures"]["forward/recall@1"] == "a sentence vector is not finite"


def test_counts_on_the_real_test_set(real_data):
    """2,758 sentences, 2,551 distinct, 97 pairs scored 5.0: as DiffCSE section 6.2 counts."""
    found = retrieval.evaluate(real_data, RandomVectors(2))
    assert (found["forward"]["n_queries"], found["forward"]["n_corpus"]) == (97, 2758)
    assert (found["both-distinct"]["n_queries"], found["both-distinct"]["n_corpus"]) == (194, 2551)


@pytest.mark.parametrize("chunk", [1, 7, 50, 1000])
def test_neighbours_equal_a_sorting_loop(chunk):
    vectors = RandomVectors(3)
    corpus = [f"s{number % 60}" for number in range(90)]
    queries = ["s3", "elsewhere", "s59"]
    found = neighbours(vectors, queries, corpus, count=4, chunk=chunk)
    for query, some in zip(queries, found, strict=True):
        u = vectors.known[query].astype(np.float64)
        scored = []
        for text in dict.fromkeys(corpus):
            v = vectors.known[text].astype(np.float64)
            if text != query:
                scored.append((u @ v / np.sqrt((u @ u) * (v @ v)), text))
        expected = sorted(scored, key=lambda pair: -pair[0])[:4]
        assert [text for text, _ in some] == [text for _, text in expected]
        assert [cosine for _, cosine in some] == pytest.approx([cosine for cosine, _ in expected])


def test_equally_near_neighbours_come_in_the_order_of_the_corpus():
    vectors = RandomVectors(2, fixed={"q": [1, 0], "far": [0, 1], "x": [2, 1], "y": [2, 1], "z": [2, 1]})
    (found,) = neighbours(vectors, ["q"], ["far", "z", "x", "q", "y"], count=3, chunk=2)
    assert [text for text, _ in found] == ["z", "x", "y"]


def test_a_corpus_smaller_than_asked_for_gives_what_it_has():
    assert [len(some) for some in neighbours(RandomVectors(2), ["a", "b"], ["a", "c"], count=3)] == [1, 2]
    assert neighbours(RandomVectors(2), [], ["a"]) == []


def test_zero_vectors_have_cosine_zero():
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], [0.6, 0.8]]


def test_queries_find_captions_or_test_sentences(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "b")]})
    with gzip.open(root / "captions.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.write("1.jpg#0\tA dog.\n1.jpg#1\tA cat.\n2.jpg#0\tA dog.\n")
    options = {
        "queries": {"first": "a"},
        "corpus": {"format": "caption-lines", "file": "captions.tsv.gz"},
        "count": 5,
    }
    vectors = RandomVectors(2, fixed={"a": [1, 0], "A dog.": [1, 1], "A cat.": [2, 1]})
    found = retrieval.evaluate(root, vectors, **options)
    asked = found["neighbours"]["first"]
    assert asked["query"] == "a"
    assert [asked[rank]["sentence"] for rank in ("1", "2")] == ["A cat.", "A dog."]
    assert asked["2"]["cosine"] == pytest.approx(0.5**0.5)
    assert set(vectors.asked) == set(retrieval.sentences(root, **options))
    here = retrieval.evaluate(root, vectors, queries={"dog": "A dog."})["neighbours"]["dog"]
    assert {here[rank]["sentence"] for rank in ("1", "2")} == {"a", "b"}
    assert "neighbours" not in retrieval.evaluate(root, vectors)
