"""How much is enough: what seeds tell of made-up cells, what is open, what to run next, runs until it is settled."""

import json
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
import yaml
from made_up import write_scores
from places import ROOT

from replicse.cli import main
from replicse.commands.evidence import until_decided
from replicse.errors import BadInput
from replicse.study.judge.claims import study_claims
from replicse.study.judge.evidence import (
    cell_verdict,
    claim_sign,
    judged_cells,
    needed_of_cell,
    open_rows,
    printed_form,
    slacks_of,
)
from replicse.study.judge.next_runs import Open, next_steps, open_things
from replicse.study.judge.study import results_of
from replicse.study.paper.printed import Reported
from replicse.study.plan.cost import Cost
from replicse.study.plan.planner import load_plan
from replicse.study.results.values import Evaluations

WORKFLOW = ROOT / "workflow"
ITEM = "simcse/table3"
OFFSETS = (0.1, -0.2, 0.3, -0.1, 0.0, 0.2)


def config(scale="paper", seeds=3, **more):
    return {"scale": scale, "papers": {"simcse": ["table3"]}, "seeds": list(range(seeds)), **more}


def near_print(cell, place):
    """Row p0.0 is as printed, row p0.5 far below print, every other where its number would be open."""
    printed = cell.reported.number.value
    shift = {"p0.0": 0.0, "p0.5": -20.0}.get(cell.row.id, 0.45)
    return printed + shift + OFFSETS[place % 6]


@pytest.fixture
def studied(tmp_path, monkeypatch):
    """Return a function that gives a plan and its results on made-up scores."""
    monkeypatch.chdir(tmp_path)

    def study(score=near_print, **more):
        plan = load_plan(config(**more), WORKFLOW)
        write_scores(plan, [ITEM], score)
        return plan, results_of(plan, [ITEM], Evaluations(plan))

    return study


def test_a_cell_says_which_gap_its_seeds_tell_and_how_many_the_gap_asks_for(studied):
    plan, (result,) = studied()
    there = result.described
    listed = (needed_of_cell(plan, cell, there[cell.key[1:]], 3, 0.8) for cell in plan.described(ITEM))
    needs = {need.name: need for need in listed}
    far, near = (needs[f"{ITEM}/{row}/stsb-dev/spearman"] for row in ("p0.5", "p0.0"))
    assert far.source == "ours, 3 seeds" and far.smallest == pytest.approx(6.53 * far.spread, rel=0.01)
    assert far.seeds == 3 and far.gap == pytest.approx(-20 + sum(OFFSETS[:3]) / 3)
    assert near.seeds is None and near.note == "no number of seeds tells this gap"


def test_print_is_one_run_a_mean_or_an_order_statistic():
    def form(**more):
        return printed_form(Reported(value="80.0", source="a page", **more))

    assert printed_form(None) == form() == (1, None)
    assert form(statistic="mean", seeds=5) == (5, None) and form(statistic="max", seeds=4) == (4, 1.0)
    assert form(statistic="median", seeds=3) == (3, 0.5) and form(statistic="sd", seeds=3) is None


def test_cells_that_are_settled_are_no_longer_open(studied):
    plan, results = studied(seeds=20)
    there = results[0].described
    verdicts = {
        cell.row.id: cell_verdict(plan, cell, there[cell.key[1:]]) for cell in judged_cells(plan, ITEM)
    }
    assert verdicts["p0.0"] == "within seed spread" and verdicts["p0.5"] == "lower"
    assert "" in verdicts.values()
    rows = open_rows(plan, [ITEM], results, [])
    assert (ITEM, "p0.0") not in rows and (ITEM, "p0.5") not in rows and rows


def test_a_smaller_scale_opens_claims_alone_and_micro_nothing(studied):
    plan, results = studied(scale="compact", seeds=3)
    assert judged_cells(plan, ITEM) == []
    claims = study_claims(plan.papers, ["simcse"])
    parts = [part for part in slacks_of(plan, claims, results) if part.ours]
    assert parts and all(len(part.ours) == 3 for part in parts)
    assert {claim_sign(part) for part in parts} <= {-1, 0, 1}
    plan, results = studied(scale="micro", seeds=3)
    assert list(slacks_of(plan, claims, results)) == [] and open_rows(plan, [ITEM], results, claims) == {}


def test_next_takes_what_settles_most_per_hour_over_shared_runs(studied):
    plan, _ = studied()
    cost, (one, two, three, *_) = Cost(plan), sorted(plan.runs)
    things = [Open("a", frozenset({one, two})), Open("b", frozenset({one})), Open("c", frozenset({one, two})),
              Open("d", frozenset({three}))]  # fmt: skip
    hours = cost.hours([one]).expected
    steps = list(next_steps(things, cost, 2.1 * hours))
    assert [step.settles for step in steps] == [("a", "b", "c")] and set(steps[0].runs) == {one, two}
    assert list(next_steps(things, cost, 0.5 * hours)) == []
    assert [step.settles for step in next_steps(things, cost, 3.1 * hours)] == [("a", "b", "c"), ("d",)]


