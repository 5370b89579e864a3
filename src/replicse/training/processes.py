"""Several processes that train one run.

Each process encodes a part of every batch and computes the loss from all vectors. The processes are started by torchrun
or by `start_processes`. Only the first process writes files.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from replicse.errors import Failed
from replicse.runtime.devices import sort_devices, take_device_of_rank

# Timeout of collective operations: the other processes wait while the first evaluates and saves.
PATIENCE = timedelta(hours=12)
ENDING = 5.0  # seconds to wait for the error of a failing process


class Processes:
    """The processes of a run, from the view of one process.

    By default, there is one process, and all operations are local.

    Args:
        rank: The number of this process, from 0. Default: 0.
        count: The number of processes. Default: 1.
    """

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    def sum(self, values: Tensor) -> Tensor:
        """Sum values over all processes.

        Args:
            values: A tensor, which is changed in place.

        Returns:
            The tensor.
        """
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def any(self, flag: bool) -> bool:
        """Return whether a flag is set in any process.

        All processes should call this method. It does not wait for a GPU.

        Args:
            flag: The flag of this process.
        """
        return bool(self.sum(torch.tensor(int(flag))))

    def check_same_step(self, step: int) -> None:
        """Check that all processes start at the same step.

        Args:
            step: The step of this process.

        Raises:
            Failed: If another process starts at another step.
        """
        if self.sum(torch.tensor([step, step**2])).tolist() != [self.count * step, self.count * step**2]:
            problem = f"process {self.rank} starts at step {step}, but another process at another step"
            raise Failed(f"{problem}; start the run again")

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their means over all processes.

        All processes then make the same update.

        Args:
            parameters: The trained parameters.
        """
        if self.count == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        mean = self.sum(torch.cat([gradient.flatten() for gradient in gradients])) / self.count
        parts = mean.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


@contextmanager
def start_processes(count: int, words: Sequence[str], port: int = 0) -> Iterator[Processes]:
    """Start the other processes of a run, or join running processes.

    Args:
        count: The number of processes on this machine, if torchrun has not started them.
        words: The command line of the other processes.
        port: The port of the first process; only the other processes get it. Default: 0.

    Yields:
        The processes, from the view of this process.

    Raises:
        Failed: If another process has ended. The message contains the last line of its log.
    """
    if port or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        with _join_group(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), port=port) as processes:
            yield processes
        return
    if count <= 1:
        yield Processes()
        return
    if Path("/sys/class/net/lo").exists():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    sort_devices(os.environ)
    # Without this socket, the store would listen on all interfaces.
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    store = dist.TCPStore(
        "127.0.0.1",
        port,
        count,
        is_master=True,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )
    others: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder, str(rank)) for rank in range(1, count)]
        try:
            for rank, log in enumerate(logs, 1):
                others.append(_start_process(words, rank, count, port, log))
            with _join_group(0, count, store) as processes:
                try:
                    yield processes
                except RuntimeError as error:
                    # Operations with a process that has ended fail. The log of the process contains the reason.
                    reason = _read_last_words(others, logs)
                    if not reason:
                        raise
                    raise Failed(f"another process of the run has ended: {reason}") from error
        finally:
            for other in others:
                other.kill()
                other.wait()


def _read_last_words(others: Sequence[subprocess.Popen], logs: Sequence[Path]) -> str:
    """Return the last log line of the first ended process, if any."""
    for other, log in zip(others, logs, strict=True):
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = other.wait(ENDING)
            lines = log.read_text(errors="replace").splitlines()
            return next((line for line in reversed(lines) if line), f"exit code {code}, empty log")
    return ""


def _start_process(words: Sequence[str], rank: int, count: int, port: int, log: Path) -> subprocess.Popen:
    """Start another process, which exits when the pipe to it is closed."""
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count}
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "replicse", *words, f"--join={port}"],
            env=os.environ | {name: str(value) for name, value in variables.items()},
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
        )


@contextmanager
def _join_group(
    rank: int, count: int, store: "dist.Store | None" = None, port: int = 0
) -> Iterator[Processes]:
    """Join the process group of the run.

    By default, the address of the first process is in the environment, as torchrun sets it.
    """
    if port:
        threading.Thread(target=_exit_when_pipe_closes, daemon=True).start()
        store = dist.TCPStore("127.0.0.1", port, count, is_master=False)
    here = int(os.environ.get("LOCAL_WORLD_SIZE", count))
    alone = take_device_of_rank(os.environ, int(os.environ.get("LOCAL_RANK", rank)), here)
    # Processes that share a GPU use gloo, because NCCL does not support a shared GPU.
    backend = "cpu:gloo,cuda:nccl" if alone and torch.cuda.is_available() else "gloo"
    group: dict[str, Any] = {"store": store, "rank": rank, "world_size": count} if store else {}
    dist.init_process_group(backend, timeout=PATIENCE, **group)
    try:
        yield Processes(rank, count)
    finally:
        dist.destroy_process_group()


def _exit_when_pipe_closes() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
