"""A failed study: the report is built from the files that exist.

The tests write the files; no rule runs.
"""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from made_up import write_scores
from places import ROOT
from planned import shipped_audit

from replicse.cli import main
from replicse.cli.render import draw_item
from replicse.cli.report import draw_if_possible
from replicse.compile.compiler import compile_study
from replicse.compile.copies import write_copy
from replicse.compile.jobs import list_jobs
from replicse.compile.specifications import Specifications
from replicse.files import read_json, write_json
from replicse.judge.verdicts.table import ItemResult
from replicse.runtime.progress import heartbeat_of
from replicse.spec.config import read_config

CONFIG = Path("own.yaml")
STUDY = ["--study", str(CONFIG)]
ASKED = """
scale: micro
papers: {simcse: [table3], repro: [figure1]}
rows: {simcse/table3: [p0.0, p0.1, p0.2]}
seeds: [0, 1]
"""
ERROR = "replicse job: the store is cut; delete its folder"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write a study of synthetic scores; return the plan and evaluation files.

    The files are the evaluations of SimCSE's Table 3.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    monkeypatch.setattr("replicse.judge.report.judge_study.audit_plan", lambda *_, **__: shipped_audit()[0])
    monkeypatch.setattr("replicse.judge.report.judge_study.audit", lambda plan: shipped_audit()[1])
    monkeypatch.setattr("replicse.cli.report.draw_item", drawn)
    CONFIG.write_text(ASKED)
    plan = compile_study(read_config([CONFIG]), ROOT / "workflow")
    write_scores(plan, plan.items, lambda cell, place: -1.25 if "uniformity" in cell.metric_path else 1.25)
    return plan, plan.evaluation_files(plan.item("simcse/table3"))


def drawn(item, out):
    """Write the files that a report links to. Figures have separate tests."""
    make((out.with_suffix(f".{kind}") for kind in ("svg", "png", "pdf")), "<svg></svg>")


def make(files, text='{"files": []}'):
    """Write files with the same text, by default an empty JSON list of files."""
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text)


WORKS = ("data", "tokenizer", "backbone", "store", "train", "evaluate", "geometry", "count")


def make_all_but(plan, missing):
    """Write missing outputs of all jobs before judging, except a run's."""
    for job in list_jobs(plan).values():
        if job.stage in WORKS and not any(missing in file for file in job.outputs):
            make(file for file in job.outputs if not Path(file).exists())


def fail(job, text):
    Path(job.log).parent.mkdir(parents=True, exist_ok=True)
    Path(job.log).write_text(text)


def of_a_run(plan, files):
    """Find the first run that Table 3's evaluations use.

    Returns:
        The run's id, the training job and the evaluation job.
    """
    jobs = {file: job for job in list_jobs(plan).values() for file in job.outputs}
    run = next(need for need in jobs[files[0]].inputs if "/runs/" in need).split("/runs/")[1].split("/")[0]
    return run, jobs[plan.paths.run(run, "metrics.json")], jobs[files[0]]


def test_a_failed_run_leaves_a_report_that_says_which_why_and_what_to_do(study, capsys, golden):
    plan, files = study
    run, train, evaluation = of_a_run(plan, files)
    make_all_but(plan, run)
    Path(files[0]).unlink()
    fail(train, f"12:00:00 INFO step=1\n{ERROR}\n")
    fail(evaluation, "an older log of the evaluation, which was not reached\n")
    Path(files[1]).unlink()
    Path(files[2]).write_text('{"suites": {"sts')
    assert main(["report", *STUDY]) == 1
    lines = [capsys.readouterr().out]
    for cell in json.loads(Path("results/micro/partial/items/simcse/table3.json").read_text())["cells"]:
        told = [cell.get("verdict", ""), str(cell.get("reproduced", "")), cell.get("reason", "")]
        lines.append(f"{cell['row']}/{cell['column']}: {', '.join(told)}")
    golden("finish.txt", "\n".join(lines))
    text = Path("reports/micro/partial/report.html").read_text()
    assert "RepliCSE report: micro, incomplete" in text and ERROR in text and "fix or delete the file" in text
    assert not Path("reports/micro/report.html").exists() and not Path("results/micro/items").exists()
    assert Path("figures/micro/partial/repro/figure1.svg").exists()
    for name in ("claims", "audit", "adjudication", "cells"):
        assert Path(f"results/micro/partial/{name}.csv").stat().st_size > 100
    make([plan.paths.data], "[]")
    assert (
        main(["report", *STUDY]) == 2 and "results/micro/data.json: data is None" in capsys.readouterr().err
    )
    make([plan.paths.data])


