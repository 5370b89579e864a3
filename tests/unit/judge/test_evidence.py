"""Differences that seeds detect, and number of seeds for a difference."""

import json
from pathlib import Path
from statistics import median

import pytest
import yaml
from made_up import write_scores
from places import ROOT

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.judge.report.judge_study import results_of
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.evidence import needed_of_cell, power_lines, printed_form
from replicse.spec.printed import Reported

WORKFLOW = ROOT / "workflow"
ITEM = "simcse/table3"
OFFSETS = (0.1, -0.2, 0.3)
CONFIG = {"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0, 1, 2]}


def near_print(cell, place):
    """Return a score close to the published number, except for row p0.5.

    The score of row p0.5 is far below the published number.
    """
    return cell.reported.number.value + (-20.0 if cell.row.id == "p0.5" else 0.0) + OFFSETS[place]


@pytest.fixture
def studied(tmp_path, monkeypatch):
    """Return a study, and cells by row with their results.

    The scores are synthetic.
    """
    monkeypatch.chdir(tmp_path)
    plan = compile_study(CONFIG, WORKFLOW)
    write_scores(plan, [ITEM], near_print)
    (result,) = results_of([ITEM], Measurements(plan))
    return plan, {cell.row.id: (cell, result.described[cell.id]) for cell in plan.described(ITEM)}


def test_a_cell_says_which_gap_its_seeds_tell_and_how_many_the_gap_asks_for(studied):
    plan, cells = studied
    far, near = needed_of_cell(plan, *cells["p0.5"], 3), needed_of_cell(plan, *cells["p0.0"], 3)
    assert far.source == "ours, 3 seeds" and far.smallest == pytest.approx(6.53 * far.spread, rel=0.01)
    assert far.seeds == 3 and near.seeds is None
    assert power_lines(plan, *cells["p0.5"]) == [
        "3 seeds detect a difference of 1.6 points (80%, standard deviation 0.25, ours, 3 seeds)",
        "the difference of -19.93 needs 3 seeds",
    ]
    assert (
        power_lines(plan, *cells["p0.0"])[1]
        == "the difference of +0.07 is not detected by any number of seeds"
    )


def test_plan_has_the_median_gap_of_an_item_by_published_spreads(studied, capsys):
    plan, cells = studied
    Path("config.yaml").write_text(yaml.safe_dump(CONFIG))
    assert main(["plan", ITEM, "--workflow", str(WORKFLOW), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["items"]
    needs = (needed_of_cell(plan, cell, None, 3) for cell, _ in cells.values())
    assert row["detects"] == pytest.approx(median(need.smallest for need in needs if need))


def test_print_is_one_run_a_mean_or_an_order_statistic():
    def form(**more):
        return printed_form(Reported(value="80.0", source="a page", **more))

    assert printed_form(None) == form() == (1, None)
    assert form(statistic="mean", seeds=5) == (5, None) and form(statistic="max", seeds=4) == (4, 1.0)
    assert form(statistic="median", seeds=3) == (3, 0.5) and form(statistic="sd", seeds=3) is None
