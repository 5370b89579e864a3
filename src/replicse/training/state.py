"""Resume state of a run: everything that the next step depends on, in a folder no workflow tool deletes."""

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from replicse.files import written_aside


class RunState:
    """Save and load a run's state; a state of another torch layout or a broken file is an error, not a guess.

    `parts` are the objects that training changes (model, objective, optimiser, scaler), `generator` draws what their
    steps draw besides torch's own generator.
    """

    def __init__(self, folder: Path, parts: Mapping[str, Any], generator: torch.Generator) -> None:
        self.folder, self.parts, self.generator = folder, parts, generator

    def save(self, **progress: Any) -> None:
        """Write the state, with what the run says about its progress."""
        content = {
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generator": self.generator.get_state(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "progress": progress,
        }
        with written_aside(self.folder / "state.pt") as temporary:
            torch.save(content, temporary)

    def load(self) -> dict[str, Any] | None:
        """Restore everything in place; return what was said about the progress, or None where nothing was saved."""
        path = self.folder / "state.pt"
        if not path.exists():
            return None
        content = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in self.parts.items():
            part.load_state_dict(content["parts"][name])
        self.generator.set_state(content["generator"])
        torch.set_rng_state(content["random"])
        if content["random_cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(content["random_cuda"])
        return content["progress"]

    def save_best(self, model: nn.Module) -> None:
        """Keep the weights of the best checkpoint so far."""
        with written_aside(self.folder / "best.pt") as temporary:
            torch.save(model.state_dict(), temporary)

    def load_best(self, model: nn.Module) -> None:
        """Put the best checkpoint's weights into the model."""
        model.load_state_dict(torch.load(self.folder / "best.pt", map_location="cpu", weights_only=True))

    def remove(self) -> None:
        """Delete the state of a finished run."""
        shutil.rmtree(self.folder, ignore_errors=True)


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
        """Exit as a temporary failure after a signal, unless the run is done anyway."""
        if self.asked and step < steps:
            raise SystemExit(os.EX_TEMPFAIL)
