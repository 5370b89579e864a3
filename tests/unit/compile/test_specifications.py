"""Specifications of jobs: changes, comparison with copies, and dates."""

import json
import os
from pathlib import Path

import pytest
from planned import WORKFLOW, shipped_plan

from replicse.compile.compiler import compile_study
from replicse.compile.copies import read_copy, write_copy
from replicse.compile.item_plan import ItemPlan, plan_item
from replicse.compile.specifications import (
    Specifications,
    describe_outdated,
    find_changes,
)
from replicse.registry.procedures import CosineSchedule

SECOND = 10**9


@pytest.fixture
def plan():
    return shipped_plan(papers={"simcse": ["table3"]})


@pytest.fixture
def specifications(plan):
    return Specifications(plan)


def finish(specifications, job, date):
    """Write the outputs of a job and the copy of the specification.

    Args:
        specifications: Specifications of the study.
        job: The job.
        date: Modification time of the files in seconds.
    """
    for file in job.outputs:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(f"{job} {file}")
    write_copy(job.copy, json.loads(specifications.text(job)))
    for file in (*job.outputs, job.copy):
        os.utime(file, ns=(date * SECOND, date * SECOND))


def finish_all(specifications):
    for date, job in enumerate(specifications.jobs.values(), start=1_000_000):
        finish(specifications, job, date)


def is_dated_right(specifications, job):
    """Return whether no input is newer than an output, as Snakemake checks."""
    inputs = [specifications.place(job), *filter(Path.is_file, map(Path, job.inputs))]
    outputs = [*map(Path, job.outputs), job.copy]
    newest = max(file.stat().st_mtime_ns for file in inputs)
    return newest <= min(file.stat().st_mtime_ns for file in outputs)


def test_a_specification_says_what_a_job_is_given_and_depends_on(specifications, plan):
    run = next(iter(plan.runs))
    specification = json.loads(specifications.text(specifications.jobs["train", run]))
    assert specification["stage"] == "train" and specification["id"] == run
    assert specification["payload"]["run"] == plan.runs[run].plain()
    assert specification["settings"] == [plan.runs[run].model_dump(mode="json", by_alias=True)]
    assert specification["digests"].keys() == {"code", "inputs", "data"}
    assert "replicse.training.loop" in specification["modules"]
    assert specification["outputs"][0] == f"results/micro/runs/{run}/best/model.safetensors"


def first_job(specifications, stage):
    return next(job for job in specifications.jobs.values() if job.stage == stage)


def test_only_changed_specifications_are_written_again(specifications):
    specifications.write()
    job = first_job(specifications, "train")
    others = [specifications.place(each) for each in specifications.jobs.values() if each is not job]
    for file in (*others, specifications.place(job)):
        os.utime(file, (1, 1))
    specifications.place(job).write_text("{}")
    specifications.write()
    assert json.loads(specifications.place(job).read_text())["id"] == job.id
    assert {file.stat().st_mtime for file in others} == {1}


def test_a_finished_study_is_right_whatever_the_dates_of_its_specifications(specifications):
    finish_all(specifications)
    specifications.write()
    for job in specifications.jobs.values():
        assert specifications.changes(job) == set() and is_dated_right(specifications, job), job


def test_results_that_were_copied_without_dates_are_dated_in_order_again(specifications):
    finish_all(specifications)
    jobs = list(specifications.jobs.values())
    for date, job in enumerate(reversed(jobs), start=2_000_000):
        for file in (*job.outputs, job.copy):
            os.utime(file, (date, date))
    specifications.write()
    assert all(is_dated_right(specifications, job) for job in jobs)


def test_an_edited_input_stays_newer_than_what_was_computed_from_it(specifications):
    finish_all(specifications)
    job = first_job(specifications, "tabulate")
    Path(job.inputs[0]).write_text("another score")
    specifications.write()
    assert not is_dated_right(specifications, job)


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_text("{"), lambda file: file.write_text("[]")]
)
def test_a_result_without_a_copy_is_older_than_its_specification(specifications, spoil):
    finish_all(specifications)
    job = first_job(specifications, "evaluate")
    spoil(job.copy)
    specifications.write()
    assert specifications.place(job).stat().st_mtime_ns > max(
        Path(file).stat().st_mtime_ns for file in job.outputs
    )
    assert specifications.changes(job), "it has not finished"


def test_a_change_reaches_everything_that_is_computed_from_it_and_goes_with_it(specifications, monkeypatch):
    """A change should affect all dependent results, until it is reverted.

    After the change is reverted, no job should run again.
    """
    finish_all(specifications)
    changed = Specifications(specifications.study)
    code = changed.code_digest
    trained = "replicse.training.loop"
    monkeypatch.setattr(changed, "code_digest", lambda names: "other" if trained in names else code(names))
    changed.write()
    parts = {job.stage: changed.changes(job) for job in changed.jobs.values()}
    assert parts["train"] == {"code", "inputs"} or parts["train"] == {"code"}
    assert parts["evaluate"] == parts["tabulate"] == parts["report"] == {"inputs"}
    assert parts["data"] == parts["tokenizer"] == parts["store"] == set()
    for job in changed.jobs.values():
        assert is_dated_right(changed, job) == (not changed.changes(job)), job
    specifications.write()
    assert all(is_dated_right(specifications, job) for job in specifications.jobs.values())


