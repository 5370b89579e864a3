"""The server's half: it imports what jobs share, forks for each, and tells their clients how they ended."""

import contextlib
import gc
import importlib
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.provenance.record import software
from replicse.runtime.forking import DECLINED, JOB, LENGTH, TAKEN, identity
from replicse.runtime.machine import SETTINGS

log = logging.getLogger(__name__)

# Not mteb nor polars, which it imports: that starts threads, which a fork would leave behind. But most of what else
# mteb needs: datasets and scikit-learn.
PRELOADED = (
    "torch",
    "scipy.stats",
    "pandas",
    "tokenizers",
    "safetensors.torch",
    "datasets",
    "sklearn.cluster",
    "sklearn.linear_model",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "replicse.commands.evaluate",
    "replicse.commands.job",
    "replicse.commands.study",
    "replicse.commands.train",
    "replicse.encoder.packed.checkpoints",
    "replicse.encoder.packed.transformer",
    "replicse.training.loop",
    "replicse.evaluation.model",
    "replicse.evaluation.suites",
    "replicse.study.judge.study",
    "replicse.study.plan.planner",
    "replicse.study.results.tabulate",
    "replicse.report.figures",
)
# As Snakemake sets them for a job.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# Arrow, which pandas imports, would start a thread of its memory allocator.
QUIET = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
DIE_WITH_PARENT, SET_NAME = 1, 15  # PR_SET_PDEATHSIG and PR_SET_NAME of Linux
PATIENCE = 20.0  # seconds that a half-sent request is waited for


def start(threads: int) -> str:
    """Start a server that lives as long as this process has jobs of so many threads; return its address."""
    added = {**dict.fromkeys(THREADS, str(threads)), **QUIET, "PYTHONPATH": str(Path(__file__).parents[3])}
    folder = tempfile.mkdtemp(prefix="replicse-")
    address = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        # Bound here, so that a job can ask before all is imported.
        listener.bind(address)
        listener.listen(128)
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno()), str(os.getpid()), address],
            pass_fds=[listener.fileno()],
            env={**os.environ, **added},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    return address


class Server:
    """Forks for every request, and ends when its parent has ended and no job is left."""

    def __init__(self, listener: socket.socket, parent: int) -> None:
        """Watch a listening socket and the process that the server is for, as a file descriptor."""
        self.listener = listener
        self.parent = parent
        self.events = selectors.DefaultSelector()
        # job's process id: the connection that waits for it
        self.jobs: dict[int, socket.socket] = {}

    def run(self) -> None:
        """Serve until the parent has ended and no job is left."""
        self.events.register(self.listener, selectors.EVENT_READ, self._accept)
        self.events.register(self.parent, selectors.EVENT_READ, self._retire)
        while self.listener.fileno() >= 0 or self.jobs:
            for key, _ in self.events.select():
                # Two may come together, and the first take the second away: a job's end and its client's, or the
                # parent's end and a last request.
                if key in self.events.get_map().values():
                    key.data()

    def _retire(self) -> None:
        """Take no more jobs."""
        for end in (self.parent, self.listener):
            self.events.unregister(end)
        self.listener.close()

    def _accept(self) -> None:
        """Read a request and fork for it; decline one that this process cannot stand in for."""
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE)
        descriptors: list[int] = []
        try:
            header, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 2)
            body = _exactly(connection, LENGTH.unpack(header)[0])
            request = json.loads(body)
            fits = request["identity"] == identity() and _settings(request["environment"]) == _settings(
                os.environ
            )
            connection.sendall(TAKEN if fits else DECLINED)
            if fits:
                self._fork(request, descriptors, connection)
            else:
                connection.close()
        except (OSError, ValueError, KeyError, struct.error):
            connection.close()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _fork(
        self, request: Mapping[str, Any], descriptors: Sequence[int], connection: socket.socket
    ) -> None:
        process = os.fork()
        if process == 0:
            _become(request, descriptors)
        self.jobs[process] = connection
        ended = os.pidfd_open(process)
        self.events.register(ended, selectors.EVENT_READ, lambda: self._finish(process, ended))
        self.events.register(connection, selectors.EVENT_READ, lambda: self._abandon(process))

    def _finish(self, process: int, ended: int) -> None:
        """Tell the client how its job ended: its exit code, or 128 and its signal as a shell does."""
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        connection = self.jobs.pop(process)
        self.events.unregister(ended)
        os.close(ended)
        if connection.fileno() >= 0:
            self.events.unregister(connection)
            with contextlib.suppress(OSError):
                connection.sendall(bytes([code if code >= 0 else 128 - code]))
            connection.close()

    def _abandon(self, process: int) -> None:
        """End the job whose client has gone: nobody waits for it, and it may be started again."""
        connection = self.jobs[process]
        self.events.unregister(connection)
        connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the numerical settings of an environment: libraries have read this process's when they were imported."""
    return {name: value for name, value in environment.items() if SETTINGS.fullmatch(name)}


def _exactly(connection: socket.socket, length: int) -> bytes:
    """Return so many bytes of a connection. Raises ConnectionError where it ends before."""
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            raise ConnectionError("the request is cut")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Run a job in this forked process, as `python -m replicse` would, and end it."""
    code = 1
    try:
        os.setpgid(0, 0)
        _set_apart()
        for target, descriptor in enumerate(descriptors, start=1):
            os.dup2(descriptor, target)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        from replicse.cli import main

        code = main(request["words"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _set_apart() -> None:
    """Name this process as a job, and have it killed when the server is: none may go on that is reported as failed."""
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(SET_NAME, JOB.encode())
    library.prctl(DIE_WITH_PARENT, signal.SIGKILL)


def serve(descriptor: int, parent: int, address: str) -> None:
    """Import what jobs share and serve; go away where a fork would not be safe, so that jobs run as plain processes."""
    try:
        with socket.socket(fileno=descriptor) as listener:
            try:
                watched = os.pidfd_open(parent)
            except ProcessLookupError:  # killed as soon as it had started this server
                return
            for name in PRELOADED:
                importlib.import_module(name)
            _optimise_nothing()
            software()
            if len(list(Path("/proc/self/task").iterdir())) > 1:
                log.warning("an import has started threads: jobs run as processes of their own")
                return
            gc.collect()
            gc.freeze()
            Server(listener, watched).run()
    finally:
        shutil.rmtree(Path(address).parent, ignore_errors=True)


def _optimise_nothing() -> None:
    """Make an optimiser: for the first one torch imports its compiler, which takes a second."""
    import torch

    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
