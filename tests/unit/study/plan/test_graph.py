"""The graph of jobs: one maker of each file, needs that earlier jobs meet, and what each job is told and depends on."""

import ast
import re
from graphlib import TopologicalSorter

import pytest
from places import ROOT

from replicse.study.plan.graph import OUTPUTS, graph_of, log_of, outputs_of
from replicse.study.plan.planner import load_plan


@pytest.fixture(scope="module", params=["micro", "paper"])
def plan(request):
    config = {"scale": request.param, "papers": "all", "seeds": [0], "adjudicate": "all"}
    return load_plan(config, ROOT / "workflow")


@pytest.fixture(scope="module")
def graph(plan):
    return graph_of(plan)


def test_every_file_has_one_maker_and_no_job_waits_for_itself(graph):
    outputs = [file for job in graph.values() for file in job.outputs]
    maker = {file: job for job in graph.values() for file in job.outputs}
    assert len(outputs) == len(maker), "two jobs make one file"
    order = [
        *TopologicalSorter(
            {job: [maker[need] for need in job.needs] for job in maker.values()}
        ).static_order()
    ]
    assert order[0] == graph["data",] and set(order) == set(graph.values())
    assert len({job.log for job in graph.values()}) == len(graph)


def test_a_job_is_found_by_its_stage_and_parts(graph, plan):
    assert {key for key in graph if key[0] == "train"} == {("train", run) for run in plan.runs}
    assert {key for key in graph if key[0] == "store"} == {("store", store) for store in plan.stores}
    wanted = {
        ("evaluate", name, group) for name in plan.suites for group in plan.groups(name) if name != "data"
    }
    assert {key for key in graph if key[0] == "evaluate"} == wanted
    job = next(iter(job for job in graph.values() if job.stage == "evaluate"))
    assert str(job) == f"evaluate {job.parts[0]}.{job.parts[1]}"


def test_the_rules_wildcards_name_the_same_places(graph, plan):
    for stage, wildcards in (("train", ["{run}"]), ("evaluate", ["{encoder}", "{group}"]), ("count", [])):
        job = next(job for job in graph.values() if job.stage == stage)
        values = dict(zip((word.strip("{}") for word in wildcards), job.parts, strict=True))
        patterns = outputs_of(plan.paths, stage, *wildcards)
        assert {name: pattern.format(**values) for name, pattern in patterns.items()} == job.made
        assert log_of(plan.paths, stage, *wildcards).format(**values) == job.log


def test_a_run_depends_on_the_code_of_what_its_spec_names(graph, plan):
    for run, spec in plan.runs.items():
        code = graph["train", run].code
        assert "replicse.training.loop" in code
        terms = {f"replicse.registry.terms:{type(term).__name__}" for term in spec.terms}
        assert terms == {
            name for name in code if name.startswith("replicse.registry.terms:") and "Parameters" in name
        }


def test_an_augmented_store_waits_for_the_encoder_that_its_augmentation_asks(graph, plan):
    asking = {name: spec["view"]["augment"]["encoder"] for name, spec in plan.stores.items()
              if "encoder" in spec["view"].get("augment", {})}  # fmt: skip
    assert asking
    for name, folder in asking.items():
        assert f"{folder}/model.safetensors" in graph["store", name].needs


def test_no_file_that_a_job_makes_or_logs_to_is_named_in_two_source_files(plan):
    """Named: as a text, or as what follows the folder in one; help and messages are sentences."""
    parts = {"evaluate": ("e", "fast"), "report": ((), ())}
    alone = ("data", "count", "config", "judge", "study")
    made = [
        outputs_of(plan.paths, stage, *parts.get(stage, () if stage in alone else ("n",)))
        for stage in OUTPUTS
    ]
    files = {file for outputs in made for file in outputs.values() if file}
    names = {file.rpartition("/")[2] for file in files if isinstance(file, str)}
    assert {"metrics.json", "store.json", "data.json", "model.safetensors"} <= names
    homes = {name: set() for name in (*names, "logs")}
    for file in (*(ROOT / "src").rglob("*.py"), *(ROOT / "workflow").rglob("*.smk"), ROOT / "Snakefile"):
        for text in _texts(file):
            for name in homes:
                if text == name or text.endswith(f"/{name}") or (name == "logs" and text.startswith("logs/")):
                    homes[name].add(file.name)
    assert {name: home for name, home in homes.items() if len(home) > 1} == {}


def _texts(file):
    """Return the texts of a source file that are no sentences; of a rule file, which is no Python, its quoted words."""
    if file.suffix != ".py":
        return re.findall(r'"([^"\s]+)"', file.read_text())
    nodes = ast.walk(ast.parse(file.read_text()))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [text for text in texts if " " not in text]
