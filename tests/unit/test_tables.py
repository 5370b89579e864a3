"""Curves of a figure: from the evaluations that its rows name to records that can be drawn."""

import json

import pytest
from places import ROOT

from replicse.commands.tables import curves
from replicse.study.plan.planner import load_plan
from replicse.study.results.manifest import manifest_of

EDGES = [0.0, 0.5, 1.0]


def densities(height):
    group = {"n": 3, "mean": 0.5, "density": [height, 2 - height]}
    return {"edges": EDGES, **{f"{low}-{low + 1}": group for low in range(5)}}


@pytest.mark.parametrize(
    ("item", "suite"), [("simcse/figureG1", "density"), ("diffcse/figure2", "density-test")]
)
def test_densities_are_those_of_the_suite_that_the_columns_read(item, suite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paper, name = item.split("/")
    config = {"scale": "micro", "papers": {paper: [name]}, "seeds": [0, 1]}
    plan = load_plan(config, ROOT / "workflow")
    heights, other = {}, {"density": "density-test", "density-test": "density"}[suite]
    for place, cell in enumerate(plan.cells[item]):
        # A second seed and a second suite are there, but not drawn.
        for seed, encoder in enumerate(cell.encoders):
            height = 0.1 + place / 50 + seed
            heights.setdefault(cell.row.label, height)
            file = tmp_path / plan.paths.encoder(encoder, "evaluation")
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                suites = {suite: densities(height), other: densities(1.9)}
                file.write_text(json.dumps({"suites": suites, "failures": {}}))
    records = curves(manifest_of(plan, plan.item(item)))
    assert {record["group"] for record in records} == {f"{low}-{low + 1}" for low in range(5)}
    assert {record["cosine"] for record in records} == {0.25, 0.75}
    lower = {record["encoder"]: record["density"] for record in records if record["cosine"] == 0.25}
    assert lower == heights


def test_a_row_that_was_not_run_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = load_plan({"scale": "micro", "papers": {"diffcse": ["figure2"]}, "seeds": [0]}, ROOT / "workflow")
    assert curves(manifest_of(plan, plan.item("diffcse/figure2"))) == []
