"""The reproduction log: its rows, their form and hashes, and the verb that adds one."""

import shutil
from pathlib import Path

import pytest
from places import CHECKOUT, ROOT

from replicse.cli import main
from replicse.commands.contribute import pull_request
from replicse.errors import BadInput
from replicse.files import read_json, read_rows, write_json, write_rows
from replicse.study.paper.papers import load_papers
from replicse.study.results.log import FIELDS, LOG, log_problems, log_row, logged
from replicse.study.results.table import ItemResult

STUDY = ROOT / "reports/studies/compact"
ITEM = STUDY / "items/simcse/table3.json"


@pytest.fixture
def row():
    return log_row(
        ItemResult.of(read_json(ITEM), "item"), read_json(STUDY / "study.json"), "compact", "0" * 64
    )


def test_a_row_says_who_ran_what_on_what_with_which_numbers(row):
    assert tuple(row) == FIELDS and list(log_problems([row])) == []
    record = read_json(STUDY / "study.json")
    assert row["item"] == "simcse/table3" and row["seeds"] == "0 1 2"
    assert row["machine"].startswith(record["hardware"]["processor"]) and "torch 2" in row["versions"]
    (cell,) = (
        cell
        for cell in read_json(ITEM)["cells"]
        if cell["row"] == "p0.1" and cell["protocol"] == "as-described"
    )
    assert f"p0.1/stsb-dev/spearman={cell['reproduced']:.6g}" in row["numbers"]


@pytest.mark.parametrize(("dirty", "mark"), [(True, "+"), (False, "")])
def test_a_row_says_whether_the_tree_had_uncommitted_changes(dirty, mark):
    record = {**read_json(STUDY / "study.json"), "commit": "abcdef", "dirty": dirty}
    item = ItemResult.of(read_json(ITEM), "item")
    assert log_row(item, record, "compact", "0" * 64)["commit"] == f"abcdef{mark}"


def test_a_study_that_does_not_say_what_made_it_has_no_row():
    with pytest.raises(BadInput, match="no commit in its record"):
        log_row(ItemResult.of(read_json(ITEM), "item"), {}, "compact", "0" * 64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"numbers": "p0.1/stsb-dev/spearman=80.0"}, "another sha256"),
        ({"date": "yesterday"}, "date is 'yesterday'"),
        ({"commit": "main"}, "commit is 'main'"),
        ({"item": "<script>"}, "item is"),
        ({"seeds": "0,1"}, "seeds is"),
    ],
)
def test_a_row_of_another_form_or_with_other_numbers_is_refused(row, change, message):
    (problem,) = log_problems([{**row, **change}])
    assert message in problem and problem.startswith("row 1: ")


def test_a_run_is_logged_once(row):
    assert list(log_problems([row, row])) == ["row 2: the same run is there twice"]


def test_the_log_of_the_project_is_sound_and_of_items_that_there_are():
    rows = read_rows(CHECKOUT / LOG)
    papers = load_papers(ROOT / "workflow")
    items = {item.id for paper in papers.values() for item in paper.items.values()}
    assert list(log_problems(rows)) == [] and {row["item"] for row in rows} <= items
    assert {row["study"] for row in rows} >= {"compact", "stronger", "noncontrastive", "twotier"}


def test_contribute_adds_rows_and_says_what_to_put_into_a_pull_request(tmp_path, monkeypatch, capsys, row):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replicse.study.results.log.packaged", lambda *parts: tmp_path / "absent")
    workflow = ("--workflow", str(ROOT / "workflow"))
    assert main(["contribute", "compact", "simcse/table3", *workflow]) == 0
    (written,) = read_rows(LOG)
    assert written == {**row, "result_sha256": written["result_sha256"]}
    said = capsys.readouterr().out
    assert (
        "Title: Reproduction log: simcse/table3 at scale compact" in said and "reports/log.csv alone" in said
    )
    # A folder of results is no committed study: `replicse pack micro` finds nothing.
    assert "`replicse pack compact`" in said and "`replicse pack results/micro`" in pull_request(
        [row], "results/micro"
    )
    assert main(["contribute", "compact", "simcse/table3", *workflow]) == 2
    assert "the same run is there twice; nothing was added" in capsys.readouterr().err
    assert len(logged(["simcse/table3"])) == 1 and logged(["simcse/table1"]) == []
    write_rows(LOG, FIELDS, [{**written, "numbers": "none"}])
    with pytest.raises(BadInput, match="fix the row"):
        logged()


def test_a_study_that_does_not_say_when_it_was_made_is_no_row():
    """Of the pooled study of two results folders, the log was said to have a bad row that it had not."""
    record = {**read_json(STUDY / "study.json"), "generated": ""}
    with pytest.raises(BadInput, match="study labs: no generated in its record; run it to its report"):
        log_row(ItemResult.of(read_json(ITEM), "item"), record, "labs", "0" * 64)


def test_an_item_with_other_bytes_than_the_log_has_of_its_commit_is_not_shown(tmp_path, monkeypatch, capsys):
    """A number that was typed into a committed study was shown as it was, although the log has its sha256."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replicse.study.results.log.packaged", lambda *parts: tmp_path / "absent")
    shutil.copytree(STUDY, "reports/studies/compact")
    workflow = ("--workflow", str(ROOT / "workflow"))
    assert main(["contribute", "compact", "simcse/table3", *workflow]) == 0
    shown = ["show", "simcse/table3", "--study", "compact", *workflow]
    assert main(shown) == 0
    item = Path("reports/studies/compact/items/simcse/table3.json")
    item.write_text(item.read_text().replace('"verdict": "not comparable"', '"verdict": "higher"', 1))
    cell = "simcse/table3/p0.1/stsb-dev"
    for words in (shown, ["why", cell, *shown[2:]], ["report", "--study", "compact", *workflow]):
        capsys.readouterr()
        assert main(words) == 2
        assert "table3.json: not the bytes that reports/log.csv has of commit" in capsys.readouterr().err
    # Of another commit the log says nothing: the study was run and kept again.
    record = read_json("reports/studies/compact/study.json")
    write_json("reports/studies/compact/study.json", {**record, "commit": "e" * 40})
    assert main(shown) == 0
