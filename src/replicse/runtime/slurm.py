"""Slurm: end the jobs of a killed study, and report rejected jobs."""

import re
import subprocess
import time
from pathlib import Path

from replicse.errors import BadInput
from replicse.files import write_text

# The names of a study's jobs: the profiles' prefix, and a UUID that Snakemake's Slurm plugin adds.
NAME = re.compile(r"replicse_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The plugin's logs. If this folder does not exist, no job was submitted.
LOGS = Path(".snakemake", "slurm_logs")
# Seconds to wait for cancelled jobs. Training saves the state on SIGTERM; Slurm waits KillWait seconds (default 30).
PATIENCE = 300.0
# Seconds to wait for a response from Slurm.
ANSWER = 60.0
# Text that Snakemake and the executors add to a scheduler's message.
ADDED = re.compile(
    r"SLURM sbatch failed\. The error message was|Job submission failed with exception:"
    r"|\n *sbatch call:.*|For further error details.*",
    re.DOTALL,
)


def keep_refusal(log: Path | str, said: str) -> None:
    """Write the scheduler's reason for rejecting a job to the job's log.

    Args:
        log: The log of the job.
        said: The message of the executor.
    """
    reason = " ".join(ADDED.sub("", said).strip(" '.\n").split())
    write_text(log, f"error: not submitted: {reason}\n")


def jobs_left(folder: Path) -> list[str]:
    """List this user's jobs that were submitted from a folder.

    They are left over only if no study runs there, which the caller should check (replicse.runtime.locks).

    Args:
        folder: The folder of the study.

    Returns:
        A list of ids, empty if the study submitted no jobs.

    Raises:
        OSError: If Slurm is not installed.
        subprocess.SubprocessError: If Slurm does not respond.
    """
    if not (folder / LOGS).is_dir():
        return []
    command = ["squeue", "--me", "--noheader", "--format", "%A %j %Z"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER)
    numbers = set()
    for line in done.stdout.splitlines():
        row = line.split(maxsplit=2)
        if len(row) == 3 and NAME.fullmatch(row[1]) and Path(row[2]).resolve() == folder.resolve():
            numbers.add(row[0])
    return sorted(numbers, key=int)


def end_jobs_left(folder: Path, patience: float = PATIENCE) -> list[str]:
    """Cancel the jobs of a killed study, and wait until they have ended.

    Args:
        folder: The folder of the study.
        patience: The maximum time to wait in seconds. Default: 300.

    Returns:
        A list of the ids of the jobs.

    Raises:
        BadInput: If the jobs do not end.
        OSError: If Slurm is not installed.
        subprocess.SubprocessError: If Slurm does not respond.
    """
    jobs = left = jobs_left(folder)
    if jobs:
        # The command fails if a job has ended in the meantime, so the exit code is ignored.
        subprocess.run(["scancel", *jobs], check=False, capture_output=True, timeout=ANSWER)
    end = time.monotonic() + patience
    while left:
        left = [job for job in jobs_left(folder) if job in jobs]
        if left and time.monotonic() > end:
            raise BadInput(
                f"{folder}: the Slurm jobs {', '.join(left)} of a study that no longer runs do not end;"
                " end them, then start again"
            )
        if left:
            time.sleep(1)
    return jobs
