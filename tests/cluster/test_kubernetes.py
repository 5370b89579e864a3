"""The study through the profile of Kubernetes, whose cluster is played by processes of this machine (kubectl.py)."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import small_study
from submitted import Submitted

RUN = re.compile(r"[a-z]+-s0-[0-9a-f]{12}")
STAND_IN = Path(__file__).with_name("kubectl.py")
PROFILE = ("--profile", "workflow/profiles/kubernetes")
ASKING = ("--seconds-between-status-checks", "2", "--latency-wait", "10")


@pytest.fixture
def cluster(tmp_path):
    """The folder of a cluster, and of the kubectl that asks it."""
    if not find_spec("snakemake_executor_plugin_cluster_generic"):
        pytest.skip("snakemake-executor-plugin-cluster-generic is missing (requirements/dev.txt)")
    folder = tmp_path / "cluster"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.fixture
def folder(tmp_path):
    """A checkout whose profile a site has edited."""
    return edited(small_study.checkout(tmp_path / "study"))


def edited(folder):
    """Edit the profile of a checkout as a site does; return the folder."""
    manifest = folder / "workflow/profiles/kubernetes/job.yaml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("IMAGE", "replicse:1").replace("CLAIM", "study"), encoding="utf-8")
    return folder


def environment(folder, cluster):
    """Return the environment of a study that asks a cluster."""
    return {
        **small_study.environment(folder),
        "PATH": f"{cluster}{os.pathsep}{os.environ['PATH']}",
        "REPLICSE_TEST_CLUSTER": str(cluster),
        "HF_TOKEN": "secret",
    }


def limits(manifest):
    """Return what the pod of a job may use at most."""
    (container,) = json.loads(manifest.read_text())["spec"]["template"]["spec"]["containers"]
    return container["resources"]["limits"]


class OfKubernetes(Submitted):
    """The study, submitted through the profile, and the jobs that the cluster has or had of it."""

    def __init__(self, folder, cluster, *words):
        self.cluster = cluster
        super().__init__(folder, environment(folder, cluster), *words, *ASKING)

    def jobs(self):
        """Return name: how it ended (None: it runs), of all jobs in the order of their submission."""
        manifests = [file for kind in ("json", "deleted") for file in self.cluster.glob(f"replicse-*.{kind}")]
        found = {}
        for file in sorted(manifests, key=lambda file: file.stat().st_mtime):
            ended = file.with_suffix(".ended")
            found[file.stem] = int(ended.read_text() or 1) if ended.exists() else None
        return found

    def running(self, word):
        """Return the name of a job that runs, whose name holds a word."""
        return next((name for name, ended in self.jobs().items() if ended is None and word in name), None)

    def training(self, word):
        """Return the name of a job that trains a run whose name holds a word, and its process; None before."""
        for process in self.processes("train"):
            run = next(each for each in map(os.path.basename, process.cmdline()) if RUN.fullmatch(each))
            name = self.running(run)
            if name and word in run:
                return name, process
        return None

    def ends(self, word):
        """Return how the jobs whose names hold a word ended, in the order of submission."""
        return [ended for name, ended in self.jobs().items() if word in name]

    def times(self):
        """Return work: when each of the pods at it began and ended, in the order of their beginning."""
        found = {}
        for manifest in (
            file for kind in ("json", "deleted") for file in self.cluster.glob(f"replicse-*.{kind}")
        ):
            times = (manifest.stat().st_mtime, manifest.with_suffix(".ended").stat().st_mtime)
            found.setdefault(
                json.loads(manifest.read_text())["metadata"]["labels"]["replicse/work"], []
            ).append(times)
        return {work: sorted(times) for work, times in found.items()}

    def delete(self, name):
        """Delete a job, as who drains a node does."""
        words = [self.cluster / "kubectl", "delete", "job", "--cascade=foreground", "--wait=false", name]
        subprocess.run(words, env=self.environment, check=True)


def never_two_at_once(times):
    """Return whether of the pods at one work, of which there were several, each began behind the end of the other."""
    gaps = [then - ended for several in times.values() for (_, ended), (then, _) in pairwise(several)]
    return bool(gaps) and min(gaps) >= 0


def test_a_study_of_pods_ends_with_equal_results_behind_all_that_a_cluster_does_to_them(
    cluster, local, folder
):
    """One job is deleted as it waits to be asked after, one outgrows its memory, one is told to end as it trains."""
    memory = "store:mem_mb=30 if attempt == 1 else 4000"
    words = small_study.command(*PROFILE, "--", "--set-resources", memory)
    with OfKubernetes(folder, cluster, *words) as study:
        study.delete(study.wait(lambda: study.running("tokenizer"), "a running tokenizer"))
        name = study.wait(lambda: study.running("run-mlm"), "a running backbone")
        study.wait(lambda: study.processes("train"), "the process of the backbone")
        study.delete(name)
        study.wait(lambda: study.running("run-infonce"), "a running run")
        (cluster / "away").touch()
        study.wait(lambda: "Unable to connect" in study.said(), "a question without an answer")
        (cluster / "away").unlink()
        assert study.end() == local
        times = study.times()
        ends = {word: study.ends(word) for word in ("tokenizer", "store", "run-mlm", "run-infonce", "report")}
    assert len(ends["tokenizer"]) == 2 and ends["tokenizer"][1] == 0
    assert ends["store"] == [-signal.SIGKILL, 0]
    assert ends["run-mlm"][0] != 0 and ends["run-mlm"][1:] == [0]
    assert ends["run-infonce"] == [0] * (small_study.RUNS - 1) and ends["report"] == [0]
    manifests = [json.loads(file.read_text()) for file in cluster.glob("replicse-*.json")]
    assert manifests and "secret" not in str(manifests)
    assert "REPLICSE_GPU_SLOTS" not in str(manifests), "a pod has its GPUs for itself"
    assert never_two_at_once(times)


def test_a_start_behind_a_kill_of_snakemake_ends_the_pods_that_it_left_where_it_needs_their_work(
    cluster, local, folder
):
    """Who starts again sees no process of the pods, only the lock: here they are seen, so Snakemake is asked itself.

    One of these hangs, and is killed when the time that it has for its end is over. At micro no rule asks for a GPU, so
    here the command line does, as the rules do at other scales.
    """
    manifest = folder / "workflow/profiles/kubernetes/job.yaml"
    text, found = re.subn(
        "(?<=terminationGracePeriodSeconds: )120", "2", manifest.read_text(encoding="utf-8")
    )
    assert found == 1
    manifest.write_text(text, encoding="utf-8")
    gpus = ("--set-resources", *(f"{rule}:gpu=1" for rule in ("train", "evaluate")))
    snakemake = (sys.executable, "-m", "snakemake")
    with OfKubernetes(folder, cluster, *small_study.command(*PROFILE, "--")) as study:
        name, process = study.wait(lambda: study.training("infonce"), "a run that trains")
        process.send_signal(signal.SIGSTOP)
        study.kill()
        subprocess.run(
            [*snakemake, "--unlock"], cwd=folder, env=study.environment, check=True, capture_output=True
        )
        study.start(*snakemake, *PROFILE, *ASKING, *gpus)
        assert study.end() == local
        begun = {file.stem: limits(file)["nvidia.com/gpu"] for file in cluster.glob("replicse-*.json")}
        times = study.times()
    assert (cluster / f"{name}.deleted").exists(), "it was ended for the one that was started in its place"
    assert (cluster / f"{name}.ended").read_text() == str(-signal.SIGKILL)
    assert {gpus for job, gpus in begun.items() if "report" in job} == {"0"}
    assert "1" in {gpus for job, gpus in begun.items() if "run-infonce" in job}
    assert never_two_at_once(times)


def test_a_training_that_is_told_to_end_saves_its_state_before_its_pod_ends(cluster, tmp_path):
    """It is held for longer than all around it needs to end, which once took the container with it."""
    folder = edited(small_study.checkout(tmp_path / "study", pretraining=4000))
    with OfKubernetes(folder, cluster, *small_study.command(*PROFILE, "--")) as study:
        name, process = study.wait(lambda: study.training("mlm"), "a backbone that trains")
        log, state = (folder / place for place in ("logs/micro/train", "results/micro/state"))
        study.wait(lambda: any("step=" in file.read_text() for file in log.glob("mlm-*.log")), "a step")
        process.send_signal(signal.SIGSTOP)
        assert not list(state.rglob("*.pt"))
        study.delete(name)
        time.sleep(3)
        assert not (cluster / f"{name}.ended").exists()
        process.send_signal(signal.SIGCONT)
        study.wait((cluster / f"{name}.ended").exists, "the end of the pod")
        assert len(list(state.rglob("state-*.pt"))) == 1
        assert not process.is_running()
