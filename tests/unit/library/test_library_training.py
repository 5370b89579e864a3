"""`replicse.train`: a recipe on sentences in memory or in a file."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from micro import dev_root, sentences
from tiny_encoders import tiny

import replicse
from replicse.data.tokenizer import train_tokenizer
from replicse.registry.plugins import use_plugins

FEW = {"optimisation": {"batch_size": 8, "steps": 3}, "selection": {"every": 0}}
SENTENCES = sentences(24)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    train_tokenizer("wordpiece", SENTENCES, 97, lowercase=True).save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    tiny(token_head=True).save(folder, None, folder / "tokenizer.json")
    return folder


def test_sentences_in_memory_and_in_a_file_train_to_the_same_weights(start, tmp_path):
    (tmp_path / "sentences.txt").write_text("\n".join(SENTENCES) + "\n")
    one = replicse.train("simcse/unsup", SENTENCES, start, tmp_path / "one", changes=FEW)
    other = replicse.train("simcse/unsup", tmp_path / "sentences.txt", start, tmp_path / "other", changes=FEW)
    before = replicse.Encoder.open(start, "cls")(SENTENCES)
    assert one.pooling.pooling == "cls" and np.abs(one(SENTENCES) - before).max() > 1e-5
    np.testing.assert_array_equal(one(SENTENCES), other(SENTENCES))
    record = json.loads((tmp_path / "one" / "provenance.json").read_text())
    assert record["run_id"].startswith("infonce-s0-") and record["job"]["run"]["corpus"]["rows"] == 24


def steps_of(folder):
    return json.loads((folder / "metrics.json").read_text())["steps"]


@pytest.mark.parametrize(
    ("optimisation", "steps"),
    [({"steps": 7}, 7), ({"steps": 7, "epochs": 1}, 3), ({"steps": 2, "epochs": 1}, 2), ({"epochs": 2}, 6)],
)
def test_steps_without_epochs_go_on_into_further_epochs(start, tmp_path, optimisation, steps):
    """If a recipe only sets steps, training should continue in more epochs.

    The parent recipe has one epoch; 24 sentences are three batches.
    """
    changes = {**FEW, "optimisation": {"batch_size": 8, **optimisation}}
    replicse.train("simcse/unsup", SENTENCES, start, tmp_path, changes=changes)
    assert steps_of(tmp_path) == steps


def test_a_complete_run_is_opened_and_another_one_in_its_folder_refused(start, tmp_path):
    replicse.train("simcse/unsup", SENTENCES, start, tmp_path, changes=FEW)
    written = (tmp_path / "metrics.json").stat().st_mtime_ns
    replicse.train("simcse/unsup", SENTENCES, start, tmp_path, changes=FEW)
    assert (tmp_path / "metrics.json").stat().st_mtime_ns == written
    for corpus, seed in ((SENTENCES, 1), (SENTENCES[:-1], 0)):
        with pytest.raises(replicse.BadInput, match=r"contains run .*; use another folder"):
            replicse.train("simcse/unsup", corpus, start, tmp_path, changes=FEW, seed=seed)


TERM = """
from typing import Literal
from replicse.registry.terms import TermParameters

class NearParameters(TermParameters):
    term: Literal["near"]

def near(step, parameters):
    first, second = step.vectors_of((0, 1))
    return FACTOR * (first - second).square().mean()
