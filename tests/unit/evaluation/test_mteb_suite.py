"""MTEB: miniature datasets without the library, and the library's tasks."""

import json
import sys
import zlib
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from datasets import Dataset
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from small_stsb import RandomVectors, write_stsb
from tiny_encoders import tiny
from tokenizers import Tokenizer

from replicse.cli import main
from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.data.tokenizer import train_tokenizer
from replicse.data.transfer import load_transfer
from replicse.errors import BadInput, MissingData
from replicse.evaluation import mteb as suite
from replicse.evaluation import suites
from replicse.evaluation.mteb_miniature import CANDIDATES, MEASURES, ROWS, captions
from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS, text_bytes

mteb = pytest.importorskip("mteb")
from mteb.abstasks import AbsTaskRetrieval  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402

from replicse.evaluation import mteb_library as library  # noqa: E402


class Vectors(RandomVectors):
    """An encoder of random vectors that counts calls of `clear`."""

    cleared = 0

    def clear(self):
        self.cleared += 1


class BagOfWords:
    """Sums of random word vectors: fast, and similar for similar sentences."""

    def __call__(self, sentences):
        return np.stack(
            [sum(map(self.word, sentence.split()), np.zeros(32)) for sentence in sentences]
        ).astype("f4")

    @staticmethod
    @cache
    def word(word):
        return np.random.default_rng(zlib.crc32(word.lower().encode())).normal(size=32)

    def prepare(self, sentences):
        """Do nothing, because vectors are computed when they are needed."""


def test_the_list_is_the_librarys_own_with_pinned_data():
    tasks = {task.metadata.name: task for task in mteb.get_benchmark(library.BENCHMARK).tasks}
    categories = {}
    for category, names in MTEB_TASKS.items():
        categories |= dict.fromkeys(names, category)
    assert {name: task.metadata.type for name, task in tasks.items()} == categories
    assert len(MTEB_NAMES) == len(set(MTEB_NAMES)) == 56
    for name, task in tasks.items():
        parts = task.metadata.tasks if task.is_aggregate else [task]
        characters = 0
        for part in parts:
            assert len(part.metadata.revision) == 40, name
            assert {"default", "en", "en-en", "eng"}.issuperset(part.hf_subsets)
            characters += count_characters(part.metadata.descriptive_stats)
        assert text_bytes([name]) / 1e6 - 1 < characters / 1e6 <= text_bytes([name]) / 1e6, name
    assert 18e9 < text_bytes(MTEB_NAMES) < 19e9 and text_bytes(["STS12", "BIOSSES", "Tatoeba"]) is None


def count_characters(statistics):
    """Return the number of characters in a task's texts.

    The number is computed from the nested dict of statistics in the library.
    """
    total = statistics.get("total_text_length", 0)
    for name, each in statistics.items():
        if isinstance(each, dict) and name != "hf_subset_descriptive_stats":
            total += count_characters(each)
    return total


def test_fetch_loads_each_dataset_and_names_what_failed_at_the_end(monkeypatch):
    loaded, kept = [], []

    def load_data(task, **_):
        if task.metadata.name == "STS13":
            raise OSError("no route to host")
        loaded.append(task.metadata.name)

    monkeypatch.setattr(mteb.abstasks.AbsTask, "load_data", load_data)
    monkeypatch.setattr(AbsTaskRetrieval, "load_data", load_data)
    monkeypatch.setattr(mteb.abstasks.AbsTask, "unload_data", lambda task: kept.append(task.metadata.name))
    monkeypatch.setattr(AbsTaskRetrieval, "unload_data", lambda task: kept.append(task.metadata.name))
    with pytest.raises(
        MissingData, match=r"^1 task of MTEB cannot be downloaded: STS13 \(no route to host\)$"
    ):
        suite.fetch(["STS12", "STS13", "CQADupstackRetrieval", "STSBenchmark"], data="hub")
    assert loaded == kept and len(loaded) == 14, "CQADupstackRetrieval has twelve parts"
    assert loaded[0] == "STS12" and loaded[-1] == "STSBenchmark"


