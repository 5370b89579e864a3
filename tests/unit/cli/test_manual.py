"""`replicse help`: documentation in a terminal, without a checkout."""

import re

import pytest

from replicse.cli import VERBS, main
from replicse.cli.answers import SCREEN
from replicse.cli.manual import find_pages, read_page


def test_the_pages_are_listed_and_a_mistake_names_the_nearest(capsys):
    assert main(["help"]) == 0
    told = capsys.readouterr().out
    assert {"formats", "api", "add-a-term", "own-data"} <= set(re.findall(r"[\w-]+", told))
    assert max(map(len, told.splitlines())) <= 80 and told.count("\n") <= SCREEN
    assert main(["--help"]) == 0 and "docs: replicse help" in capsys.readouterr().out
    assert main(["help", "format"]) == 2
    assert 'no page is named "format"; did you mean "formats"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        ("formats", ["## scale", "| `learning_rate` |", "| `figure` |", "| `quoted` |", "| `baseline` |"]),
        ("cli", [f"usage: replicse {verb}" for verb in VERBS]),
        (
            "api",
            ["## replicse.registry.frozen.FrozenModel", "## replicse.encoder.backbone.Backbone", "load("],
        ),
        ("add-a-paper", ["`density-own-scales`", "`quoted: true`", "`baseline: unsup`"]),
        ("add-a-term", ["**A file per example.**", "def test_the_loss_is_its_formula():"]),
    ],
)
def test_generated_parts_are_filled_in(page, parts):
    text = read_page(page)
    assert [part for part in parts if part not in text] == [] and "<!-- generated" not in text
    assert not any(line.endswith(" ") for line in text.splitlines() if line.startswith("    "))


def test_the_api_page_begins_with_load_evaluate_and_train():
    headings = [line for line in read_page("api").splitlines() if line.startswith("## ")]
    assert headings[:3] == [f"## replicse.{name}" for name in ("load", "evaluate", "train")]
    assert len(headings) == len(set(headings))


def test_each_page_of_the_repository_is_one():
    assert len(find_pages()) > 20
