"""The device that a job computes on; on a machine with several GPUs each job takes the least used one.

Snakemake counts how many jobs use a GPU, but knows no device. A job locks a file that stands for a device and a place
on it for as long as its process lives, sees only this device, and logs which.
"""

import fcntl
import itertools
import logging
import os
import tempfile
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.errors import BadInput

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
VISIBLE = "CUDA_VISIBLE_DEVICES"
_held: list[Any] = []  # open files, whose locks end with the process


def device_for(name: str | None = None) -> "torch.device":
    """Return the device of this name, else a GPU, else the CPU; BadInput if torch has no such device."""
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        why = str(error).partition("\n")[0]
        raise BadInput(f'device "{name}" cannot be used ({why}); name another, or none') from None
    return torch.device(name)


def waited_for(device: "torch.device") -> float:
    """Return the seconds of the clock once a device has done its work: a GPU works on its own."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
    return time.perf_counter()


def take_device(environment: MutableMapping[str, str]) -> str:
    """Let this process see the GPU that the fewest jobs use.

    Args:
        environment: The variables of this process, changed in place before torch looks for devices.

    Returns:
        The name of the device; blank if the machine has no GPU.
    """
    devices = _list_devices(environment)
    if not devices:
        return ""
    for level in itertools.count():
        for device in devices:
            if _lock(device, level):
                environment[VISIBLE] = device
                log.info("%s=%s place=%d", VISIBLE, device, level)
                return device
    raise AssertionError("some level is free")


def sort_devices(environment: MutableMapping[str, str]) -> None:
    """Sort the visible GPUs by the number of jobs that use them, before a run starts its processes."""
    devices = _list_devices(environment)
    if devices:
        environment[VISIBLE] = ",".join(sorted(devices, key=_count_jobs))


def take_device_of_rank(environment: MutableMapping[str, str], rank: int, count: int) -> bool:
    """Let one of the processes of a run see one GPU.

    Args:
        environment: The variables of this process, changed in place before torch looks for devices.
        rank: The place of the process among the processes of the run on this machine.
        count: The number of these processes.

    Returns:
        Whether each process has a GPU of its own.
    """
    devices = _list_devices(environment)
    if devices:
        device = devices[rank % len(devices)]
        environment[VISIBLE] = device
        next(level for level in itertools.count() if _lock(device, level))
    return count <= len(devices)


def _lock(device: str, level: int) -> bool:
    """Lock a place on a device for the life of this process; return whether it was free."""
    stream = _open(device, level)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return False
    _held.append(stream)
    return True


def _count_jobs(device: str) -> int:
    """Return the first free place on a device: about as many jobs use it."""
    for level in itertools.count():
        with _open(device, level) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            return level
    raise AssertionError("some level is free")


def _open(device: str, level: int) -> Any:
    folder = Path(tempfile.gettempdir(), f"replicse-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / f"{device.replace('/', '-')}.{level}").open("w")


def _list_devices(environment: MutableMapping[str, str]) -> list[str]:
    """Return the GPUs that this process may see, as CUDA names them."""
    if VISIBLE in environment:
        return [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
    return [str(place) for place, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
