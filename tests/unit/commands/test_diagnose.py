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


def test_a_number_among_seeds_and_reruns_and_the_causes_for_it(capsys):
    text = said(capsys, "74.84", "--item", UNSUP, "--devices", "1", "--pooling", "cls")
    assert "-1.41 points" in text and "37% of such runs are below yours" in " ".join(text.split())
    assert "not unusual" in text and "1. Another seed or another machine" in text
    assert max(map(len, text.splitlines())) <= 80
    # The heading of what was said is in no line of its own below the others.
    header = next(line for line in text.splitlines() if line.startswith("share "))
    assert header.split() == ["share", "cause", "threads", "effect", "fit"]
    assert "\n       for: devices\n" in said(capsys, "74.84", "--item", UNSUP, "--devices", "2")


def test_a_mean_of_seeds_is_compared_with_means_of_seeds(capsys):
    text = " ".join(said(capsys, "74.84", "--item", UNSUP, "--seeds", "5").split())
    assert "mean 75.11, sd 0.38 of means of 5; 24% of them are below yours" in text
    assert "--seeds is 0; expected" in said(capsys, "74.84", "--item", UNSUP, "--seeds", "0", code=2)


def test_markdown_to_paste_names_what_was_said(capsys):
    text = said(capsys, "56.87", "--item", UNSUP, "--pooling", "cls-head", "--markdown")
    assert "Said of the run: pooling cls-head." in text and "| share | cause |" in text
    assert "That is unusual" in text and "1. **Another pooling, or the head, at test.**" in text


def test_plain_data_has_what_the_share_of_a_cause_is_made_of(capsys):
    found = json.loads(said(capsys, "78.54", "--printed", "78.87", "--encoder-is", "trained", "--json"))
    first = found["causes"][0]
    assert found["difference"] == -0.33 and found["cell"] == ""
    assert {"prior", "fit", "said", "effect", "bearings", "threads"} <= set(first)
    assert "untrained-baseline-pooling" in found["excluded"]


def test_without_a_number_the_causes_are_ranked_by_what_was_said(capsys):
    text = said(capsys, "--item", UNSUP, "--pooling", "cls-head")
    assert "1. Another pooling" in text and " Avg.\n" in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "no number was given"),
        (("--item", UNSUP), "no number was given"),
        (("0.3", "--item", "simcse/figure2/unsup-simcse/final/alignment"), "no number is printed"),
        (
            ("-1", "--printed", "-2.5", "--metric", "geometry/uniformity"),
            "geometry/uniformity is no score x 100",
        ),
    ],
)
def test_a_ranking_without_a_fit_says_so_and_why(capsys, words, reason):
    """It showed an empty column, or a fit of 1 for every cause, and a sum that had none in it."""
    text = " ".join(said(capsys, *words).split())
    assert f"Ranked without a fit, because {reason}: by threads and by what you said of the run." in text
    assert "points from it" not in text
    assert "effect fit" not in text and "threads that name the cause x what you said" in text
    assert "fit of" in said(capsys, "74.84", "--item", UNSUP)
    markdown = said(capsys, *words, "--markdown")
    assert "| threads | effect | said |" in markdown and f"because {reason}" in markdown
    found = json.loads(said(capsys, *words, "--json"))
    assert found["difference"] is None and {cause["fit"] for cause in found["causes"]} == {None}


def test_a_number_is_read_from_a_results_file(capsys, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"STS12": {"all": {"spearman": {"all": 0.66}}}}))
    cell = "simcse/table5/unsup-simcse-bert-base/STS12"
    assert "66 next to 68.40" in said(capsys, "--results", str(file), "--item", cell)
    problem = said(capsys, "--results", str(file), "--item", UNSUP, code=2)
    assert "no score of sts/avg" in problem
    assert "leave out the one" in said(capsys, "66", "--results", str(file), "--item", cell, code=2)


def test_two_files_are_compared(capsys, tmp_path):
    for name, score, revision in (("a", 0.66, "one"), ("b", 0.70, "two")):
        document = {
            "task_name": "STS12",
            "dataset_revision": revision,
            "scores": {"test": [{"main_score": score}]},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    text = said(capsys, *files)
    assert "dataset_revision" in text and "+4.00" in text and "beyond numerics" in text
    found = json.loads(said(capsys, *files, "--json"))
    assert found["scores"]["mteb/STS12"]["standing"] == "beyond numerics"
    assert "| setting | A | B |" in said(capsys, *files, "--markdown")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["174.84", "--item", UNSUP], "174.84 is no value of sts/avg"),
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


def test_an_encoder_without_tokenizer_is_refused(capsys, world, encoder, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((encoder / name).read_bytes())
    words = [str(tmp_path), "--check", "pooler", "--data", str(world)]
    assert "no tokenizer is there" in said(capsys, *words, code=2)


def test_an_encoder_scores_no_other_metric_than_similarity(capsys, world, encoder):
    words = [
        "80",
        "--printed",
        "81",
        "--metric",
        "transfer/avg",
        "--encoder",
        str(encoder),
        "--data",
        str(world),
    ]
    assert "none of theirs" in said(capsys, *words, code=2)
