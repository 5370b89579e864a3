"""Papers of tests/papers with plug-ins that are not in the package."""

import shutil
from pathlib import Path

import pytest
from made_up import RECIPE, plugins_of, write_paper, write_workspace
from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.compile.cost import Cost
from replicse.compile.jobs import list_jobs
from replicse.compile.lineage import run_sources
from replicse.errors import BadInput, MissingData
from replicse.registry.frozen import frozen_models
from replicse.registry.plugins import family_code, plugin_places, use_plugins

KEYS = sorted(folder.name for folder in (ROOT / "tests" / "papers").glob("*/") if plugins_of(folder))


@pytest.fixture(autouse=True)
def _nothing_in_use_after():
    yield
    use_plugins([])


@pytest.mark.parametrize("key", KEYS)
def test_each_is_planned_and_its_jobs_name_the_plugins_that_they_use(key):
    config = write_workspace(Path(), key)
    plan = compile_study(config, ROOT / "workflow")
    used = {name for job in list_jobs(plan).values() for name in job.payload.get("plugin", ())}
    assert used == set(config["plugins"])
    named = {job.id for job in list_jobs(plan).values() if job.stage == "train" and "plugin" in job.payload}
    others = plan.runs.keys() - named
    assert named or len(used) < len(plugin_places())
    for name in others:
        init = run_sources(plan)[name]
        while init.run:
            init = run_sources(plan)[init.run]
        assert not (init.fresh and family_code(init.fresh.architecture.family))
        assert not {type(term).__module__ for term in plan.runs[name].terms} & plugin_places().keys()


MINE = """
name: mine
extends: micro
backbones:
  dan:
    run:
      init:
        fresh:
          architecture: {family: dan, layers: 1, hidden: 16, heads: 1, intermediate: 16, positions: 64}
          tokenizer: uncased
      corpus: wiki
      views: [{column: text}]
      objective: [{term: mlm}]
"""
READERS = """
teacher:
  like: simcse/unsup
  objective: [{term: rtd, generator: {use: further}}]
proposer:
  like: simcse/unsup
  views: [{column: text}, {column: text, augment: {name: masked-lm, ratio: 0.15, backbone: dan}}]
"""
ROWS = """
  - {id: teacher, label: generator, encoder: {use: teacher}}
  - {id: proposer, label: proposer, encoder: {use: proposer}}
"""


def test_a_family_goes_with_the_jobs_that_make_or_open_its_encoders():
    config = write_workspace(Path(), "dan")
    for name, text in (("recipes.yaml", READERS), ("tables/table1.yaml", ROWS)):
        with (Path("papers/dan") / name).open("a") as file:
            file.write(text.lstrip("\n"))
    Path("scales").mkdir()
    Path("scales/mine.yaml").write_text(MINE)
    plan = compile_study({**config, "scale": "mine"}, ROOT / "workflow")
    jobs = list_jobs(plan)
    runs = {row: plan.encoders[cell.jobs[0][0]].source.run for row, cell in cells_of(plan).items()}
    using = {f"{job.stage} {job.id}" for job in jobs.values() if "plugin" in job.payload}
    before = {plan.runs[runs["further"]].init.run}
    assert before == {runs["dan"]}
    trained = {runs["dan"], runs["further"], runs["teacher"]}
    made = set()
    for name, run in plan.runs.items():
        if run.init.fresh and run.init.fresh.architecture.family == "dan":
            made.add(name)
    (store,) = (name for name, spec in plan.stores.items() if "augment" in spec["view"])
    dan, further = cells_of(plan)["dan"].jobs[0][0], cells_of(plan)["further"].jobs[0][0]
    expected = {f"train {name}" for name in trained | made}
    expected |= {f"evaluate {dan}.fast", f"evaluate {further}.fast", f"store {store}"}
    assert len(made) == 2 and using == expected
    assert all("dan" in job.code for job in jobs.values() if "plugin" in job.payload)


REWRITER = """
from typing import Literal
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.frozen import FrozenModel

class Rewriting(AugmentationParameters):
    name: Literal["rewriting"]
    model: FrozenModel

def rewriting(lines, *, seed, model):
    return lines
"""


def test_a_frozen_model_in_an_augmentation_is_a_folder_that_its_store_waits_for(tmp_path):
    Path("rewriter.py").write_text(REWRITER)
    rewritten = {"column": "text", "augment": {"name": "rewriting", "model": {"use": "plain"}}}
    recipes = {"plain": RECIPE, "own": {**RECIPE, "views": [{"column": "text"}, rewritten]}}
    column = {"id": "sts", "metric": "spearman", "metric_path": "sts/avg"}
    table = {"columns": [column], "rows": [{"id": "own", "encoder": {"use": "own"}}]}
    write_paper(tmp_path, "made", {"table1": table}, recipes=recipes)
    config = {"scale": "micro", "papers": {"made": "all"}, "seeds": [0, 1], "plugins": ["rewriter.py"]}
    plan = compile_study(config, tmp_path)
    jobs = list_jobs(plan)
    for run in plan.runs_of(plan.item("made/table1")):
        for model in frozen_models(plan.runs[run].views):
            teacher = Path(model.folder).parent.name
            assert plan.runs[teacher].seed == plan.runs[run].seed and teacher in plan.chain([run])
            stores = [jobs["store", Path(folder).name] for folder in jobs["train", run].payload["stores"]]
            assert f"{model.folder}/model.safetensors" in stores[1].inputs
    rewriters = [run for run in plan.runs.values() if frozen_models(run.views or ())]
    assert len(rewriters) == 2 and Cost(plan).hours(plan.runs)


def test_without_its_plugin_a_family_is_refused():
    config = write_workspace(Path(), "dan")
    shutil.rmtree("papers/dan/dan")
    with pytest.raises(
        MissingData, match='plug-in "papers/dan/dan": the file or folder does not exist; put it back'
    ):
        compile_study(config, ROOT / "workflow")
    Path("config.yaml").unlink()
    recipes = Path("papers/dan/recipes.yaml")
    recipes.write_text(f"{recipes.read_text()}# not what a test before this one has read with the plug-in\n")
    with pytest.raises(BadInput, match='neither transformers nor a plug-in has a family "dan"'):
        compile_study({**config, "plugins": []}, ROOT / "workflow")


def cells_of(plan):
    """Return the cell of each row as a dict, for a table with one column."""
    return {cell.row.id: cell for cells in plan.cells.values() for cell in cells}


def test_a_term_that_reads_labels_wants_some():
    config = write_workspace(Path(), "angle")
    file = Path("papers/angle/recipes.yaml")
    text = file.read_text().replace("corpus: course-sts", "corpus: qqp")
    file.write_text(text.replace("column: first", "column: anchor").replace(": second", ": positive"))
    with pytest.raises(BadInput, match="a labelled corpus for term angle, not qqp"):
        compile_study(config, ROOT / "workflow")


def test_an_optimiser_with_a_closure_is_refused_in_fp16_before_anything_runs():
    config = write_workspace(Path(), "angle")
    compile_study({**config, "precision": "bf16"}, ROOT / "workflow")
    with pytest.raises(
        BadInput, match="precision fp32 or bf16 for optimiser sam: the step computes gradients"
    ):
        compile_study({**config, "precision": "fp16"}, ROOT / "workflow")
