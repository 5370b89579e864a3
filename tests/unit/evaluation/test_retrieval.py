"""Nearest neighbours, compared with sorting loops and including ties."""

import gzip

import numpy as np
import pytest
from cases import cases
from small_stsb import RandomVectors, write_stsb

from replicse.errors import BadInput
from replicse.evaluation import neighbours as nearest
from replicse.evaluation import retrieval
from replicse.evaluation.neighbours import neighbours
from replicse.evaluation.suites import suite


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_neighbours_equal_a_sorting_loop(chunk, monkeypatch):
    monkeypatch.setattr(nearest, "CHUNK", chunk)
    vectors = RandomVectors(3)
    corpus = [f"s{number % 60}" for number in range(90)]
    queries = ["s3", "elsewhere", "s59"]
    found = neighbours(vectors, queries, corpus, count=4)
    for query, some in zip(queries, found, strict=True):
        u = vectors.known[query].astype(np.float64)
        scored = []
        for text in dict.fromkeys(corpus):
            v = vectors.known[text].astype(np.float64)
            if text != query:
                scored.append((u @ v / np.sqrt((u @ u) * (v @ v)), text))
        expected = sorted(scored, key=lambda pair: -pair[0])[:4]
        for (text, cosine), (expected_cosine, expected_text) in zip(some, expected, strict=True):
            assert text == expected_text and cosine == pytest.approx(expected_cosine)


def test_queries_find_captions_or_test_sentences(tmp_path):
    root = write_stsb(tmp_path, {"test": [(5.0, "a", "b")]})
    with gzip.open(root / "captions.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.write("1.jpg#0\tA dog.\n1.jpg#1\tA cat.\n2.jpg#0\tA dog.\n")
    captions = {"format": "caption-lines", "file": "captions.tsv.gz"}
    vectors = RandomVectors(2, fixed={"a": [1, 0], "A dog.": [1, 1], "A cat.": [2, 1]})
    found = retrieval.evaluate(root, vectors, queries={"first": "a"}, corpus=captions, count=5)
    asked = found["neighbours"]["first"]
    assert asked["query"] == "a"
    assert (asked["1"]["sentence"], asked["2"]["sentence"]) == ("A cat.", "A dog.")
    assert asked["2"]["cosine"] == pytest.approx(0.5**0.5)
    assert set(vectors.asked) == set(retrieval.sentences(root, {"first": "a"}, captions))
    module, options = suite("retrieval-stsb", {"queries": {"dog": "A dog."}})
    assert module is retrieval
    here = retrieval.evaluate(root, vectors, **options)["neighbours"]["dog"]
    assert {here["1"]["sentence"], here["2"]["sentence"]} == {"a", "b"}


@cases
def test_options_that_are_missing_or_unknown_are_named(name, options, problem):
    with pytest.raises(BadInput, match=problem):
        suite(name, options)
