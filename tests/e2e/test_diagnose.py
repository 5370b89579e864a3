"""`replicse diagnose` as terminal text, Markdown and JSON, and variants."""

import json

import pytest
from read_once import papers_read_once
from tiny_encoders import saved_tiny

from replicse.cli import main
from replicse.world.world import write_world

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]

UNSUP = "simcse/table5/unsup-simcse-bert-base/avg"


def said(capsys, *words, code=0):
    """Run `replicse diagnose` and return the output.

    The exit code should be 0 by default; otherwise the error output is returned.
    """
    assert main(["diagnose", *words]) == code
    output = capsys.readouterr()
    return output.out if code == 0 else output.err


def test_a_number_is_read_from_a_results_file(capsys, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"STS12": {"all": {"spearman": {"all": 0.66}}}}))
    cell = "simcse/table5/unsup-simcse-bert-base/STS12"
    assert "66, printed 68.40" in said(capsys, "--results", str(file), "--item", cell)
    problem = said(capsys, "--results", str(file), "--item", UNSUP, code=2)
    assert (
        "sts/avg needs sts/STS13/all" in problem and "; the file has only the scores sts/STS12/all" in problem
    )
    assert "remove the number" in said(capsys, "66", "--results", str(file), "--item", cell, code=2)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, sentences=200)
    return folder


@pytest.fixture(scope="module")
def encoder(world, tmp_path_factory):
    return saved_tiny(world, tmp_path_factory.mktemp("encoder"))


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
    text = said(capsys, f"{mine:.2f}", *item, "--all")
    assert f"gives {mine:.4g} after rounding, which explains your number" in text
    assert "test: the variants above: cls, cls-head, mean, last2" in text and " -0.00 " not in text


def test_an_encoder_that_declares_its_pooling_is_read_by_it(capsys, world, encoder, tmp_path):
    """The default pooling is the pooling in the encoder's files.

    With the first token, as in the row of the paper, all-MiniLM-L6-v2 had 73.50 instead of 82.03.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    modules = [Transformer(str(encoder)), Pooling(32, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path))
    words = ["--check", "pooler", "--item", UNSUP, "--data", str(world), "--json"]
    found = json.loads(said(capsys, "--encoder", str(tmp_path), *words))["variants"]
    assert found["as-read"]["score"] == found["mean"]["score"] != found["cls"]["score"]
