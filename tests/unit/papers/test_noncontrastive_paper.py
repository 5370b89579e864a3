"""The paper on Barlow Twins and VICReg as data: its averages over tasks, and what its searches and tables plan."""

import csv
from statistics import fmean

import pytest
from places import ROOT

from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS
from replicse.study.plan.planner import load_plan

WORKFLOW = ROOT / "workflow"
CATEGORIES = dict(
    zip(
        MTEB_TASKS,
        (
            "classification",
            "clustering",
            "pair-classification",
            "reranking",
            "retrieval",
            "sts",
            "summarization",
        ),
        strict=True,
    )
)
# Read off the page: item, row, column, value; the corners of each table, and a cell of every row group.


@pytest.fixture(scope="module")
def printed():
    with (WORKFLOW / "papers" / "noncontrastive" / "reported.csv").open(encoding="utf-8") as stream:
        return {(row["item"], row["row"], row["column"]): row["value"] for row in csv.DictReader(stream)}


def test_the_data_sets_average_to_the_rows_of_table_6(printed):
    """A digit read wrongly, or in the wrong row or column, would show in an average; they are printed to 0.1."""
    models = {column for item, _, column in printed if item == "table4"}
    assert len(models) == 7
    for model in models:
        for names, column in (
            *((MTEB_TASKS[name], CATEGORIES[name]) for name in MTEB_TASKS),
            (MTEB_NAMES, "avg"),
        ):
            mean = fmean(float(printed["table4", name, model]) for name in names)
            assert float(printed["table6", f"roberta-base-{model}", column]) == pytest.approx(
                mean, abs=0.1001
            )


def plan_of(scale):
    return load_plan({"scale": scale, "papers": {"noncontrastive": "all"}, "seeds": [0]}, WORKFLOW)


def jobs(plan, row):
    cells = [cell for cell in plan.cells["noncontrastive/table1"] if cell.row.id == row]
    assert len({cell.jobs for cell in cells}) == 1 and len(cells) == 3
    return [plan.runs[plan.encoders[encoder].source.run] for encoder in cells[0].jobs[0]]


def test_every_job_of_every_search_is_planned():
    plan = plan_of("paper")
    for row in plan.item("noncontrastive/table1").rows:
        found = jobs(plan, row.id)
        (term,) = {run.objective[0].term for run in found}
        assert row.id.startswith(term) and len(found) == {"barlow-twins": 18, "vicreg": 50}[term]
        assert {run.optimisation.batch_size for run in found} == {256}
        assert {(run.head.layers, run.head.width, run.head.output) for run in found} == {(3, 8192, 8192)}
    rates = {(run.optimisation.learning_rate, run.objective[0].off_diagonal_weight)
             for run in jobs(plan, "barlow-twins-roberta-base-eda-0.2")}  # fmt: skip
    assert len(rates) == 18 and (3e-5, 0.0051) in rates
    for run in jobs(plan, "vicreg-bert-base-shuffle-0.3"):
        term = run.objective[0]
        assert term.invariance == 1 and 0.1 <= term.variance <= 10 and 0.001 <= term.covariance <= 1


def test_one_augmentation_at_a_time():
    plan = plan_of("paper")
    for row in plan.item("noncontrastive/table1").rows:
        run = jobs(plan, row.id)[0]
        name, strength = row.id.rsplit("-", 2)[1:]
        augmented = [view.augment for view in run.views]
        if name == "dropout":
            assert augmented == [None, None]
            assert run.dropout.hidden == run.dropout.attention == float(strength)
        else:
            assert run.dropout.hidden == run.dropout.attention == 0
            key = {"eda": "alpha", "shuffle": "fraction"}[name]
            assert {getattr(view, key) for view in augmented} == {float(strength)}
            assert augmented[0].seed != augmented[1].seed


def test_tables_4_and_6_and_figure_4_are_of_the_same_runs():
    plan = plan_of("paper")
    cells = {cell.key[:3]: cell.encoders for item in plan.cells.values() for cell in item}
    for model in ("simcse", "vicreg-dropout", "barlow-twins-dropout", "barlow-twins-nli"):
        row = f"roberta-base-{model}"
        same = {cells["noncontrastive/table4", name, model] for name in MTEB_NAMES}
        assert same == {cells["noncontrastive/table6", row, "avg"]}
        if model != "barlow-twins-nli":
            assert same == {cells["noncontrastive/figure4", model, "lowest"]}
            assert same == {cells["noncontrastive/figure3", row, "avg"]}
    assert (
        len(
            {cells["noncontrastive/table6", row.id, "avg"] for row in plan.item("noncontrastive/table6").rows}
        )
        == 14
    )
