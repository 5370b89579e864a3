"""The embedded micro-world: same seed same bytes, official layouts, ratings that mean something."""

import csv
import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.stats import spearmanr

from replicse.augment.synonyms import read_ppdb
from replicse.data import sts, transfer
from replicse.data.corpora import read_corpus
from replicse.world import grammar as world_grammar
from replicse.world import words as world_words
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


def benchmark(root: Path, split: str) -> tuple[list[str], list[str], np.ndarray]:
    rows = [line.split("\t") for line in lines(root, f"SentEval/downstream/STS/STSBenchmark/sts-{split}.csv")]
    assert {len(row) for row in rows} == {7}
    return [row[5] for row in rows], [row[6] for row in rows], np.array([float(row[4]) for row in rows])


def common_words(first: str, second: str) -> float:
    a, b = Counter(first.split()), Counter(second.split())
    dot = sum(a[word] * b[word] for word in a)
    return dot / np.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))


# Determinism and the record


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    first, again = (world.write_world(tmp_path / name, seed=0, sentences=300) for name in ("first", "again"))
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


def test_every_word_belongs_to_one_concept():
    groups = [world_words.PERSONAL_QUALITIES, world_words.MANNERS, world_words.PRAISE, world_words.BLAME]
    for topic in world_words.TOPICS:
        groups += [topic.people, topic.actions, topic.things, topic.qualities, topic.places]
    words = [word for group in groups for concept in group for word in concept]
    assert [word for word, count in Counter(words).items() if count > 1] == []
    assert 600 <= len(words) <= 900
    assert all(1 <= len(concept) <= 3 for group in groups for concept in group)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("plural", "box boxes trophy trophies jersey jerseys bus buses match matches"),
        ("past", "bake baked study studied employ employed boil boiled"),
        ("progressive", "bake baking study studying boil boiling"),
        ("present", "cross crosses"),
    ],
)
def test_inflections(form, words):
    base, inflected = words.split()[::2], words.split()[1::2]
    assert [getattr(world_words, form)(word) for word in base] == inflected


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
                assert all(key in " ".join(words) for key in keys)


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


def test_rewording_changes_words_only_where_a_synonym_exists():
    random = Random(6)
    for _ in range(100):
        event = world_grammar.random_event(random)
        wording = world_grammar.word(event, random)
        assert world_grammar.reword(event, wording, random, 0.0) == wording
        for concept, chosen in world_grammar.reword(event, wording, random, 1.0).items():
            assert chosen in concept and (chosen != wording[concept] or len(concept) == 1)


# Ratings


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_common_words_neither_solve_nor_miss_the_ratings(root, split):
    first, second, gold = benchmark(root, split)
    correlation = spearmanr([common_words(a, b) for a, b in zip(first, second, strict=True)], gold)[0]
    assert 0.25 < correlation < 0.6


def test_concept_vectors_do_better_than_common_words(root):
    vectors = {}
    for line in lines(root, "vectors/glove.txt"):
        word, *numbers = line.split(" ")
        vectors[word] = np.array(numbers, dtype=float)
    assert {len(vector) for vector in vectors.values()} == {50}
    first, second, gold = benchmark(root, "dev")

    def vector(sentence: str) -> np.ndarray:
        total = np.sum([vectors[word] for word in sentence.split()], axis=0)
        return total / np.linalg.norm(total)

    cosines = [float(vector(a) @ vector(b)) for a, b in zip(first, second, strict=True)]
    words = [common_words(a, b) for a, b in zip(first, second, strict=True)]
    assert spearmanr(words, gold)[0] + 0.2 < spearmanr(cosines, gold)[0] < 0.85


