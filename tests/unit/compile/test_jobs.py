"""The jobs of a study: each file has one writer, and there are no cycles.

Also tests the code and settings that each job depends on.
"""

import json
import os
from collections import defaultdict
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from planned import shipped_plan

from replicse.compile.job_states import JobStates
from replicse.compile.jobs import list_jobs
from replicse.registry.plugins import unit_of

# These use all stages, chains, augmentations with an encoder, and runs that start from a hub encoder.
PAPERS = {
    "simcse": "all",
    "repro": "all",
    "diffcse": ["table1", "table11"],
    "causes": "all",
    "twotier": "all",
}


@pytest.fixture(scope="module", params=["micro", "paper"])
def plan(request):
    return shipped_plan(scale=request.param, papers=PAPERS, adjudicate="all")


@pytest.fixture(scope="module")
def graph(plan):
    return list_jobs(plan)


def test_every_file_has_one_maker_and_no_job_waits_for_itself(graph):
    maker = {}
    for job in graph.values():
        for file in job.outputs:
            assert file not in maker, "two jobs make one file"
            maker[file] = job
    needed = {}
    for job in maker.values():
        needed[job] = [maker[file] for file in job.inputs]
    order = [*TopologicalSorter(needed).static_order()]
    assert order[0] == graph["data", ""] and set(order) == set(graph.values())
    assert len({job.log for job in graph.values()}) == len(graph)


def test_a_job_is_found_by_its_stage_and_id(graph, plan):
    found = defaultdict(set)
    for stage, name in graph:
        found[stage].add(name)
    assert found["train"] == plan.runs.keys() and found["store"] == plan.stores.keys()
    wanted = set()
    for name in plan.suites.keys() - {"data"}:
        wanted.update(f"{name}.{group}" for group in plan.groups(name))
    assert found["evaluate"] | {f"{name}.trajectory" for name in found["geometry"]} == wanted
    assert found["geometry"] == {name for name, suites in plan.suites.items() if "trajectory" in suites}
    job = next(iter(job for job in graph.values() if job.stage == "evaluate"))
    assert str(job) == f"evaluate {job.id}"


def test_a_run_depends_on_the_code_of_what_its_spec_names(graph, plan):
    for run, spec in plan.runs.items():
        code = graph["train", run].code
        assert "replicse.training.loop" in code
        assert {unit_of(term.implementation) for term in spec.terms} <= code


def test_the_settings_of_a_job_have_every_default_written_out(graph, plan):
    """Every default should be in the settings of a job.

    If a default changes, the specification then changes, too, although the payload does not contain it.
    """
    for run, spec in plan.runs.items():
        (settings,) = json.loads(graph["train", run].text)["settings"]
        assert settings.keys() == {field.alias or name for name, field in type(spec).model_fields.items()}
        assert settings["optimisation"]["batch_size"] == spec.optimisation.batch_size


def test_an_augmented_store_waits_for_the_encoder_that_its_augmentation_asks(graph, plan):
    asking = {name: spec["view"]["augment"]["encoder"] for name, spec in plan.stores.items()
              if "encoder" in spec["view"].get("augment", {})}  # fmt: skip
    assert asking
    for name, folder in asking.items():
        assert f"{folder}/model.safetensors" in graph["store", name].inputs


def test_the_report_waits_for_what_it_reads_and_a_figure_is_drawn_again_with_its_looks(graph, plan):
    assert {plan.paths.judgements, plan.paths.record, plan.paths.data} <= set(graph["report", ""].inputs)
    drawn = [job for job in graph.values() if job.stage == "figures"]
    assert drawn and {job.texts for job in drawn} == {"figures.yaml"}


def test_a_pipe_in_the_place_of_a_log_is_no_log(graph, plan, tmp_path, monkeypatch):
    """`status` once waited forever for a pipe."""
    monkeypatch.chdir(tmp_path)
    log = Path(graph["data", ""].log)
    log.parent.mkdir(parents=True)
    os.mkfifo(log)
    assert JobStates(plan).begun == {}


@pytest.mark.parametrize(
    ("end", "remedy"),
    [
        ("replicse job: a.json: the file does not exist; fetch it\n", "follow the last line of the log"),
        ("Traceback (most recent call last):\n  File a\nValueError: no loss\n", "fix the error in the log"),
        (
            "Traceback (most recent call last):\n  File a\nMyStop: two\nlines\nof text\nof a message\n",
            "fix the error",
        ),
        ("step=4\n", "probably killed"),
        ("", "probably killed"),
    ],
)
def test_the_remedy_follows_from_the_log(graph, tmp_path, end, remedy):
    """An exception whose message had several lines once read "probably killed"."""
    log = tmp_path / "train.log"
    log.write_text(f"09:00:00 INFO step=2\n{end}")
    job = replace(graph["data", ""], log=str(log))
    assert remedy in job.remedy
