"""A stand-in for kubectl and the cluster behind it: a pod is a process of this machine, and all that it starts.

It knows what the profile says: `create -f -`, `get job NAME -o jsonpath=...`, `get job,pod -l LABEL -o jsonpath=...`
and `delete` of jobs and pods. It holds the pods to their limits of time and memory as a node does, and gives them
nothing of the environment but what the manifest names; what outlives the first process of one is killed, as with a
container. `REPLICSE_TEST_CLUSTER` is the folder in which it keeps a cluster: manifests, and how their pods ended. A
file `away` in it means that the cluster does not answer.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import yaml

HOME = Path(os.environ["REPLICSE_TEST_CLUSTER"])
# linux/prctl.h
CHILD_SUBREAPER = 36
# What the profile asks of one job, and of all that is at some work.
CONDITIONS = 'jsonpath={.metadata.name}{range .status.conditions[?(@.status=="True")]} {.type}{end} '
STATES = (
    "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.annotations.replicse/files} {.status.phase}"
    '{range .status.conditions[?(@.status=="True")]} {.type}{end}{"\\n"}{end}'
)


def create() -> None:
    """Start the pod of the job on standard input."""
    manifest = yaml.safe_load(sys.stdin)
    name = manifest["metadata"]["name"]
    # Who looks sees a whole manifest or none.
    (HOME / f"{name}.new").write_text(json.dumps(manifest))
    (HOME / f"{name}.new").rename(HOME / f"{name}.json")
    subprocess.Popen(
        [sys.executable, __file__, "pod", name], start_new_session=True, stdout=subprocess.DEVNULL
    )


def get(name: str, *words: str) -> None:
    """Print the name of a job and its conditions; nothing where there is none."""
    assert words == ("--ignore-not-found", "-o", CONDITIONS), words
    ended = HOME / f"{name}.ended"
    if not (HOME / f"{name}.json").exists():
        return
    said = {None: "", 0: " SuccessCriteriaMet Complete"}
    print(
        name + said.get(int(ended.read_text()) if ended.exists() else None, " FailureTarget Failed"), end=" "
    )


def states(label: str, *words: str) -> None:
    """Print kinds, names, files and states of the jobs and pods that have a label; a pod may outlive its job."""
    assert words == ("-o", STATES), words
    key, _, value = label.partition("=")
    for file in sorted(file for kind in ("json", "deleted") for file in HOME.glob(f"replicse-*.{kind}")):
        job, ended = json.loads(file.read_text()), file.with_suffix(".ended")
        how = int(ended.read_text()) if ended.exists() else None
        said = {None: ("", "Running Ready"), 0: ("Complete", "Succeeded")}.get(how, ("Failed", "Failed"))
        for kind, metadata in zip(
            ("Job", "Pod"), (job["metadata"], job["spec"]["template"]["metadata"]), strict=True
        ):
            if metadata["labels"][key] == value and (kind == "Pod" or file.suffix == ".json"):
                print(f"{kind}/{file.stem}", metadata["annotations"]["replicse/files"], said[kind == "Pod"])


def delete(*words: str) -> None:
    """Have the pods of jobs end, forget the jobs, and wait for the pods where it is told to."""
    assert "--cascade=foreground" in words or "--wait=false" not in words, words
    names = {word.rpartition("/")[2] for word in words if not word.startswith("--")} - {"job"}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            (HOME / f"{name}.json").rename(HOME / f"{name}.deleted")
    while "--wait=false" not in words and not all((HOME / f"{name}.ended").exists() for name in names):
        time.sleep(0.1)


def pod(name: str) -> None:
    """Run the container of a job to its end, or to a limit of it."""
    # What outlives its parent is a child of this process then, as it is of a container's first one.
    ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1)
    manifest = HOME / f"{name}.json"
    try:
        text = manifest.read_text()
    except FileNotFoundError:
        # It was deleted before it began.
        text = (HOME / f"{name}.deleted").read_text()
    spec = json.loads(text)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    own = {key: os.environ[key] for key in ("PATH", "HOME")}
    process = subprocess.Popen(
        container["command"],
        cwd="/",
        env={**own, **{each["name"]: each["value"] for each in container["env"]}},
        stdout=(HOME / f"{name}.log").open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    memory = 1_000_000 * int(container["resources"]["limits"]["memory"].removesuffix("M"))
    end, told = time.monotonic() + spec["activeDeadlineSeconds"], 0.0
    while process.poll() is None:
        time.sleep(0.1)
        reap_orphans(process.pid)
        if not told and (not manifest.exists() or time.monotonic() > end):
            process.send_signal(signal.SIGTERM)
            told = time.monotonic()
        if (told and time.monotonic() > told + spec["terminationGracePeriodSeconds"]) or used() > memory:
            process.kill()
            process.wait()
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            each.kill()
    (HOME / f"{name}.new").write_text(str(process.returncode))
    (HOME / f"{name}.new").rename(HOME / f"{name}.ended")


def reap_orphans(first: int) -> None:
    """Hear of the ends of processes whose parents have ended; a shell that is the first of a container does."""
    for each in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if each.pid != first and each.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(each.pid, 0)


def used() -> int:
    """Return the bytes of memory that the processes of the pod hold alone."""
    total = 0
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            total += each.memory_full_info().uss
    return total


def main() -> int:
    """Do what the words say."""
    if sys.argv[1] != "pod" and (HOME / "away").exists():
        print("Unable to connect to the server", file=sys.stderr)
        return 1
    match sys.argv[1:]:
        case ["create", "-f", "-"]:
            create()
        case ["get", "job", name, *words]:
            get(name, *words)
        case ["get", "job,pod", "-l", label, *words]:
            states(label, *words)
        case ["delete", *words]:
            delete(*words)
        case ["pod", name]:
            pod(name)
        case words:
            print(f"not known: {words}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
