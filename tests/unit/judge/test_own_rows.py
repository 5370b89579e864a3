"""The user's rows: in any item, at every scale, by folder or hub id.

Rows of the paper are not run.
"""

import re
from argparse import Namespace
from pathlib import Path

import pytest
from cases import cases

from replicse.cli import main
from replicse.cli.arguments import own_rows
from replicse.cli.run import from_hub
from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.paths import backbone_id
from replicse.compile.specifications import Specifications
from replicse.errors import BadInput
from replicse.spec.models import EncoderSource
from replicse.workspace import packaged

ITEM = "simcse/table5"


def plan(rows, **changes):
    config = {
        "scale": "micro",
        "papers": {"simcse": ["table5"]},
        "seeds": [0, 1],
        "rows": {ITEM: rows},
        **changes,
    }
    return compile_study(config, packaged("workflow"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "config.json").write_text("{}")
    return tmp_path / "models" / "mine"


def test_only_rows_of_ones_own_are_run_each_as_it_is_named(folder):
    made = plan(
        {
            "mine": {"folder": "models/mine"},
            "headed": {"folder": str(folder), "pooling": "cls-head"},
            "base": {"hub": "org/model@abc"},
        }
    )
    assert not made.runs
    sources = [
        (one.source.folder or f"{one.source.hub}@{one.source.revision}", one.pooling.pooling)
        for one in made.encoders.values()
    ]
    assert sources == [("./models/mine", "own"), (str(folder), "cls-head"), ("org/model@abc", "own")]
    assert [row.id for row in made.items[ITEM].rows if not row.quoted] == ["mine", "headed", "base"]
    (own,) = (job for job in list_jobs(made).values() if job.payload.get("folder") == "./models/mine")
    before = Specifications(made).digests(own)
    Path("models/mine/config.json").write_text("{ }")
    assert Specifications(made).digests(own) != before, (
        "the encoder is read again if one of its files changes"
    )


@cases
def test_a_mistake_in_a_row_is_named(folder, rows, problem):
    with pytest.raises(BadInput, match=problem):
        plan(rows)


@pytest.mark.parametrize("place", ["models/mine", "org/model@abc"])
@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("cls_head", "cls-head"),
        ("CLS", "cls"),
        ("cls_before_pooler", "cls"),
        ("avg", "mean"),
        ("avg_top2", "last2"),
        ("avg_first_last", "first-last-0"),
    ],
)
def test_another_word_for_a_pooling_is_answered_with_ours(folder, place, word, ours):
    with pytest.raises(BadInput, match=f'pooling "{word}".* does not exist; did you mean "{ours}"'):
        own_rows([f"mine={place}:{word}"])
    with pytest.raises(BadInput, match=r'pooling "means" does not exist; known: .*mean'):
        own_rows([f"mine={place}:means"])


def test_a_folder_may_have_a_colon_in_its_name(folder):
    folder.rename(folder.with_name("mine:cls_head"))
    assert own_rows(["mine=models/mine:cls_head"]) == {"mine": {"folder": "models/mine:cls_head"}}


@pytest.mark.parametrize("name", ["my tiny bert", "größe", "l'encodeur", "plain-1.0"])
def test_the_id_of_a_folder_with_any_name_is_a_wildcard_of_the_workflow(name):
    """Snakemake found no rule for the files of an encoder folder with a blank in its name."""
    names = {backbone_id(EncoderSource(folder=f"models/{each}")) for each in (name, name.replace(" ", "-"))}
    assert all(re.fullmatch("[A-Za-z0-9._-]+", each) for each in names)
    assert len(names) == 1 + (" " in name)


def test_a_misspelt_folder_of_a_row_is_no_hub_id(folder):
    """A misspelt folder was once searched on the hub, three times."""
    with pytest.raises(
        BadInput, match=r'^--row a=models/mien: models has no folder mien; did you mean "mine"\?'
    ):
        own_rows(["a=models/mien"])


def test_a_paper_in_place_of_an_item_of_a_row_is_refused(folder, capsys):
    assert main(["init", "."]) == 0
    assert main(["run", "simcse", "--row", "mine=models/mine", "-n"]) == 2
    assert "write an item of simcse, such as simcse/table1" in capsys.readouterr().err


def test_the_command_line_gives_rows_as_a_config_does(folder, capsys):
    words = ["mine=models/mine", "headed=models/mine:cls-head", "base=org/model@abc:mean"]
    assert own_rows(words) == {
        "mine": {"folder": "models/mine"},
        "headed": {"folder": "models/mine", "pooling": "cls-head"},
        "base": {"hub": "org/model@abc", "pooling": "mean"},
    }
    for word in ("mine", "=models/mine"):
        with pytest.raises(BadInput, match="expected NAME=FOLDER or NAME=HUB-ID"):
            own_rows([word])
    assert main(["init", "."]) == 0
    assert main(["run", "--row", "mine=models/mine", "-n"]) == 2
    assert "--row needs an item; add one" in capsys.readouterr().err
    assert main(["run", ITEM, "--row", "mine=./models/none", "-n"]) == 2
    assert "folder models/none does not exist" in capsys.readouterr().err
    rows = Namespace(row=["base=org/model@main", "mine=models/mine"])
    assert from_hub(rows) == "not a folder, so used as a hub id: org/model@main"
