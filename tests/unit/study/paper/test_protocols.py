"""Protocols: what they change, where they apply, and what is told of a mistake in their file."""

import shutil
from functools import reduce

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from made_up import made_plan, write_paper, write_scores
from planned import WORKFLOW, shipped_plan

from replicse.errors import BadInput
from replicse.registry.runs import Run
from replicse.study.paper.models import EncoderRequest, Vary
from replicse.study.paper.papers import load_paper
from replicse.study.paper.protocols import (
    AS_DESCRIBED,
    AS_RUN,
    Protocol,
    changed,
    load_protocols,
    variants,
    varied,
)
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations

CROP = {"column": "text", "augment": {"name": "crop", "keep": 0.9, "unit": "word", "position": "window"}}
RUN = Run.of(
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
    """Return the specs behind a row under a protocol, in the order of the seeds."""
    cells = [cell for cell in plan.cells[item] if (cell.row.id, cell.protocol) == (row, protocol)]
    return [plan.runs[plan.encoders[name].source.run] for name in cells[0].encoders]


def vary(**changes):
    return varied(RUN, Vary.of(changes, "here"), "here").given()


def test_augmentations_are_changed_where_there_are_any():
    before = RUN.given()
    first, second = vary(augment={"unit": "character", "position": "prefix"})["views"]
    assert first == {"column": "text"}
    assert second["augment"] == {**CROP["augment"], "unit": "character", "position": "prefix"}
    assert RUN.given() == before, "what is varied stays as it was"


def test_terms_are_changed_by_name():
    changed_terms = vary(terms={"mlm": {"in_place": True}})["objective"]
    assert changed_terms == [{"term": "infonce"}, {"term": "mlm", "weight": 0.1, "in_place": True}]


def test_both_sides_are_drawn_apart():
    first, second = vary(both_sides=True)["views"]
    assert first["augment"] == {**CROP["augment"], "seed": 43}
    assert second == CROP


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"terms": {"rtd": {"weight": 1}}}, 'here: term "rtd" is changed, but the run has infonce, mlm'),
        ({"augment": {"keep": 0.5}}, "here: an augmentation is changed, but no view of the run has one"),
        ({"both_sides": True}, "here: an augmentation is changed, but no view of the run has one"),
    ],
)
def test_a_change_of_what_is_not_there_is_refused(vary, words):
    """It would read as an effect of zero."""
    with pytest.raises(BadInput, match=words):
        varied(RUN.replace(views=RUN.views[:1]), Vary.of(vary, "here"), "here")


def protocol(name, cells, change, **more):
    values = {"id": name, "title": name, "evidence": "a file", "cells": cells, "change": change, **more}
    return Protocol.of(values, "here")


CHANGES = {
    "a": {"run": {"dropout": {"hidden": 0.1, "attention": 0.1}}},
    "b": {"run": {"dropout": {"hidden": 0.2}}},
    "c": {"pooling": "cls"},
}


@given(st.permutations(["a", "b", "c"]))
def test_as_run_joins_all_of_the_released_code_in_the_order_of_the_file(order):
    protocols = [protocol(name, {"t": "all"}, CHANGES[name], as_run=name != "c") for name in order]
    found = variants(protocols, "t", "row", adjudicated=True)
    assert set(found) == {"a", "b", "c", AS_RUN}
    last = [name for name in order if name != "c"][-1]
    hidden = CHANGES[last]["run"]["dropout"]["hidden"]
    assert reduce(changed, found[AS_RUN], EncoderRequest()).given() == {
        "run": {"dropout": {"hidden": hidden, "attention": 0.1}}
    }


def test_one_variant_of_the_released_code_is_not_run_twice():
    protocols = [protocol("a", {"t": ["row"]}, {"pooling": "cls"}, as_run=True)]
    assert set(variants(protocols, "t", "row", adjudicated=True)) == {"a"}
    assert variants(protocols, "t", "other", adjudicated=True) == {}


def test_an_item_that_is_not_adjudicated_keeps_what_its_table_shows():
    shown = protocol("a", {"t": "all"}, {"pooling": "cls"}, in_table=["t"])
    hidden = protocol("b", {"t": "all"}, {"pooling": "mean"})
    assert set(variants([shown, hidden], "t", "row", adjudicated=False)) == {"a"}


def test_a_change_is_laid_over_what_the_row_asks_for():
    request = EncoderRequest.of(
        {"use": "unsup", "run": {"dropout": {"hidden": 0.1, "attention": 0.1}}}, "here"
    )
    change = {"run": {"dropout": {"hidden": 0.02}}, "pooling": "cls-head", "augment": {"unit": "character"}}
    assert changed(request, protocol("a", {"t": "all"}, change)).given() == {
        "use": "unsup",
        "run": {"dropout": {"hidden": 0.02, "attention": 0.1}},
        "pooling": "cls-head",
        "vary": {"augment": {"unit": "character"}},
    }


