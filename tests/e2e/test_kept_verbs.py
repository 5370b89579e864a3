"""Verbs without jobs, on a committed study of synthetic scores.

Tests the output, and which config is used.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from made_up import write_scores
from places import ROOT
from read_once import papers_read_once

import replicse
from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import plan_item
from replicse.compile.paths import Paths
from replicse.files import write_json
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Create a folder with only a committed study `mine`; return the plan.

    The study is at scale compact.
    """
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
        write_json(paths.item(item.id), item_result(plan_item(plan, item), Measurements(plan)).plain())
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
    falls_back = "showing the committed study mine (reports/studies/mine)" in lines[0]
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
    assert re.search(r"run older-\S+, .* from an earlier version; this version would run infonce", told)


def test_items_are_read_by_the_config_that_they_were_run_with(kept, capsys, caplog):
    """Items are shown with the config of their run.

    After `replicse run simcse/table3 --config FILE`, `show --scale` once printed that nothing was evaluated.
    """
    config = kept.config.model_copy(update={"seeds": (0,)})
    plan = compile_study(config.plain(), ROOT / "workflow")
    write_scores(plan, ["simcse/table3"], lambda cell, place: 44.5)
    item = plan.items["simcse/table3"]
    write_json(plan.paths.config, config.plain())
    write_json(plan.paths.item(item.id), item_result(plan_item(plan, item), Measurements(plan)).plain())
    more = ["--scale", "compact", "--workflow", str(ROOT / "workflow")]
    for verb in ("show simcse/table3", "why simcse/table3/p0.1/stsb-dev", "status"):
        assert main([*verb.split(), *more]) == 0
        first, *lines = capsys.readouterr().out.splitlines()
        assert first.startswith(
            "using the config of the run, results/compact/config.json; add --config config.yaml "
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
    assert set(replicse.load("results/compact").values["item"]) == {"table3"}, (
        "of other seeds than the last study"
    )
