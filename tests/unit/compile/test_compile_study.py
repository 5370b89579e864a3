"""Compile studies: shared runs, chains, adjustments by scale, mistakes.

Also tests published standard deviations.
"""

import shutil
import subprocess
import sys

import pytest
import yaml
from cases import cases
from made_up import RECIPE, made_plan, write_paper, write_scores
from places import ROOT
from planned import WORKFLOW, shipped_plan

from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import find_spread, plan_item
from replicse.compile.jobs import list_jobs
from replicse.compile.needs import absent
from replicse.compile.study_record import describe_study
from replicse.errors import BadInput
from replicse.judge.report.csv_rows import table_rows
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result
from replicse.spec.scales import load_scale

CONFIG = {"scale": "micro", "papers": {"simcse": ["table3", "figure2"], "repro": ["table5"]}, "seeds": [0, 1]}


def plan_of(**changes):
    return shipped_plan(**{**CONFIG, **changes})


@pytest.fixture
def workflow(tmp_path):
    """Copy the workflow with the record and the papers of CONFIG.

    Tests can break the copy.
    """
    for name in ("papers/simcse", "papers/repro", "record", "scales"):
        shutil.copytree(WORKFLOW / name, tmp_path / name)
    shutil.copy(WORKFLOW / "datasets.yaml", tmp_path)
    return tmp_path


def edit(path, change):
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")


def test_a_study_may_ask_for_some_rows_of_an_item():
    plan = plan_of(rows={"simcse/table3": ["p0.1", "p0.0"]})
    item = plan.item("simcse/table3")
    assert [row.id for row in item.rows] == ["p0.0", "p0.1"]
    assert item.notes[-1] == "This study asks for 2 of the 8 rows."
    assert (
        item.baseline == "p0.1"
        and plan_of(rows={"simcse/table3": ["p0.0"]}).item("simcse/table3").baseline == ""
    )
    assert len(plan.evaluation_files(item)) == 4


def count_runs(plan, fresh):
    return sum(bool(run.init.fresh) == fresh for run in plan.runs.values())


def test_every_seed_is_a_whole_chain_from_its_own_backbone():
    one, three = plan_of(seeds=[0]), plan_of(seeds=[0, 1, 2])
    for fresh in (True, False):
        count = count_runs(one, fresh)
        assert count_runs(three, fresh) == 3 * count and (count == 1 or not fresh)
    starts = {run.seed: run.init.run for run in three.runs.values() if run.init.run}
    assert starts.keys() == {0, 1, 2}
    for run in three.runs.values():
        if run.init.run:
            assert run.init.run == starts[run.seed], "rows of one seed stand on one backbone"
            assert three.runs[run.init.run].seed == run.seed
    assert set(one.runs) < set(three.runs), "the chains of a seed are the same in every study"


def test_a_scale_may_have_one_backbone_for_all_seeds(workflow):
    edit(workflow / "scales" / "micro.yaml", lambda scale: scale["backbones"]["bert-base"]["run"].pop("seed"))
    plan = compile_study({**CONFIG, "papers": {"simcse": ["table5"]}, "seeds": [5, 6]}, workflow)
    cells = {cell.row.id: cell for cell in plan.described("simcse/table5") if cell.column.id == "avg"}
    assert cells["unsup-simcse-bert-base"].seeds == (5, 6)
    assert cells["bert-base-first-last"].seeds == (0,), "the seed of the scale's pre-training"
    crossed = {"papers": {"simcse": ["table3"]}, "crossed": {"simcse/table3": ["p0.1"]}}
    with pytest.raises(
        BadInput,
        match=r"crossed lists row p0.1 of simcse/table3, but .*micro.yaml does not pre-train the backbones",
    ):
        compile_study({**CONFIG, **crossed}, workflow)


def test_a_crossed_row_is_run_under_every_seed_on_every_backbone():
    asked = {
        "papers": {"simcse": ["table3"]},
        "rows": {"simcse/table3": ["p0.0", "p0.1"]},
        "seeds": [0, 1, 2],
    }
    plain, plan = plan_of(**asked), plan_of(**asked, crossed={"simcse/table3": ["p0.1"]})
    assert len(plan.runs) == len(plain.runs) + 6, "the chains of one seed are those of the table"
    lines = {cell.protocol: cell for cell in plan.cells["simcse/table3"] if cell.row.id == "p0.1"}
    for seed in (0, 1, 2):
        cell = lines[f"on-backbone-{seed}"]
        assert cell.seeds == (0, 1, 2) and cell.jobs[seed] == lines["as-described"].jobs[seed]
        for name in cell.encoders:
            run = plan.runs[plan.encoders[name].source.run]
            assert plan.runs[run.init.run].seed == seed
    assert any(entry["id"] == "on-backbone-2" for entry in describe_study(plan)["protocols"])


def test_a_hub_encoder_is_read_from_a_folder_of_the_config(monkeypatch, tmp_path):
    """A hub encoder is loaded from a folder if the config has one.

    The encoder is named after the folder. If the folder does not exist, only `run` is refused.
    """
    monkeypatch.chdir(tmp_path)
    folders = {"sentence-transformers/all-MiniLM-L6-v2": "models/all-MiniLM-L6-v2"}
    plan = shipped_plan(scale="paper", papers={"reference": "all"}, folders=folders)
    (encoder,) = plan.encoders.values()
    assert encoder.source.plain() == {"folder": "./models/all-MiniLM-L6-v2"}
    (sentence,) = absent(plan)
    assert sentence.startswith("encoder folder models/all-MiniLM-L6-v2 does not exist; ")


