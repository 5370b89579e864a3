"""Snakemake in practice: repeated runs, folder names, kills and profiles."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from places import ROOT
from snakemake_runs import SNAKEMAKE, copied, jobs, ran, snakemake

from replicse.cli.job_server import PRELOADED, THREADS
from replicse.errors import BadInput
from replicse.runtime.locks import free

# Every job of a study writes empty outputs and the copy of the specification.
EMPTY = """
import json
import sys
from pathlib import Path

from replicse.compile.job import copy_of, output_place
from replicse.compile.copies import write_copy

specification = json.loads(Path(sys.argv[2]).read_text())
stage, outputs = specification["stage"], specification["outputs"]
for file in map(Path, outputs):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
write_copy(copy_of(stage, output_place(stage, outputs)), specification)
"""


WORDS = ("--config", "seeds=[0]", "papers={simcse: [table3, figure2]}")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Copy the checkout, and add a finished study with empty files.

    The corpus of the study is a file written by the test.

    Returns:
        The folder, and a list of the files of the study.
    """
    folder = copied(tmp_path_factory.mktemp("finished"))
    scale = folder / "workflow/scales/micro.yaml"
    text, line = scale.read_text(), "  wiki: {format: lines, file: wiki/wiki.txt"
    assert text.count(line) == 1
    scale.write_text(text.replace(line, line.replace("wiki/wiki.txt", "placed.txt")))
    placed = folder / "results/micro/data/placed.txt"
    placed.parent.mkdir(parents=True)
    placed.write_text("a sentence of words\n" * 2000)
    outputs = re.findall(r"^    output: (.*)$", snakemake(folder, "-n", *WORDS).stdout, re.MULTILINE)
    made = [file for line in outputs for file in line.split(", ")]
    (folder / "src/replicse/__main__.py").write_text(EMPTY)
    done = snakemake(folder, *WORDS)
    assert done.returncode == 0, done.stderr
    return folder, made


def asked_again(folder, *words):
    """Return the job counts of a dry run of the finished study as a dict."""
    done = snakemake(folder, "-n", *WORDS, *words)
    assert done.returncode == 0, done.stderr
    return jobs(done.stdout)


READ = {
    "papers/simcse/tables/table3.yaml": {"tabulate": 0, "judge": 1},
    "papers/diffcse/reported.csv": {"tabulate": 0, "judge": 1},
    "papers/diffcse/claims.yaml": {"tabulate": 0, "judge": 1},
}


def test_what_judges_runs_again_when_a_text_that_it_reads_changes(finished):
    """Judging is repeated if a file changes; tables if a cell changes.

    The specification of a table contains the cells of the table, not the files.
    """
    folder, _ = finished
    for path in (folder / "workflow" / file for file in (*READ, "scales/micro.yaml")):
        path.touch()
    assert asked_again(folder) == {}, "a new date is no change"
    for file, wanted in READ.items():
        path = folder / "workflow" / file
        before = path.read_text()
        path.write_text(before + ("\n" if path.suffix == ".csv" else "# a comment\n"))
        found = asked_again(folder)
        assert {rule: found.get(rule, 0) for rule in wanted} == wanted, file
        assert "train" not in found and "evaluate" not in found, file
        path.write_text(before)
    table = folder / "workflow/papers/simcse/reported.csv"
    before = table.read_text()
    table.write_text(re.sub(r"(?m)^(table3,p0.1,stsb-dev,spearman,)82.5", r"\g<1>82.6", before))
    assert table.read_text() != before and asked_again(folder)["tabulate"] == 1
    table.write_text(before)


def test_a_lost_result_is_made_again_and_a_checkpoint_that_was_deleted_is_not_missed(finished):
    """A lost result is created again, but not a deleted checkpoint.

    If a user deleted an evaluation because an error suggested it, the next run once reported that there was
    nothing to do.
    """
    folder, made = finished
    for name in ("runs", "stores"):
        shutil.rmtree(folder / "results/micro" / name)
    assert asked_again(folder) == {}, "deleted for the space that they took"
    for ending in ("items/simcse/figure2.json", "simcse/table3.svg", "/fast.json"):
        next(folder / file for file in made if file.endswith(ending)).unlink()
    found = asked_again(folder)
    assert found["tabulate"] >= 1 and found["figures"] >= 1 and found["evaluate"] >= 1


