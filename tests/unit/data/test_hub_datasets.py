"""Corpora from the hub cache, compared with the original files."""

import gzip
import json
import re
from operator import itemgetter
from pathlib import Path

import pytest
from cases import cases
from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.compile.needs import data_files, hub_parts, list_outside
from replicse.data.corpora import read_corpus
from replicse.errors import BadInput, MissingData
from replicse.registry.corpora import corpus_of
from replicse.spec.lock import load_lock
from replicse.spec.scales import load_scale

datasets = pytest.importorskip("datasets")

COMMIT = "0123456789abcdef" * 2 + "01234567"
COLUMNS = {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}
LABELS = ["entailment", "neutral", "contradiction"]
PAPER = load_scale(ROOT / "workflow" / "scales" / "paper.yaml").pin_commits(load_lock(ROOT / "workflow"))


@pytest.fixture
def hub(cache, tmp_path, monkeypatch):
    """Return a function to write a dataset to an offline hub cache.

    The rows are written as parquet or JSON lines, by the suffix of the file.
    """
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "arrow"))

    def put(path, name, rows, revision=COMMIT, commit=COMMIT, card=None, **features):
        """Write a dataset at a commit; a column contains strings by default."""
        held = cache("dataset", path, commit, revision)
        file = held / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if card:
            (held / "README.md").write_text(f"---\n{card}\n---\n")
        if name.endswith(".gz"):
            file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
            return
        columns, kinds = {}, {}
        for key in rows[0]:
            columns[key] = [row[key] for row in rows]
            kinds[key] = features.get(key, datasets.Value("string"))
        datasets.Dataset.from_dict(columns, features=datasets.Features(kinds)).to_parquet(file)

    return put


def numbered(rows, names=LABELS):
    """Return labelled pairs in the hub's format.

    A label is a number, or -1 if annotators did not agree. The default labels are those of SNLI.
    """
    numbers = dict(zip(names, range(len(names)), strict=True))
    return [{"premise": a, "hypothesis": b, "label": numbers.get(label, -1)} for a, b, label in rows]


def put_nli(hub, rows, path="some/nli", name="data/train-0.parquet", **options):
    """Write an NLI dataset to the hub cache, by default as a parquet file."""
    hub(path, name, numbered(rows), label=datasets.ClassLabel(names=LABELS), **options)


def nli(**more):
    part = {"path": "some/nli", "files": "data/train-*.parquet", "revision": COMMIT}
    given = {"format": "hub-dataset", "parts": [part], "columns": COLUMNS, "labels": LABELS}
    return given | {"map": "by-premise"} | more


ROWS = [("a", "b", "entailment"), ("a", "x", "-"), ("a", "c", "contradiction"), ("d", "e", "neutral")]


def test_labels_are_kept_by_name_and_no_label_is_dropped(hub, tmp_path):
    put_nli(hub, ROWS)
    pairs = nli(columns={"premise": "anchor", "hypothesis": "positive", "label": "label"}, map=None)
    assert read_corpus(tmp_path, pairs) == {"anchor": ["a", "a", "d"], "positive": ["b", "c", "e"]}
    assert read_corpus(tmp_path, pairs | {"keep": ["neutral"]}) == {"anchor": ["d"], "positive": ["e"]}


@cases
def test_a_recipe_that_does_not_fit_the_data_or_itself_is_refused(hub, tmp_path, change, told):
    put_nli(hub, ROWS)
    with pytest.raises(BadInput, match=re.escape(told)):
        read_corpus(tmp_path, nli(**change))


CARD = """configs:
- config_name: pairs
  data_files:
  - {split: train, path: pairs/train-*}
- config_name: other
  data_files:
  - {split: test, path: other/test-*}"""


def test_a_card_says_which_files_a_split_has(hub, tmp_path):
    put_nli(hub, ROWS, name="pairs/train-0.parquet", card=CARD)
    put_nli(hub, ROWS[1:], name="other/test-0.parquet")
    part = {"path": "some/nli", "revision": COMMIT}
    pairs = nli(parts=[part | {"name": "pairs"}])
    assert read_corpus(tmp_path, pairs)["anchor"] == ["a"]
    with pytest.raises(BadInput, match=r'configuration "pair" does not exist; did you mean "pairs"\?'):
        read_corpus(tmp_path, nli(parts=[part | {"name": "pair"}]))
    with pytest.raises(BadInput, match=r'split "test" does not exist; known: train'):
        read_corpus(tmp_path, nli(parts=[part | {"name": "pairs", "split": "test"}]))


