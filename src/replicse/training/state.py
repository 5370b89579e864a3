"""Resume state of a run: everything that the next step depends on, in a folder no workflow tool deletes."""

import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from replicse.errors import BadInput
from replicse.files import not_written, sha256_of

CPU = torch.device("cpu")


class BrokenState(BadInput):
    """A saved state that cannot be resumed from; the run starts again."""


class RunState:
    """Save and load a run's state: `state-STEP-DIGEST.pt`, and `best-STEP-DIGEST.pt` with the best weights so far.

    A file whose bytes are not those that its name tells is none: the state before it counts, and where there is no
    other, or the run's code has changed since, `load` raises BrokenState. `parts` are the objects that training
    changes (model, objective, optimiser, scaler), `generator` draws what their steps draw besides torch's own one,
    `code` is the digest of the run's code. Of the GPUs only the generator of the run's own `device` is saved: a run
    may resume on a machine with another number of them.
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
        """Write the state, with what the run says about its progress; older files are deleted afterwards."""
        content = {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generator": self.generator.get_state(),
            "random": torch.get_rng_state(),
            "random_device": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
            "progress": {"step": step, "best": best, **progress},
            "code": self.code,
        }
        self._write("state", step, content)
        for kind, kept in (("state", step), ("best", best and best["step"])):
            for other, path in self._files(kind):
                if other != kept:
                    path.unlink(missing_ok=True)

    def load(self) -> dict[str, Any] | None:
        """Restore everything in place; return what was said about the progress, or None where nothing was saved.

        Raises BrokenState, with the parts perhaps half restored.
        """
        files = self._files("state")
        if not files:
            return None
        content = next(filter(None, (self._read(path) for _, path in files)), None)
        if content is None:
            raise BrokenState(f"{files[0][1]}: cut or changed since it was written")
        if content["code"] != self.code:
            raise BrokenState(f"{files[0][1]}: saved by other code of the run")
        best = content["progress"]["best"]
        if best is not None:
            self._best(best["step"])
        for name, part in self.parts.items():
            part.load_state_dict(content["parts"][name])
        self.generator.set_state(content["generator"])
        torch.set_rng_state(content["random"])
        if content["random_device"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(content["random_device"], self.device)
        return content["progress"]

    def save_best(self, step: int) -> None:
        """Keep the weights of the best checkpoint so far, of model and objective."""
        self._write("best", step, {name: module.state_dict() for name, module in self._modules()})

    def load_best(self, step: int) -> None:
        """Put the best checkpoint's weights back; BrokenState where they are not there any more."""
        weights = self._best(step)
        for name, module in self._modules():
            module.load_state_dict(weights[name])

    def remove(self) -> None:
        """Delete the state of a finished run."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _modules(self) -> list[tuple[str, nn.Module]]:
        return [(name, part) for name, part in self.parts.items() if isinstance(part, nn.Module)]

    def _best(self, step: int) -> dict[str, Any]:
        weights = next((self._read(path) for other, path in self._files("best") if other == step), None)
        if weights is None:
            raise BrokenState(f"{self.folder}: the best weights, of step {step}, are absent or broken")
        return weights

    def _files(self, kind: str) -> list[tuple[int, Path]]:
        """Return step and path of the files of a kind, the latest first."""
        return sorted(
            ((int(path.stem.split("-")[1]), path) for path in self.folder.glob(f"{kind}-*-*.pt")),
            reverse=True,
        )

    def _write(self, kind: str, step: int, content: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f"{kind}.new"
        try:
            torch.save(content, aside)
        except RuntimeError as error:  # the library says no more of a full disk than where its writer stopped
            failed = not_written(self.folder, error)
            aside.unlink(missing_ok=True)
            raise failed from None
        aside.replace(self.folder / f"{kind}-{step}-{sha256_of(aside)[:32]}.pt")

    def _read(self, path: Path) -> dict[str, Any] | None:
        """Return what a file holds, None where its bytes are not those that were written."""
        if sha256_of(path)[:32] != path.stem.rpartition("-")[2]:
            return None
        return torch.load(path, map_location="cpu", weights_only=True)


class StopSignal:
    """Notice SIGTERM and SIGINT, so that a run saves its state before it leaves."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignal":
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def leave_if_asked(self, step: int, steps: int) -> None:
        """Raise KeyboardInterrupt after a signal, unless the run is done anyway."""
        if self.asked and step < steps:
            raise KeyboardInterrupt
