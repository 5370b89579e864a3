"""What the profile of Kubernetes asks a cluster for, and how it reads what the cluster says."""

import hashlib
import json
import os
import subprocess

import kubernetes_validate
import pytest
import yaml
from places import ROOT

HOME = ROOT / "workflow/profiles/kubernetes"
PROPERTIES = {
    "type": "single",
    "rule": "train",
    "wildcards": {"run": "infonce-s0-950fce40abab"},
    "threads": 4,
    "resources": {"mem_mb": 32000, "runtime": 480, "gpu": 1},
    "jobid": 7,
}


@pytest.fixture
def profile(tmp_path):
    """A copy of the profile in a checkout, edited for a site, and a kubectl that keeps what it is given."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    home = tmp_path / "workflow/profiles/kubernetes"
    home.mkdir(parents=True)
    for file in HOME.iterdir():
        text = file.read_text(encoding="utf-8")
        if file.name == "job.yaml":
            text = text.replace("IMAGE", "replicse:1").replace("CLAIM", "study")
        (home / file.name).write_text(text, encoding="utf-8")
        (home / file.name).chmod(file.stat().st_mode)
    kubectl(tmp_path, f'cat > "{tmp_path}/given"')
    return home


def kubectl(folder, does):
    """Write a kubectl that does something."""
    program = folder / "bin/kubectl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    program.chmod(0o755)


def run(profile, program, *words, **variables):
    """Run a program of the profile beside the kubectl."""
    path = f"{profile.parents[2] / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [profile / program, *words],
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def submit(profile, properties, **variables):
    """Submit a script of Snakemake's."""
    script = profile.parents[2] / "a script.sh"
    script.write_text(f"#!/bin/sh\n# properties = {json.dumps(properties)}\ntrue\n", encoding="utf-8")
    return run(profile, "submit", str(script), **variables)


def submitted(profile, properties, **variables):
    """Return the name that was printed, and the manifest that kubectl was given."""
    done = submit(profile, properties, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), yaml.safe_load((profile.parents[2] / "given").read_text(encoding="utf-8"))


def test_a_manifest_is_a_job_that_kubernetes_knows_to_the_last_key(profile):
    name, manifest = submitted(profile, PROPERTIES)
    kubernetes_validate.validate(manifest, "1.31", strict=True)
    assert manifest["metadata"]["name"] == name and len(name) <= 63
    manifest["spec"]["template"]["spec"]["activeDeadlineSecond"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_a_manifest_asks_for_what_the_rule_does(profile):
    _, manifest = submitted(profile, PROPERTIES)
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "4", "memory": "32000M"},
        "limits": {"memory": "32000M", "nvidia.com/gpu": "1"},
    }
    assert pod["activeDeadlineSeconds"] == 480 * 60
    assert container["command"][-1] == str(profile.parents[2] / "a script.sh")
    assert manifest["metadata"]["annotations"]["replicse/job"] == "train infonce-s0-950fce40abab"


def test_two_jobs_of_one_kind_have_two_names_and_a_group_has_the_name_of_its_run(profile):
    group = {
        "type": "group",
        "groupid": "run-infonce_S0",
        "threads": 1,
        "resources": {"mem_mb": 1, "runtime": 1},
    }
    (first, manifest), (second, _) = submitted(profile, group), submitted(profile, group)
    kubernetes_validate.validate(manifest, "1.31", strict=True)
    assert first != second and {name.rpartition("-")[0] for name in (first, second)} == {
        "replicse-run-infonce-s0"
    }


def test_pods_get_what_changes_numbers_and_no_secret(profile):
    said = {"OMP_NUM_THREADS": "2", "REPLICSE_DATA": "/a b", "HF_HOME": "/h", "HF_TOKEN": "t", "AWS_KEY": "k"}
    _, manifest = submitted(profile, PROPERTIES, **said)
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    found = {each["name"]: each["value"] for each in container["env"]}
    assert found == {key: said[key] for key in ("HF_HOME", "OMP_NUM_THREADS", "REPLICSE_DATA")}


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('"replicse:1"', '"IMAGE"', "IMAGE stands there still"),
        ('"study"', '"CLAIM"', "CLAIM stands there still"),
        ("@memory", "@memmory", "'memmory'"),
        ("@memory", "@ ", "line"),
    ],
)
def test_a_manifest_that_no_site_has_edited_or_a_misspelt_one_is_refused_in_a_sentence(
    profile, was, now, said
):
    file = profile / "job.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(was, now), encoding="utf-8")
    done = submit(profile, PROPERTIES)
    assert done.returncode == 2 and str(file) in done.stderr and said in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (profile.parents[2] / "given").exists()


def test_a_job_without_a_resource_is_refused_in_a_sentence_of_its_own(profile):
    done = submit(profile, {**PROPERTIES, "resources": {"mem_mb": 1}})
    assert done.returncode == 2 and not (profile.parents[2] / "given").exists()
    said = "a job has no 'runtime'; name it in default-resources"
    assert done.stderr == f"{profile / 'config.yaml'}: {said}\n"


