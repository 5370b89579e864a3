"""The generated datasets: reproducible bytes, official layouts and ratings."""

import gzip
import hashlib
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from cases import cases
from scipy.stats import spearmanr

from replicse.data.corpora import read_corpus
from replicse.data.sts import STS_SUBSETS
from replicse.world import grammar as world_grammar
from replicse.world import world


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    return root, world.write_world(root, seed=0)


@pytest.fixture(scope="module")
def root(made) -> Path:
    return made[0]


def lines(root: Path, relative: str) -> list[str]:
    data = (root / relative).read_bytes()
    text = gzip.decompress(data) if relative.endswith(".gz") else data
    return text.decode("latin-1" if "TREC" in relative else "utf-8").splitlines()


def cells_of(root: Path, name: str) -> list[list[str]]:
    return [line.split("\t") for line in lines(root, name)]


def benchmark(root: Path, split: str) -> tuple[list[str], list[str], np.ndarray]:
    rows = cells_of(root, f"SentEval/downstream/STS/STSBenchmark/sts-{split}.csv")
    assert set(map(len, rows)) == {7}
    *_, gold, first, second = zip(*rows, strict=True)
    return list(first), list(second), np.array(gold, dtype=float)


def common_words(first: str, second: str) -> float:
    a, b = Counter(first.split()), Counter(second.split())
    dot = sum(a[word] * b[word] for word in a)
    return dot / np.linalg.norm(list(a.values())) / np.linalg.norm(list(b.values()))


# Reproducibility and the record


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    first = world.write_world(tmp_path / "first", seed=0, sentences=300)
    again = world.write_world(tmp_path / "again", seed=0, sentences=300)
    assert again == first and 300 <= first["wiki/wiki.txt"]["rows"] < 312
    for relative, entry in first.items():
        data = (tmp_path / "first" / relative).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"]
        assert (tmp_path / "again" / relative).read_bytes() == data
    other = world.write_world(tmp_path / "other", seed=1, sentences=300)
    assert all(other[name] != entry for name, entry in first.items())


def test_record_names_every_file_and_counts_its_rows(made):
    root, files = made
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == set(files)
    assert abs(files["wiki/wiki.txt"]["rows"] - 6000) < 12
    assert files["nli/nli_triples.csv"]["rows"] == 3000
    assert files["pairs/flickr30k/captions.tsv.gz"]["rows"] == 1000


# Vocabulary and grammar


def test_every_wording_of_an_event_names_its_key_concepts_and_its_negation():
    random = Random(3)
    for number in range(50):
        event = world_grammar.replace(world_grammar.random_event(random), negated=number % 2 == 1)
        wording = world_grammar.word(event, random)
        for style in ("story", "caption", "headline"):
            for order in ("active", "passive", "fronted"):
                words = world_grammar.tell(event, wording, random, style, order)
                assert words.count("not") == event.negated
                keys = (
                    wording[event.agent],
                    wording[event.action].rstrip("ey"),
                    wording[event.thing].rstrip("y"),
                )
                for key in keys:
                    assert key in " ".join(words)


def test_similarity_orders_the_kinds_of_change():
    random = Random(5)
    for _ in range(100):
        event = world_grammar.random_event(random)
        same = world_grammar.similarity(event, event)
        one = world_grammar.similarity(event, world_grammar.change_key(event, random))
        two = world_grammar.similarity(event, world_grammar.change_key(event, random, 2))
        denied = world_grammar.similarity(event, world_grammar.replace(event, negated=True))
        elsewhere = world_grammar.random_event(random)
        assert same == 1.0 and same > one > two and denied < same
        if elsewhere.topic != event.topic:
            assert world_grammar.similarity(event, elsewhere) < two
        detail = world_grammar.similarity(event, world_grammar.change_detail(event, random))
        assert one < detail < same


# Ratings


def test_concept_vectors_do_better_than_common_words(root):
    vectors = {}
    for line in lines(root, "vectors/glove.txt"):
        word, *numbers = line.split(" ")
        vectors[word] = np.array(numbers, dtype=float)
    assert set(map(len, vectors.values())) == {50}
    first, second, gold = benchmark(root, "dev")

    def vector(sentence: str) -> np.ndarray:
        total = np.sum([vectors[word] for word in sentence.split()], axis=0)
        return total / np.linalg.norm(total)

    cosines = [float(vector(a) @ vector(b)) for a, b in zip(first, second, strict=True)]
    words = [common_words(a, b) for a, b in zip(first, second, strict=True)]
    assert spearmanr(words, gold)[0] + 0.2 < spearmanr(cosines, gold)[0] < 0.85


# Layouts


def test_sts_subsets_pair_inputs_and_scores(root):
    for task, subsets in STS_SUBSETS.items():
        for subset in subsets:
            folder = f"SentEval/downstream/STS/{task}-en-test"
            pairs = cells_of(root, f"{folder}/STS.input.{subset}.txt")
            gold = lines(root, f"{folder}/STS.gs.{subset}.txt")
            assert len(pairs) == len(gold) and 40 <= len(pairs) <= 65 and set(map(len, pairs)) == {2}
            for pair in pairs:
                for side in pair:
                    assert side == side.lower() and side.endswith(" .")
            assert (gold.count("") > 5) == (task in ("STS15", "STS16"))
            assert sum(float(score) > 4 for score in gold if score) >= 5


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_question_of_the_course_tells_by_itself_whether_it_has_a_duplicate(root, split):
    """A question alone should show whether it has a duplicate.

    The head adds a score of each vector. If openings were equal, it could only learn the majority class.
    """
    rows = cells_of(root, f"minbert/quora-{split}.csv")[1:]
    openings, duplicates = {"0": set(), "1": set()}, 0
    for *_, one, other, label in rows:
        openings[label] |= {tuple(one.split()[:2]), tuple(other.split()[:2])}
        duplicates += label == "1"
    assert not openings["0"] & openings["1"]
    assert duplicates == len(rows) // 2


# Loading with the corpus readers


@cases
def test_the_corpus_readers_accept_the_world(root, spec, columns, least, most):
    found = read_corpus(root, spec)
    assert list(found) == columns and least <= len(found["anchor" if len(columns) > 1 else "text"]) <= most
