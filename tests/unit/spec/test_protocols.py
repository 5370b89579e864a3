"""Protocols: which settings they change, and in which cells."""

import pytest
from made_up import made_plan, write_paper, write_scores
from planned import shipped_plan

from replicse.compile.item_plan import plan_item
from replicse.compile.lines import choose_variants
from replicse.compile.recipes import vary_run
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result
from replicse.registry.run_specs import RunSpec
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.models import Vary
from replicse.spec.protocols import Protocol

CROP = {"column": "text", "augment": {"name": "crop", "keep": 0.9, "unit": "word", "position": "window"}}
RUN = RunSpec.of(
    {"views": [{"column": "text"}, CROP], "objective": [{"term": "infonce"}, {"term": "mlm", "weight": 0.1}]},
    "here",
)


def plan_of(**changes):
    config = {
        "scale": "micro",
        "papers": {"simcse": "all", "repro": "all"},
        "seeds": [0],
        "adjudicate": "all",
    }
    return shipped_plan(**{**config, **changes})


@pytest.fixture(scope="module")
def plan():
    return plan_of()


def runs(plan, item, row, protocol):
    """Return the runs of a row with a protocol, in the order of seeds.

    Args:
        plan: The compiled study.
        item: Id of the item.
        row: Id of the row.
        protocol: Id of the protocol.
    """
    cells = [cell for cell in plan.cells[item] if (cell.row.id, cell.protocol) == (row, protocol)]
    return [plan.runs[plan.encoders[name].source.run] for name in cells[0].encoders]


def vary(**changes):
    return vary_run(RUN, Vary.of(changes, "here"), "here").written()


def test_terms_are_changed_by_name():
    changed_terms = vary(terms={"mlm": {"in_place": True}})["objective"]
    assert changed_terms == [{"term": "infonce"}, {"term": "mlm", "weight": 0.1, "in_place": True}]


def test_both_sides_are_drawn_apart():
    first, second = vary(both_sides=True)["views"]
    assert first["augment"] == {**CROP["augment"], "seed": 43}
    assert second == CROP


def protocol(name, cells, change, **more):
    values = {"id": name, "title": name, "evidence": "a file", "cells": cells, "change": change, **more}
    return Protocol.of(values, "here")


def test_one_variant_of_the_released_code_is_not_run_twice():
    protocols = [protocol("a", {"t": ["row"]}, {"pooling": "cls"}, as_run=True)]
    assert set(choose_variants(protocols, "t", "row", adjudicated=True)) == {"a"}
    assert choose_variants(protocols, "t", "other", adjudicated=True) == {}


def test_an_item_that_is_not_adjudicated_keeps_what_its_table_shows():
    shown = protocol("a", {"t": "all"}, {"pooling": "cls"}, in_table=["t"])
    hidden = protocol("b", {"t": "all"}, {"pooling": "mean"})
    assert set(choose_variants([shown, hidden], "t", "row", adjudicated=False)) == {"a"}


def test_only_what_is_adjudicated_is_run():
    without, one = plan_of(adjudicate=[]), plan_of(adjudicate=["repro/table4"])
    assert {cell.protocol for cell in without.cells["repro/table4"]} == {AS_DESCRIBED}
    assert set(without.runs) < set(one.runs) < set(plan_of().runs)
    assert {cell.protocol for cell in one.cells["repro/table6"]} == {AS_DESCRIBED}


def test_a_protocol_on_a_table_of_chosen_hyper_parameters_is_chosen_alike(tmp_path, monkeypatch):
    """A protocol's hyper-parameters should be chosen as in the text's.

    This once raised KeyError, because only choices for the text's protocol were recorded.
    """
    monkeypatch.chdir(tmp_path)
    over = {"jobs": {"argmax": "optimisation.batch_size"}}
    encoder = {"use": "plain", "grid": {"optimisation.batch_size": [64, 128]}}
    table = {
        "columns": [{"id": "size", "metric_path": "sts/avg", "over": over, "metric": "spearman"}],
        "rows": [{"id": "r", "encoder": encoder}],
    }
    variant = {
        "id": "v",
        "title": "V",
        "evidence": "a file",
        "cells": {"t": "all"},
        "change": {"pooling": "mean"},
    }
    write_paper(tmp_path, "made", {"t": table}, protocols=[variant])
    plan = made_plan(tmp_path, adjudicate="all")
    best = {AS_DESCRIBED: 0, "v": 1}
    write_scores(plan, ["made/t"], lambda cell, place: 80 + (place == best[cell.protocol]))
    cells = item_result(plan_item(plan, plan.item("made/t")), Measurements(plan)).cells
    assert {cell.protocol: cell.reproduced for cell in cells} == {AS_DESCRIBED: 64.0, "v": 128.0}
