"""Which device a job computes on; on a machine with several GPUs each job takes a free slot of one of them.

Snakemake counts how many jobs hold a GPU, but knows no device. Where a job knows how many run at a time
(`--slots`, which the workflow has from `--resources gpu=N`), it locks one of so many files for as long as its process
lives, sees only the device that the file stands for, and says which.
"""

import fcntl
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
_shared = {"slots": 0}  # of this process


def share(slots: int) -> None:
    """Say how many jobs share the GPUs of this machine; 0 for none but this process."""
    _shared["slots"] = slots


def device_for(name: str | None = None) -> "torch.device":
    """Return the device asked for, else a GPU, else the CPU; BadInput where torch has no such device."""
    import torch

    if name is not None:
        try:
            torch.empty(0, device=name)
        except (RuntimeError, AssertionError) as error:
            why = str(error).partition("\n")[0]
            raise BadInput(f'device "{name}" cannot be used ({why}); name another, or none') from None

    if name is None and not torch.cuda.is_initialized():
        take_slot(os.environ)
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def waited_for(device: "torch.device") -> float:
    """Return the seconds of the clock once a device has done what it was asked for: a GPU works on its own."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
    return time.perf_counter()


def take_slot(environment: MutableMapping[str, str], patience: float = 1.0) -> str:
    """Lock a free slot, let this process see its device alone, and return it; blank where no slots are asked for.

    Slots go round over the devices, so that a second job shares one only where all have a first. Waits until a slot is
    free, looking again after `patience` seconds.
    """
    slots, devices = _shared["slots"], _devices(environment)
    if not slots or not devices or _held:
        return ""
    folder = Path(tempfile.gettempdir(), f"replicse-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    while True:
        for slot in range(slots):
            device = devices[slot % len(devices)]
            stream = (folder / f"{device.replace('/', '-')}.{slot // len(devices)}").open("w")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.close()
                continue
            _held.append(stream)
            environment[VISIBLE] = device
            log.info("%s=%s slot=%d of=%d", VISIBLE, device, slot, slots)
            return device
        time.sleep(patience)


def see_one_device(environment: MutableMapping[str, str], place: int, count: int) -> bool:
    """Let this process, at a place among `count` of a run, see one GPU; return whether each of them has its own.

    Where slots are asked for, it takes one as any job does.
    """
    slots, devices = _shared["slots"], _devices(environment)
    if devices and not slots:
        environment[VISIBLE] = devices[place % len(devices)]
    return max(slots, count) <= len(devices)


def _devices(environment: MutableMapping[str, str]) -> list[str]:
    """Return the GPUs that this process may see, as CUDA names them."""
    if VISIBLE in environment:
        return [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
    return [str(place) for place, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