def test_paraphrases_rate_above_changed_pairs_above_other_topics(monkeypatch):
    kinds, means = world.PAIR_KINDS, {}
    for kind in kinds:
        monkeypatch.setattr(world, "PAIR_KINDS", {kind: kinds[kind]._replace(change=0.5)})
        random = Random(7)
        pairs = [world._pair(random) for _ in range(200)]
        scores = [world_grammar.graded(first, second, random) for first, second, _, _ in pairs]
        assert min(scores) >= 0 and max(scores) <= 5
        means[kind] = np.mean(scores)
    assert means["paraphrase"] > means["detail"] > means["one key"] > means["two keys"] > means["topic"]
    assert means["paraphrase"] - means["negated"] > 2
    assert means["other"] < 0.6 < means["topic"]


# Layouts


def test_wiki_documents_hold_5_to_12_sentences_of_6_to_16_words(root):
    text = (root / "wiki/wiki.txt").read_text()
    documents = [document.split("\n") for document in text.removesuffix("\n\n").split("\n\n")]
    assert {len(document) for document in documents} == set(range(5, 13))
    sentences = [sentence for document in documents for sentence in document]
    assert all(6 <= len(sentence.split()) <= 16 for sentence in sentences)
    assert all(re.fullmatch(r"[A-Z0-9][A-Za-z0-9 ]*\.", sentence) for sentence in sentences)
    vocabulary = {word for sentence in sentences for word in sentence.lower().rstrip(".").split()}
    synonyms = [word for topic in world_words.TOPICS for concept in topic.people for word in concept]
    assert set(synonyms) <= vocabulary


def test_sts_subsets_pair_inputs_and_scores(root):
    for task, subsets in world.STS_SUBSETS.items():
        for subset in subsets:
            folder = f"SentEval/downstream/STS/{task}-en-test"
            pairs = [line.split("\t") for line in lines(root, f"{folder}/STS.input.{subset}.txt")]
            gold = lines(root, f"{folder}/STS.gs.{subset}.txt")
            assert len(pairs) == len(gold) and 40 <= len(pairs) <= 65 and {len(pair) for pair in pairs} == {2}
            assert all(side == side.lower() and side.endswith(" .") for pair in pairs for side in pair)
            assert (gold.count("") > 5) == (task in ("STS15", "STS16"))
            assert sum(float(score) > 4 for score in gold if score) >= 5


def test_benchmark_and_sick_hold_pairs_above_four_in_every_split(root):
    for split in ("train", "dev", "test"):
        assert (benchmark(root, split)[2] > 4).sum() > 50
    for split in ("train", "trial", "test_annotated"):
        rows = [line.split("\t") for line in lines(root, f"SentEval/downstream/SICK/SICK_{split}.txt")]
        assert rows[0] == ["pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"]
        scores = [float(row[3]) for row in rows[1:]]
        assert min(scores) == 1 and sum(score > 4 for score in scores) > 30
        assert {row[4] for row in rows[1:]} == {"ENTAILMENT", "NEUTRAL", "CONTRADICTION"}
    assert b"\r\n" in (root / "SentEval/downstream/SICK/SICK_test_annotated.txt").read_bytes()


def test_official_encodings(root):
    downstream = root / "SentEval/downstream"
    questions = (downstream / "TREC/train_5500.label").read_bytes()
    with pytest.raises(UnicodeDecodeError):
        questions.decode("utf-8")
    labels = {line.split(":")[0] for line in questions.decode("latin-1").splitlines()}
    assert labels == {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}
    assert all(re.match(r"[A-Z]+:[a-z]+ [A-Z]", line) for line in questions.decode("latin-1").splitlines())
    paraphrases = (downstream / "MRPC/msr_paraphrase_train.txt").read_bytes()
    assert paraphrases.startswith(b"\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
    assert {line.count("\t") for line in paraphrases.decode().splitlines()} == {4}


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR/custrev.pos", "CR/custrev.neg"),
        ("MPQA/mpqa.pos", "MPQA/mpqa.neg"),
        ("SUBJ/subj.subjective", "SUBJ/subj.objective"),
    ],
)
def test_labels_can_be_learned_from_words(root, positive, negative):
    texts = [
        [line for line in lines(root, f"SentEval/downstream/{name}") if line.strip()]
        for name in (positive, negative)
    ]
    assert all(75 <= len(group) <= 200 for group in texts)
    counts = [Counter(word for line in group[::2] for word in set(line.split())) for group in texts]

    def evidence(line: str) -> float:
        return sum(np.log((counts[0][word] + 1) / (counts[1][word] + 1)) for word in set(line.split()))

    right = [evidence(line) > 0 for line in texts[0][1::2]] + [evidence(line) < 0 for line in texts[1][1::2]]
    assert np.mean(right) > 0.85