def test_what_was_never_run_is_open_with_the_runs_that_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = load_plan(config(), WORKFLOW)
    things = list(open_things(plan, [], []))
    assert {thing.name for thing in things} == {"/".join(cell.key) for cell in judged_cells(plan, ITEM)}
    assert all(thing.runs <= set(plan.runs) for thing in things)


def test_next_and_power_are_printed(studied, capsys):
    studied()
    words = ("--workflow", str(WORKFLOW), "--config", "given.yaml")
    Path("given.yaml").write_text(yaml.safe_dump(config()))
    Path("config.yaml").write_text(yaml.safe_dump(config()))
    assert main(["power", ITEM, "--seeds", "5", *words]) == 0
    power = capsys.readouterr().out
    assert "5 seeds; two-sided at 95%" in power and max(map(len, power.splitlines())) <= 80
    assert main(["next", "--hours", "100", *words]) == 0
    *lines, command = capsys.readouterr().out.splitlines()
    assert "stay open" in lines[-2] and lines[-1] == "run them:" and command.startswith("  replicse run ")
    assert max(map(len, lines)) <= 80
    assert main(["next", "--hours", "0", *words]) == 2 and main(["power", ITEM, "--power", "2", *words]) == 2
    assert main(["next", "--hours", "nan", *words]) == 2
    capsys.readouterr()
    for seeds in ("0", "-3"):
        assert main(["power", ITEM, "--seeds", seeds, *words]) == 2
        assert f"--seeds is {seeds}; expected at least 1" in capsys.readouterr().err


def test_the_command_of_next_runs_what_it_lists_and_nothing_else(tmp_path, monkeypatch, capsys):
    """It once had all seeds of the plan and the variants of adjudication: 17.6 hours where 7.9 were listed."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(yaml.safe_dump(config(seeds=5, adjudicate="all")))
    words = ["next", "--hours", "20", "--device", "3090", "--workflow", str(WORKFLOW)]
    assert main([*words, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    listed = {run for step in steps for run in step["runs"]}
    assert main(words) == 0
    command = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert main(["plan", *command[2:], "--workflow", str(WORKFLOW), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == len(listed) > 0


def test_further_seeds_of_a_row_are_runs_of_that_row_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = load_plan(config(), WORKFLOW)
    more = load_plan(config(more_seeds={ITEM: {"p0.1": [3, 4]}}), WORKFLOW)
    counts = {cell.row.id: len(cell.seeds) for cell in more.described(ITEM)}
    assert counts["p0.1"] == 5 and {count for row, count in counts.items() if row != "p0.1"} == {3}
    assert set(base.runs) < set(more.runs) and len(more.runs) == len(base.runs) + 2
    assert "more_seeds" not in base.config.whole() and "more_seeds" not in base.config.bearing_on(ITEM)
    with pytest.raises(BadInput, match=r"more_seeds.simcse/table3 names \"p0.11\"; did you mean"):
        load_plan(config(more_seeds={ITEM: {"p0.11": [3]}}), WORKFLOW)


def test_seeds_are_added_to_open_rows_until_none_is_open(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(yaml.safe_dump(config(rows={ITEM: ["p0.0", "p0.1", "p0.5"]})))
    arguments = Namespace(
        item=[ITEM],
        config=[],
        study=None,
        scale=None,
        seeds=None,
        workflow=WORKFLOW,
        until_decided=True,
        most_seeds=10,
    )
    asked = []

    def run(given):
        from replicse.commands.study import chosen_config

        plan = load_plan(chosen_config(given)[0], WORKFLOW)
        write_scores(plan, [ITEM], near_print)
        asked.append({cell.row.id: len(cell.seeds) for cell in plan.described(ITEM)})
        return 0

    assert until_decided(arguments, run) == 0
    assert asked[0] == {"p0.0": 3, "p0.1": 3, "p0.5": 3}
    assert asked[-1]["p0.1"] == 10 and asked[-1]["p0.5"] < 10
    said = capsys.readouterr().err
    assert f"{ITEM}/p0.1: 3 seeds, open: " in said and "left open at 10 seeds" in said
    layer = yaml.safe_load((tmp_path / "results/paper/more-seeds.yaml").read_text())
    assert layer["more_seeds"][ITEM]["p0.1"] == list(range(3, 10))
    # The same command goes on where it ended, and a run that fails ends it.
    assert until_decided(arguments, lambda given: 1) == 1
