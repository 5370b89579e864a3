"""Jobs that a killed study left with Slurm, which the next one's must not meet, and those that it did not take."""

import re
import subprocess
import time
from pathlib import Path

from replicse.errors import BadInput
from replicse.files import write_text

# What Slurm's plugin calls the jobs of one study, behind the prefix that the profiles give it.
NAME = re.compile(r"replicse_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Where the plugin keeps what its jobs print: a folder without it never submitted one.
LOGS = Path(".snakemake", "slurm_logs")
# Told to end, a training saves its state; Slurm waits for that as its KillWait says (half a minute where none is set).
PATIENCE = 300.0
# Seconds within which Slurm answers, or is away.
ANSWER = 60.0
# What Snakemake and its executors write around a scheduler's own words.
ADDED = re.compile(
    r"SLURM sbatch failed\. The error message was|Job submission failed with exception:"
    r"|\n *sbatch call:.*|For further error details.*",
    re.DOTALL,
)


def keep_refusal(log: Path | str, said: str) -> None:
    """Write a scheduler's own words of a job that it did not take into the job's log, of what an executor says."""
    words = " ".join(ADDED.sub("", said).strip(" '.\n").split())
    write_text(log, f"error: not submitted: {words}\n")


def jobs_left(folder: Path) -> list[str]:
    """Return the numbers of this user's jobs that studies submitted from a folder; none where none ever was submitted.

    They are left ones only where no study runs there, which the caller knows (replicse.runtime.locks). Raises
    OSError or subprocess.SubprocessError where Slurm does not answer.
    """
    if not (folder / LOGS).is_dir():
        return []
    command = ["squeue", "--me", "--noheader", "--format", "%A %j %Z"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER)
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    numbers = (row[0] for row in rows if len(row) == 3 and NAME.fullmatch(row[1]) and _same(row[2], folder))
    return sorted(set(numbers), key=int)


def _same(place: str, folder: Path) -> bool:
    return Path(place).resolve() == folder.resolve()


def end_jobs_left(folder: Path, patience: float = PATIENCE) -> list[str]:
    """Cancel the jobs that a study left, wait until they are gone, and return their numbers.

    Raises BadInput where they do not end, OSError or subprocess.SubprocessError where Slurm does not answer.
    """
    jobs = left = jobs_left(folder)
    if jobs:
        # It fails where one has ended since; what counts is whether they are gone.
        subprocess.run(["scancel", *jobs], check=False, capture_output=True, timeout=ANSWER)
    end = time.monotonic() + patience
    while left := left and [job for job in jobs_left(folder) if job in jobs]:
        if time.monotonic() > end:
            raise BadInput(
                f"{folder}: the Slurm jobs {', '.join(left)} of a study that no longer runs do not end;"
                " end them, then start again"
            )
        time.sleep(1)
    return jobs
