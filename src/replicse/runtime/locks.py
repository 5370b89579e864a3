"""The lock of a folder in which Snakemake works: who holds it, and its release where nobody does any more.

Snakemake's own lock names files, no process, so that after a kill only a person could remove it. A study notes its
process next to the lock when it starts; processes that a killed study left at work hold the folder too.
"""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import IO

import psutil

from replicse.errors import BadInput
from replicse.files import write_json
from replicse.runtime.forking import JOB, SERVER
from replicse.runtime.slurm import end_jobs_left

LOCKS, HOLDER = Path(".snakemake", "locks"), Path(".snakemake", "replicse-holder.json")
STUDY = Path(".snakemake", "replicse-study.lock")
WORKERS = ("snakemake", "replicse")
# States of a process that is none any more.
ENDED = ("Z", "X")
# Seconds within which a job's processes on this machine end, once its scheduler says that it has.
LINGER = 60.0
REMEDY = "wait for it or end it, then start again"


def hold(folder: Path) -> IO[str]:
    """Return an open file: as long as it is, no other study is started in a folder. Raises BadInput where one is.

    Snakemake's own lock is taken seconds after the start, so that two started together would both look for it in vain.
    """
    (folder / STUDY).parent.mkdir(exist_ok=True)
    stream = (folder / STUDY).open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise BadInput(f"{folder}: another `replicse run` is at work there; {REMEDY}") from None
    return stream


def note_holder(folder: Path) -> None:
    """Note that this process works in a folder."""
    write_json(
        folder / HOLDER, {"host": socket.gethostname(), "pid": os.getpid(), "start": _start(os.getpid())}
    )


def free(folder: Path) -> list[str]:
    """End what a killed study left at work in a folder and remove its lock; return what was done, a sentence each.

    Raises BadInput where a process still works there, or where this machine cannot know: the holder is another's.
    """
    locks, done = folder / LOCKS, []
    locked = locks.is_dir() and any(locks.iterdir())
    if locked:
        _refuse_living_holder(folder)
    # Jobs of a scheduler are behind no process here, and behind a lock that a person removed.
    jobs: list[str] = []
    try:
        if jobs := end_jobs_left(folder):
            done.append(f"ended the Slurm jobs {', '.join(jobs)} of a study that no longer runs")
    except (OSError, subprocess.SubprocessError) as error:
        done.append(f"Slurm was not asked for jobs that a killed study left, for it does not answer: {error}")
    end = time.monotonic() + (LINGER if jobs else 0)
    while time.monotonic() < end and at_work(folder):
        time.sleep(0.5)
    if locked:
        for other, words in at_work(folder):
            raise BadInput(f"{folder}: process {other} still works there ({words[:80]}); {REMEDY}")
        shutil.rmtree(locks)
        done.append("removed the lock of a Snakemake that no longer runs")
    return done


def _refuse_living_holder(folder: Path) -> None:
    """Raise BadInput where the process that noted itself next to the lock lives, or is another machine's."""
    try:
        holder = json.loads((folder / HOLDER).read_bytes())
        host, pid, start = holder["host"], int(holder["pid"]), holder["start"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if host != socket.gethostname():
        raise BadInput(
            f"{folder}: a study of the machine {host} (process {pid}) holds it; {REMEDY}, or"
            " `snakemake --unlock` if it has ended"
        )
    # A process that was started at another time has only inherited the number.
    if start is not None and _start(pid) == start:
        raise BadInput(f"{folder}: process {pid} runs a study there; {REMEDY}")


def _start(pid: int) -> str | None:
    """Return when a process started, as the boot and the ticks since it; None where there is none, or it has ended.

    One that was killed has an entry until its parent has heard of it, in a container often for ever.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return None if fields[0] in ENDED else f"{boot} {fields[19]}"
    except (OSError, IndexError):
        return None


def at_work(folder: Path) -> list[tuple[int, str]]:
    """Return number and words of the processes of Snakemake and of this package whose working directory a folder is.

    This process and those that it was started by are none of them.
    """
    ancestry = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    processes = []
    for process in psutil.process_iter(["name", "cwd", "cmdline"]):
        name, there, words = (
            process.info["name"],
            process.info["cwd"],
            " ".join(process.info["cmdline"] or ()),
        )
        idle = SERVER in words and name != JOB
        if process.pid in ancestry or idle or not there or not any(worker in words for worker in WORKERS):
            continue
        if Path(there).resolve() == folder.resolve():
            processes.append((process.pid, words))
    return sorted(processes)