def test_what_nobody_tried_is_not_run_and_an_old_log_is_no_failure(study, capsys):
    plan, files = study
    Path(files[0]).unlink()
    job = next(job for job in list_jobs(plan).values() if files[0] in job.outputs)
    make_all_but(plan, files[0])
    assert main(["report", *STUDY, "--json"]) == 1
    said = capsys.readouterr()
    (item, *_) = json.loads(said.out)["incomplete"]
    assert f"incomplete; {item['item']}: not run yet; run the same command again\n" in said.err
    assert (item["state"], item["why"]) == ("not run", "not run yet")
    fail(job, "Killed\n")
    os.utime(job.log, (1, 1))
    assert main(["report", *STUDY]) == 1
    assert "memory or time" in capsys.readouterr().out
    # Deleted or interrupted: `status` once showed such lines as a failure.
    ended = (
        f"12:00:00 INFO wrote={files[0]} seconds=1.0",
        "replicse job: interrupted; start it again",
    )
    for line in (*ended, "KeyboardInterrupt"):
        fail(job, f"{line}\n")
        assert main(["report", *STUDY, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["incomplete"][0]["state"] == "not run", line


def test_status_knows_what_runs_on_any_machine_that_shares_the_folder(study, capsys, golden, monkeypatch):
    """`status` shows jobs on all machines that share the folder.

    It once only knew the processes of this machine. If there was one, it reported all started jobs as
    running.
    """
    monkeypatch.setenv("COLUMNS", "200")
    plan, files = study
    run, train, _ = of_a_run(plan, files)
    make_all_but(plan, run)
    Path(files[0]).unlink()
    lines, beat, host = [], heartbeat_of(train.log), socket.gethostname()
    facts = {"step": 120, "steps": 500, "loss": 0.31, "rate": 850.0, "left": 180.0}

    def tell(what, *more):
        assert main(["status", *STUDY, *more]) == 0
        lines.append(f"# {what}\n{capsys.readouterr().out.replace(host, 'HOST')}")

    Path(plan.paths.item("simcse/table3")).parent.mkdir(parents=True)
    make(
        [plan.paths.table("simcse/table3"), plan.paths.item("simcse/table3")], "null"
    )  # written by hand; `status` once ended in a traceback
    tell("nothing has begun")
    fail(train, "step=1\n")
    write_json(beat, {"host": "another", "pid": 1, **facts})
    tell("a heartbeat of another machine")
    write_json(beat, {"host": host, "pid": os.getpid()})
    tell("a heartbeat of this machine")
    write_json(beat, {"host": host, "pid": ended_process()})
    tell("a process that has ended")
    write_json(beat, {"host": "another", "pid": 1, **facts})
    os.utime(beat, (time.time() - 600, time.time() - 600))
    tell("a stale heartbeat")
    beat.write_text("{")
    tell("a broken heartbeat")
    tell("as plain data", "--json")
    golden("status.txt", "\n".join(lines))


@pytest.mark.parametrize(
    ("stage", "part", "told"),
    [
        ("judge", "papers", "judge: out of date, because the text of the papers has changed"),
        ("figures", "code", "figures simcse/table3: out of date, because the code has changed"),
        ("report", "code", "report: out of date, because the code has changed"),
    ],
    ids=["judge", "figures", "report"],
)
def test_status_is_not_complete_if_a_page_is_out_of_date(study, capsys, monkeypatch, stage, part, told):
    """`status` once only knew evaluations and tables, so a changed claim did not count."""
    monkeypatch.setenv("COLUMNS", "200")
    specifications = Specifications(study[0])
    finished = [job for job in specifications.jobs.values() if job.stage != "page"]
    for job in finished:
        make((file for file in job.outputs if not Path(file).exists()), "null")
        write_copy(job.copy, json.loads(specifications.text(job)))
    assert main(["status", *STUDY]) == 0
    assert "complete; next: replicse show" in capsys.readouterr().out
    job = next(job for job in finished if job.stage == stage)
    copy = read_json(job.copy)
    copy["specification"]["digests"][part] = "another"
    write_json(job.copy, copy)
    assert main(["status", *STUDY]) == 0
    said = capsys.readouterr().out
    assert f"{told}; replicse run recomputes them" in said and "\nnext: replicse run" in said


def ended_process():
    """Return the id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def test_a_whole_study_has_nothing_incomplete(study, capsys, caplog, monkeypatch):
    assert main(["report", *STUDY]) == 0
    assert "2 items: no evaluation is missing" in capsys.readouterr().out
    # A figure without any run is not in the log; the item is listed as incomplete.
    item = ItemResult.read("results/micro/partial/items/repro/figure1.json")
    monkeypatch.setattr("replicse.cli.report.draw_item", draw_item)
    draw_if_possible(item.model_copy(update={"cells": ()}), Path("nothing.svg"))
    assert not Path("nothing.svg").exists() and "cannot create the figure" not in caplog.text
