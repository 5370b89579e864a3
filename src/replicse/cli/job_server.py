"""The job server, which imports modules of a stage and forks for each job."""

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
from functools import cache
from pathlib import Path
from typing import Any

from replicse.checked import Checked
from replicse.cli.stages import STAGES
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.provenance.record import software
from replicse.registry.plugins import use_plugins
from replicse.runtime.forking import ADDRESS, DECLINED, JOB, TAKEN, identity
from replicse.runtime.machine import SETTINGS
from replicse.runtime.memory import USUAL, set_thresholds

log = logging.getLogger(__name__)

# Modules to import before the first job of a stage. All of them take 11 seconds of CPU time (Intel Xeon, 2.5 GHz), and
# a part of a study often does not have every stage.
ALL_STAGES = ("replicse.cli.job", *(f"replicse.cli.stages.{stage}" for stage in STAGES))
ENCODERS = ("replicse.encoder.packed.checkpoints", "replicse.library.evaluation", "replicse.evaluation.model")
PRELOADED = {
    "": ALL_STAGES,
    "train": (*ENCODERS, "replicse.library.training", "scipy.sparse.linalg"),
    "evaluate": (*ENCODERS, "sklearn.cluster", "sklearn.neighbors"),
    "geometry": (*ENCODERS, "replicse.library.trajectory"),
    "figures": (
        "matplotlib.backends.backend_pdf",
        "matplotlib.backends.backend_svg",
        "replicse.show.figures",
    ),
}
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
        # A connection can run code, so other users must not connect, whatever the umask. Nobody can connect before
        # `listen`.
        Path(ADDRESS).chmod(0o600)
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
        self.job: dict[str, Any] = {}
        self.streams: list[int] = []

    def serve_until(self, ended: int) -> None:
        """Serve until a process ends, or until an import has started threads.

        If there are several threads, forking is not safe, so jobs then run as separate processes.

        Args:
            ended: the file descriptor of the process; it becomes readable when the process ends.
        """
        read: list[Any] = [ended, self.socket]
        while is_single_threaded() and ended not in select.select(read, [], [])[0]:
            self.handle_request()
            self.collect_children()
        self.server_close()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Read the request and import the modules of the stage.

        The job is declined if Python, the package or library settings differ from the server's, or if an import
        has started threads.
        """
        request.settimeout(PATIENCE)
        try:
            start, self.streams, _, _ = socket.recv_fds(request, 1, 2)
            with request.makefile("rb") as stream:
                self.job = ast.literal_eval((start + stream.readline()).decode())
            settings = _settings(self.job["environment"])
            fits = self.job["identity"] == identity() and settings == _settings(os.environ)
            if fits:
                import_modules(stage_of(self.job["words"], self.job["folder"]))
                fits = is_single_threaded()
            if not fits:
                request.sendall(DECLINED)
        except (OSError, ValueError, KeyError, SyntaxError):
            fits = False
        if not fits:
            self._close_streams()
        return fits

    def process_request(self, request: Any, client_address: Any) -> None:
        """Fork, and close the streams of the job in the server."""
        super().process_request(request, client_address)
        self._close_streams()

    def _close_streams(self) -> None:
        for stream in self.streams:
            os.close(stream)
        self.streams = []


class ForkedJob(socketserver.BaseRequestHandler):
    """A forked process to run a job and send the exit code."""

    server: Server

    def handle(self) -> None:
        """Run the job of the server as `python -m replicse` would."""
        os.setpgid(0, 0)
        _set_apart()
        try:
            self.request.sendall(TAKEN)
        except OSError:  # the client was killed while modules were imported
            return
        self.request.settimeout(None)
        threading.Thread(target=_end_with, args=[self.request], daemon=True).start()
        code = _exit_code(self.server.job, self.server.streams)
        self.request.sendall(bytes([code]))


@cache
def import_modules(stage: str) -> None:
    """Import the modules of a stage into the server, once.

    Args:
        stage: the name of the stage, or an empty string for the modules of all stages.
    """
    for name in PRELOADED.get(stage, ()):
        importlib.import_module(name)
    if stage == "train":
        _optimise_nothing()
    gc.collect()
    gc.freeze()


def stage_of(words: Sequence[str], folder: str) -> str:
    """Return the stage of a job.

    Args:
        words: the command line of the job.
        folder: the working directory of the job.

    Returns:
        The name; empty if the specification cannot be loaded, which the job will report.
    """
    try:
        return str(read_json(Path(folder, words[1]))["stage"])
    except (BadInput, LookupError, TypeError):
        return ""


def is_single_threaded() -> bool:
    """Return whether this process has one thread."""
    return len(list(Path("/proc/self/task").iterdir())) == 1


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
    """Serve jobs until the parent ends.

    Args:
        descriptor: the file descriptor of the listening socket.
        parent: the id of the process that started the server.
        address: the path of the socket, which is removed at the end.
    """
    own = Path(address).stat().st_ino
    try:
        with socket.socket(fileno=descriptor) as listener:
            try:
                watched = os.pidfd_open(parent)
            except ProcessLookupError:  # the parent was killed right after it started this server
                return
            import_modules("")
            software()
            use_plugins(())
            _build_models()
            set_thresholds(USUAL)
            Server(listener).serve_until(watched)
    finally:
        if not is_single_threaded():
            log.warning("an import has started threads: jobs run as processes of their own")
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
