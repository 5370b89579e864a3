"""The command line: verbs on the study, exit codes, and evaluation outside any paper."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_up import write_scores
from places import ROOT

import replicse
from replicse.cli import GROUPS, VERBS, main
from replicse.cli.answers import SCREEN
from replicse.compile.compiler import compile_study
from replicse.compile.paths import Paths
from replicse.errors import MissingData
from replicse.files import write_json
from replicse.judge.measurements import Measurements
from replicse.judge.tabulate import item_result

CONFIG = ROOT / "tests" / "e2e" / "reduced.yaml"
STUDY = ["--study", str(CONFIG), "--workflow", str(ROOT / "workflow")]


def test_the_help_of_every_verb_has_an_example_and_fits_a_screen(capsys):
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        told = capsys.readouterr().out
        assert f"example:\n  replicse {verb}" in told
        assert max(map(len, told.splitlines())) <= 80 and told.count("\n") <= SCREEN, verb
    assert main(["diagnose", "--help", "--all"]) == 0
    assert "--batch BATCH " in capsys.readouterr().out


def test_the_help_is_grouped_and_a_bare_call_shows_what_is_done_every_day(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    bare = capsys.readouterr().out
    verbs = [line.split()[1] for line in bare.splitlines() if line.startswith("  ")]
    assert verbs == list(GROUPS["every day"])
    assert main(["--help"]) == 0
    whole = capsys.readouterr().out
    assert [line[:-1] for line in whole.splitlines() if line.endswith(":")] == list(GROUPS)
    assert all(re.search(rf"^  (replicse )?{verb} ", whole, re.MULTILINE) for verb in VERBS)
    assert max(map(len, whole.splitlines())) <= 80 and whole.count("\n") <= SCREEN


def test_ctrl_c_is_one_sentence(capsys, monkeypatch):
    def pressed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("replicse.cli.verb_parser", pressed)
    assert main(["plan"]) == 130
    assert capsys.readouterr().err == "replicse plan: interrupted; start it again\n"


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_no_line_of_a_plan_is_wider_than_80_columns(capsys, tmp_path, monkeypatch, scale):
    """Lines of 579 columns were printed to a pipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(f"scale: {scale}\npapers: all\nseeds: [0]\n")
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    assert main(["plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN and lines[-1].endswith(": replicse plan --all")
    assert main(["plan", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and not any(line.endswith("...") for line in lines)
    assert not re.search(r"\b\d{4,} (runs|encoders)", " ".join(lines)), "1404 runs next to 2,489 h"


def test_a_reader_that_has_enough_ends_the_output_and_nothing_is_said_of_it(monkeypatch):
    """`replicse plan | head` ended with a complaint of Python's about its last buffer."""
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("sys.stdout", os.fdopen(writer, "w", encoding="utf-8"))
    assert main(["plan", *STUDY]) == 1
    sys.stdout.close()


def test_config_files_are_laid_over_each_other_as_snakemake_lays_them(capsys, tmp_path, monkeypatch):
    """`--config` once stood instead of config.yaml, and `--configfile` over it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    (tmp_path / "more.yaml").write_text("papers: {repro: [table5]}\n")
    (tmp_path / "seeds.yaml").write_text("seeds: [0, 1]\n")
    words = ["--workflow", str(ROOT / "workflow"), "--json"]

    def planned(*more):
        assert main(["plan", *words, *more]) == 0
        plan = json.loads(capsys.readouterr().out)
        return plan["scale"], plan["seeds"], [item["item"] for item in plan["items"]]

    assert planned() == ("micro", [0], ["simcse/table3"])
    assert planned("--config", "more.yaml") == ("micro", [0], ["simcse/table3", "repro/table5"])
    assert planned("--configfile", "more.yaml", "--config", "seeds=[3,4]", "--config", "scale=compact") == (
        "compact", [3, 4], ["simcse/table3", "repro/table5"],
    )  # fmt: skip
    layers = ["--config", "more.yaml", "--config", "seeds.yaml"]
    assert planned(*layers)[1] == [0, 1] and len(planned(*layers)[2]) == 2
    assert planned(*layers, "--scale", "paper", "--seeds", "3")[:2] == ("paper", [0, 1, 2])


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A folder with a committed study `mine` at scale compact, of which nothing else is there; its plan."""
    monkeypatch.chdir(tmp_path)
    config = {
        "scale": "compact",
        "papers": {"simcse": ["table1", "table3"], "repro": ["table4"]},
        "rows": {"simcse/table1": ["none", "crop-10"], "repro/table4": ["crop-10"]},
        "seeds": [0, 1, 2],
        "precision": "bf16",
        "adjudicate": ["repro/table4"],
    }
    plan = compile_study(config, ROOT / "workflow")
    write_scores(plan, plan.items, lambda cell, place: 61.25 + place)
    paths = Paths("", "mine")
    write_json(paths.config, plan.config.plain())
    write_json(paths.record, {"commit": "0123456789abcdef", "dirty": True})
    for item in plan.items.values():
        write_json(paths.item(item.id), item_result(item, Measurements(plan)).plain())
    shutil.rmtree("results")
    (tmp_path / "config.yaml").write_text("scale: micro\npapers: all\nseeds: [0]\n")
    return plan


SHOW, BY_SCALE = ["show", "simcse/table3"], ["--scale", "compact"]
READING = [
    (verb, BY_SCALE) for verb in (SHOW, ["why", "simcse/table3/p0.1/stsb-dev"], ["claims"], ["adjudicate"])
]
READING += [(SHOW, ["--study", study]) for study in ("mine", "reports/studies/mine")]


@pytest.mark.parametrize(("verb", "asked"), READING)
def test_every_verb_that_reads_shows_a_committed_study(kept, capsys, verb, asked):
    words = [*verb, *asked, "--workflow", str(ROOT / "workflow")]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    falls_back = "shown is the committed study mine (reports/studies/mine)" in lines[0]
    assert falls_back == (asked[0] == "--scale") and len(lines) > 3
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["study"] == "reports/studies/mine" and told["units"]


def test_a_committed_cell_has_its_committed_values(kept, capsys):
    words = ["why", "simcse/table3/p0.1/stsb-dev", "--study", "mine", "--all"]
    words += ["--workflow", str(ROOT / "workflow")]
    assert main(words) == 0
    assert "61.2500  infonce" in (story := capsys.readouterr().out)
    assert "files       reports/studies/mine/items/simcse/table3.json" in story
    file = Path(Paths("", "mine").item("simcse/table3"))
    file.write_text(file.read_text().replace("infonce-", "older-"))
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"run older-\S+, .* made by an earlier version; this one would run infonce", told)


def test_items_are_read_by_the_config_that_they_were_run_with(kept, capsys, caplog):
    """After `replicse run simcse/table3 --config FILE`, `show --scale` once said that nothing was evaluated."""
    config = kept.config.model_copy(update={"seeds": (0,)})
    plan = compile_study(config.plain(), ROOT / "workflow")
    write_scores(plan, ["simcse/table3"], lambda cell, place: 44.5)
    item = plan.items["simcse/table3"]
    write_json(plan.paths.config, config.plain())
    write_json(plan.paths.item(item.id), item_result(item, Measurements(plan)).plain())
    more = ["--scale", "compact", "--workflow", str(ROOT / "workflow")]
    for verb in ("show simcse/table3", "why simcse/table3/p0.1/stsb-dev", "status"):
        assert main([*verb.split(), *more]) == 0
        first, *lines = capsys.readouterr().out.splitlines()
        assert first.startswith(
            "read by results/compact/config.json, with which it was made; --config config.yaml "
        )
        assert any("44.5" in line or "2 of 2  evaluations" in line or "8 of 8" in line for line in lines), (
            lines
        )
    assert main(["show", "repro/table4", *more]) == 0
    assert "committed study mine" in capsys.readouterr().out, "nothing of it was run here"
    assert main(["compare", "mine", "results/compact"]) == 0
    assert "8 cells in both" in capsys.readouterr().out
    values = replicse.load("results/compact").values
    assert set(values["item"]) == {"table3"} and set(values["value"]) == {44.5}
    write_json(plan.paths.config, {**config.plain(), "seeds": [0, 1]})
    with pytest.raises(MissingData, match=r"no item of results/compact/config\.json in it"):
        replicse.load("results/compact")
    assert (
        "items/simcse/table3.json is left out: it was not made with results/compact/config.json"
        in caplog.text
    )


def test_an_output_that_the_caller_closed_is_no_error():
    words = f'exec "{sys.executable}" -m replicse --version >&- 2>&-'
    assert subprocess.run(["sh", "-c", words]).returncode == 0
