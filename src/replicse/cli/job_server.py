"""The job server, which imports shared modules and forks for each job."""

import ast
import contextlib
import gc
import importlib
import logging
import os
import select
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.checked import Checked
from replicse.cli.stages import STAGES
from replicse.provenance.record import software
from replicse.registry.plugins import use_plugins
from replicse.runtime.forking import ADDRESS, DECLINED, JOB, TAKEN, identity
from replicse.runtime.machine import SETTINGS
from replicse.runtime.memory import USUAL, set_thresholds

log = logging.getLogger(__name__)

# Modules to import before forking; they import torch, scipy, pandas, tokenizers and others.
PRELOADED = (
    "sklearn.cluster",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "replicse.cli.job",
    *(f"replicse.cli.stages.{stage}" for stage in STAGES),
    "replicse.encoder.packed.checkpoints",
    "replicse.library.training",
    "replicse.library.evaluation",
    "replicse.evaluation.model",
    "replicse.show.figures",
)
# Snakemake sets these environment variables for a job.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# Without this, Arrow (imported by pandas) starts a thread for memory allocation, and forking is not safe.
QUIET = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
DIE_WITH_PARENT, SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
PATIENCE = 20.0  # seconds to wait for the rest of a request


def start(threads: int) -> None:
    """Start the job server of this folder.

    No server is started if the system or the file system does not support Unix sockets. Jobs then run as separate
    processes.

    Args:
        threads: the number of threads of a job.
    """
    if not hasattr(os, "pidfd_open"):
        return
    added = {**dict.fromkeys(THREADS, str(threads)), **QUIET, "PYTHONPATH": str(Path(__file__).parents[2])}
    Path(ADDRESS).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        # Bind here, so that jobs can connect while the server is importing modules.
        try:
            listener.bind(ADDRESS)
        except OSError as error:
            log.warning("%s: %s; jobs run as processes of their own", ADDRESS, error.strerror)
            return
        listener.listen(128)
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno()), str(os.getpid()), ADDRESS],
            pass_fds=[listener.fileno()],
            env={**os.environ, **added},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """A server with a forked process for each request."""

    max_children = 1 << 20  # the scheduler limits the number of jobs

    def __init__(self, listener: socket.socket) -> None:
        super().__init__("", ForkedJob, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def serve_until(self, ended: int) -> None:
        """Serve until a file descriptor becomes readable.

        Args:
            ended: the file descriptor of a process; it becomes readable when the process ends.
        """
        read: list[Any] = [ended, self.socket]
        while ended not in select.select(read, [], [])[0]:
            self.handle_request()
            self.collect_children()
        self.server_close()


class ForkedJob(socketserver.BaseRequestHandler):
    """A forked process to run a job and send the exit code."""

    def handle(self) -> None:
        """Run a job as `python -m replicse` would.

        The job is declined if Python, the package or library settings differ from the server's.
        """
        os.setpgid(0, 0)
        _set_apart()
        self.request.settimeout(PATIENCE)
        try:
            start, descriptors, _, _ = socket.recv_fds(self.request, 1, 2)
            with self.request.makefile("rb") as stream:
                asked = ast.literal_eval((start + stream.readline()).decode())
            settings = _settings(asked["environment"])
            fits = asked["identity"] == identity() and settings == _settings(os.environ)
            self.request.sendall(TAKEN if fits else DECLINED)
        except (OSError, ValueError, KeyError, SyntaxError):
            return
        if fits:
            self.request.settimeout(None)
            threading.Thread(target=_end_with, args=[self.request], daemon=True).start()
            code = _exit_code(asked, descriptors)
            self.request.sendall(bytes([code]))


def _end_with(client: socket.socket) -> None:
    """Kill this job and all child processes if the client exits.

    Otherwise the job could run twice, because the workflow may start it again.
    """
    with contextlib.suppress(OSError):
        client.recv(1)
    os.killpg(0, signal.SIGKILL)


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables used by libraries at import."""
    return {name: value for name, value in environment.items() if SETTINGS.fullmatch(name)}


def _exit_code(asked: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """Run a job in this process and return its exit code."""
    code = 1
    try:
        for target, descriptor in enumerate(descriptors, start=1):
            os.dup2(descriptor, target)
        # Python's streams cache whether the server's output is seekable, so create new streams.
        sys.stdout, sys.stderr = (os.fdopen(target, "w", 1, closefd=False) for target in (1, 2))
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        from replicse.cli import main

        code = main(asked["words"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _set_apart() -> None:
    """Set the process name, and end this process if the server ends."""
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(SET_NAME, JOB.encode())
    library.prctl(DIE_WITH_PARENT, signal.SIGKILL)


def serve(descriptor: int, parent: int, address: str) -> None:
    """Import shared modules and serve jobs.

    If an import has started threads, forking is not safe: the server exits, and jobs run as separate processes.

    Args:
        descriptor: the file descriptor of the listening socket.
        parent: the id of the process that started the server; the server exits when this process ends.
        address: the path of the socket, which is removed at the end.
    """
    own = Path(address).stat().st_ino
    try:
        with socket.socket(fileno=descriptor) as listener:
            try:
                watched = os.pidfd_open(parent)
            except ProcessLookupError:  # the parent was killed right after it started this server
                return
            for name in PRELOADED:
                importlib.import_module(name)
            _optimise_nothing()
            software()
            use_plugins(())
            _build_models()
            if len(list(Path("/proc/self/task").iterdir())) > 1:
                log.warning("an import has started threads: jobs run as processes of their own")
                return
            set_thresholds(USUAL)
            gc.collect()
            gc.freeze()
            Server(listener).serve_until(watched)
    finally:
        with contextlib.suppress(OSError):  # the next run in this folder may have created a new socket
            if Path(address).stat().st_ino == own:
                Path(address).unlink()


def _build_models() -> None:
    """Build all pydantic models now; by default each job would build them."""
    kinds = [Checked]
    for kind in kinds:
        kind.model_rebuild()
        kinds += kind.__subclasses__()


def _optimise_nothing() -> None:
    """Create an optimiser, because torch imports the compiler at first use."""
    import torch

    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