# Miniatures


@pytest.fixture(scope="module")
def found(world):
    """Return the scores of random vectors, and the vectors.

    The vectors contain a list of all sentences that were encoded.
    """
    vectors = Vectors(8)
    return suites.run_suites(world, vectors, ["mteb"], {"mteb": {"data": "miniature"}}), vectors


def test_every_data_set_has_the_score_of_its_categorys_miniature(found):
    numbers, vectors = found
    assert numbers["failures"] == {} and vectors.cleared == 0
    scores = numbers["suites"]["mteb"]
    weighted = 0
    for category, names in MTEB_TASKS.items():
        average = scores["average"][category]
        for name in names:
            assert scores[name] == pytest.approx(average)
            weighted += average
    assert scores["average"]["all"] == pytest.approx(weighted / 56)


def test_one_failing_task_leaves_a_blank_and_its_reason(world, monkeypatch):
    def broken(*_):
        raise ValueError("no such column")

    monkeypatch.setitem(MEASURES, "Retrieval", broken)
    numbers = suite.evaluate(world, Vectors(8), data="miniature")
    average = numbers["average"]
    assert numbers["NFCorpus"] is average["Retrieval"] is average["all"] is None
    assert average["STS"] is not None
    assert numbers["failures"]["NFCorpus"] == "no such column"
    assert numbers["failures"]["average/all"] == "a part is missing: ArguAna, no such column"
    assert set(numbers["failures"]) == {*MTEB_TASKS["Retrieval"], "average/Retrieval", "average/all"}