def test_another_objective_reaches_the_named_column_alone():
    """On every column it would train sentiment on similarity scores."""
    plan = plan_of(scale="paper", papers={"twotier": ["table2"]})
    cells = [cell for cell in plan.cells["twotier/table2"] if cell.protocol == "binary-sentiment"]
    assert {cell.column.id for cell in cells} == {"sst-dev", "overall", "mean"}
    (run,) = runs(plan, "twotier/table2", "single-task", "binary-sentiment")
    assert run.corpus["name"] == "course-sst" and run.terms[0].term == "binary-cross-entropy"
    described = {cell.key: cell for cell in plan.described("twotier/table2")}
    (overall,) = [cell for cell in cells if cell.column.id == "overall"]
    same = [each.jobs == described[each.key].jobs for each in overall.operands]
    assert sorted(same) == [False, True, True], "what is derived takes the other columns as described"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[single-task/sst-dev]",
            "[single-task]",
            "replaces objective in row single-task of twotier/table2, whose columns train paraphrase",
        ),
        ("stages: [unsup, sup]", "stages: [unsub]", 'stages names "unsub"; did you mean "unsup"'),
    ],
)
def test_what_a_protocol_cannot_change_is_refused(tmp_path, old, new, words):
    shutil.copytree(WORKFLOW / "scales", tmp_path / "scales")
    folder = shutil.copytree(WORKFLOW / "papers" / "twotier", tmp_path / "papers" / "twotier")
    text = (folder / "protocols.yaml").read_text(encoding="utf-8")
    (folder / "protocols.yaml").write_text(text.replace(old, new), encoding="utf-8")
    config = {"scale": "paper", "papers": {"twotier": ["table2"]}, "seeds": [0], "adjudicate": "all"}
    with pytest.raises(BadInput, match=words):
        load_plan(config, tmp_path)


def test_a_protocol_changes_the_stages_of_a_chain_that_it_names():
    plan = plan_of(scale="paper", papers={"twotier": ["table4", "table5"]})
    (last,) = runs(plan, "twotier/table4", "standard", "dropout-in-stage")
    first = plan.runs[last.init.run]
    assert (first.terms[0].term, first.dropout.pooled) == ("infonce", 0.3)
    assert (last.terms[0].term, last.dropout.pooled) == ("mean-squared-error", 0.1)
    (only,) = runs(plan, "twotier/table5", "standard", "dropout-in-stage")
    assert (only.terms[0].term, only.dropout.pooled) == ("infonce", 0.3)


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


def test_unknown_items_to_adjudicate_are_named_with_the_nearest():
    with pytest.raises(BadInput, match='adjudicate names "repro/table44"; did you mean "repro/table4"'):
        plan_of(adjudicate=["repro/table44"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": {"table9": "all"}}, 'a.cells names "table9"; did you mean "table'),
        ({"change": {}}, "a.change is empty; a variant changes something"),
        ({"change": {"terms": {"infonec": {"weight": 2}}}}, 'did you mean "infonce"'),
        ({"cells": {"table4": ["nones"]}}, 'a.cells.table4 names "nones"; did you mean "none"'),
        ({"in_table": ["table5"]}, 'a.in_table names "table5"'),
        ({"id": "as-run"}, 'protocol "as-run" is given twice or is a reserved name'),
        ({"evidence": ""}, "evidence is"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path, change, words):
    good = {
        "id": "a",
        "title": "A",
        "evidence": "a file",
        "cells": {"table4": "all"},
        "change": {"pooling": "cls"},
    }
    file = tmp_path / "protocols.yaml"
    file.write_text(yaml.safe_dump([{**good, **change}]), encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        load_protocols(file, load_paper(WORKFLOW / "papers" / "repro").items)


def test_a_protocol_on_a_table_of_chosen_hyper_parameters_is_chosen_alike(tmp_path, monkeypatch):
    """It once ended in a KeyError: choices were recorded for the text's protocol only."""
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
    cells = item_result(plan, plan.item("made/t"), Evaluations(plan)).cells
    assert {cell.protocol: cell.reproduced for cell in cells} == {AS_DESCRIBED: 64.0, "v": 128.0}


def test_a_paper_without_protocols_has_none(tmp_path):
    assert load_protocols(tmp_path / "protocols.yaml", {}) == ()
