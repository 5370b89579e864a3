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
from replicse.training.optimiser import AdamW


class RunState:
    """Save and load a run's state; a state of another torch layout or a broken file is an error, not a guess."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(
        self,
        *,
        step: int,
        model: nn.Module,
        objective: nn.Module,
        optimiser: AdamW,
        scaler: Any,
        generator: torch.Generator,
        history: list,
        best: Mapping[str, Any] | None,
    ) -> None:
        """Write the state after `step` updates."""
        content = {
            "step": step,
            "model": model.state_dict(),
            "objective": objective.state_dict(),
            "optimiser": optimiser.state_dict(),
            "scaler": scaler.state_dict(),
            "generator": generator.get_state(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "history": history,
            "best": best,
        }
        with written_aside(self.folder / "state.pt") as temporary:
            torch.save(content, temporary)

    def load(
        self,
        model: nn.Module,
        objective: nn.Module,
        optimiser: AdamW,
        scaler: Any,
        generator: torch.Generator,
    ) -> dict[str, Any] | None:
        """Restore everything in place; return step, history and best, or None where nothing was saved."""
        path = self.folder / "state.pt"
        if not path.exists():
            return None
        content = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(content["model"])
        objective.load_state_dict(content["objective"])
        optimiser.load_state_dict(content["optimiser"])
        scaler.load_state_dict(content["scaler"])
        generator.set_state(content["generator"])
        torch.set_rng_state(content["random"])
        if content["random_cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(content["random_cuda"])
        return {key: content[key] for key in ("step", "history", "best")}

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
