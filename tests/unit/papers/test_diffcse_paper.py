"""DiffCSE as data: what its tables ask for, and that its recipes are those that its script and tables print."""

import csv
from functools import cache

from places import ROOT

from replicse.study.paper.papers import load_paper, recipe_of
from replicse.study.plan.planner import load_plan

WORKFLOW = ROOT / "workflow"
PAPER = WORKFLOW / "papers" / "diffcse"


@cache
def plan_at(scale, *papers, seeds=(0,)):
    """Return the plan of all items of some papers, by name: `all` leaves out the two large searches."""
    wanted = {paper: list(load_paper(WORKFLOW / "papers" / paper).items) for paper in papers or ("diffcse",)}
    return load_plan({"scale": scale, "papers": wanted, "seeds": list(seeds)}, WORKFLOW)


@cache
def rows_of(paper):
    path = WORKFLOW / "papers" / paper / "reported.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), strict=True))


def terms_of(run):
    return [term.term for term in run.objective]


def the_run(plan, item, row, column):
    """Return the run behind a cell with one seed."""
    cell = next(
        cell
        for cell in plan.cells[f"diffcse/{item}"]
        if (cell.row.id, cell.column.id) == (row, column) and cell.protocol == "as-described"
    )
    (encoder,) = cell.encoders
    return plan.runs[plan.encoders[encoder].source.run]


def rtd_of(run):
    (term,) = [term for term in run.objective if term.term == "rtd"]
    return term


# printed numbers ----------------------------------------------------------------------------------------------


# what is run --------------------------------------------------------------------------------------------------


def test_the_chosen_settings_are_those_that_tables_12_and_13_print():
    printed = {
        (r["item"], r["row"], r["column"]): float(r["value"])
        for r in rows_of("diffcse")
        if r["metric"] == "hyperparameter" and r["item"] in ("table12", "table13")
    }
    recipes = {
        ("table12", "diffcse-bert-base"): "diffcse",
        ("table12", "diffcse-roberta-base"): "diffcse-roberta-base",
        ("table13", "diffcse-bert-base"): "diffcse-transfer",
        ("table13", "diffcse-roberta-base"): "diffcse-roberta-base-transfer",
    }
    for (item, row), name in recipes.items():
        recipe = recipe_of(plan_at("paper").papers, "diffcse", name, "test")
        (rtd,) = [term for term in recipe.objective if term.term == "rtd"]
        assert printed[item, row, "learning-rate"] == recipe.optimisation.learning_rate
        assert printed[item, row, "masking-ratio"] == rtd.ratio
        assert printed[item, row, "lambda"] == rtd.weight


def test_the_settings_of_the_script_are_those_of_the_recipe():
    script = {r["column"]: r["value"] for r in rows_of("diffcse") if r["item"] == "script"}
    run = the_run(plan_at("paper"), "table1", "diffcse-bert-base", "avg")
    options, (contrastive, rtd) = run.optimisation, run.objective
    assert run.init.hub == script["model"]
    assert script["generator"] in rtd.generator.folder
    poolings = run.pooling.train.pooling, run.pooling.test.pooling
    assert (run.head.kind, *poolings) == ("projector", "cls-head", "cls")
    assert options.epochs == int(script["epochs"])
    assert options.batch_size == int(script["batch-size"])
    assert options.max_length == int(script["max-length"])
    assert run.selection.every == int(script["evaluation-interval"])
    assert contrastive.temperature == float(script["temperature"])


def test_both_columns_of_an_ablation_share_a_run_in_the_embedded_world_only():
    for row in ("diffcse", "no-contrastive", "next", "conditional-mlm-same-next", "corrective-lm"):
        micro, paper = (
            [the_run(plan_at(scale), "table3", row, column) for column in ("stsb-dev", "transfer-dev")]
            for scale in ("micro", "paper")
        )
        assert micro[0] == micro[1]
        assert terms_of(paper[0]) == terms_of(paper[1])
        assert paper[0].views == paper[1].views
        rates = [run.optimisation.learning_rate for run in paper]
        assert rates == [7e-6, 2e-6]
        for run, weight, ratio in zip(paper, (0.005, 0.05), (0.3, 0.15), strict=True):
            second = [term for term in run.objective if term.term != "infonce"]
            assert {(term.weight, term.ratio) for term in second} == {(weight, ratio)}


