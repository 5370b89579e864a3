"""`replicse run`: item names, Snakemake arguments, stale locks, messages."""

import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from cases import cases
from places import ROOT
from rich.console import Console
from snakemake_interface_logger_plugins.common import LogEvent

from replicse.cli import main, profiles, run
from replicse.compile.job import Job
from replicse.compile.selection import chosen_items
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.runtime.locks import free, hold
from replicse.runtime.progress import heartbeat_of
from replicse.runtime.slurm import keep_refusal
from replicse.spec.config import checked_config
from replicse.spec.papers import load_papers
from snakemake_logger_plugin_replicse import LogHandler

CONFIG = "scale: micro\npapers: {simcse: [table3, figure2], repro: [table5]}\nseeds: [0]\n"


@pytest.fixture(scope="module")
def items():
    config = checked_config(yaml.safe_load(CONFIG), "x")
    return list(chosen_items(config, load_papers(ROOT / "workflow"), "x"))


@cases
def test_an_item_may_be_written_in_several_ways(items, words, found):
    named = run.items_named(words, items)
    assert [getattr(item, "id", item) for item in named] == found


def test_a_profile_whose_executor_is_not_installed_is_refused_in_one_sentence(monkeypatch, capsys):
    """A profile is refused in a sentence if the executor is missing.

    Snakemake once printed a hundred lines of options and "invalid choice".
    """
    monkeypatch.setattr(profiles, "find_spec", lambda name: None)
    assert main(["run", "--scale", "micro", "--profile", "slurm", "-n"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("not installed; pip install snakemake-executor-plugin-slurm\n")
    assert said.count("\n") == 1 and profiles.profile_named("gpu-box", ROOT / "workflow")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Return the list of Snakemake's command lines, in a folder with a config."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "more.yaml").write_text("seeds: [1]\n")
    found = []

    def started(command, **_):
        found.append(command[1:])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(run.subprocess, "run", started)
    return found


def test_ctrl_c_leaves_snakemake_the_time_that_it_takes_to_end_its_jobs():
    """After Ctrl-C, Snakemake should have time to end its jobs.

    Snakemake was once killed after a quarter of a second; the lock and orphaned jobs were left.
    """
    main_thread = threading.main_thread().ident
    threading.Timer(0.5, signal.pthread_kill, [main_thread, signal.SIGINT]).start()
    assert (
        run.exit_code([sys.executable, "-c", "import time; time.sleep(2); raise SystemExit(7)"], Path()) == 7
    )


def test_a_snakemake_that_ctrl_c_has_killed_before_its_first_job_is_an_interruption():
    with pytest.raises(KeyboardInterrupt):
        run.exit_code(["sh", "-c", "kill -INT $$"], Path())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_asks_a_run_to_end_asks_its_jobs(tmp_path, number):
    job = f"trap 'echo ended > {tmp_path}/ended; exit 1' TERM; echo > {tmp_path}/began; while :; do sleep 0.1; done"
    words = ["sh", "-c", 'sh -c "$0" & wait; wait', job]
    code = (
        f"import sys, pathlib; from replicse.cli.run import exit_code; exit_code({words!r}, pathlib.Path())"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "began").exists():
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(30)
    while not (tmp_path / "ended").exists():
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ('set-resources:\n  train: {slurm_extra: "--mail-type=END --qos=long"}', "set-resources: train"),
        ("set-resources: [\"train:slurm_extra='--qos=long'\"]", "set-resources"),
        ("default-resources: [mem_mb=1000, \"slurm_extra='--qos long'\"]", "default-resources"),
    ],
)
def test_an_option_that_the_slurm_executor_refuses_is_named_with_its_resource(
    tmp_path, capsys, text, location
):
    """Refuse `--qos` in slurm_extra before the start: of a group of jobs, Snakemake waits for ever.

    Other options of slurm_extra pass.
    """
    file = tmp_path / "config.yaml"
    file.write_text(text)
    assert main(["run", "simcse/table3", "--scale", "micro", "--profile", str(tmp_path), "-n"]) == 2
    message = capsys.readouterr().err
    assert f"{file}: {location}: slurm_extra has --qos" in message and "resource qos instead" in message
    file.write_text('default-resources: {slurm_extra: "--mail-type=END"}\n')
    assert profiles.profile_named(str(tmp_path), ROOT / "workflow") == str(tmp_path)