def test_the_rows_are_those_of_the_pinned_commit(hub, tmp_path):
    later = "f" * 40
    put_nli(hub, ROWS)
    put_nli(hub, [("new", "b", "entailment"), ("new", "c", "contradiction")], revision="main", commit=later)
    assert read_corpus(tmp_path, nli())["anchor"] == ["a"]
    part = {"path": "some/nli", "files": "data/train-*.parquet"}
    assert read_corpus(tmp_path, nli(parts=[part]))["anchor"] == ["new"]
    with pytest.raises(MissingData, match=r"of some/nli at e{40} cannot be downloaded"):
        read_corpus(tmp_path, nli(parts=[part | {"revision": "e" * 40}]))


# Facts needed for a plan


def test_the_pinned_commit_is_part_of_a_runs_name_and_licences_are_not():
    plan = compile_study(
        {"scale": "paper", "papers": {"simcse": ["table4"]}, "seeds": [0]}, ROOT / "workflow"
    )
    lock = load_lock(ROOT / "workflow")
    recipes = [spec["corpus"] for spec in plan.stores.values() if spec["corpus"]["name"] == "qqp"]
    revision = lock.revision("nyu-mll/glue")
    assert recipes[0]["parts"] == [{"path": "nyu-mll/glue", "name": "qqp", "revision": revision}]
    told = {part.path: part for part in hub_parts(plan, list_outside(plan))}
    assert told["nyu-mll/glue"].licence and told["nyu-mll/glue"].bytes == 33_600_000
    assert "pairs/paranmt/para-nmt-5m-processed.txt" in data_files(plan)
    assert "vectors/glove.6B.300d.txt" not in data_files(plan)


# The same corpus from the hub and from the original files


def put_both_nli(hub, tmp_path, real_data, corpus):
    """Write truncated SNLI and MultiNLI datasets to hub cache and data root."""
    files = ("nli/snli/snli_1.0_dev.jsonl", "nli/multinli/multinli_1.0_dev_matched.jsonl")
    names = ("plain_text/train-00000-of-00001.parquet", "data/train-00000-of-00001.parquet")
    card = "configs: [{config_name: plain_text, data_files: [{split: train, path: plain_text/train-*}]}]"
    for part, file, name in zip(corpus["parts"], map(Path, files), names, strict=True):
        lines = (real_data / file).read_text(encoding="utf-8").splitlines()[:1200]
        (tmp_path / file.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        pairs = map(itemgetter("sentence1", "sentence2", "gold_label"), map(json.loads, lines))
        rows = numbered(pairs)
        revision, labels = part.get("revision", "main"), datasets.ClassLabel(names=LABELS)
        commit = revision if len(revision) == 40 else COMMIT
        hub(part["path"], name, rows, revision, commit, card if "plain" in name else None, label=labels)
    return [Path(file).name for file in files]


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("nli-neutral-negatives", {"format": "nli", "neutral": "neutral"}),
        ("nli-all", {"format": "nli-pairs", "labels": LABELS}),
    ],
)
def test_nli_corpora_are_the_same(hub, tmp_path, real_data, name, recipe):
    # The row counts of the recipe are for the complete datasets.
    plain = PAPER.corpora[name].plain()
    corpus = {key: entry for key, entry in plain.items() if key not in ("rows", "about", "sample")}
    files = put_both_nli(hub, tmp_path, real_data, corpus)
    ours, theirs = read_corpus(tmp_path, recipe | {"files": files}), read_corpus(tmp_path, corpus)
    assert ours == theirs and len(next(iter(ours.values()))) > 50


def test_lists_are_rows_and_documents_of_the_hub_are_pinned(hub, tmp_path, monkeypatch):
    rows = [
        {"sentences": ["One. a", "Two."], "labels": ["x", "y"]},
        {"sentences": ["Three."], "labels": ["x"]},
    ]
    hub("made/sets", "test.jsonl.gz", rows)
    documents = {
        "format": "hub-dataset",
        "parts": [{"path": "made/sets", "files": "test.jsonl.gz"}],
        "columns": {"sentences": "text", "labels": "class"},
        "map": "lists",
    }
    chunks = corpus_of({"format": "chunks", "documents": documents}).pin_commits(lambda path: COMMIT)
    assert chunks.parts[0].revision == COMMIT and chunks.columns == ("anchor", "positive")
    sizes, iterate = [], datasets.Dataset.iter
    noted = lambda self, size: sizes.append(size) or iterate(self, size)  # noqa: E731
    monkeypatch.setattr(datasets.Dataset, "iter", noted)
    found = read_corpus(tmp_path, chunks.documents)
    assert sizes == [1], "a list of a set holds tens of thousands of texts"
    assert found == {"text": ["One. a", "Two.", "Three."], "class": ["x", "y", "x"]}
