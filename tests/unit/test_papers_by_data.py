"""Papers without code.

These have a search, a derived column, another family of encoders, and the user's datasets.
"""

import copy
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from made_up import write_evaluation, write_workflow

import replicse
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import plan_item
from replicse.compile.jobs import list_jobs
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result
from replicse.registry.suites import file_of


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers") / "workflow"
    write_workflow(folder)
    return folder


@pytest.fixture
def result(workflow, tmp_path, monkeypatch):
    """Return a function that creates a paper's table from given scores.

    The scores are a list of dicts from a metric path to a number, in the order of the encoders. The function
    returns the plan and the item.
    """
    monkeypatch.chdir(tmp_path)

    def made(key, numbers, seeds=(0, 1)):
        """Compute the item of a paper from scores, by default of two seeds."""
        plan = compile_study({"scale": "micro", "papers": {key: "all"}, "seeds": list(seeds)}, workflow)
        encoders = dict.fromkeys(name for cell in plan.cells[f"{key}/table1"] for name in cell.encoders)
        for encoder, values in zip(encoders, numbers, strict=True):
            for group in set(map(file_of, values)):
                own = {path: value for path, value in values.items() if file_of(path) == group}
                write_evaluation(plan, plan.paths.evaluation(encoder, group), own)
        return plan, item_result(plan_item(plan, plan.item(f"{key}/table1")), Measurements(plan))

    return made


def by_cell(result):
    return {(cell.row, cell.column): cell.reproduced for cell in result.cells}


