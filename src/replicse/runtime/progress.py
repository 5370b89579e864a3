"""How far a job is: a live line on a terminal, a line a minute in its log, and a heartbeat next to that.

The heartbeat is a file that a job renews while it lives, so that every machine that shares the folder knows what runs
and where. One that was not renewed is of a job that was killed, or whose machine was.
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
# Age of a heartbeat that tells of no life; clocks of machines that share a folder differ by less.
STALE = 120.0
FIRST, AGAIN = 2.0, 0.5  # seconds until an encoding is shown, and between two times
CLEARED = "\x1b[K"  # what clears the rest of a terminal's line


def heartbeat_of(job_log: str | Path) -> Path:
    """Return where a job with this log leaves its heartbeat."""
    return Path(job_log).with_suffix(".running")


def _own_heartbeat() -> Path | None:
    """Return where this process leaves its heartbeat; None where its output does not go into a log."""
    if sys.__stdout__ is None:
        return None
    try:
        job_log = Path(f"/proc/self/fd/{sys.__stdout__.fileno()}").readlink()
    except (OSError, ValueError):
        return None
    return heartbeat_of(job_log) if job_log.suffix == ".log" else None


@contextmanager
def heartbeat() -> Iterator[None]:
    """Leave a heartbeat while the block runs, where the output of this process goes into a log."""
    file, ended = _own_heartbeat(), threading.Event()
    if file is None:
        yield
        return

    def beat() -> None:
        while not ended.wait(BEAT):
            with contextlib.suppress(OSError):
                file.touch()

    with contextlib.suppress(Exception):  # no disk, no folder: the job says so itself
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
    """Tells how far a training is: to a terminal at once, to a log once a minute, to the heartbeat as it is renewed."""

    def __init__(self) -> None:
        self.file, self.noted, self.logged = _own_heartbeat(), -math.inf, -math.inf

    def tell(self, **facts: float) -> None:
        """Tell of a step: `step` of `steps`, `loss`, `rate` (sentences a second) and seconds `left`."""
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
            log.info(
                "step=%d of=%d loss=%.4f sentences_per_second=%.0f eta_s=%.0f",
                *(facts[name] for name in ("step", "steps", "loss", "rate", "left")),
            )


def follow_encoding(batches: Iterable[Sequence[Any]], tokens: int) -> Iterator[Any]:
    """Yield batches of rows; show on a terminal what part of all `tokens` is encoded, and the time left.

    Nothing is shown of an encoding that takes a few seconds.
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
    """Return the heartbeat of a job, None where it has none, or where it is stale."""
    import psutil  # 0.03 s, which every job would pay at the top of this module

    file = heartbeat_of(job_log)
    try:
        beat = dict(read_json(file))
        fresh = time.time() - file.stat().st_mtime < STALE
        dead = beat["host"] == socket.gethostname() and not psutil.pid_exists(int(beat["pid"]))
    except (BadInput, OSError, ValueError, KeyError, TypeError):
        return None
    return beat if fresh and not dead else None


def progress_text(beat: Mapping[str, Any]) -> str:
    """Return how far a training is, `step 120 of 500, loss 0.31, 850 sentences/s, 3 min left`; blank of other jobs."""
    if "step" not in beat:
        return ""
    text = f"step {beat['step']:,} of {beat['steps']:,}, loss {beat['loss']:.4g}, {beat['rate']:,.0f} sentences/s"
    return f"{text}, {span(beat['left'])} left"


def span(seconds: float) -> str:
    """Return seconds as `45 s`, `12 min` or `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