def test_without_the_library_miniatures_run_and_all_else_says_how_to_install_it(world, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb", None)
    monkeypatch.delitem(sys.modules, "replicse.evaluation.mteb_library")

    def score(data):
        options = {"mteb": {"data": data, "tasks": ["STS12"]}}
        return suites.run_suites(world, BagOfWords(), ["mteb"], options)["suites"]["mteb"]["STS12"]

    assert score("miniature") > 0
    told = r'suite mteb needs .* not installed; pip install "replicse\[mteb\]"'
    for data in ("local", "hub"):
        with pytest.raises(BadInput, match=told):
            score(data)


def test_a_hub_that_cannot_be_reached_is_told_once_before_any_task(world, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(MissingData, match=r"127\.0\.0\.1:9 cannot be reached"):
        suite.evaluate(world, Vectors(8))


# Compare miniature datasets with the library's tasks on the same rows.


def columns_of(world, category):
    """Return the rows of a miniature dataset as a task of the library.

    Args:
        world: Folder of datasets.
        category: Category of the task, such as "Classification".

    Returns:
        The class of the task, the main score and the data.
    """
    from mteb import abstasks
    from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy
    from mteb.abstasks.text.summarization import AbsTaskSummarization

    if category == "Classification":
        splits = {
            name: {"text": split.first[:ROWS], "label": split.labels[:ROWS].tolist()}
            for name, split in load_transfer(world, "TREC").splits.items()
        }
        return abstasks.AbsTaskClassification, "accuracy", splits
    if category == "Clustering":
        sentences, labels = [], []
        for name in ("MR", "CR", "SUBJ", "MPQA"):
            texts = load_transfer(world, name).splits["all"].first[: ROWS // 4]
            sentences += texts
            labels += [name] * len(texts)
        return AbsTaskClusteringLegacy, "v_measure", {"test": {"sentences": [sentences], "labels": [labels]}}
    if category == "PairClassification":
        split = load_transfer(world, "MRPC").splits["test"]
        labels = split.labels[:ROWS].tolist()
        sides = {"sentence1": split.first[:ROWS], "sentence2": split.second[:ROWS]}
        return abstasks.AbsTaskPairClassification, "max_ap", {"test": {**sides, "labels": labels}}
    if category == "STS":
        several = library.sts_columns(*load_sts(world, "STS-B", "test"))
        return abstasks.AbsTaskSTS, "cosine_spearman", {"test": {k: v[:ROWS] for k, v in several.items()}}
    spec = {"format": "nli", "files": ["nli/nli.jsonl"], "neutral": "neutral", "limit": ROWS}
    nli = read_corpus(world, spec)
    machine = list(zip(nli["positive"], nli["neutral"], nli["negative"], strict=True))
    several = {"text": nli["anchor"], "human_summaries": [[text] for text in nli["anchor"]]}
    ratings = {"machine_summaries": machine, "relevance": [[5, 3, 1]] * len(machine)}
    return AbsTaskSummarization, "cosine_spearman", {"test": {**several, **ratings}}


def task_of(kind, category, main_score):
    metadata = TaskMetadata(
        name=f"Like{category}", type=category, description="A test.", dataset={"path": "a", "revision": "b"},
        eval_langs=["eng-Latn"], main_score=main_score,
    )  # fmt: skip
    return type(metadata.name, (kind,), {"metadata": metadata, "min_score": 0, "max_score": 5})()


def numbered(letter, texts):
    return Dataset.from_dict({"id": [f"{letter}{i}" for i in range(len(texts))], "text": texts})


def searched(world, category):
    """Create the library's retrieval or reranking task on the captions."""
    queries, documents, relevant = captions(world)
    ranked, judged = {}, {}
    for number, wanted in enumerate(relevant):
        ranked[f"q{number}"] = [f"d{(wanted[0] + step) % len(documents)}" for step in range(CANDIDATES)]
        judged[f"q{number}"] = {f"d{place}": 1 for place in wanted}
    task = task_of(AbsTaskRetrieval, category, "ndcg_at_10" if category == "Retrieval" else "map_at_1000")
    task.dataset = {"default": {"test": {
        "queries": numbered("q", queries),
        "corpus": numbered("d", documents),
        "relevant_docs": judged,
        "top_ranked": ranked if category == "Reranking" else None,
    }}}  # fmt: skip
    task.data_loaded = True
    return task


@pytest.mark.parametrize("category", MEASURES)
def test_a_miniature_has_the_main_score_of_the_library_over_its_rows(world, category):
    vectors = BagOfWords()
    if category in ("Retrieval", "Reranking"):
        task = searched(world, category)
    else:
        kind, main_score, splits = columns_of(world, category)
        task = library.with_data(task_of(kind, category, main_score), splits, "rows")
    score = library.Library(world, vectors, "local", "", "").result(task).get_score()
    assert MEASURES[category](world, vectors) == pytest.approx(score, abs=1e-5), "it rounds to 5 decimals"
    assert 0 < score < 1 or category in ("STS", "Summarization")


# Local datasets


@pytest.fixture
def encoder(tmp_path):
    """Create an encoder and a data root with STS-B.

    The tokenizer contains all words of the sentences.

    Returns:
        The folder of the encoder, and the data root.
    """
    texts = list(map(" ".join, product(("a", "man", "is", "playing"), ("guitar", "here"))))
    train_tokenizer("wordpiece", texts, 97, lowercase=True).save(str(tmp_path / "tokenizer.json"))
    tiny().save(tmp_path / "runs" / "best", None, tmp_path / "tokenizer.json")
    pairs = [(score % 5, *texts[score : score + 2]) for score in range(7)]
    return tmp_path / "runs" / "best", write_stsb(tmp_path, {"test": pairs})


def evaluated(folder, data, out, *tasks):
    """Run `replicse evaluate` on tasks of MTEB; return the exit code.

    Args:
        folder: Folder of the encoder.
        data: Folder of datasets.
        out: File to write.
        tasks: Names of the tasks.
    """
    words = ["--suite", "mteb", "--options", json.dumps({"mteb": {"tasks": tasks, "data": "local"}})]
    return main(["evaluate", "--encoder", str(folder), *words, "--data", str(data), "--out", str(out)])


def test_the_verb_tells_each_failure_and_fails_where_nothing_is_measured(encoder, tmp_path, capsys):
    (folder, root), out = encoder, tmp_path / "encoder" / "mteb.json"
    assert evaluated(folder, root, out, "STSBenchmark", "NFCorpus") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mteb/NFCorpus: NFCorpus: not among the data sets of a local data root")
    record = json.loads(out.read_text())
    assert record["provenance"]["versions"]["mteb"] == mteb.__version__
    (file,) = (tmp_path / "encoder" / "mteb").rglob("STSBenchmark.json")
    (score,) = json.loads(file.read_text())["scores"]["test"]
    assert record["suites"]["mteb"]["STSBenchmark"] == pytest.approx(100 * score["main_score"], abs=1e-3)
    assert evaluated(folder, root, out, "NFCorpus") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert (
        last.startswith("replicse evaluate: all scores are missing; ")
        and "mteb.json contains the reason" in last
    )


def test_a_result_is_taken_again_for_the_same_encoder_over_the_same_data_only(tmp_path, monkeypatch):
    def rerun(root, vectors):
        """Return the number of tasks evaluated again."""
        ran = []
        kind = type(library._english()["STSBenchmark"])
        original = kind.evaluate
        with monkeypatch.context() as patched:
            patched.setattr(kind, "evaluate", lambda *a, **k: (ran.append(1), original(*a, **k))[1])
            suite.evaluate(root, vectors, ["STSBenchmark"], "local", str(tmp_path / "results"), "random")
        return len(ran)

    pairs = [(score, f"{word} a", f"{word} b") for score, word in enumerate(("five", "little", "words"))]
    root = write_stsb(tmp_path / "one", {"test": pairs})
    assert rerun(root, Vectors(8)) == 1
    assert rerun(root, Vectors(8)) == 0
    assert rerun(root, Vectors(8, seed=1)) == 1
    assert rerun(write_stsb(tmp_path / "other", {"test": pairs[::-1]}), Vectors(8)) == 1
    (file, _) = (tmp_path / "results").rglob("STSBenchmark.json")
    record = json.loads(file.read_text())
    assert record["mteb_version"] == mteb.__version__ and len(record["dataset_revision"]) == 40


def test_a_result_of_other_weights_with_the_same_vectors_of_the_probes_is_not_taken(encoder, tmp_path):
    (folder, root), words = encoder, Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert evaluated(folder, root, tmp_path / "one.json", "STSBenchmark") == 0
    tensors = load_file(folder / "model.safetensors")
    (embeddings,) = (name for name in tensors if name.endswith("word_embeddings.weight"))
    tensors[embeddings][words.token_to_id("here")] *= -3
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    for name in ("one.json", "other.json"):
        assert evaluated(folder, root, tmp_path / name, "STSBenchmark") == 0
    one = json.loads((tmp_path / "one.json").read_text())["suites"]
    other = json.loads((tmp_path / "other.json").read_text())["suites"]
    assert one == other


def test_texts_are_encoded_in_tf32_only_if_asked_on_a_gpu_that_has_it_and_the_result_says_so(
    tmp_path, monkeypatch, caplog
):
    seen = []

    class OnDevice(Vectors):
        device = torch.device("cuda")

        def __call__(self, sentences):
            seen.append(torch.get_float32_matmul_precision())
            return super().__call__(sentences)

    pairs = [(score, f"{word} a", f"{word} b") for score, word in enumerate(("five", "little", "words"))]
    root = write_stsb(tmp_path, {"test": pairs})
    for precision, capability, expected in (
        ("fp32", (9, 0), None),
        ("tf32", (7, 5), None),
        ("tf32", (8, 0), "tf32"),
    ):
        seen.clear()
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, found=capability: found)
        results = str(tmp_path / "results")
        numbers = suite.evaluate(root, OnDevice(8), ["STSBenchmark"], "local", results, "random", precision)
        assert numbers.get("precision") == expected
        # A result of another precision is not used.
        assert seen[1:] == (
            [] if capability == (7, 5) else ["high" if expected else "highest"] * len(seen[1:])
        )
        assert ("options.mteb.precision" in caplog.text) == bool(expected)
    assert torch.get_float32_matmul_precision() == "highest"
    assert (
        suite.evaluate(root, Vectors(8), ["STSBenchmark"], "local", precision="tf32").get("precision") is None
    )