def test_a_job_that_the_cluster_refuses_is_not_taken_for_submitted(profile):
    kubectl(profile.parents[2], "echo forbidden >&2; exit 3")
    done = submit(profile, PROPERTIES)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "forbidden\n")


@pytest.mark.parametrize(
    ("does", "status"),
    [
        ("printf 'job-1 '", "running"),
        ("printf 'job-1 SuccessCriteriaMet Complete '", "success"),
        ("printf 'job-1 Complete '", "success"),
        ("printf 'job-1 FailureTarget '", "running"),
        ("printf 'job-1 FailureTarget Failed '", "failed"),
        ("printf 'job-1 Suspended '", "running"),
        ("", "failed"),
        ("exit 1", "running"),
    ],
)
def test_what_a_cluster_says_of_a_job_is_read_as_what_it_means(profile, does, status):
    kubectl(profile.parents[2], does)
    assert run(profile, "status", "job-1").stdout == f"{status}\n"


def test_cancelling_names_all_jobs_at_once(profile):
    kubectl(profile.parents[2], f'echo "$@" > "{profile.parents[2]}/given"')
    assert run(profile, "cancel", "a", "b").returncode == 0
    assert (
        profile.parents[2] / "given"
    ).read_text() == "delete job --ignore-not-found --cascade=foreground --wait=false a b\n"


KUBECTL = """\
printf '%s\\n' "$*" >> "{home}/asked"
case "$*" in
get\\ job,pod*) printf '{said}' ;;
delete*) exit {ends} ;;
create*) cat > "{home}/given" ;;
esac"""


def asked(profile, said, ends=0, **properties):
    """Submit beside a cluster that says something of the pods at the same work; return what was said and asked."""
    home = profile.parents[2]
    (home / "asked").unlink(missing_ok=True)
    kubectl(home, KUBECTL.format(home=home, said=said, ends=ends))
    done = submit(profile, {**PROPERTIES, "output": ["a"], **properties})
    assert done.returncode == 0 and done.stdout.startswith("replicse-train-")
    return done.stderr, (home / "asked").read_text(encoding="utf-8").splitlines()


A = hashlib.sha256(json.dumps(["a"]).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("", ""),
        (
            rf"Job/a {A}  SuccessCriteriaMet Complete\nPod/a-x {A} Succeeded\nJob/b {A}  FailureTarget Failed\n",
            "",
        ),
        (
            rf"Pod/b-x {A} Failed\nJob/c {A} \nPod/c-x {A} Running Ready\nPod/d-x {A} Pending\n",
            "job/c pod/c-x pod/d-x",
        ),
        (r"Job/e 0123456789abcdef \nPod/e-x 0123456789abcdef Running Ready\n", ""),
        (rf"Job/f 0123456789abcdef,{A} \nJob/g  Suspended\n", "job/f job/g"),
    ],
)
def test_pods_that_make_the_same_files_are_ended_before_another_begins(profile, said, ended):
    """Of one run, whose evaluations may be at work side by side, they are known by the files."""
    _, words = asked(profile, said)
    deletes = [f"delete --ignore-not-found --cascade=foreground --timeout=300s {ended}"] if ended else []
    assert words[1:] == [*deletes, "create -f -"]


def test_a_job_of_too_many_files_to_name_ends_all_of_its_run(profile):
    _, words = asked(profile, r"Job/e 0123456789abcdef \n", output=None)
    assert words[1].endswith("--timeout=300s job/e")


def test_a_pod_that_does_not_end_is_told_of(profile):
    said, words = asked(profile, rf"Pod/c-x {A} Running\n", ends=1)
    assert said == "pod/c-x: of an earlier start, and not gone; the job starts beside it\n"
    assert words[-1] == "create -f -"


def test_jobs_of_one_run_in_one_folder_are_asked_after_together(profile):
    def work(**properties):
        _, manifest = submitted(profile, {**PROPERTIES, **properties})
        kubernetes_validate.validate(manifest, "1.31", strict=True)
        inner = manifest["spec"]["template"]["metadata"]
        for kind, key in (("labels", "replicse/work"), ("annotations", "replicse/files")):
            assert manifest["metadata"][kind][key] == inner[kind][key]
        return inner["labels"]["replicse/work"], inner["annotations"]["replicse/files"]

    group = {"rule": None, "wildcards": {}}
    assert work(output=["a"])[1] == A
    assert work(output=["b", "a"], jobid=9) == work(output=["a", "b"])
    assert work(output=["a"])[0] == work(output=["b"])[0] != work(output=["a"], wildcards={"run": "other"})[0]
    assert work(**group, groupid="run-x")[0] != work(**group, groupid="run-y")[0]
