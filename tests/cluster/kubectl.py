"""A stand-in for kubectl and the cluster behind it: a pod is a process group of this machine.

It knows what the profile says: `create -f -`, `get job NAME -o jsonpath=...` and `delete job NAME...`, holds the pods
to their limits of time and memory as a node does, and gives them nothing of the environment but what the manifest
names. `REPLICSE_TEST_CLUSTER` is the folder in which it keeps a cluster: manifests, and how their pods ended. A file
`away` in it means that the cluster does not answer.
"""

import contextlib
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
# What a shell gives back for a process that a signal ended.
TERMINATED, KILLED = 128 + signal.SIGTERM, 128 + signal.SIGKILL
# The one address that the profile asks for.
CONDITIONS = 'jsonpath={.metadata.name}{range .status.conditions[?(@.status=="True")]} {.type}{end} '


def create() -> None:
    """Start the pod of the job on standard input."""
    manifest = yaml.safe_load(sys.stdin)
    name = manifest["metadata"]["name"]
    (HOME / f"{name}.json").write_text(json.dumps(manifest))
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


def delete(*names: str) -> None:
    """Have the pods of jobs end, and forget the jobs."""
    for name in names:
        if not name.startswith("--"):
            (HOME / f"{name}.json").rename(HOME / f"{name}.deleted")


def pod(name: str) -> None:
    """Run the container of a job to its end, or to a limit of it."""
    manifest = HOME / f"{name}.json"
    spec = json.loads(manifest.read_text())["spec"]["template"]["spec"]
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
        if not told and (not manifest.exists() or time.monotonic() > end):
            process.send_signal(signal.SIGTERM)
            told = time.monotonic()
        if (told and time.monotonic() > told + spec["terminationGracePeriodSeconds"]) or used(
            process
        ) > memory:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    (HOME / f"{name}.ended").write_text(str(process.returncode))


def used(process: subprocess.Popen) -> int:
    """Return the bytes of memory that a process and all below it hold alone."""
    total = 0
    with contextlib.suppress(psutil.Error):
        for each in psutil.Process(process.pid).children(recursive=True):
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
        case ["delete", "job", *words]:
            delete(*words)
        case ["pod", name]:
            pod(name)
        case words:
            print(f"not known: {words}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