def test_inference_files_hold_the_same_sentences(root):
    rows = [json.loads(line) for line in lines(root, "nli/nli.jsonl")]
    with (root / "nli/nli_triples.csv").open(newline="") as stream:
        triples = list(csv.reader(stream))
    assert triples[0] == ["sent0", "sent1", "hard_neg"]
    by_label = {
        label: rows[index::3] for index, label in enumerate(("entailment", "neutral", "contradiction"))
    }
    assert all({row["gold_label"] for row in group} == {label} for label, group in by_label.items())
    rebuilt = [
        [yes["sentence1"], yes["sentence2"], no["sentence2"]]
        for yes, no in zip(by_label["entailment"], by_label["contradiction"], strict=True)
    ]
    assert triples[1:] == rebuilt
    assert json.loads(lines(root, "nli/anli.jsonl")[0])["round"] == "r1_train"


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_question_of_the_course_tells_by_itself_whether_it_has_a_duplicate(root, split):
    """The head adds up two vectors: with openings drawn alike nothing but the majority could be learned."""
    rows = [line.split("\t") for line in lines(root, f"minbert/quora-{split}.csv")][1:]
    openings = {label: set() for label in "01"}
    for *_, one, other, label in rows:
        openings[label] |= {" ".join(text.split()[:2]) for text in (one, other)}
    assert not openings["0"] & openings["1"]
    assert Counter(row[-1] for row in rows)["1"] == len(rows) // 2


def test_paraphrase_database(root):
    words = read_ppdb(root / "synonyms/ppdb.txt")
    assert set(words["chef"]["n"]) == {"cook"} and set(words["physicians"]["n"]) == {"doctors", "medics"}
    assert words["baked"]["v"] == ["roasted"] and words["tasty"]["a"] == ["delicious"]


# Through the readers


def test_the_evaluation_readers_accept_the_world(root):
    for task in sts.STS_TASKS:
        for split in ("test",) if task.startswith("STS1") else ("train", "dev", "test"):
            for subset in sts.load_sts(root, task, split):
                assert len(subset.first) == len(subset.second) == len(subset.gold) > 20
                assert (subset.gold > 4).any()


def test_the_transfer_readers_accept_the_world(root):
    for name in transfer.TRANSFER_TASKS:
        for split in transfer.load_transfer(root, name).splits.values():
            assert len(set(split.labels.tolist())) == (6 if name == "TREC" else 2)


def test_the_corpus_readers_accept_the_world(root):
    rows = {
        "text": read_corpus(root, {"format": "lines", "file": "wiki/wiki.txt"}),
        "triples": read_corpus(root, {"format": "triples", "file": "nli/nli_triples.csv"}),
        "nli": read_corpus(
            root,
            {
                "format": "nli",
                "files": ["nli/nli.jsonl"],
                "positive": "entailment",
                "negative": "contradiction",
                "neutral": "neutral",
            },
        ),
        "qqp": read_corpus(root, {"format": "qqp", "file": "pairs/qqp/qqp.tsv"}),
        "captions": read_corpus(root, {"format": "captions", "file": "pairs/flickr30k/captions.tsv.gz"}),
    }
    assert abs(len(rows["text"]["text"]) - 6000) < 12
    assert len(rows["triples"]["negative"]) == 3000
    # A premise may occur twice; the reader keeps its first hypotheses.
    assert 2900 < len(rows["nli"]["anchor"]) <= 3000
    assert set(rows["nli"]) == {"anchor", "positive", "negative", "neutral"}
    assert len(rows["captions"]["anchor"]) == 2000
    assert 200 < len(rows["qqp"]["anchor"]) < 280
