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

# They import torch, scipy, pandas, tokenizers and others.
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
# Snakemake sets these for a job.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# Arrow, which pandas imports, would otherwise start a thread of its memory allocator.
QUIET = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
DIE_WITH_PARENT, SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
PATIENCE = 20.0  # seconds to wait for the rest of a request


def start(threads: int) -> None:
    """Start a server for jobs with a number of threads in this folder.

    No server is started if the system or the file system does not support Unix sockets.
    """
    if not hasattr(os, "pidfd_open"):
        return
    added = {**dict.fromkeys(THREADS, str(threads)), **QUIET, "PYTHONPATH": str(Path(__file__).parents[2])}
    Path(ADDRESS).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        # Bind here, so that jobs can connect while the server is still importing.
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
    """A server that forks for each request."""

    max_children = 1 << 20  # the scheduler limits the number of jobs

    def __init__(self, listener: socket.socket) -> None:
        super().__init__("", ForkedJob, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def serve_until(self, ended: int) -> None:
        """Serve until a file descriptor becomes readable and no job is left."""
        read: list[Any] = [ended, self.socket]
        while ended not in select.select(read, [], [])[0]:
            self.handle_request()
            self.collect_children()
        self.server_close()


class ForkedJob(socketserver.BaseRequestHandler):
    """A forked process that runs a job and sends the exit code."""

    def handle(self) -> None:
        """Run a job as `python -m replicse` would.

        Decline it if its environment differs.
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
    """End this job and its children when its client is gone.

    The client may start it again.
    """
    with contextlib.suppress(OSError):
        client.recv(1)
    os.killpg(0, signal.SIGKILL)


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that libraries read when they are imported."""
    return {name: value for name, value in environment.items() if SETTINGS.fullmatch(name)}


def _exit_code(asked: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """Run a job in this process and return its exit code."""
    code = 1
    try:
        for target, descriptor in enumerate(descriptors, start=1):
            os.dup2(descriptor, target)
        # Python's streams remember whether the server's output is seekable, so create new ones.
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
    """Name this process as a job, and let it end with the server."""
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(SET_NAME, JOB.encode())
    library.prctl(DIE_WITH_PARENT, signal.SIGKILL)


def serve(descriptor: int, parent: int, address: str) -> None:
    """Import shared modules and serve.

    Exit if forking is not safe, so that jobs run as plain processes.
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
        with contextlib.suppress(OSError):  # the next study of the folder may have created its own socket
            if Path(address).stat().st_ino == own:
                Path(address).unlink()


def _build_models() -> None:
    """Build all pydantic models, which would otherwise be built at first use."""
    kinds = [Checked]
    for kind in kinds:
        kind.model_rebuild()
        kinds += kind.__subclasses__()


def _optimise_nothing() -> None:
    """Create an optimiser, so that torch imports its compiler."""
    import torch

    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