def test_all_options_that_the_slurm_executor_refuses_are_refused_before_the_start(capsys):
    """Refuse each option of the executor's list in its long and its short form, also after `--`."""
    validation = pytest.importorskip("snakemake_executor_plugin_slurm.validation")
    refused = list(validation.get_forbidden_slurm_options())
    options = chain.from_iterable(profiles.SLURM_RESOURCES)
    extras = [f"slurm_extra=--mail-type=END {option} 1" for option in options]
    for extra in extras:
        assert any(re.search(pattern, extra) for pattern in refused)
        with pytest.raises(BadInput, match=r"which the executor refuses; (set the resource|remove it)"):
            profiles.refuse_options("profile", extra)
    for pattern in refused:
        assert any(re.search(pattern, extra) for extra in extras)
    words = ["--", "--default-resources", "slurm_extra='-p long'"]
    assert main(["run", "simcse/table3", "--scale", "micro", "-n", *words]) == 2
    assert "after --: slurm_extra has -p" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--profile", "gpu-box"], ["--", "--resources", "gpu=2"]])
def test_gpus_are_refused_on_a_machine_without_one(calls, capsys, monkeypatch, words):
    """GPUs are refused on a machine without a GPU.

    The jobs once waited for a GPU, or used the CPU, without a warning.
    """
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    command = ["run", "simcse_table3", "--workflow", str(ROOT / "workflow"), *words]
    assert main(command) == 2 and not calls
    assert "requests GPUs, but torch cannot find a GPU on this machine" in capsys.readouterr().err
    assert main([*command[:2], "-n", *command[2:]]) == 0 and calls, "elsewhere there may be one"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert main(command) == 0


def test_flags_of_snakemake_are_printed_and_asked_for_after_two_dashes(calls, capsys):
    words = ["run", "simcse_table3", "--workflow", str(ROOT / "workflow"), "-n"]
    assert main([*words, "--", "--forceall"]) == 0
    assert "--printshellcmds --forceall -- simcse_table3" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--forceall"])
    assert (
        "unrecognized arguments: --forceall; options of Snakemake must follow a lone --"
        in capsys.readouterr().err
    )


def test_temporary_files_of_killed_jobs_are_removed_at_the_next_start(calls, capsys):
    """Temporary files of killed jobs should be removed at the next start.

    2 of 126 kills left a figure, or the weights of a checkpoint, as `.NAME.ID.tmp`.
    """
    left = Path("results/micro/runs/a/best/.model.safetensors.0a1b2c3d.tmp")
    kept = list(map(left.with_name, (".hidden.tmp", "model.safetensors", ".x.0a1b2c3d.tmp")))
    left.parent.mkdir(parents=True)
    for file in (left, *kept):
        file.touch()
    for file in (left, *kept[:2]):
        os.utime(file, (1, 1))
    words = ["run", "simcse_table3", "--workflow", str(ROOT / "workflow"), "--scale", "micro"]
    assert main([*words, "-n"]) == 0 and left.exists()
    capsys.readouterr()
    assert main(words) == 0
    assert "removed 1 temporary file of jobs that were killed\n" in capsys.readouterr().err
    assert not left.exists() and all(file.exists() for file in kept)


