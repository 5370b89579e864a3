"""Kills, full disks and two studies in the same folder.

The next start should end with equal results, or name a remedy. Here, each of five stages is killed once;
`benchmarks/kills.py` does any number of random kills in all stages.
"""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from shutil import which

import pytest
import small_study
from random_kills import REFUSED, REMEDY, VICTIMS, Kills
from snakemake_runs import ran, snakemake
from submitted import Submitted

# Jobs that write tables and pages are as short as the jobs that judge.
KILLED = ("prepare", "pre-train", "train", "evaluate", "judge")


def test_kills_at_random_moments_of_a_study_change_no_number(undisturbed, tmp_path):
    study = Kills(small_study.checkout(tmp_path / "study"), undisturbed, random.Random(14), KILLED)
    study.run(len(KILLED))
    print(dict(study.killed), dict(study.counts))
    assert study.unequal == []
    stages, victims = map(set, zip(*study.killed, strict=True))
    assert stages == {*KILLED} and victims == {*VICTIMS}
    assert study.counts["locks removed"], "no kill left a lock"


def test_snakemake_that_is_told_to_end_with_all_it_started_waits_until_a_training_has_saved_its_state(
    tmp_path,
):
    """Snakemake should wait until an interrupted training has saved its state.

    Slurm interrupts all processes of a job at the time limit. The training is suspended for longer than a
    shell around it would live.
    """
    folder = small_study.checkout(tmp_path, pretraining=4000)
    log, state = folder / "logs/micro/train", folder / "results/micro/state"
    # Without hooks there is no job server, as in a job of a scheduler.
    words = (sys.executable, "-m", "snakemake", "--cores", "2", "--no-hooks", "simcse_table3")
    with Submitted(folder, small_study.environment(folder), *words) as study:
        (process,) = study.wait(lambda: study.processes("train"), "a training")
        study.wait(lambda: any("step=" in file.read_text() for file in log.glob("mlm-*.log")), "a step")
        process.send_signal(signal.SIGSTOP)
        assert not list(state.rglob("*.pt"))
        os.killpg(study.process.pid, signal.SIGTERM)
        time.sleep(3)
        assert study.process.poll() is None
        process.send_signal(signal.SIGCONT)
        assert study.process.wait(timeout=60) != 0
        left = [file.name + "\n" + file.read_text() for file in log.glob("mlm-*.log")]
        assert len(list(state.rglob("state-*.pt"))) == 1, "\n".join([study.said(), *left])


@contextmanager
def disk(folder, size):
    """Mount a small file system as the results of a folder.

    Args:
        folder: Folder of the study.
        size: Size of the file system, such as "1m".

    Yields:
        A function that mounts it again with other options.
    """
    home = folder / "results"
    home.mkdir()
    mounted = ran("mount", "-t", "tmpfs", "-o", f"size={size}", "none", home)
    if mounted.returncode:
        pytest.skip(f"no file system of its own can be mounted here: {mounted.stderr.strip()}")
    try:
        yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", home], check=True)
    finally:
        subprocess.run(["umount", "--lazy", home], check=True)


@pytest.mark.skipif(os.getuid() != 0 or not which("mount"), reason="a disk of its own needs root")
def test_a_study_goes_on_behind_a_full_and_a_read_only_disk(undisturbed, tmp_path):
    folder = small_study.checkout(tmp_path)
    with disk(folder, "7m") as remount:
        full = small_study.run(folder)
        said = full.stdout + full.stderr
        assert full.returncode == 1 and "Traceback" not in said, said
        assert "No space left on device" in said and "free space" in said, said
        assert "a file: cannot be written" not in said and "failed.json" not in said, said
        assert not list((folder / "results").rglob("*.tmp"))
        remount("size=500m,ro")
        barred = small_study.run(folder)
        assert barred.returncode == REFUSED, barred.stdout + barred.stderr
        assert "results/micro: cannot be written; make it writable" in barred.stderr
        remount("rw")
        done = small_study.run(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert small_study.results(folder) == undisturbed


def test_of_two_studies_in_one_folder_one_runs_and_the_other_says_why_not(whole, undisturbed, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "study")
    # The evaluations are removed, so that two studies overlap if they are started together.
    for place in ("results/micro/encoders", "results/micro/tables", "results/micro/items", "reports"):
        shutil.rmtree(folder / place)
    environment, piped = (
        small_study.environment(folder),
        {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
    )
    both = [
        subprocess.Popen(small_study.command("--cores", "1"), cwd=folder, env=environment, **piped)
        for _ in range(2)
    ]
    said = [process.communicate()[0].decode() for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) in ([0, 1], [0, REFUSED]), said
    refused = said[1 - codes.index(0)]
    assert REMEDY in refused and "Traceback" not in refused, refused
    assert small_study.results(folder) == undisturbed


def test_a_broken_checkpoint_leaves_a_report_of_the_rest_and_the_next_run_is_whole(whole, tmp_path):
    study = shutil.copytree(whole, tmp_path / "study")
    table = study / "results/micro/tables/simcse/table3.csv"
    before = table.read_bytes()
    evaluation = next((study / "results/micro/encoders").glob("infonce-*/fast.json"))
    weights = study / json.loads(evaluation.read_text())["encoder"] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    evaluation.unlink()
    failed = snakemake(study, "--keep-going")
    assert failed.returncode != 0
    assert "1 of 1 item incomplete" in failed.stdout
    told = f"{weights.name}: changed since its job wrote it; delete it"
    assert told in " ".join(failed.stdout.split())
    partial = study / "reports/micro/partial"
    assert "RepliCSE report: micro, incomplete" in (partial / "report.html").read_text(encoding="utf-8")
    partly = study / "results/micro/partial"
    with (partly / "tables/simcse/table3.csv").open() as stream:
        verdicts = sorted(cell["verdict"] for cell in csv.DictReader(stream))
    assert verdicts == ["failed", "not comparable"], "the other row is built"
    cells = json.loads((partly / "items/simcse/table3.json").read_text())["cells"]
    assert any("evaluate" in cell.get("reason", "") and told in cell["reason"] for cell in cells)
    weights.unlink()
    # If the report exists, Snakemake does not check earlier files. Without the report and the table, it needs
    # the weights again.
    table.unlink()
    (study / "reports/micro/report.html").unlink()
    assert snakemake(study).returncode == 0
    assert table.read_bytes() == before and not partial.exists()
