"""Several processes that train one run: each encodes its part of every batch, and every loss sees all vectors.

They are those that torchrun started, or that `started` starts next to this one. Only the first writes.
"""

import contextlib
import os
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

# The first process evaluates and saves while the others wait.
PATIENCE = timedelta(hours=12)
ENDING = 5.0  # seconds that a process which fails may take to say why


class Processes:
    """What one of `count` processes may ask the others; one alone asks nothing."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of the values over all processes, in place."""
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set in any process, once all have asked; no GPU is waited for."""
        return bool(self.sum(torch.tensor(int(flag))))

    def agree(self, step: int) -> None:
        """Raise Failed where the processes do not all begin at one step."""
        if self.sum(torch.tensor([step, step**2])).tolist() != [self.count * step, self.count * step**2]:
            raise Failed(f"process {self.rank} begins at step {step}, another elsewhere; start the run again")

    def mean_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their means over all processes, so that all make the same step."""
        if self.count == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        mean = self.sum(torch.cat([gradient.flatten() for gradient in gradients])) / self.count
        for gradient, part in zip(gradients, mean.split([one.numel() for one in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))


@contextmanager
def started(count: int, words: Sequence[str], port: int = 0) -> Iterator[Processes]:
    """Yield this process among those of its run: torchrun's, or `count` on this machine, of which it is the first.

    The others run the same words of the command line, with the port of the first. Failed where one of them has ended,
    with its last line.
    """
    if port or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        with _joined(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), port=port) as processes:
            yield processes
        return
    if count <= 1:
        yield Processes()
        return
    if Path("/sys/class/net/lo").exists():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    sort_devices(os.environ)
    store = dist.TCPStore("127.0.0.1", 0, count, is_master=True, wait_for_workers=False)
    others: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder, str(rank)) for rank in range(1, count)]
        try:
            for rank, log in enumerate(logs, 1):
                others.append(_other(words, rank, count, store.port, log))
            with _joined(0, count, store) as processes:
                try:
                    yield processes
                except RuntimeError as error:
                    # What is asked of a process that has ended fails; why it has stands in its log.
                    reason = _end_of_one(others, logs)
                    if not reason:
                        raise
                    raise Failed(f"another process of the run has ended: {reason}") from error
        finally:
            for other in others:
                other.kill()
                other.wait()


def _end_of_one(others: Sequence[subprocess.Popen], logs: Sequence[Path]) -> str:
    """Return what the first process that has ended said last; blank where all live."""
    for other, log in zip(others, logs, strict=True):
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = other.wait(ENDING)
            lines = log.read_text(errors="replace").splitlines()
            return next((line for line in reversed(lines) if line), f"exit code {code}, its log is empty")
    return ""


def _other(words: Sequence[str], rank: int, count: int, port: int, log: Path) -> subprocess.Popen:
    """Start another process of the run; it ends when the pipe to it does."""
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
def _joined(rank: int, count: int, store: "dist.Store | None" = None, port: int = 0) -> Iterator[Processes]:
    """Join the other processes; two that share a GPU have no NCCL, but gloo sums tensors of a GPU too."""
    if port:
        threading.Thread(target=_end_with_pipe, daemon=True).start()
        store = dist.TCPStore("127.0.0.1", port, count, is_master=False)
    here = int(os.environ.get("LOCAL_WORLD_SIZE", count))
    alone = take_device_of_rank(os.environ, int(os.environ.get("LOCAL_RANK", rank)), here)
    backend = "cpu:gloo,cuda:nccl" if alone and torch.cuda.is_available() else "gloo"
    where: dict[str, Any] = {"store": store, "rank": rank, "world_size": count} if store else {}
    dist.init_process_group(backend, timeout=PATIENCE, **where)
    try:
        yield Processes(rank, count)
    finally:
        dist.destroy_process_group()


def _end_with_pipe() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