def test_snakemake_is_told_the_config_and_the_targets(calls, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    more = ["--configfile", "more.yaml", "--seeds", "2", "--scale", "compact"]
    words = ["--workflow", str(ROOT / "workflow"), *more]
    assert main(["run", "simcse_table3", *words, "--profile", "gpu-box", "--", "--notemp"]) == 0
    (told,) = calls
    assert capsys.readouterr().out == "", "the address of a page that was not made"
    assert told[:3] == ["-m", run.QUIET, "snakemake"] and told[-3:] == ["--notemp", "--", "simcse_table3"]
    text = " ".join(told)
    assert f"--profile {ROOT}/workflow/profiles/gpu-box" in text and "--cores" not in text
    assert "--keep-going" in told and "--rerun-incomplete" in told
    assert "--configfile more.yaml --config scale=compact seeds=[0,1]" in text
    page = Path("reports/compact/simcse/table3.html")
    page.parent.mkdir(parents=True)
    page.touch()
    assert main(["run", "simcse_table3", *words]) == 0
    assert capsys.readouterr().out == f"simcse/table3: {page}\n"
    assert main(["run", "simcse_table3", *words, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("complete commands: snakemake ") and "--printshellcmds -- simcse_table3\n" in said
    settings = ["--config", "scale=paper", "--config", "papers={esimcse: all}"]
    assert main(["run", "--workflow", str(ROOT / "workflow"), *settings, "-n"]) == 0
    assert " ".join(calls[-1]).endswith("--dry-run --quiet rules progress --logger replicse --")
    assert "hub.lock.yaml does not contain a commit of" in capsys.readouterr().err, "before anything starts"


def test_a_committed_study_is_run_by_its_name(calls, capsys):
    words = ["--workflow", str(ROOT / "workflow"), "--config", "data.root=there"]
    assert main(["run", "--study", "twotier", *words]) == 0
    text = " ".join(calls[0])
    assert "reports/studies/twotier/config.json --config data={root: there}" in text
    assert main(["run", "--study", "twotire", *words]) == 2
    assert 'the committed study "twotire" does not exist; did you mean "twotier"?' in capsys.readouterr().err


def test_what_cannot_be_planned_is_told_before_snakemake_starts(calls, tmp_path, capsys):
    """Planning errors are reported before Snakemake starts.

    Snakemake once printed a traceback around the sentence, and the exit code was the code of a failed run.
    """
    shutil.copytree(ROOT / "workflow", tmp_path / "own")
    table = tmp_path / "own/papers/simcse/tables/table3.yaml"
    table.write_text(table.read_text().replace("use: unsup", "use: clod", 1))
    assert main(["run", "simcse/table3", "--workflow", str(tmp_path / "own")]) == 2
    error = capsys.readouterr().err
    assert 'recipe "clod"' in error and error.count("\n") == 1 and calls == []


@pytest.mark.parametrize("cores", ["0", "-1", "two"])
def test_cores_are_a_number_or_all(calls, capsys, cores):
    """The number of cores should be positive, or "all".

    With 0 Snakemake waited forever; with -1 each training ended in a traceback.
    """
    assert main(["run", "--cores", cores, "--workflow", str(ROOT / "workflow")]) == 2
    assert f'--cores is {cores}; expected "all" or a number at least 1' in capsys.readouterr().err
    assert not calls


@pytest.mark.parametrize(
    ("words", "stays"), [([], False), (["all"], False), (["simcse/table3"], True), (["-n"], True)]
)
def test_a_report_of_what_there_was_does_not_outlive_the_whole_study(calls, words, stays):
    """A report of an incomplete study should be removed when it is complete.

    Snakemake calls no hooks if there is nothing to do: after one of 1,002 kills, the report was left.
    """
    files = [Path(home, "micro/partial/table3.csv") for home in ("results", "figures", "reports")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.touch()
    settings = ["--workflow", str(ROOT / "workflow"), "--config", "scale=micro"]
    assert main(["run", *words, *settings]) == 0
    assert [file.exists() for file in files] == [stays] * 3


def test_of_two_studies_started_together_the_second_is_refused(tmp_path):
    """If two studies start together, the second is refused.

    Snakemake only takes its lock seconds after the second start.
    """
    said = r"another `replicse run` uses these results; wait for it or end it"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with hold(tmp_path / "one"):
        (tmp_path / "two/results").symlink_to(tmp_path / "one/results")
        for name in ("one", "two"):  # two folders can share their results
            with pytest.raises(BadInput, match=rf"{tmp_path}/one/results: {said}"):
                hold(tmp_path / name)
    hold(tmp_path / "two").close()


@pytest.mark.parametrize("options", [[], ["-n"]])
def test_a_second_run_is_refused_before_it_writes_a_specification(calls, capsys, options):
    """A dry run of other items once changed the report's specification of a running study."""
    with hold(Path.cwd()):
        assert main(["run", *options, "--workflow", str(ROOT / "workflow"), "--config", "scale=micro"]) == 2
    assert "another `replicse run` uses these results" in " ".join(capsys.readouterr().err.split())
    assert not calls


def test_the_lock_of_a_study_does_not_empty_the_target_of_a_link(tmp_path):
    """In a folder from somebody else, the lock can be a link to any file of the user."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/.replicse-study.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        hold(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_an_item_that_is_left_out_is_run_where_it_is_named(calls):
    def told(*words):
        assert main(["run", "--workflow", str(ROOT / "workflow"), "--config", "scale=paper", *words]) == 0
        return calls.pop()

    everything = ["--config", "all.yaml"]
    Path("all.yaml").write_text("papers: {diffcse: all}\n")
    whole = told("diffcse", *everything)
    assert "diffcse_table1" in whole and "diffcse_table12" not in whole
    assert not any(word.startswith("papers=") for word in whole)
    named = told("diffcse/table12", *everything)
    assert named[-1] == "diffcse_table12"
    papers = json.loads(next(word for word in named if word.startswith("papers="))[len("papers=") :])
    assert "table12" in papers["diffcse"] and "table13" not in papers["diffcse"]
    assert papers["simcse"] == ["table3", "figure2"]


def test_a_stale_lock_is_removed_and_a_live_one_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("x")
    program = tmp_path / "snakemake"
    program.write_text("import time; print('up', flush=True); time.sleep(60)")
    running = subprocess.Popen([sys.executable, str(program)], cwd=tmp_path, stdout=subprocess.PIPE)
    running.stdout.readline()
    with pytest.raises(BadInput, match=f"process {running.pid}"):
        free(tmp_path)
    running.kill()
    running.wait()
    note = tmp_path / ".snakemake" / "replicse-holder.json"
    write_json(note, {"host": "another", "pid": 1, "start": None})
    with pytest.raises(BadInput, match="machine another"):
        free(tmp_path)
    note.unlink()
    assert lock.exists()
    assert free(tmp_path) and not lock.exists()
    assert not free(tmp_path)


def told(events, terminal=False):
    """Return the output of the log handler.

    Args:
        events: List of (event, dict of fields).
        terminal: Whether the output is a terminal. Default: False.
    """
    handler = LogHandler(SimpleNamespace(dryrun=False), None)
    handler.console = Console(
        file=io.StringIO(), force_terminal=terminal, width=100, soft_wrap=True, color_system=None
    )
    for event, fields in events:
        record = logging.makeLogRecord(
            {"levelno": fields.pop("level", logging.INFO), "event": event, **fields}
        )
        handler.emit(record)
    handler.close()
    return handler.console.file.getvalue()


def test_a_job_that_no_scheduler_took_says_the_schedulers_words(tmp_path):
    log = str(tmp_path / "logs" / "count.log")
    words = "sbatch: error: invalid partition specified: cpu"
    keep_refusal(
        log, f"SLURM sbatch failed. The error message was '{words}'.\n    sbatch call:\n        sbatch x"
    )
    text = told([(LogEvent.JOB_ERROR, {"jobid": 1, "rule_name": "count", "log": [log]})])
    assert f"    error: not submitted: {words}\n" in text
    job = Job("count", (), (), {}, log, {}, frozenset())
    assert job.tail[-1].endswith(words) and job.remedy.startswith("fix the error in the log")


def test_a_pipe_gets_a_line_per_stage_and_the_end_of_a_failed_log(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(f"line {number}" for number in range(99)))
    jobs = [(1, "train"), (2, "train"), (3, "evaluate")]
    events = [(LogEvent.RUN_INFO, {"stats": {"train": 2, "evaluate": 1, "all": 1, "total": 4}})]
    events += [
        (LogEvent.JOB_INFO, {"jobid": job, "rule_name": rule, "wildcards": {"run": f"r{job}"}})
        for job, rule in jobs
    ]
    events += [(LogEvent.JOB_FINISHED, {"job_id": 3}), (LogEvent.JOB_FINISHED, {"job_id": 1})]
    events += [(LogEvent.JOB_ERROR, {"jobid": 2, "rule_name": "train", "log": [str(log)]})]
    events += [(None, {"msg": "Select jobs to execute..."}), (None, {"msg": "Nothing to be done (all)."})]
    text = told(events)
    assert text.splitlines()[:2] == ["3 jobs: train 2, evaluate 1", "evaluate: 1 of 1 done"]
    assert f"✗ train r2 failed: {log}" in text and "line 98" in text and "line 80" not in text
    assert "Nothing to be done" in text and "Select jobs" not in text
    assert len(text.splitlines()) < 20
    shell = "RuleException:\nCalledProcessError in file x.smk, line 16:\nCommand 'set -euo pipefail; ...'"
    events = [(event, {"msg": shell, "level": logging.ERROR}) for event in (None, LogEvent.ERROR)]
    assert told(events) == ""
    assert told([(LogEvent.ERROR, {"msg": "WorkflowError:\nno"})]) == "WorkflowError:\nno\n"
    assert told([(LogEvent.RUN_INFO, {"stats": {"report": 1, "all": 1, "total": 2}})]) == "1 job: report 1\n"


def test_a_terminal_gets_a_live_line_per_training_that_runs(tmp_path):
    logs = [tmp_path / name for name in ("first.log", "second.log", "new.log")]
    for step, log in enumerate(logs[:2], 1):
        facts = {"step": step, "steps": 9, "loss": 0.5, "rate": 70.0, "left": 40.0}
        write_json(heartbeat_of(log), {"host": "another", "pid": 1, **facts})
    events = [(LogEvent.RUN_INFO, {"stats": {"train": 3, "total": 3}})]
    events += [
        (LogEvent.JOB_INFO, {"jobid": job, "rule_name": "train", "wildcards": {}, "log": [str(log)]})
        for job, log in enumerate(logs)
    ]
    text = told(events, terminal=True)
    assert "first: step 1 of 9, loss 0.5, 70 sentences/s, 40 s left" in text and "second: step 2 of 9" in text
    assert "new:" not in text


@pytest.mark.parametrize("value", ["it's", "it's $(touch pwned)", "a\\b", "a\nb"])
def test_a_setting_that_an_executor_cannot_quote_is_refused(calls, tmp_path, capsys, value):
    """An apostrophe once let a study wait forever for a broken script, or ran the commands in a label."""
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster/config.yaml").write_text("executor: cluster-generic\n")
    row = {"hub": "a/e", "label": value}
    setting = f"rows={json.dumps({'simcse/table3': {'mine': row}})}"
    words = ["run", "simcse/table3", "-n", "--config", setting]
    told = "--config rows: Snakemake cannot quote an apostrophe, a backslash or a line break for the executor"
    for more in (
        ["--profile", "cluster"],
        ["--", "--executor", "slurm"],
        ["--", "--executor=slurm"],
        ["--", "-e", "slurm"],
    ):
        assert main([*words, *more]) == 2 and told in capsys.readouterr().err
    assert not calls
    assert main(words) == 0 and len(calls) == 1


def test_letters_of_a_row_are_not_escaped_for_an_executor(calls, capsys):
    """The folder of an umlaut was once another one on a cluster, because of the backslash."""
    words = ["run", "simcse/table3", "-n", "--row", "mine=gefäß", "--", "--executor", "slurm"]
    assert main(words) == 0
    assert any("gefäß" in word for word in calls[0])
