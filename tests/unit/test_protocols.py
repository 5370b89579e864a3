"""Protocols: what they change, where they apply, and what is told of a mistake in their file."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from replicse.errors import BadInput
from replicse.study.paper.protocols import (
    AS_DESCRIBED,
    AS_RUN,
    Protocol,
    changed_subject,
    load_protocols,
    variants,
    varied,
)
from replicse.study.plan.planner import load_plan
from replicse.study.results.manifest import manifest_of

WORKFLOW = ROOT / "workflow"
SCHEMAS = WORKFLOW / "schemas"
CROP = {"column": "text", "augment": {"name": "crop", "keep": 0.9, "unit": "word", "position": "window"}}
RUN = {
    "views": [{"column": "text"}, CROP],
    "objective": [{"term": "infonce"}, {"term": "mlm", "weight": 0.1}],
}


def plan_of(**changes):
    config = {
        "scale": "micro",
        "papers": {"simcse": "all", "repro": "all"},
        "seeds": [0],
        "adjudicate": "all",
    }
    return load_plan({**config, **changes}, WORKFLOW)


@pytest.fixture(scope="module")
def plan():
    return plan_of()


def runs(plan, item, row, protocol):
    """Return the specs behind a row under a protocol, in the order of the seeds."""
    cells = [cell for cell in plan.cells[item] if (cell.row.id, cell.protocol) == (row, protocol)]
    return [plan.runs[plan.encoders[name].source["run"]] for name in cells[0].encoders]


def test_augmentations_are_changed_where_there_are_any():
    changed = varied(RUN, {"augment": {"unit": "character", "position": "prefix"}})
    assert changed["views"][0] == {"column": "text"}
    assert changed["views"][1]["augment"] == {**CROP["augment"], "unit": "character", "position": "prefix"}
    assert RUN["views"][1] == CROP, "what is varied stays as it was"


def test_terms_are_changed_by_name():
    changed = varied(RUN, {"terms": {"mlm": {"in_place": True}}})
    assert changed["objective"] == [{"term": "infonce"}, {"term": "mlm", "weight": 0.1, "in_place": True}]


def test_both_sides_are_drawn_apart():
    first, second = varied(RUN, {"both_sides": True})["views"]
    assert first["augment"] == {**CROP["augment"], "seed": 43}
    assert second == CROP


def test_nothing_to_vary_changes_nothing():
    assert varied(RUN, {}) == RUN


@given(st.permutations(["a", "b", "c"]))
def test_as_run_joins_all_of_the_released_code_in_the_order_of_the_file(order):
    protocols = [
        Protocol(name, name, "", {"t": "all"}, {"run": {name: order}}, as_run=name != "c") for name in order
    ]
    found = variants(protocols, "t", "row", adjudicated=True)
    assert set(found) == {"a", "b", "c", AS_RUN}
    assert found[AS_RUN] == {"run": {name: order for name in order if name != "c"}}


def test_one_variant_of_the_released_code_is_not_run_twice():
    protocols = [Protocol("a", "a", "", {"t": ["row"]}, {"pooling": "cls"}, as_run=True)]
    assert set(variants(protocols, "t", "row", adjudicated=True)) == {"a"}
    assert variants(protocols, "t", "other", adjudicated=True) == {}


def test_an_item_that_is_not_adjudicated_keeps_what_its_table_shows():
    shown = Protocol("a", "a", "", {"t": "all"}, {"pooling": "cls"}, in_table=("t",))
    hidden = Protocol("b", "b", "", {"t": "all"}, {"pooling": "mean"})
    assert set(variants([shown, hidden], "t", "row", adjudicated=False)) == {"a"}


def test_a_change_is_laid_over_what_the_row_asks_for():
    subject = {"use": "unsup", "run": {"dropout": {"hidden": 0.1, "attention": 0.1}}}
    change = {"run": {"dropout": {"hidden": 0.02}}, "pooling": "cls-head", "augment": {"unit": "character"}}
    assert changed_subject(subject, change) == {
        "use": "unsup",
        "run": {"dropout": {"hidden": 0.02, "attention": 0.1}},
        "pooling": "cls-head",
        "vary": {"augment": {"unit": "character"}},
    }


def test_the_studys_protocols_do_what_their_evidence_says(plan):
    (run,) = runs(plan, "repro/table4", "crop-10", "low-dropout")
    assert (run.dropout.hidden, run.dropout.attention) == (0.02, 0.01)
    (run,) = runs(plan, "repro/table4", "crop-10", "character-crop")
    assert run.views[1]["augment"] == {**CROP["augment"], "unit": "character", "position": "prefix"}
    (run,) = runs(plan, "repro/table4", "synonym", "synonym-30")
    assert run.views[1]["augment"]["rate"] == 0.3 and run.views[1]["augment"]["words"] is None
    (run,) = runs(plan, "repro/table4", "mlm-15", "mlm-loss")
    assert [term["term"] for term in run.objective] == ["infonce", "mlm"]
    assert all("augment" not in view for view in run.views)
    (run,) = runs(plan, "repro/table4", "deletion-20", AS_RUN)
    assert run.dropout.hidden == 0.02 and run.views[1]["augment"]["rounding"] == "keep-floor"


def test_evaluating_otherwise_trains_nothing(plan):
    for protocol in ("last-checkpoint", "head-at-test"):
        assert runs(plan, "repro/table4", "none", protocol) == runs(
            plan, "repro/table4", "none", AS_DESCRIBED
        )


def test_only_what_is_adjudicated_is_run():
    without, one = plan_of(adjudicate=[]), plan_of(adjudicate=["repro/table4"])
    assert {cell.protocol for cell in without.cells["repro/table4"]} == {AS_DESCRIBED}
    assert set(without.runs) < set(one.runs) < set(plan_of().runs)
    assert {cell.protocol for cell in one.cells["repro/table6"]} == {AS_DESCRIBED}


def test_variants_share_their_runs_with_the_tables_they_stand_in(plan):
    manifest = manifest_of(plan, plan.item("simcse/tableD2"))
    row = next(row for row in manifest["rows"] if row["id"] == "mlm-1")
    assert "masking-in-place" in row["protocols"]
    assert manifest["variants"] == {}, "what a table shows is no hidden variant of it"


def test_unknown_items_to_adjudicate_are_named_with_the_nearest():
    with pytest.raises(BadInput, match='adjudicate names "repro/table44"; did you mean "repro/table4"'):
        plan_of(adjudicate=["repro/table44"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": {"table9": "all"}}, 'a.cells names "table9"; did you mean "table'),
        ({"cells": {"table4": ["nones"]}}, 'a.cells.table4 names "nones"; did you mean "none"'),
        ({"in_table": ["table5"]}, 'a.in_table names "table5"'),
        ({"id": "as-run"}, 'protocol "as-run" is given twice or is a reserved name'),
        ({"change": {"pool": "cls"}}, 'unknown key "pool"'),
        ({"evidence": "code"}, "expected where the difference is seen"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path, change, words):
    good = {
        "id": "a",
        "title": "A",
        "evidence": "a repository, a file and a commit",
        "cells": {"table4": "all"},
        "change": {"pooling": "cls"},
    }
    file = tmp_path / "protocols.yaml"
    file.write_text(yaml.safe_dump([{**good, **change}]), encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        load_protocols(file, SCHEMAS, {"table4": ["none"], "table5": ["p0.1"]})


def test_a_paper_without_protocols_has_none(tmp_path):
    assert load_protocols(tmp_path / "protocols.yaml", SCHEMAS, {}) == ()