def test_a_trajectory_ends_where_its_runs_end_at_a_scale(workflow):
    whole = compile_study({**CONFIG, "papers": {"simcse": ["figure2"]}}, workflow)
    file = workflow / "scales/micro.yaml"
    file.write_text(
        file.read_text().replace("optimisation.steps, at_most: 20", "optimisation.steps, at_most: 15")
    )
    cut = compile_study({**CONFIG, "papers": {"simcse": ["figure2"]}}, workflow)
    for plan, last in ((whole, 20), (cut, 10)):
        assert {run.trajectory.steps()[-1] for run in plan.runs.values() if run.trajectory.every} == {last}
        cells = plan.cells["simcse/figure2"]
        shown = {cell.column.step for cell in cells if cell.jobs}
        assert shown == {None, *range(0, last + 1, 10)}
        assert {cell.column.step for cell in cells} > {None, *range(0, 101, 10), 200, 15000}


def test_a_scale_that_extends_another_says_only_what_differs(workflow):
    file = workflow / "scales" / "mine.yaml"
    file.write_text(
        "name: mine\nextends: compact\nbackbones: {bert-base: {run: {optimisation: {batch_size: 80}}}}\n"
    )
    mine, compact = load_scale(file), load_scale(workflow / "scales" / "compact.yaml")
    own, base = mine.backbones["bert-base"].run, compact.backbones["bert-base"].run
    assert own.optimisation.batch_size == 80 != base.optimisation.batch_size
    assert own.objective == base.objective and own.init == base.init
    assert mine.backbones["bert-small"] == compact.backbones["bert-small"]
    assert mine.corpora == compact.corpora and mine.adjust == compact.adjust


def test_planning_needs_no_torch():
    code = (
        "import sys; from pathlib import Path; from replicse.compile.compiler import compile_study;"
        "compile_study({'scale': 'paper', 'papers': {'simcse': 'all'}, 'seeds': [0]}, Path('workflow'));"
        "import replicse.judge.verdicts.verdict, replicse.judge.verdicts.tabulate, replicse.judge.audit.audit_papers;"
        "import replicse.cli; print({'torch', 'scipy', 'pandas', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_chain_starts_from_the_checkpoint_of_a_real_run_of_the_same_seed(tmp_path):
    pairs = [{"column": "anchor"}, {"column": "positive"}]
    second = {"like": "plain", "init": {"use": "plain"}, "corpus": "nli", "views": pairs}
    table = {
        "setting": {"metric": "spearman"},
        "columns": [{"id": "avg", "metric_path": "sts/avg"}],
        "rows": [{"id": "second", "encoder": {"use": "second"}}],
    }
    write_paper(tmp_path, "made", {"table1": table}, recipes={"plain": RECIPE, "second": second})
    plan = made_plan(tmp_path, seeds=[3, 4])
    (cell,) = plan.cells["made/table1"]
    last, first = [], []
    for (name,), seed in zip(cell.jobs, (3, 4), strict=True):
        run = plan.runs[plan.encoders[name].source.run]
        last.append(run)
        first.append(plan.runs[run.init.run])
        assert run.seed == first[-1].seed == seed
    assert plan.runs_of(plan.item("made/table1")) == set(plan.runs) and len(plan.runs) == 4
    jobs = list_jobs(plan)
    job, earlier = jobs["train", last[0].run_id], jobs["train", first[0].run_id]
    folder = f"results/paper/runs/{first[0].run_id}/best"
    assert job.payload["init"] == folder and f"{folder}/model.safetensors" in job.inputs
    assert job.payload["tokenizer"] == earlier.payload["tokenizer"]


# Published standard deviations


@cases
def test_whatever_differs_from_the_recipe_ends_the_loan(workflow, change):
    def differ(table):
        row = next(row for row in table["rows"] if row["id"] == "p0.1")
        row["encoder"] = {**row.get("encoder", {}), **change}

    edit(workflow / "papers" / "simcse" / "tables" / "table3.yaml", differ)
    config = {"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0]}
    plan = compile_study(config, workflow)
    for cell in plan.described("simcse/table3"):
        assert not find_spread(plan, cell)


@pytest.mark.parametrize("seeds", [1, 4, 10])
def test_a_borrowed_spread_is_marked_at_any_number_of_seeds(tmp_path, monkeypatch, seeds):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(
        scale="paper", papers={"simcse": ["table3"]}, seeds=list(range(seeds)), adjudicate=["simcse/table3"]
    )
    write_scores(plan, ["simcse/table3"], lambda cell, place: 82 + (-1) ** place)
    result = item_result(plan_item(plan, plan.item("simcse/table3")), Measurements(plan))
    cells = {(cell["row"], cell["protocol"]): cell for cell in table_rows(result)}
    own = cells.pop(("p0.1", "as-described"))
    assert own["borrowed"] == "yes"
    assert own["verdict"] in ("within seed spread", "higher", "lower")
    assert ("p0.1", "eval-250") in cells
    for cell in cells.values():
        assert not cell["borrowed"], "neither ablations nor variants borrow"
        assert seeds > 1 or cell["verdict"] == "undetermined"


def test_a_head_of_other_classes_cannot_be_kept(tmp_path):
    def sst(classes):
        return {"objective": [{"term": "cross-entropy", "task": "sst", "classes": classes}]}

    before = {**RECIPE, "corpus": "course-sst", "views": [{"column": "first"}], **sst(5)}
    after = {"like": "before", "init": {"use": "before", "keep_head": True}, **sst(2)}
    columns = [{"id": "avg", "metric_path": "sts/avg", "metric": "spearman"}]
    table = {"columns": columns, "rows": [{"id": "r", "encoder": {"use": "after"}}]}
    write_paper(tmp_path, "made", {"table1": table}, recipes={"before": before, "after": after})
    with pytest.raises(
        BadInput, match="the run of made/before has another head of task sst; remove keep_head"
    ):
        made_plan(tmp_path)
