"""Choose the device of a job; with several GPUs, the least used one.

Snakemake counts how many jobs use a GPU, but does not assign devices. A job locks a file for a device and a
slot on it until the process ends, uses only this device, and logs the name.
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
_locked: list[Any] = []  # open files, whose locks end with the process


def device_for(name: str | None = None) -> "torch.device":
    """Return a device of torch.

    Args:
        name: The name of the device, such as "cuda:1". Default: the first GPU if there is one, otherwise the
            CPU.

    Raises:
        BadInput: If torch cannot use the device.
    """
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        why = str(error).partition("\n")[0]
        raise BadInput(f'device "{name}" cannot be used ({why}); choose another, or omit it') from None
    return torch.device(name)


def read_clock(device: "torch.device") -> float:
    """Return the clock in seconds after a device has finished.

    A GPU works asynchronously, so the clock is read only when no work is left.

    Args:
        device: The device to use.
    """
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
    return time.perf_counter()


def take_device(environment: MutableMapping[str, str]) -> str:
    """Restrict this process to the GPU that the fewest jobs use.

    Args:
        environment: The variables of this process. They are changed in place before torch looks for devices.

    Returns:
        The name of the device; an empty string if the machine has no GPU.
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
    raise AssertionError("a slot is always free")


def sort_devices(environment: MutableMapping[str, str]) -> None:
    """Sort the visible GPUs by the number of jobs that use them.

    Call this before the processes of a run are started.

    Args:
        environment: The variables of this process, which are changed in place.
    """
    devices = _list_devices(environment)
    if devices:
        environment[VISIBLE] = ",".join(sorted(devices, key=_count_jobs))


def take_device_of_rank(environment: MutableMapping[str, str], rank: int, count: int) -> bool:
    """Assign a GPU to one of the processes of a run.

    Args:
        environment: The variables of this process. They are changed in place before torch looks for devices.
        rank: The index of the process among the processes of the run on this machine.
        count: The number of these processes.

    Returns:
        Whether each process has a different GPU.
    """
    devices = _list_devices(environment)
    if devices:
        device = devices[rank % len(devices)]
        environment[VISIBLE] = device
        next(level for level in itertools.count() if _lock(device, level))
    return count <= len(devices)


def _lock(device: str, level: int) -> bool:
    """Lock a slot of a device until this process ends, if it is free.

    Returns:
        Whether it was free.
    """
    stream = _open(device, level)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return False
    _locked.append(stream)
    return True


def _count_jobs(device: str) -> int:
    """Estimate the number of jobs on a device by the first free slot."""
    for level in itertools.count():
        with _open(device, level) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            return level
    raise AssertionError("a slot is always free")


def _open(device: str, level: int) -> Any:
    folder = Path(tempfile.gettempdir(), f"replicse-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / f"{device.replace('/', '-')}.{level}").open("w")


def _list_devices(environment: MutableMapping[str, str]) -> list[str]:
    """Return the GPUs that this process can see, by CUDA's names."""
    if VISIBLE in environment:
        return [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
    return [str(place) for place, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
