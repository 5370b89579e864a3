"""Progress of a job: on a terminal, in the log, and in a heartbeat file.

A job updates the heartbeat file while it runs, so that every machine that shares the folder can list the
running jobs and their machines. If a heartbeat is not updated, the job was killed or the machine stopped.
"""

import contextlib
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import read_json, write_json

log = logging.getLogger(__name__)
BEAT, LINE = 10.0, 60.0  # seconds between two heartbeats, and between two lines of a log
# Seconds after which a heartbeat is stale; clocks of machines that share a folder differ by less.
STALE = 120.0
FIRST, AGAIN = 2.0, 0.5  # seconds until an encoding is shown, and between two times
CLEARED = "\x1b[K"  # clears the rest of a line on a terminal


def heartbeat_of(job_log: str | Path) -> Path:
    """Return the path of a job's heartbeat file.

    Args:
        job_log: The log of the job.
    """
    return Path(job_log).with_suffix(".running")


def _own_heartbeat() -> Path | None:
    """Return the heartbeat file of this process; None without a log."""
    if sys.__stdout__ is None:
        return None
    try:
        job_log = Path(f"/proc/self/fd/{sys.__stdout__.fileno()}").readlink()
    except (OSError, ValueError):
        return None
    return heartbeat_of(job_log) if job_log.suffix == ".log" else None


@contextmanager
def heartbeat() -> Iterator[None]:
    """Update the heartbeat while the block runs, if the process has a log."""
    file, ended = _own_heartbeat(), threading.Event()
    if file is None:
        yield
        return

    def beat() -> None:
        while not ended.wait(BEAT):
            with contextlib.suppress(OSError):
                file.touch()

    with contextlib.suppress(Exception):  # the job itself will report a full disk or a missing folder
        write_json(file, {"host": socket.gethostname(), "pid": os.getpid()})
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        file.unlink(missing_ok=True)


class Progress:
    """Report the progress of a training.

    It is printed to a terminal at once, to a log once a minute, and written to the heartbeat file every ten
    seconds.
    """

    def __init__(self) -> None:
        self.file, self.noted, self.logged = _own_heartbeat(), -math.inf, -math.inf

    def tell(self, **facts: float) -> None:
        """Report a step.

        Args:
            **facts: `step`, `steps`, `loss`, `rate` (sentences per second) and `left` (seconds).
        """
        now = time.monotonic()
        if self.file and now - self.noted > BEAT:
            self.noted = now
            with contextlib.suppress(Exception):
                write_json(self.file, {**read_json(self.file), **facts})
        if sys.stderr.isatty():
            end = "\n" if facts["step"] == facts["steps"] else "\r"
            print(f"{CLEARED}{progress_text(facts)}", end=end, file=sys.stderr, flush=True)
        elif now - self.logged > LINE:
            self.logged = now
            values = [facts[name] for name in ("step", "steps", "loss", "rate", "left")]
            log.info("step=%d of=%d loss=%.4f sentences_per_second=%.0f eta_s=%.0f", *values)


def follow_encoding(batches: Iterable[Sequence[Any]], tokens: int) -> Iterator[Any]:
    """Yield batches of rows and show the progress on a terminal.

    Shows the share of tokens that are encoded, and the time left. Nothing is shown if the encoding takes less
    than two seconds.

    Args:
        batches: The batches, each a list of rows.
        tokens: The number of tokens of all batches.
    """
    start, done, shown = time.monotonic(), 0, 0.0
    for batch in batches:
        yield batch
        done += sum(map(len, batch))
        seconds = time.monotonic() - start
        is_last = done >= tokens and shown > 0
        if sys.stderr.isatty() and seconds > FIRST and (seconds - shown > AGAIN or is_last):
            shown = seconds
            text = f"encoded {done / tokens:.0%}, {span(seconds * (tokens - done) / done)} left"
            print(f"{CLEARED}{text}", end="\n" if is_last else "\r", file=sys.stderr, flush=True)


def alive(job_log: str | Path) -> dict[str, Any] | None:
    """Load the heartbeat of a job.

    Args:
        job_log: The log of the job.

    Returns:
        A dict with `host`, `pid` and the progress; None if there is no heartbeat or it is stale.
    """
    import psutil  # takes 0.03 s, which jobs do not need

    file = heartbeat_of(job_log)
    try:
        beat = dict(read_json(file))
        is_stale = time.time() - file.stat().st_mtime >= STALE
        is_dead = beat["host"] == socket.gethostname() and not psutil.pid_exists(int(beat["pid"]))
    except (BadInput, OSError, ValueError, KeyError, TypeError):
        return None
    return None if is_stale or is_dead else beat


def progress_text(beat: Mapping[str, Any]) -> str:
    """Format the progress of a training.

    Args:
        beat: The heartbeat of a job.

    Returns:
        A string such as "step 120 of 500, loss 0.31, 850 sentences/s, 3 min left"; empty for other jobs.
    """
    if "step" not in beat:
        return ""
    text = f"step {beat['step']:,} of {beat['steps']:,}, loss {beat['loss']:.4g}, {beat['rate']:,.0f} sentences/s"
    return f"{text}, {span(beat['left'])} left"


def span(seconds: float) -> str:
    """Format a duration.

    Args:
        seconds: The duration in seconds.

    Returns:
        A string such as "45 s", "12 min" or "3.5 h".
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