def test_what_has_changed_is_named_once_for_all_items_that_it_makes_out_of_date():
    changes = {
        "simcse/table3": {"code"},
        "simcse/table5": {"code"},
        "repro/table4": set(),
        "repro/table5": {"data", "job"},
    }
    assert list(describe_outdated(changes)) == [
        "simcse/table3, simcse/table5: out of date, because the code has changed; replicse run recomputes them",
        "repro/table5: out of date, because the data and the settings have changed; replicse run recomputes them",
    ]


def test_each_part_of_a_specification_counts(specifications):
    job = first_job(specifications, "train")
    specification = json.loads(specifications.text(job))
    finish(specifications, job, 1)
    copy = read_copy(job.copy)
    assert find_changes(copy, specification) == set()
    for part in ("code", "data", "inputs"):
        other = {**specification, "digests": {**specification["digests"], part: "other"}}
        assert find_changes(copy, other) == {part}
    for part in ("payload", "settings", "inputs", "outputs"):
        assert find_changes(copy, {**specification, part: []}) == {"job"}
    assert find_changes({}, specification) == {"code", "data", "inputs", "job"}


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_the_plan_of_an_item_is_the_same_after_a_specification(scale):
    """The plan of an item should be equal after it is saved and loaded.

    The study has tables, figures, searches with a shown hyper-parameter, derived columns, and borrowed
    standard deviations.
    """
    papers = {"simcse": "all", "noncontrastive": "all", "repro": "all", "diffcse": "all"}
    study = shipped_plan(scale=scale, papers=papers, adjudicate="all")
    spreads = 0
    for item in study.items.values():
        plan = plan_item(study, item)
        read = ItemPlan.of(json.loads(json.dumps(plan.plain())), item.id)
        assert list(map(flat, read.planned)) == list(map(flat, plan.planned)) or _same_cells(read, plan)
        assert read.plain() == plan.plain() and read.facts == plan.facts
        spreads += sum(facts.spread is not None for facts in read.facts.values())
    assert spreads or scale == "micro"


def flat(cell):
    return vars(cell) | {"item": 0, "row": cell.row.id, "operands": 0}


def _same_cells(read, plan):
    """Return whether cells are equal, except for encoder requests.

    These requests are not needed by a job.
    """
    for one, other in zip(read.planned, plan.planned, strict=True):
        assert one.id == other.id and one.jobs == other.jobs and one.seeds == other.seeds
        assert one.reported == other.reported and one.subtracted == other.subtracted
        for operand, expected in zip(one.operands, other.operands, strict=True):
            assert operand.id == expected.id
    return True


OWN_SCALE = """\
extends: micro
name: own
title: Own encoders, word vectors and corpora
backbones:
  bert-base: {run: null, folder: models/theirs}
corpora:
  qqp: {format: table, file: corpus.csv, anchor: one, positive: other}
"""
OWN_FILES = {
    "mine/1_Pooling/config.json": "backbone",
    "placed/models/theirs/config.json": "backbone",
    "placed/models/theirs/1_Pooling/config.json": "backbone",
    "placed/vectors/glove.txt": "evaluate",
    "corpus.csv": "count",
}


@pytest.mark.parametrize(("file", "stage"), OWN_FILES.items())
def test_every_file_of_ones_own_encoders_vectors_and_corpora_counts(file, stage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (*OWN_FILES, "mine/config.json", "scales/own.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("{}")
    Path("scales/own.yaml").write_text(OWN_SCALE)
    config = {
        "scale": "own",
        "papers": {"simcse": ["table4", "table5", "tableE1"]},
        "rows": {"simcse/table5": {"mine": {"folder": "mine"}}, "simcse/tableE1": ["glove"]},
        "seeds": [0],
        "data": {"source": "local", "root": "placed"},
    }
    study = compile_study(config, WORKFLOW)
    before = Specifications(study)
    digests = {job: before.digests(job) for job in before.jobs.values()}
    Path(file).write_text("{1}")
    after = Specifications(study)
    assert stage in {
        job.stage for job in digests if digests[job].get("data") != after.digests(job).get("data")
    }


def test_a_schedule_of_the_registry_computes_so_its_code_counts():
    from replicse.provenance.source import SourceCode, modules_of

    names = {"replicse.registry.procedures:CosineSchedule", "replicse.registry.procedures:cosine"}
    assert modules_of(CosineSchedule(schedule="cosine")) == names
    assert SourceCode().digest(*names) != SourceCode().digest("replicse.registry.procedures:linear")
