"""Start-up once: a process that has imported what the jobs of a small study share forks for each of them.

Importing torch and what needs it takes two to three seconds of a processor, as long as many a job of the embedded
study. The workflow starts one server next to itself; a job's own process is then a client that hands its words, its
environment and its output over and waits for the exit code. Whatever is not as it should be (no server, another Python,
other numerical settings, a server that dies before it answers), the job runs as the plain process that it is elsewhere.

This module is the client's half and imports little, no `json` or `typing`: it is read by every job.
"""

import os
import socket
import sys
from collections.abc import Sequence

# Where the server of a study listens, below its folder.
ADDRESS = ".snakemake/replicse-server"
TAKEN, DECLINED = b"t", b"d"
# How the last line of a job's log ends that was asked to end.
INTERRUPTED = "interrupted; start it again"
# What the kernel calls a job of a server; a server without jobs is no work in a folder.
JOB, SERVER = "replicse-job", "replicse.cli.job_server"


def identity() -> list[str]:
    """Return what a server and a job must have in common, in addition to numerical settings: Python and the package."""
    return [sys.prefix, os.path.realpath(__file__)]


def delegate(address: str, words: Sequence[str]) -> int | None:
    """Have the server at an address run a job; return its exit code, or None where the job is to run here."""
    request = {
        "identity": identity(),
        "words": list(words),
        "folder": os.path.realpath("."),
        "environment": dict(os.environ),
    }
    body = f"{request!r}\n".encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
            socket.send_fds(connection, [body[:1]], [1, 2])
            connection.sendall(body[1:])
            if connection.recv(1) != TAKEN:
                return None
        except OSError:
            return None
        try:
            answer = connection.recv(1)
        except OSError:
            answer = b""
    if not answer:
        print("the process that ran this job has ended; run it again", file=sys.stderr)
        return 1
    return answer[0]
