"""The client of the job server, which forks jobs from a ready process.

Importing torch and packages that need it takes two to three seconds of CPU time, as long as many jobs of the
embedded study. The workflow starts a server next to itself. The process of a job is then a client: it sends its
command line, the environment and the output streams, and waits for the exit code. The job runs as a plain
process if there is no server, if Python or numerical settings differ, or if the server ends before it answers.

Every job imports this module, so it imports little, not even `json` or `typing`.
"""

import os
import socket
import sys
from collections.abc import Sequence

# The socket of a study's server, below the study's folder.
ADDRESS = ".snakemake/replicse-server"
TAKEN, DECLINED = b"t", b"d"
# The end of the last line of an interrupted job's log.
INTERRUPTED = "interrupted; start it again"
# The kernel's name of a server's job, to distinguish it from the server: an idle server does not use a folder.
JOB, SERVER = "replicse-job", "replicse.cli.job_server"


def identity() -> list[str]:
    """Return Python and package, which are equal in a server and its jobs.

    Numerical settings are compared separately.
    """
    return [sys.prefix, os.path.realpath(__file__)]


def delegate(address: str, words: Sequence[str]) -> int | None:
    """Request that a server runs a job.

    Args:
        address: The path of the server's socket.
        words: The command line of the job.

    Returns:
        The exit code, or None if the job must run in this process.
    """
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
        print("the process of this job ended without an exit code; run it again", file=sys.stderr)
        return 1
    return answer[0]
