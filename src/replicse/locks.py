"""The lock of a folder in which Snakemake works: who holds it, and its release where nobody does any more.

Snakemake's own lock names files, no process, so that after a kill only a person could remove it. A study notes its
process beside the lock when it starts; processes that a killed study left at work hold the folder too.
"""

import fcntl
import json
import os
import shutil
import socket
from pathlib import Path
from typing import IO

from replicse.errors import BadInput
from replicse.files import write_json
from replicse.forking import JOB, SERVER

LOCKS, HOLDER = Path(".snakemake", "locks"), Path(".snakemake", "replicse-holder.json")
STUDY = Path(".snakemake", "replicse-study.lock")
WORKERS = (b"snakemake", b"replicse")
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


def unlock_if_stale(folder: Path) -> bool:
    """Remove the lock of a folder whose holder has ended; return whether there was one.

    Raises BadInput where a process still works there, or where this machine cannot know: the holder is another's.
    """
    locks = folder / LOCKS
    if not locks.is_dir() or not any(locks.iterdir()):
        return False
    try:
        holder = json.loads((folder / HOLDER).read_bytes())
        host, pid, start = holder["host"], int(holder["pid"]), holder["start"]
    except (OSError, ValueError, KeyError, TypeError):
        host, pid, start = socket.gethostname(), 0, None
    if host != socket.gethostname():
        raise BadInput(
            f"{folder}: a study of the machine {host} (process {pid}) holds it; {REMEDY}, or"
            " `snakemake --unlock` if it has ended"
        )
    # A process that was started at another time has only inherited the number.
    if pid and _start(pid) is not None and _start(pid) == start:
        raise BadInput(f"{folder}: process {pid} runs a study there; {REMEDY}")
    for other, words in at_work(folder):
        raise BadInput(f"{folder}: process {other} still works there ({words[:80]}); {REMEDY}")
    shutil.rmtree(locks)
    return True


def _start(pid: int) -> str | None:
    """Return when a process started, as the boot and the ticks since it; None where there is no such process."""
    try:
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {ticks}"
    except (OSError, IndexError):
        return None


def at_work(folder: Path) -> list[tuple[int, str]]:
    """Return number and words of the processes of Snakemake and of this package whose working directory a folder is.

    This process and those that it was started by are none of them.
    """
    own, pid = {os.getpid()}, os.getppid()
    while pid > 1 and pid not in own:
        own.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            break
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            there = (process / "cwd").resolve() == folder.resolve()
            words = (process / "cmdline").read_bytes() if there else b""
            idle = SERVER.encode() in words and (process / "comm").read_text().strip() != JOB
        except OSError:
            continue
        if int(process.name) not in own and not idle and any(worker in words for worker in WORKERS):
            found.append((int(process.name), words.replace(b"\0", b" ").decode(errors="replace").strip()))
    return sorted(found)
