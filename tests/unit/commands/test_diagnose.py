"""The verb diagnose: text for a terminal, Markdown, plain data, an encoder's variants, two files, and bad input."""

import json

import pytest
import torch
from tiny_encoders import mlp, tiny

from replicse.cli import main
from replicse.data.sts import load_sts
from replicse.data.tokenizer import train_tokenizer
from replicse.world.world import write_world

UNSUP = "simcse/table5/unsup-simcse-bert-base/avg"


def said(capsys, *words, code=0):
    assert main(["diagnose", *words]) == code
    output = capsys.readouterr()
    return output.out if code == 0 else output.err


def test_a_number_that_is_not_unusual_ends_after_four_lines(capsys):
    text = said(capsys, "74.84", "--item", UNSUP, "--devices", "2")
    assert "-1.41 from it" in text and "50 runs of" in text and "not unusual" in text
    assert max(map(len, text.splitlines())) <= 80
    assert len([line for line in text.splitlines() if not line.startswith(" ")]) == 4
    assert "needs no explanation" in said(capsys, "76.25", "--item", UNSUP)


def test_an_unusual_number_has_its_facts_and_what_to_try(capsys):
    words = ("--pooler", "cls", "--devices", "1", "--versions", "other")
    text = " ".join(said(capsys, "56.87", "--item", UNSUP, *words).split())
    assert "unusual: below" in text and "As in the paper, so struck out: devices 1." in text
    assert "- pooling cls-head (paper: cls): pooler-or-head-at-test" in text
    assert "SimCSE#33" not in text, "its author only suspected the cause"
    assert "reported for library-version: -0.24 in Sense-GVT/SNCSE#4 (author)" in text
    assert "measured for pooler-or-head-at-test: -5.54 cls-head on MiniLM" in text
    trials = [
        text.index(each) for each in ("1. diagnose with --encoder", "2. pooler-or-head-at-test", "fix: ")
    ]
    assert trials == sorted(trials) and "Nothing stated bears on: seed-or-hardware" in text
    assert "unusual: above" in said(capsys, "77.6", "--item", UNSUP)


def test_a_fact_is_listed_where_the_papers_setting_is_not_known(capsys):
    text = " ".join(said(capsys, "78.54", "--printed", "78.87", "--batch", "128", "--corpus", "x").split())
    assert "the paper's not known: - batch 128: batch-or-devices, hyper-parameters" in text
    assert "- corpus x: data-rows" in text and "Whether it is unusual is not known" in text


def test_without_facts_no_order_of_causes_is_pretended(capsys):
    text = " ".join(said(capsys, "56.87", "--item", UNSUP).split())
    assert "No stated setting differs, so no cause comes before another." in text
    assert "replicse why " + UNSUP in text, "the test of seeds names the cell"


def test_a_released_checkpoint_must_match_to_rounding(capsys):
    text = said(capsys, "77.80", "--printed", "78.54", "--metric", "sts/avg", "--encoder-is", "released")
    assert "no seed is drawn, so it must match to rounding" in " ".join(text.split())


def test_a_mean_of_seeds_is_compared_with_means_of_seeds(capsys):
    text = " ".join(said(capsys, "74.84", "--item", UNSUP, "--seeds", "5").split())
    assert "mean 75.11, sd 0.38; 95% of means of 5 in 74.32 to 75.90" in text
    assert "--seeds is 0; expected" in said(capsys, "74.84", "--item", UNSUP, "--seeds", "0", code=2)


def test_without_a_number_the_facts_list_their_causes(capsys):
    text = said(capsys, "--item", UNSUP, "--pooling", "cls-head")
    assert text.startswith("Printed is 76.25") and "- pooling cls-head (paper: cls)" in text


def test_a_number_is_read_from_a_results_file(capsys, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"STS12": {"all": {"spearman": {"all": 0.66}}}}))
    cell = "simcse/table5/unsup-simcse-bert-base/STS12"
    assert "66 next to 68.40" in said(capsys, "--results", str(file), "--item", cell)
    problem = said(capsys, "--results", str(file), "--item", UNSUP, code=2)
    assert "no score of sts/avg" in problem
    assert "leave out the one" in said(capsys, "66", "--results", str(file), "--item", cell, code=2)


def test_two_files_are_compared(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, score, revision in (("a", 0.66, "one"), ("b", 0.70, "two")):
        document = {
            "task_name": "STS12",
            "dataset_revision": revision,
            "scores": {"test": [{"main_score": score}]},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    files = ["a.json", "b.json"]
    text = said(capsys, *files)
    assert "dataset_revision" in text and "+4.00" in text and "beyond numerics" in text
    found = json.loads(said(capsys, *files, "--json"))
    assert found["scores"]["mteb/STS12"]["standing"] == "beyond numerics"
    assert said(capsys, *files, "--markdown").startswith("```\nA is ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nan", "--item", UNSUP], "nan is no score"),
        (["0.7484", "--item", UNSUP], "write 74.84"),
        (["seventy", "--item", UNSUP], '"seventy" is no number'),
        (["74.84", "--item", "simcse/table5/unsup-simcse-bert-bas/avg"], 'did you mean "simcse/table5/unsup'),
        (["74.84"], "nothing to compare with"),
        (["74.84", "--printed", "78.9", "--metric", "sts/avgg"], "no suite yields"),
        (["74.84", "--printed", "seventy"], "is no number"),
        (["74.84", "--printed", ""], '--printed is "", no number'),
        (["1", "2", "3"], "3 words"),
        (["--check", "poler", "x"], '--check is "poler"'),
        (["--check", "pooler"], "needs an encoder"),
        (["74.84", "--item", UNSUP, "--printed", "3"], "leave out --printed"),
    ],
)
def test_bad_input_is_one_sentence(capsys, words, problem):
    text = said(capsys, *words, code=2)
    assert problem in text and text.count("\n") == 1


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, sentences=200)
    return folder


@pytest.fixture(scope="module")
def encoder(world, tmp_path_factory):
    where = tmp_path_factory.mktemp("encoder")
    lines = [line for subset in load_sts(world, "STS12") for line in subset.sentences]
    train_tokenizer("wordpiece", lines, 300, lowercase=True).save(str(where / "tokenizer.json"))
    torch.manual_seed(0)
    tiny(vocabulary=300, positions=160).save(where, mlp(32), where / "tokenizer.json")
    return where


def test_a_check_scores_the_variants_of_its_cause_and_says_which_gives_a_number(capsys, world, encoder):
    words = [str(encoder), "--check", "pooler", "--data", str(world)]
    text = said(capsys, *words)
    assert "first-last-0" in text and "pearson" not in text
    wide = said(capsys, str(encoder), "--check", "evaluation-batch", "--data", str(world))
    assert "padding-attended" in wide and max(map(len, wide.splitlines())) <= 80
    scores = json.loads(said(capsys, *words, "--json"))["variants"]
    mine = scores["first-last"]["score"]
    item = ["--item", UNSUP, "--encoder", str(encoder), "--data", str(world)]
    found = json.loads(said(capsys, f"{mine:.2f}", *item, "--json"))
    assert "your number" in found["variants"]["first-last"]["gives"]
    assert found["variants"]["as-read"]["gives"] == ""
    assert f"gives {mine:.4g} exactly, which is an answer" in said(capsys, f"{mine:.2f}", *item)


def test_the_template_may_be_the_cause_where_an_untrained_encoder_has_one(capsys):
    found = json.loads(said(capsys, "60", "--item", "promptbert/wording/this-colon/avg", "--json"))
    assert "template" in found["listed"]
