"""The resume state of a run.

It contains everything that the next step depends on, in a folder that Snakemake does not delete.
"""

import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from replicse.errors import BadInput
from replicse.files import not_written, sha256_of

CPU = torch.device("cpu")
SAVE_EVERY_SECONDS = 120.0
# The state is saved less often if saving takes more than this share of the time (large encoder, slow disk), but at
# least at every tenth interval.
SAVE_SHARE, SAVE_LEAST = 0.02, 10


class BrokenState(BadInput):
    """A saved state that a run cannot resume from; the run starts again."""


class RunState:
    """The saved state and the best weights of a run.

    The files are `state-STEP-DIGEST.pt` and `best-STEP-DIGEST.pt`. A file that does not match the digest in its name is
    ignored in favour of the previous file. By default, the run is on the CPU, so that no generator of a GPU is saved.

    Args:
        folder: The folder of the files.
        parts: A dict of the objects that training changes: model, objective, optimiser, scaler.
        generator: The random generator of the run. The state of torch's default generator is saved too.
        code: The digest of the run's code. Default: empty.
        device: The device of the run. The generator of this GPU is saved too, but not the generators of other
            GPUs, so that a run can resume on a machine with another number of GPUs. Default: the CPU.
    """

    def __init__(
        self,
        folder: Path,
        parts: Mapping[str, Any],
        generator: torch.Generator,
        code: str = "",
        device: torch.device = CPU,
    ) -> None:
        self.folder, self.parts, self.generator, self.code = folder, parts, generator, code
        self.device = device

    def save(self, step: int, best: Mapping[str, Any] | None, **progress: Any) -> None:
        """Save the state with the progress of the run, then delete older files.

        Args:
            step: The number of finished steps.
            best: The step and the score of the best checkpoint, or None.
            **progress: Other JSON-like data that `load` returns.

        Raises:
            Failed: If the disk is full.
        """
        content = {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generator": self.generator.get_state(),
            "random": torch.get_rng_state(),
            "random_device": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
            "progress": {"step": step, "best": best, **progress},
            "code": self.code,
        }
        self._write("state", step, content)
        self._delete_others("state", step)
        self._delete_others("best", best["step"] if best else None)

    def load(self) -> dict[str, Any] | None:
        """Restore the state of all parts in place.

        Training continues after the step where the state was saved.

        Returns:
            A dict of the progress that was saved, or None if there is no state.

        Raises:
            BrokenState: If no file is valid, or the code has changed since the state was saved. Parts might already be
                restored.
        """
        files = self._files("state")
        if not files:
            return None
        content = self._read_first_valid(files)
        if content is None:
            raise BrokenState(f"{files[0][1]}: truncated or changed after it was written")
        if content["code"] != self.code:
            raise BrokenState(f"{files[0][1]}: saved by other code of the run")
        best = content["progress"]["best"]
        if best is not None:
            self._read_best(best["step"])
        for name, part in self.parts.items():
            part.load_state_dict(content["parts"][name])
        self.generator.set_state(content["generator"])
        torch.set_rng_state(content["random"])
        if content["random_device"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(content["random_device"], self.device)
        return content["progress"]

    def save_best(self, step: int) -> None:
        """Save the current weights of model and objective as the best checkpoint.

        Args:
            step: The number of finished steps.
        """
        self._write("best", step, {name: module.state_dict() for name, module in self._modules()})

    def load_best(self, step: int) -> None:
        """Load the weights of the best checkpoint.

        Args:
            step: The step of the best checkpoint.

        Raises:
            BrokenState: If the weights are missing or broken.
        """
        weights = self._read_best(step)
        for name, module in self._modules():
            module.load_state_dict(weights[name])

    def remove(self) -> None:
        """Delete the state of a finished run."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _modules(self) -> list[tuple[str, nn.Module]]:
        return [(name, part) for name, part in self.parts.items() if isinstance(part, nn.Module)]

    def _delete_others(self, kind: str, kept: int | None) -> None:
        """Delete the files of a kind from all steps but one."""
        for step, path in self._files(kind):
            if step != kept:
                path.unlink(missing_ok=True)

    def _read_first_valid(self, files: Sequence[tuple[int, Path]]) -> dict[str, Any] | None:
        for _, path in files:
            content = self._read(path)
            if content is not None:
                return content
        return None

    def _read_best(self, step: int) -> dict[str, Any]:
        files = [(other, path) for other, path in self._files("best") if other == step]
        weights = self._read_first_valid(files[:1])
        if weights is None:
            raise BrokenState(f"{self.folder}: the best weights (step {step}) are missing or broken")
        return weights

    def _files(self, kind: str) -> list[tuple[int, Path]]:
        """Return step and path of the files of a kind, the latest first."""
        files = []
        for path in self.folder.glob(f"{kind}-*-*.pt"):
            files.append((int(path.stem.split("-")[1]), path))
        return sorted(files, reverse=True)

    def _write(self, kind: str, step: int, content: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f"{kind}.new"
        try:
            torch.save(content, temporary)
        except RuntimeError as error:  # torch does not report that the disk is full
            failed = not_written(self.folder, error)
            temporary.unlink(missing_ok=True)
            raise failed from None
        temporary.replace(self.folder / f"{kind}-{step}-{sha256_of(temporary)[:32]}.pt")

    def _read(self, path: Path) -> dict[str, Any] | None:
        """Return the content of a file, or None if the digest does not match."""
        if sha256_of(path)[:32] != path.stem.rpartition("-")[2]:
            return None
        return torch.load(path, map_location="cpu", weights_only=True)


class StopSignal:
    """A `with` block that postpones SIGTERM and SIGINT.

    A run can therefore save a state before it ends.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignal":
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True

    def raise_if_requested(self, step: int, steps: int) -> None:
        """Raise an error after a signal, unless the last step is finished.

        Args:
            step: The number of finished steps.
            steps: The number of steps of the run.

        Raises:
            KeyboardInterrupt: If SIGTERM or SIGINT was received.
        """
        if self.requested and step < steps:
            raise KeyboardInterrupt


def pause_between_saves(spent: float, every: float = SAVE_EVERY_SECONDS) -> float:
    """Return the seconds until the next state is saved.

    By default, a state is saved every two minutes.

    Args:
        spent: The seconds that the last save took.
        every: The usual interval in seconds. Default: 120.

    Returns:
        `every`, or more if saving is slow.
    """
    return max(every, min(spent / SAVE_SHARE, SAVE_LEAST * every))