def test_a_checkout_may_stand_in_a_folder_of_any_name(checkout, tmp_path_factory):
    """A study should run in a folder with special characters in the name.

    The shell once executed a folder named `dol$(touch X)x`, and braces were wildcards.
    """
    folder = tmp_path_factory.mktemp("any") / """dol$(touch X)x `touch X` {run} it's "so" {{"""
    checkout.rename(folder)
    (data := folder / "data" / "wiki").mkdir(parents=True)
    data, file = data.parent, data / "enwiki_sentences.txt.gz"
    file.write_bytes(bytes(3_000_000))
    words = ["results/compact/data.json", "--config", "scale=compact", "papers={simcse: [table3]}"]
    planned = snakemake(folder, "-n", *words[1:])
    assert planned.returncode == 0, planned.stdout + planned.stderr
    environment = {**os.environ, "REPLICSE_DATA": str(data)}
    done = snakemake(folder, *words, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((folder / words[0]).read_text())["root"] == str(data)
    assert not list(folder.parent.rglob("X"))

    def again():
        return snakemake(folder, "-n", *words, env=environment).stdout

    os.utime(file, (time.time() + 60, time.time() + 60))
    assert "Nothing to be done" in again(), "a file that was only touched"
    file.write_bytes(bytes(3_000_001))
    assert jobs(again())["data"] == 1


def test_a_folder_that_the_executors_of_schedulers_cannot_quote_is_refused(checkout, tmp_path_factory):
    """A folder is refused if a scheduler's executor cannot quote it.

    Slurm's executor once executed `touch X` when it submitted a job.
    """
    folder = tmp_path_factory.mktemp("any") / "dol$(touch X)x"
    checkout.rename(folder)
    words = [sys.executable, "-m", "replicse", "run", "simcse/table3", "--profile", "slurm"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and not list(folder.parent.rglob("X"))
    assert f"{folder}: the executor slurm cannot quote '$'" in done.stderr


def test_a_job_whose_package_is_not_installed_is_refused_before_any_starts(checkout, tmp_path):
    """If a package is missing, the study should be refused before any job.

    MTEB on local datasets is an optional dependency.
    """
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text('import sys\nsys.modules["mteb"] = None\n')
    path = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
    data = tmp_path / "data"
    data.mkdir()
    environment = {**os.environ, "PYTHONPATH": path, "REPLICSE_DATA": str(data)}
    words = [sys.executable, "-m", "replicse", "run", "cropping/batches", "--scale", "compact"]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False, env=environment)
    said = 'scale compact: suite mteb needs the package mteb, which is not installed; pip install "replicse[mteb]"'
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not list((checkout / "logs").rglob("*.log"))


def test_a_kill_leaves_no_lock_and_a_lost_file_no_gap(checkout):
    """After a kill, a study should start without unlocking.

    Every start once failed until a user removed the lock. A deleted file of the generated datasets is created
    again, too.
    """
    words = [str(SNAKEMAKE), "--cores", "1", "results/micro/data.json"]
    assert subprocess.run(words, cwd=checkout, capture_output=True, check=False).returncode == 0
    record = json.loads((checkout / "results/micro/data.json").read_text())
    lost = checkout / record["root"] / record["files"][0]["name"]
    before = lost.read_bytes()
    lost.unlink()
    again = [*words[:-1], str(lost.relative_to(checkout))]
    assert subprocess.run(again, cwd=checkout, capture_output=True, check=False).returncode == 0
    assert lost.read_bytes() == before
    (checkout / "Snakefile").open("a").write(
        'rule wait:\n    output: "waited"\n    shell: "test -e begun || {{ touch begun; sleep 60; }}; touch waited"\n'
    )
    waiting = subprocess.Popen(
        [*words[:-1], "waited"], cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while not (checkout / "begun").exists():
        assert waiting.poll() is None
        time.sleep(0.1)
    with pytest.raises(BadInput, match=f"process {waiting.pid} runs a study in this folder; wait for it"):
        free(checkout)
    os.killpg(waiting.pid, signal.SIGKILL)
    waiting.wait()
    assert "LockException" in snakemake(checkout, "waited").stderr
    assert free(checkout) and not free(checkout)
    assert snakemake(checkout, "waited").returncode == 0


@pytest.mark.parametrize("profile", ["gpu-box", "slurm-gpu"])
def test_every_profile_plans(checkout, profile):
    file = checkout / "workflow" / "profiles" / profile / "config.yaml"
    executor = yaml.safe_load(file.read_text()).get("executor", "local")
    module = f"snakemake_executor_plugin_{executor.replace('-', '_')}"
    if executor != "local" and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install {module.replace('_', '-')}")
    words = ["-n", "--profile", str(file.parent), "--config", "scale=paper", "papers={simcse: [table3]}"]
    planned = snakemake(checkout, *words, cores=None)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert jobs(planned.stdout)["train"] >= 8


def test_run_plans_and_makes_the_papers_of_one_workflow(checkout, tmp_path_factory):
    """`replicse run` and Snakemake should use the same workflow.

    `replicse run` once planned the papers of --workflow, but Snakemake ran the papers in the folder.
    """
    other = tmp_path_factory.mktemp("other") / "papers and scales"
    shutil.copytree(ROOT / "workflow", other)
    shutil.copytree(ROOT / "tests/papers/freezing", other / "papers/freezing")
    words = [
        sys.executable, "-m", "replicse", "run", "freezing", "-n", "--scale", "micro", "--workflow", str(other),
    ]  # fmt: skip
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "evaluate" in done.stderr, done.stderr


def test_the_server_of_a_study_stands_in_for_the_command_line(tmp_path):
    """The job server should give the same results as the command line.

    The server can only be forked if all imports are safe to fork.
    """
    assert "replicse.library.training" in PRELOADED["train"]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(ROOT / "src")}
    ask = """
import json, os, pathlib, subprocess, sys
from replicse.cli.job_server import PRELOADED, start
os.mkdir('.snakemake')
start(1)
for stage in PRELOADED:
    pathlib.Path("job.json").write_text(json.dumps({"stage": stage}))
    job = [sys.executable, "-X", "importtime", "-m", "replicse", "job", "job.json"]
    done = subprocess.run(job, capture_output=True, text=True)
    print(done.returncode, "replicse.cli" in done.stderr, done.stderr.splitlines()[-1])
"""
    done = ran(sys.executable, "-c", ask, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert len(answers) == len(PRELOADED)
    for code, imported, message in answers:
        assert (code, imported) == ("2", "False"), "the server answered; the client imported no verb"
        assert message.startswith("replicse job: ")