"""


def test_a_run_whose_plug_in_changed_is_not_opened_as_complete(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = {**FEW, "objective": [{"term": "infonce"}, {"term": "near"}]}

    def train(factor):
        Path("near.py").write_text(TERM.replace("FACTOR", factor))
        return replicse.train("simcse/unsup", SENTENCES, start, "run", changes=changes, plugins=["near.py"])

    try:
        before = train("1.0")(SENTENCES)
        assert (train("(1.0)")(SENTENCES) == before).all()
        with pytest.raises(
            replicse.BadInput, match=r"run contains run .*, but its code or plug-in has changed"
        ):
            train("-2.0")
    finally:
        use_plugins(())


def test_a_recipe_of_ones_own_selects_on_a_development_set(start, tmp_path):
    recipe = {
        "like": "simcse/unsup",
        "objective": [{"term": "infonce", "temperature": 0.1}],
        "views": [{"column": "anchor"}, {"column": "positive", "augment": {"name": "crop", "keep": 0.8}}],
        "optimisation": {"batch_size": 8},
        "selection": {"every": 1},
    }
    pairs = [(sentence, sentence) for sentence in SENTENCES]
    replicse.train(recipe, pairs, start, tmp_path / "run", data=dev_root(tmp_path / "data"))
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert [each["step"] for each in metrics["history"]] == [1, 2, 3]
    assert {path.name for path in (tmp_path / "run" / "stores").iterdir()} == {"0-anchor", "1-crop"}


def test_a_run_selects_by_a_set_anywhere_and_by_another_suite(start, tmp_path):
    file = tmp_path / "rated.csv"
    pairs = enumerate(itertools.pairwise(SENTENCES))
    rows = (f"{one},{other},{n % 6}\n" for n, (one, other) in pairs)
    file.write_text("left,right,score\n" + "".join(rows))
    rated = {"file": str(file), "first": "left", "second": "right", "score": "score", "range": [0, 5]}
    rule = {"metric": "sets/rated/spearman/all", "every": 3, "options": {"sets": {"rated": rated}}}
    few = {**FEW, "selection": rule}
    encoder = replicse.train("simcse/unsup", SENTENCES, start, tmp_path / "one", changes=few)
    found = replicse.evaluate(encoder, "sets", tmp_path, options={"sets": rule["options"]})
    best = json.loads((tmp_path / "one" / "metrics.json").read_text())["best"]
    score = found["suites"]["sets"]["rated"]["spearman"]["all"]
    assert best == {"step": 3, "dev": pytest.approx(score, abs=1e-4)}
    few["selection"] = {"metric": "geometry/uniformity", "every": 1, "keeps": "lowest"}
    data = dev_root(tmp_path / "data")
    (dev,) = data.rglob("sts-dev.csv")
    for split in ("train", "test"):
        shutil.copy(dev, dev.with_name(f"sts-{split}.csv"))
    replicse.train("simcse/unsup", SENTENCES, start, tmp_path / "two", data=data, changes=few)
    history = json.loads((tmp_path / "two" / "metrics.json").read_text())["history"]
    scores = [each["dev"] for each in history]
    assert len(set(scores)) == 3 and min(scores) >= -8 and max(scores) <= 0


@pytest.mark.parametrize(
    ("recipe", "corpus", "words", "message"),
    [
        ("simcse/unsupp", SENTENCES, {}, 'recipe "simcse/unsupp" is unknown'),
        ("simcse/sup", SENTENCES, {}, 'corpus does not contain column "anchor"'),
        (len, SENTENCES, {}, "recipe is a builtin_function_or_method; use the name of a recipe"),
        (
            "simcse/unsup",
            "nowhere.txt",
            {},
            "^nowhere.txt: the corpus file does not exist; correct the path$",
        ),
        (
            "simcse/unsup",
            SENTENCES,
            {"changes": {**FEW, "optimisation": {"epochs": None}}},
            "expected optimisation.steps if optimisation.epochs is null",
        ),
        ("simcse/unsup", [], {}, "corpus: rows have"),
        ("simcse/unsup", {"text": ["a"], "label": []}, {}, "expected the same number"),
        ("simcse/unsup", SENTENCES, {"changes": {}}, "data is missing"),
        ("simcse/unsup", SENTENCES, {"changes": {"optimisatoin": {}}}, 'changes: unknown key "optimisatoin"'),
        ({"objective": [{"term": "infonce"}]}, SENTENCES, {}, "recipe: the run does not specify views"),
        (
            "simcse/mlm-replacement",
            SENTENCES,
            {},
            'models does not contain "bert-base", which the recipe uses',
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(start, tmp_path, recipe, corpus, words, message):
    with pytest.raises(replicse.BadInput, match=message):
        replicse.train(recipe, corpus, start, tmp_path / "run", **{"changes": FEW, **words})
    assert not (tmp_path / "run").exists()
