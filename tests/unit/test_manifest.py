"""Manifests: which cells may borrow a published spread, how variants are named, numbers of the running text."""

import shutil

import pytest
import yaml
from made_up import write_scores
from places import ROOT

from replicse.errors import BadInput
from replicse.study.plan.planner import load_plan
from replicse.study.results.manifest import manifest_of
from replicse.study.results.tabulate import Evaluations, tabulate

WORKFLOW = ROOT / "workflow"
STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg")
CONFIG = {
    "scale": "paper",
    "papers": {"simcse": "all", "repro": "all"},
    "seeds": [0, 1],
    "adjudicate": "all",
}


def plan_of(workflow=WORKFLOW, **changes):
    return load_plan({**CONFIG, **changes}, workflow)


@pytest.fixture(scope="module")
def plan():
    return plan_of()


def spreads(plan, item):
    cells = manifest_of(plan, plan.item(item))["cells"]
    return {tuple(name.split("|")[:2]): facts["spread"] for name, facts in cells.items() if "spread" in facts}


def edited(tmp_path, file, change):
    """A copy of the workflow's data with one file changed."""
    folder = tmp_path / "workflow"
    shutil.copytree(WORKFLOW, folder)
    path = folder / file
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("item", "cells"),
    [
        ("simcse/table1", {("none", "stsb-dev"): 0.97}),
        ("simcse/table2", {("unsup-simcse", "one-encoder"): 0.97}),
        ("simcse/table3", {("p0.1", "stsb-dev"): 0.97}),
        ("simcse/table6", {("cls-head-train-only", "unsup"): 0.97}),
        ("simcse/tableA1", {}),
        ("simcse/tableC1", {}),
        ("simcse/tableE1", {}),
        ("repro/table5", {("p0.1", "stsb-dev"): 0.97, ("p0.1", "stsb-dev-delta"): 0.97}),
    ],
)
def test_only_the_measured_recipe_borrows(plan, item, cells):
    assert spreads(plan, item) == cells


def test_each_backbone_borrows_its_own_spread_where_one_is_published(plan):
    found = spreads(plan, "simcse/table5")
    bert = dict(zip(STS, (1.51, 1.33, 1.25, 1.02, 0.87, 1.12, 0.97, 0.84), strict=True))
    assert found == {
        **{("unsup-simcse-bert-base", column): spread for column, spread in bert.items()},
        ("unsup-simcse-roberta-base", "avg"): 0.21,
        ("unsup-simcse-roberta-large", "avg"): 0.50,
    }, "supervised, post-processed and released encoders borrow nothing"
    assert spreads(plan, "repro/table6")["unsup-simcse-bert-large", "avg"] == 1.74


@pytest.mark.parametrize("scale", ["micro", "compact"])
def test_a_smaller_scale_borrows_nothing(scale):
    papers = {"simcse": ["table3", "table5"]}
    plan = plan_of(scale=scale, papers=papers)
    assert not any(spreads(plan, item) for item in plan.items)


@pytest.mark.parametrize(
    "change",
    [
        {"pooling": "cls-head"},
        {"checkpoint": "last"},
        {"postprocess": {"name": "whitening", "fit": "target"}},
        {"run": {"optimisation": {"batch_size": 128}}},
        {"run": {"dropout": {"attention": 0.05}}},
        {"run": {"encoders": "two"}},
    ],
)
def test_whatever_differs_from_the_recipe_ends_the_loan(tmp_path, change):
    def differ(table):
        row = next(row for row in table["rows"] if row["id"] == "p0.1")
        row["encoder"] = {**row.get("encoder", {}), **change}

    folder = edited(tmp_path, "papers/simcse/tables/table3.yaml", differ)
    assert spreads(plan_of(folder, papers={"simcse": ["table3"]}), "simcse/table3") == {}


def test_without_published_spreads_nothing_is_borrowed(tmp_path):
    folder = tmp_path / "workflow"
    shutil.copytree(WORKFLOW, folder)
    (folder / "priors.yaml").unlink()
    assert spreads(plan_of(folder, papers={"simcse": ["table3"]}), "simcse/table3") == {}


@pytest.mark.parametrize(("seeds", "borrowed"), [(1, "yes"), (4, "yes"), (5, "")])
def test_a_borrowed_spread_is_marked_below_five_seeds(tmp_path, monkeypatch, seeds, borrowed):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(papers={"simcse": ["table3"]}, seeds=list(range(seeds)))
    write_scores(plan, ["simcse/table3"], lambda cell, place: 82 + 0.1 * place)
    item = plan.item("simcse/table3")
    cells = {
        (cell["row"], cell["protocol"]): cell
        for cell in tabulate(manifest_of(plan, item), Evaluations(plan.paths))
    }
    assert cells["p0.1", "as-described"]["borrowed"] == borrowed
    assert cells["p0.1", "as-described"]["verdict"] in ("within seed spread", "higher", "lower")
    others = [cell for name, cell in cells.items() if name != ("p0.1", "as-described")]
    assert ("p0.1", "eval-250") in cells
    assert not any(cell["borrowed"] for cell in others), "neither ablations nor variants borrow"
    if seeds == 1:
        assert {cell["verdict"] for cell in others} == {"undetermined"}


def test_variants_that_are_no_lines_of_the_table_have_titles(plan):
    titles = manifest_of(plan, plan.item("repro/table4"))["variants"]
    assert titles["low-dropout"] == "Dropout 0.02 and 0.01"
    assert titles["as-run"] == "All of the released code"
    assert set(titles) == {cell.protocol for cell in plan.cells["repro/table4"]} - {"as-described"}
    table5 = manifest_of(plan, plan.item("simcse/table5"))
    lines = {name for row in table5["rows"] for name in row["protocols"]}
    assert lines == {"as-described", "released", "first-transformer-layer"}
    assert table5["variants"] == {}, "what the table itself shows below its rows is no variant"
    quiet = plan_of(papers={"repro": ["table4"]}, adjudicate=[])
    assert manifest_of(quiet, quiet.item("repro/table4"))["variants"] == {}


@pytest.mark.parametrize(
    ("cell", "value", "place"),
    [
        ("two-encoders|full|spearman", "84.2", "Section 4"),
        ("qqp|overlap|percent", "60", "Section 4"),
        ("paranmt|overlap|percent", "55", "Section 4"),
        ("entailment|overlap|percent", "39", "Section 4"),
    ],
)
def test_a_row_may_point_to_a_number_of_the_running_text(plan, cell, value, place):
    facts = manifest_of(plan, plan.item("simcse/table4"))["cells"][cell]
    assert (facts["reported"], facts["source"]) == (value, place)


def test_pointing_to_a_number_that_the_text_does_not_hold_is_a_mistake(tmp_path):
    def misspell(table):
        row = next(row for row in table["rows"] if row["id"] == "qqp")
        row["printed"] = {"overlap": "lexical-overlap/qpq"}

    folder = edited(tmp_path, "papers/simcse/tables/table4.yaml", misspell)
    with pytest.raises(BadInput) as error:
        plan_of(folder, papers={"simcse": ["table4"]})
    text = str(error.value)
    assert "table4.yaml: row qqp: printed names" in text
    assert 'did you mean "lexical-overlap/qqp"?' in text