def test_a_search_over_sixteen_jobs(result):
    scores = np.random.default_rng(0).permutation(32) + 50.0
    tests = np.random.default_rng(2).permutation(32) + 30.0
    measured = [
        {"sts-dev/STS-B/all": float(score), "sts/avg": float(test)}
        for score, test in zip(scores, tests, strict=True)
    ]
    plan, found = result("search", measured)
    for cell in plan.cells["search/table1"]:
        assert set(map(len, cell.jobs)) == {16}
    cells = by_cell(found)
    for row, own, test in (
        ("one-view", scores[:16], tests[:16]), ("delete-one-word", scores[16:], tests[16:])
    ):  # fmt: skip
        ordered = sorted(own)
        assert cells[row, "best"] == ordered[-1]
        assert cells[row, "upper"] == ordered[11] + 0.25 * (ordered[12] - ordered[11])
        assert cells[row, "median"] == (ordered[7] + ordered[8]) / 2
        place = int(np.argmax(own))
        assert cells[row, "dropout"] == (0.0, 0.1, 0.2, 0.3)[place // 4]
        assert cells[row, "temperature"] == (0.01, 0.05, 0.1, 0.5)[place % 4]
        assert cells[row, "test"] == test[place] != test.max()
    assert {cell.n_seeds for cell in found.cells} == {1}
    write_json(Path("results/micro/items/search/table1.json"), found.plain())
    write_json(Path("results/micro/config.json"), plan.config.plain())
    jobs = replicse.load("results/micro").jobs
    own = jobs[(jobs["row"] == "delete-one-word") & (jobs["column"] == "test")]
    assert own["value"].tolist() == tests[16:].tolist() and own["job"].tolist() == list(range(16))
    assert own["dropout.hidden"].tolist() == np.repeat([0.0, 0.1, 0.2, 0.3], 4).tolist()
    assert own["terms.infonce.temperature"].tolist() == [0.01, 0.05, 0.1, 0.5] * 4
    runs = [plan.encoders[name].source.run for name in own["encoder"]]
    assert own["run"].tolist() == runs and own["seed"].tolist() == [0] * 16
    assert len(jobs) == 2 * 6 * 16


def test_the_job_that_a_column_shows_is_selected_by_a_column_of_the_same_encoders(workflow):
    file = workflow / "papers/search/tables/table1.yaml"
    table = yaml.safe_load(file.read_text())
    config = {"scale": "micro", "papers": {"search": "all"}, "seeds": [0]}

    def refused(by, **row):
        changed = copy.deepcopy(table)
        changed["columns"][-1]["over"]["jobs"]["best_by"] = by
        changed["rows"][0] |= row
        file.write_text(yaml.safe_dump(changed))
        with pytest.raises(BadInput) as told:
            compile_study(config, workflow)
        file.write_text(yaml.safe_dump(table))
        return str(told.value)

    assert 'a column of scores in over.jobs.best_by of column test, not "bets"; did you mean' in refused(
        "bets"
    )
    assert 'not "test"' in refused("test"), "a column that is selected itself"
    other = {"cells": {"best": {"pooling": "mean"}}}
    assert "over.jobs.best_by is best, but row one-view evaluates other encoders there" in refused(
        "best", **other
    )


def test_a_column_that_is_made_of_other_columns(result):
    """A column should be computed from other columns.

    Expected: (70 + 80 + (60 + 100) / 2) / 3 = 76.67, and likewise for each seed.
    """
    drawn = ((40.0, 60.0, 65.0), (46.0, 62.0, 67.0), (60.0, 70.0, 80.0), (66.0, 73.0, 80.0))
    names = ("sts/avg", "transfer/MR/accuracy", "transfer/CR/accuracy")
    numbers = [dict(zip(names, each, strict=True)) for each in drawn]
    _, found = result("overall", numbers)
    cells = by_cell(found)
    assert cells["bert", "overall"] == pytest.approx(((60 + 65 + 70) / 3 + (62 + 67 + 73) / 3) / 2)
    assert cells["simcse", "overall"] == pytest.approx(((70 + 80 + 80) / 3 + (73 + 80 + 83) / 3) / 2)
    derived = next(cell for cell in found.cells if (cell.row, cell.column) == ("simcse", "overall"))
    assert [value.value for value in derived.values] == pytest.approx([230 / 3, 236 / 3])
    assert derived.delta == pytest.approx(233 / 3 - 85.3)


def test_a_table_on_an_electra_encoder(result):
    numbers = [{"sts-dev/STS-B/all": score, "sts/avg": score} for score in (30.0, 68.0, 72.0)]
    plan, found = result("electra", numbers)
    assert by_cell(found) == {
        ("before", "stsb-dev"): 30.0,
        ("before", "avg"): 30.0,
        ("after", "stsb-dev"): 70.0,
        ("after", "avg"): 70.0,
    }
    assert {spec.engine for spec in (*plan.runs.values(), *plan.encoders.values())} == {"transformers"}
    (source,) = plan.backbones.values()
    assert source == {"folder": "electra-tiny"}
    for run in plan.runs:
        assert (
            f"{list_jobs(plan)['train', run].payload['init']}/model.safetensors"
            in list_jobs(plan)["train", run].inputs
        )


SETS = {
    "sets/similarity/spearman/wmean": 60.0,
    "sets/similarity/pearson/all": 62.0,
    "sets/topics/accuracy": 81.25,
    "mteb/SICK-BR-STS": 70.0,
}


def test_a_table_of_sets_of_ones_own_and_a_task_of_mteb(result):
    plan, found = result("sets", [SETS, SETS])
    assert by_cell(found)["bert", "mean"] == pytest.approx((60 + 81.25 + 70) / 3)
    assert {cell.verdict for cell in found.cells if cell.reported} == {"not comparable"}
    evaluations = {
        key[1].rpartition(".")[2]: job.payload for key, job in list_jobs(plan).items() if key[0] == "evaluate"
    }
    assert evaluations["mteb"]["options"]["mteb"] == {"data": "miniature", "tasks": ["SICK-BR-STS"]}
    assert evaluations["sets"]["options"]["sets"]["sets"].keys() == {"similarity", "topics"}


def test_an_evaluation_of_other_data_than_the_set_of_its_name_is_refused(result, workflow):
    plan, _ = result("sets", [SETS, SETS])
    file = Path("workflow/papers/sets/similarity.csv")
    file.parent.mkdir(parents=True)
    shutil.copy(workflow / "papers/sets/similarity.csv", file)
    with pytest.raises(
        BadInput, match="similarity was evaluated on another version of workflow/papers/sets/"
    ):
        item_result(plan_item(plan, plan.item("sets/table1")), Measurements(plan))
