"""`replicse help`: documentation in a terminal, without a checkout."""

import re
import subprocess
import sys

import pytest
from pydantic import TypeAdapter

from replicse.checked import Checked
from replicse.cli import VERBS, main
from replicse.cli.answers import SCREEN
from replicse.cli.manual import DescribedKeys, find_pages, keys, read_page


def test_the_pages_are_listed_and_a_mistake_names_the_nearest(capsys):
    assert main(["help"]) == 0
    told = capsys.readouterr().out
    assert {"formats", "api", "add-a-term", "own-data"} <= set(re.findall(r"[\w-]+", told))
    assert max(map(len, told.splitlines())) <= 80 and told.count("\n") <= SCREEN
    assert main(["--help"]) == 0 and "docs: replicse help" in capsys.readouterr().out
    assert main(["help", "--help"]) == 0 and capsys.readouterr().out == told
    assert main(["help", "format"]) == 2
    assert 'unknown page "format"; did you mean "formats"' in capsys.readouterr().err


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
    for line in text.splitlines():
        if line.startswith("    "):
            assert not line.endswith(" ")


def test_the_api_page_begins_with_load_evaluate_and_train():
    headings = [line for line in read_page("api").splitlines() if line.startswith("## ")]
    assert headings[:3] == [f"## replicse.{name}" for name in ("load", "evaluate", "train")]
    assert len(headings) == len(set(headings))


def test_each_page_of_the_repository_is_one():
    assert len(find_pages()) > 20


class Sampled(Checked):
    """Anything with a sample.

    Attributes:
        rows: the number of rows
            that are used.
        seed: the seed.
    """

    rows: int = 3
    seed: int = 0


class Corpus(Sampled):
    """A corpus.

    It is small.

    Attributes:
        seed: the seed of the sample: an integer.
        file: the name of the file.
    """

    file: str
    lowercase: bool = False
    labels: tuple[str, ...] = ()


def test_the_keys_of_a_file_have_the_meanings_of_their_attributes():
    """Describe each key by the nearest class that describes it, and keep attributes out of the text above the table."""
    schema = TypeAdapter(dict[str, Corpus]).json_schema(schema_generator=DescribedKeys)["$defs"]["Corpus"]
    assert keys(schema).splitlines() == [
        "A corpus.",
        "It is small.",
        "",
        "| key | value | default | meaning |",
        "| --- | --- | --- | --- |",
        "| `rows` | integer | `3` | the number of rows that are used. |",
        "| `seed` | integer | `0` | the seed of the sample: an integer. |",
        "| `file` | string | required | the name of the file. |",
        "| `lowercase` | true or false | `false` |  |",
        "| `labels` | list of string |  |  |",
    ]


def test_each_key_of_each_kind_of_file_has_a_meaning():
    """Describe the keys of the package in a process of its own: other tests load plug-ins, whose keys may lack it."""
    words = [sys.executable, "-c", "from replicse.cli.manual import formats; print(formats())"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [line for line in printed.splitlines() if line.startswith("| `")]
    assert len(rows) > 500
    assert [row for row in rows if row.endswith("|  |")] == [], "describe it below `Attributes:` in the class"