def test_rows_differ_from_diffcse_in_what_they_name_alone():
    plan = plan_at("paper")
    base = the_run(plan, "table3", "diffcse", "stsb-dev").canonical()

    def changed(item, row, column="stsb-dev"):
        other = the_run(plan, item, row, column).canonical()
        return {key for key in base | other if base.get(key) != other.get(key)}

    assert changed("table7", "ratio-30") == changed("table8", "lambda-0.005") == set()
    assert changed("table6", "distilbert-base") == changed("table5", "diffcse-batchnorm") == set()
    assert changed("table5", "diffcse-no-batchnorm") == {"head"}
    assert changed("table3", "next") == {"views", "objective"}
    for item, row in (("table3", "no-contrastive"), ("table3", "corrective-lm"), ("table4", "all")):
        assert changed(item, row) == {"objective"}
    assert changed("table8", "lambda-0") == changed("table5", "simcse-batchnorm") == {"objective"}


def test_ratios_weights_edits_and_generators_are_those_of_their_rows():
    plan = plan_at("paper")
    for percent in (15, 20, 25, 30, 40, 50):
        assert rtd_of(the_run(plan, "table7", f"ratio-{percent}", "stsb-dev")).ratio == percent / 100
    for weight in ("0.0001", "0.0005", "0.001", "0.005", "0.01", "0.05", "0.1"):
        run = the_run(plan, "table8", f"lambda-{weight}", "stsb-dev")
        assert rtd_of(run).weight == float(weight)
    assert terms_of(the_run(plan, "table8", "lambda-0", "stsb-dev")) == ["infonce"]
    for edit in ("insert", "delete"):
        for column in ("stsb-dev", "transfer-dev"):
            term = rtd_of(the_run(plan, "table4", f"{edit}-15", column))
            assert (term.edit, term.ratio) == (edit, 0.15)
    edits = the_run(plan, "table4", "all", "stsb-dev").objective[1:]
    assert [term.edit for term in edits] == ["replace", "insert", "delete"]
    assert len({term.weight for term in edits}) == 1
    rows = (
        "bert-large",
        "bert-base",
        "distilbert-base",
        "bert-medium",
        "bert-small",
        "bert-mini",
        "bert-tiny",
    )
    folders = [rtd_of(the_run(plan, "table6", row, "stsb-dev")).generator for row in rows]
    assert len(set(folders)) == len(rows)


def test_the_next_sentence_is_edited_but_not_contrasted():
    run = the_run(plan_at("paper"), "table3", "same-next", "stsb-dev")
    contrastive, same, following = run.objective
    assert run.views[2].augment.name == "next-sentence"
    assert contrastive.views == (0, 1)
    assert same.views == (0, 1)
    assert (following.views, following.condition) == ((2, 2), (0, 1))


def test_extra_positives_and_negatives_keep_simcse_settings():
    plan = plan_at("paper")
    base = the_run(plan, "table15", "simcse", "stsb-dev")
    names = {"replace": "masked-lm", "insert": "insertion", "delete": "deletion"}
    for kind, terms in (("positives", 2), ("negatives", 1)):
        for edit, augmentation in names.items():
            run = the_run(plan, "table15", f"{kind}-{edit}-15", "transfer-dev")
            assert run == the_run(plan, "table15", f"{kind}-{edit}-15", "stsb-dev")
            assert run.optimisation == base.optimisation
            assert run.views[:2] == base.views
            assert run.views[2].augment.name == augmentation
            assert terms_of(run) == ["infonce"] * terms


def test_protocols_change_the_second_loss_of_the_main_runs():
    config = {
        "scale": "paper",
        "papers": {"diffcse": ["table3"]},
        "seeds": [0],
        "adjudicate": ["diffcse/table3"],
    }
    plan = load_plan(config, WORKFLOW)
    found = {}
    for cell in plan.cells["diffcse/table3"]:
        if cell.row.id == "diffcse" and cell.column.id == "stsb-dev":
            run = plan.runs[plan.encoders[cell.encoders[0]].source.run]
            term = rtd_of(run)
            given = term.plain()
            changed = {key: given[key] for key in ("choice", "places", "average") if key in given}
            found[cell.protocol] = (changed, run.optimisation.epochs)
    assert found == {
        "as-described": ({}, 2),
        "sampled-edits": ({"choice": "sample", "places": "masked"}, 2),
        "summed-loss": ({"average": "sum"}, 2),
        "attended-mean": ({"average": "attended"}, 2),
        "one-epoch": ({}, 1),
    }
