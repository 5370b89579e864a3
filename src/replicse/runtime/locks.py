"""Lock the folder of a study, and remove the lock of a killed study.

Snakemake's own lock lists files but no process, so that after a crash only a person could remove it. A study
records the process next to the lock when it starts. Processes of a killed study that still run are detected
too.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import IO

import psutil

from replicse.errors import BadInput
from replicse.files import parse_json, write_json
from replicse.runtime.forking import JOB, SERVER
from replicse.runtime.slurm import end_jobs_left

LOCKS, HOLDER = Path(".snakemake", "locks"), Path(".snakemake", "replicse-holder.json")
# In the results, because the results of two folders can be links to one folder.
STUDY = Path("results", ".replicse-study.lock")
WORKERS = ("snakemake", "replicse")
# States of a process that has ended.
ENDED = ("Z", "X")
# Seconds to wait for a job's processes on this machine after the scheduler has ended the job.
LINGER = 60.0
REMEDY = "wait for it or end it, then start again"


def hold(folder: Path) -> IO[str]:
    """Lock the results of a folder for a study until the file is closed.

    Snakemake's own lock is created seconds after the start, so it does not prevent two studies from starting at
    the same time.

    Args:
        folder: The folder of the study.

    Returns:
        An open file. The lock is released when it is closed.

    Raises:
        BadInput: If another study has locked the results.
        OSError: If the lock is a symbolic link.
    """
    (folder / STUDY).parent.mkdir(exist_ok=True)
    # The target of a symbolic link would be emptied.
    stream = os.fdopen(os.open(folder / STUDY, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666), "w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        place = (folder / STUDY).resolve().parent
        raise BadInput(f"{place}: another `replicse run` uses these results; {REMEDY}") from None
    return stream


def note_holder(folder: Path) -> None:
    """Record that this process works in a folder.

    Args:
        folder: The folder of the study.
    """
    write_json(
        folder / HOLDER, {"host": socket.gethostname(), "pid": os.getpid(), "start": _start(os.getpid())}
    )


def free(folder: Path) -> list[str]:
    """End the processes of a killed study in a folder, and remove the lock.

    Args:
        folder: The folder of the study.

    Returns:
        A list with a sentence for each action.

    Raises:
        BadInput: If a process still works in the folder, or the lock belongs to another machine.
    """
    locks, done = folder / LOCKS, []
    locked = locks.is_dir() and any(locks.iterdir())
    if locked:
        _refuse_living_holder(folder)
    # A scheduler's jobs have no process on this machine, and might exist after a person has removed the lock.
    jobs: list[str] = []
    try:
        if jobs := end_jobs_left(folder):
            done.append(f"ended the Slurm jobs {', '.join(jobs)} of a study that no longer runs")
    except (OSError, subprocess.SubprocessError) as error:
        done.append(f"jobs that a killed study left may still run, because Slurm does not respond: {error}")
    end = time.monotonic() + (LINGER if jobs else 0)
    while time.monotonic() < end and at_work(folder):
        time.sleep(0.5)
    if locked:
        for other, words in at_work(folder):
            raise BadInput(f"{folder}: process {other} still runs in this folder ({words[:80]}); {REMEDY}")
        shutil.rmtree(locks)
        done.append("removed the lock of a Snakemake that no longer runs")
    return done


def _refuse_living_holder(folder: Path) -> None:
    """Raise BadInput if the recorded process runs or is on another machine."""
    try:
        holder = parse_json((folder / HOLDER).read_bytes())
        host, pid, start = holder["host"], int(holder["pid"]), holder["start"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if host != socket.gethostname():
        raise BadInput(
            f"{folder}: a study on the machine {host} (process {pid}) uses this folder; {REMEDY}, or run"
            " `snakemake --unlock` if it has ended"
        )
    # A process with another start time has only reused the process id.
    if start is not None and _start(pid) == start:
        raise BadInput(f"{folder}: process {pid} runs a study in this folder; {REMEDY}")


def _start(pid: int) -> str | None:
    """Return when a process started (boot id, ticks); None if it has ended.

    A killed process remains a zombie until the parent reaps it, which in a container might never happen.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return None if fields[0] in ENDED else f"{boot} {fields[19]}"
    except (OSError, IndexError):
        return None


def at_work(folder: Path) -> list[tuple[int, str]]:
    """List the processes of Snakemake and this package in a folder.

    A process is in the folder if that is its working directory. This process and its ancestors are excluded.

    Args:
        folder: The folder of a study.

    Returns:
        A sorted list of process id and command line.
    """
    ancestry = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    processes = []
    for process in psutil.process_iter(["name", "cwd", "cmdline"]):
        place, words = process.info["cwd"], " ".join(process.info["cmdline"] or ())
        is_idle_server = SERVER in words and process.info["name"] != JOB
        if process.pid in ancestry or is_idle_server or not place:
            continue
        is_worker = any(worker in words for worker in WORKERS)
        if is_worker and Path(place).resolve() == folder.resolve():
            processes.append((process.pid, words))
    return sorted(processes)
