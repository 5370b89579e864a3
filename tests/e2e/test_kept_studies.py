"""The committed studies: commands on the pages, and sources of the pages."""

import html
import json
import re
import shlex
import shutil
from argparse import ArgumentParser
from pathlib import Path

import pytest
from places import ROOT, workflow_script
from read_once import READ_ONCE

from replicse.cli import run
from replicse.cli.arguments import chosen_config
from replicse.cli.render import write_kept
from replicse.cli.write_record import write_record
from replicse.compile.compiler import compile_study
from replicse.compile.record_study import RECORD
from replicse.files import read_json, read_rows, write_json
from replicse.judge.report.explain_cell import find_cell
from replicse.spec import papers

WORKFLOW = ROOT / "workflow"
FOLDERS = sorted(folder.name for folder in (ROOT / "reports/studies").iterdir() if folder.is_dir())
# The record contains no runs of this package, so the pages have no commands.
STUDIES = [name for name in FOLDERS if name != RECORD]
COMMAND = re.compile(r'<code class="run">(.*?)</code>')
STORY = re.compile(r"<b>why</b><span>(.*?)</span>")
ANOTHER = "run by another version"


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Create a bare clone in which the pages of a study can be written again."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("reports/studies", "figures/studies"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "config.yaml", folder)
    return folder


@pytest.fixture(scope="module", params=STUDIES)
def pages(request, clone):
    """Write a committed study again; yield the name and the HTML pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(clone)
        for reader, once in READ_ONCE.items():
            patch.setattr(papers, reader, once)
        yield request.param, written_again(patch, request.param)


def written_again(patch, name):
    write_kept(name, WORKFLOW)
    folder = Path(f"reports/studies/{name}")
    papers = read_json(folder / "record.json")["papers"]
    pages = {}
    for key in papers:
        file = folder / f"{key}.html"
        if file.is_file():
            pages[key] = file.read_text(encoding="utf-8")
    return pages


def printed(pages, pattern):
    """Return the commands on some pages, as lists of words."""
    found = pattern.findall("\n".join(pages.values()))
    return [shlex.split(html.unescape(command)) for command in found]


def runs_shown(name):
    """Return the runs of each item according to cells.csv, as a dict of sets."""
    shown = {item: set() for item in read_json(f"reports/studies/{name}/record.json")["items"]}
    for row in read_rows(Path(f"reports/studies/{name}/cells.csv")):
        shown[f"{row['paper']}/{row['item']}"] |= set(filter(None, [row["run"]]))
    return shown


def plan_of_command(words):
    """Return the item of a documented `replicse run`, and the compiled study.

    The words are parsed as `replicse run` would in this folder.
    """
    assert words[:2] == ["replicse", "run"]
    parser = ArgumentParser()
    run.add_arguments(parser)
    arguments = parser.parse_args(words[2:])
    config, file = chosen_config(arguments)
    (item,) = arguments.item
    return item, compile_study(config, WORKFLOW, file, only=item)


def test_each_printed_command_plans_the_runs_that_the_page_shows(pages):
    """Each command plans exactly the runs that are shown on the page.

    A command copied from the compact page once planned 105 runs in fp32, but the page shows 9 runs in bf16.
    """
    name, texts = pages
    shown, planned = runs_shown(name), {}
    for words in printed(texts, COMMAND):
        item, plan = plan_of_command(words)
        planned[item] = plan.trained_runs(plan.cells[item])
        assert planned[item] == shown[item]
    marked = "".join(texts.values()).count(ANOTHER)
    assert len(planned) + marked == len(shown), "every item has a command, or says why it has none"


def test_each_command_of_a_cell_finds_it_in_the_study(pages):
    name, texts = pages
    plan = compile_study(read_json(f"reports/studies/{name}/config.json"), WORKFLOW)
    current = ANOTHER not in "".join(texts.values())
    found = printed(texts, STORY)
    assert found
    for words in found:
        assert words[:2] + words[3:] == ["replicse", "why", "--study", name], (
            "one word is the cell, also with spaces"
        )
        assert not current or find_cell(plan, words[2])


def test_each_page_says_what_it_was_made_from_and_what_is_printed(pages):
    name, texts = pages
    study = read_json(f"reports/studies/{name}/record.json")
    first = Path(f"reports/studies/{name}/report.html").read_text(encoding="utf-8")
    for text in (first, *texts.values()):
        main = text[text.index("<main") :]
        head = main[:4000]
        made = re.search(r"Made from commits? (\w{12}(?:, \w{12})*)( with uncommitted changes)?", head)
        parts = study.get("parts") or [study]
        assert made[1].split(", ") == list(dict.fromkeys(part["commit"][:12] for part in parts))
        assert bool(made[2]) == study["dirty"]
        assert "cells have a printed number" in (main if text == first else head)


def test_a_study_whose_runs_are_no_longer_planned_says_so_and_prints_no_command(clone, tmp_path, monkeypatch):
    shutil.copytree(clone, tmp_path / "clone")
    monkeypatch.chdir(tmp_path / "clone")
    item = Path("reports/studies/causes/items/causes/table2.json")
    text = item.read_text(encoding="utf-8")
    renamed = next(cell["encoders"][0] for cell in json.loads(text)["cells"])
    write_json(item, json.loads(text.replace(renamed, "infonce-s0-of-before")))
    page = written_again(monkeypatch, "causes")["causes"]
    assert [words[2] for words in printed({"": page}, COMMAND)] == ["causes/table1"]
    note = (
        "Created by commit 71aeede183e7; this version would run other encoders: 5 of the 6 encoders shown here are"
        " among the 6 planned encoders."
    )
    assert page.count(ANOTHER) == 1 and note in page
    assert note in Path("reports/studies/causes/report.md").read_text(encoding="utf-8")


def test_the_committed_record_is_current_and_so_are_its_counts_in_the_texts(tmp_path, monkeypatch):
    folder = Path("reports/studies/record")
    shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    write_record(WORKFLOW)
    old = []
    for file in sorted(folder.rglob("*.*")):
        if file.suffix in (".csv", ".json", ".md") and (ROOT / file).read_bytes() != file.read_bytes():
            old.append(file)
    assert old == [], "run replicse report --study record"
    report = (folder / "report.md").read_text(encoding="utf-8")
    (counts,) = re.findall(r"Others measured [\d,]+ of the .*? have a verdict\.", report)[:1]
    claims = re.search(r"The sources test \d+ of \d+ claims of the papers: .*?\.", report)[0]
    released = re.search(r"tested by others: .*?\.", report)[0]
    trained = re.search(r"trained again by others: .*?\.", report)[0]
    texts = {
        name: " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for name in ("README.md", "docs/index.md", "docs/record.md")
    }
    for text in texts.values():
        assert counts in text and released in text and trained in text
    assert claims in texts["README.md"] and claims in texts["docs/record.md"]
    rows = re.findall(
        r"^\| (?:cropping|diffcse|noncontrastive|promptbert|repro|simcse) \|(?: [\d,]+ \|){10}$",
        report,
        re.MULTILINE,
    )
    assert len(rows) == 6 and all(row in texts["docs/record.md"] for row in rows)
    for row in rows:
        paper, printed, measured, *_ = row.removeprefix("| ").split(" | ")
        assert f"{paper} {measured} of {printed}" in texts["README.md"]


def test_the_committed_page_of_causes_is_current():
    page = workflow_script("causes").page()
    assert (ROOT / "docs" / "causes.md").read_text() == page, "run python workflow/causes.py"
