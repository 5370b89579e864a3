"""Evaluations that contradict their place or themselves, the tidy table, and rows that a scale merges."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_up import made_plan, write_evaluation, write_paper
from places import ROOT

from replicse.errors import BadInput
from replicse.judge.csv_rows import TIDY, tidy_rows
from replicse.judge.measurements import Measurements
from replicse.judge.pairs import packed_pairs
from replicse.judge.tabulate import item_result
from replicse.registry.corpora import STS_TASKS

PATH = "sts/STS12/all"
PLAIN = {"id": "r", "encoder": {"use": "plain"}}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Return a function that writes a paper of one column anew, and plans it."""
    monkeypatch.chdir(tmp_path)

    def plan_of(*rows, seeds=1):
        shutil.rmtree("papers", ignore_errors=True)
        table = {
            "setting": {"metric": "spearman"},
            "columns": [{"id": "a", "metric_path": PATH}],
            "rows": rows or [PLAIN],
        }
        write_paper(tmp_path, "made", {"table1": table})
        return made_plan(tmp_path, seeds=[*range(seeds)])

    return plan_of


def file_of(plan):
    """Return the evaluation file of the first encoder."""
    return Path(plan.paths.evaluation(plan.cells["made/table1"][0].encoders[0], "fast"))


def result_of(plan, *scores):
    """Return the result where the encoders of each cell have these scores."""
    for cell in plan.cells["made/table1"]:
        for encoder, score in zip(cell.encoders, scores, strict=False):
            write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: score})
    return item_result(plan.item("made/table1"), Measurements(plan))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encoder", "results/paper/runs/another/last"),
        ("pooling", "mean"),
        ("postprocess", {"kind": "whitening"}),
    ],
)
def test_the_evaluation_of_another_encoder_is_refused_in_this_place(planned, key, value):
    plan = planned()
    assert result_of(plan, 70.0).cells[0].reproduced == 70.0
    own = json.loads(file_of(plan).read_text())
    for other in ({**own, key: value}, {name: own[name] for name in own if name != key}):
        file_of(plan).write_text(json.dumps(other))
        told = rf"fast\.json: {key} is .*, but the encoder in its place has .*; delete it"
        with pytest.raises(BadInput, match=told):
            result_of(plan)


def test_a_row_of_ones_own_is_told_less_the_printed_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns, setting = [{"id": "a", "metric_path": PATH}], {"metric": "spearman"}
    table, printed = {"setting": setting, "columns": columns, "rows": [PLAIN]}, {"item": "table1", "row": "r"}
    write_paper(tmp_path, "made", {"table1": table}, [{**printed, "column": "a", "value": "70.0"}])
    (tmp_path / "models").mkdir()
    plan = made_plan(tmp_path, rows={"made/table1": {"mine": {"folder": "models", "label": "Ours"}}})
    cells = {cell.row.id: cell.encoders for cell in plan.cells["made/table1"]}
    assert not cells["r"] and len(cells["mine"]) == 1
    for encoder in cells["mine"]:
        write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: 71.5})
    result = item_result(plan.item("made/table1"), Measurements(plan))
    assert result.notes[-2:] == (
        "Run here: mine. The rows of the paper are shown as it prints them.",
        "Ours less the printed rows, a: +1.50 r.",
    )
    assert not result.cells[-1].verdict, "without a printed number there is nothing to judge"


RANGE = f"fast.json: {PATH} is "


def bounded(value, low, high):
    return {PATH: value, "sts/STS12/low": low, "sts/STS12/high": high}


@pytest.mark.parametrize(
    ("suites", "pairs", "problem"),
    [
        ({PATH: "50"}, 0, RANGE),
        ({PATH: True}, 0, RANGE),
        ({f"{PATH}/all": 50.0}, 0, RANGE),
        ({PATH: 100.5}, 0, f"{RANGE}100.5; expected a finite number from -100 to 100"),
        ({PATH: -100.5}, 0, RANGE),
        ({PATH: math.nan}, 0, RANGE),
        (
            {PATH: 70.0, "geometry/alignment": -0.1},
            0,
            "alignment is -0.1; expected a finite number from 0 to 4",
        ),
        (bounded(99.9, 39.0, 39.95), 0, "all is 99.9, but its own interval goes from 39.0 to 39.95"),
        (bounded(70.0, 72.0, 68.0), 0, "low is 72.0, above high, which is 68.0"),
        ({PATH: 70.0, "sts/STS12/n": -7}, 0, "n is -7; expected a whole number"),
        ({PATH: 70.0, "sts/STS12/n": 7}, 5, "n is 7, but 5 pairs are kept"),
        ({PATH: 70.0}, 5, "all is 70.0, but its pairs have 100.00"),
        (
            {**{f"sts/{task}/all": 70.0 for task in STS_TASKS}, "sts/avg": 71.0},
            0,
            "avg is 71.0, but its parts have the mean 70.00",
        ),
    ],
)
def test_what_is_no_number_or_contradicts_its_own_file_is_refused(planned, suites, pairs, problem):
    plan, gold = planned(), np.arange(float(pairs))
    packed = {"sts/STS12": packed_pairs(gold / 5, gold)} if pairs else {}
    write_evaluation(plan, file_of(plan), suites, pairs=packed)
    with pytest.raises(BadInput, match=re.escape(problem)):
        result_of(plan)


def test_every_value_of_every_cell_is_a_row_of_the_tidy_table(planned):
    plan = planned(PLAIN, {**PLAIN, "id": "q", "quoted": True}, seeds=2)
    tidy = list(tidy_rows([result_of(plan, 70.0)]))
    (cell,) = [cell for cell in plan.cells["made/table1"] if cell.jobs]
    runs = [plan.encoders[encoder].source.run for encoder in cell.encoders]
    assert [tuple(line) for line in tidy] == [TIDY, TIDY]
    assert [tuple(line.values())[:10] for line in tidy] == [
        ("made", "table1", "r", "a", "as-described", seed, PATH, value, encoder, run)
        for seed, value, encoder, run in zip((0, 1), (70.0, ""), cell.encoders, runs, strict=True)
    ]
    (only,) = tidy_rows([result_of(planned({"id": "r", "encoder": {"backbone": "bert-base"}}), 70.0)])
    assert (only["seed"], only["value"], only["run"]) == ("", 70.0, "")
    assert only["encoder"].startswith("bert-base-uncased-")


def test_rows_that_a_scale_merges_into_one_run_are_marked(planned, tmp_path):
    rates = {"small": {}, "large": {}, "other": {"dropout": {"hidden": 0.2}}}
    rows = [
        {"id": name, "encoder": {"use": "plain", "run": {"optimisation": {"learning_rate": rate}, **more}}}
        for (name, more), rate in zip(rates.items(), (1e-5, 3e-5, 5e-5), strict=True)
    ]
    rows += [{"id": name, "encoder": {"backbone": "bert-base"}} for name in ("baseline", "again")]
    before = result_of(planned(*rows), 70.0)
    (tmp_path / "scales").unlink()
    shutil.copytree(ROOT / "workflow" / "scales", tmp_path / "scales")
    with (tmp_path / "scales/paper.yaml").open("a", encoding="utf-8") as file:
        file.write("adjust:\n  - {path: optimisation.learning_rate, set: 3.0e-5}\n")
    after = result_of(planned(*rows), 70.0)
    merged = [{head.id: head.merged for head in result.rows if head.merged} for result in (before, after)]
    assert merged == [{}, {"large": ("small",)}], "baselines have no runs to be merged"
