"""How fast this machine trains: the steps of a run, with random weights and made-up sentences."""

import contextlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from replicse.data.store import write_store
from replicse.data.tokenizer import WORDPIECE_SPECIAL, tokenizer_from_vocabulary
from replicse.encoder.fresh import fresh_backbone
from replicse.errors import BadInput
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Architecture
from replicse.registry.frozen import FrozenModel, with_frozen
from replicse.registry.run_options import SelectionRule, Trajectory, View
from replicse.registry.runs import FILLED, Init, Run
from replicse.runtime.devices import waited_for
from replicse.training.job import TrainJob
from replicse.training.loop import Trainer
from replicse.training.parts import Parts

VOCABULARY, WARM_UP = 30_522, 3
# Bytes that a CPU keeps of each token, layer and unit of width for the backward pass, about; and the share of the
# memory that they may take. A GPU that is too small says so itself.
KEPT_BYTES, MEMORY_SHARE = 68, 0.25
TEXTS = 4096
# Layers and width of an encoder.
Size = tuple[int, int]


class Enough(Exception):
    """The time is spent."""


@dataclass
class Timed(Trainer):
    """A trainer that notes when each step was done and keeps nothing.

    To know that it was done a GPU is waited for, which takes time itself: a `Throughput` waits twice.
    """

    seconds: float = 120.0
    times: list[float] = field(default_factory=list)

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        self.times.append(waited_for(self.device))
        if step > WARM_UP + 2 and self.times[-1] - self.times[0] > self.seconds:
            raise Enough

    def _finish(self, step: int, seconds: float, done: int) -> None:
        pass


@dataclass
class Throughput(Timed):
    """A trainer that notes when the warm-up and when the last step was done, and how many steps are between."""

    measured: int = 0

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        ended = bool(self.times) and time.perf_counter() - self.times[0] > self.seconds
        if step == WARM_UP:
            self.times.append(waited_for(self.device))
        elif step == self.steps or (ended and step > WARM_UP + 2):
            self.times.append(waited_for(self.device))
            self.measured = step - WARM_UP
            if step < self.steps:
                raise Enough

    def _tell(self, *_: Any) -> None:
        """Tell nothing: to read the loss waits for a GPU too."""


@dataclass
class Bench:
    """What is measured with: a folder for scratch files, the device, and how long it may take."""

    work: Path
    device: torch.device
    steps: int = 50
    seconds: float = 120.0
    memory_gib: float = 0.0

    def __post_init__(self) -> None:
        self.tokenizer = made_up_tokenizer(self.work, VOCABULARY)

    def rate(self, run: Run, size: Size, frozen: Sequence[Size], parts: Parts | None = None) -> float:
        """Return rows per second of a run's steps, timed between two synchronisations after the warm-up.

        Args:
            run: the run, whose objective, views, batch size and precision the steps have.
            size: layers and width of its encoder.
            frozen: layers and width of each of its frozen models.
            parts: how its batches are split; not at all by default.

        Raises:
            BadInput: if fewer than two steps were measured.
        """
        rows, length = self.fitting(run, size), run.optimisation.max_length
        texts = self.texts(length, min(TEXTS, 8 * rows))
        store = self.work / "store"
        write_store(store, texts, self.tokenizer, length, {})
        like, stores = self._like(run, size, rows, frozen), [store] * len(run.views or ())
        timed = Throughput(
            TrainJob(like, "benchmark", None, self.tokenizer, stores),
            self.work, self.work / "out", self.work / "state", self.device,
            save_every_seconds=float("inf"), seconds=self.seconds, parts=parts or Parts(),
        )  # fmt: skip
        with contextlib.suppress(Enough):
            timed.run()
        if timed.measured < 2:
            raise BadInput(f"{timed.measured} steps were measured; give --steps at least 2")
        return rows * timed.measured / (timed.times[1] - timed.times[0])

    def fitting(self, run: Run, size: Size) -> int:
        """Return the rows of a batch, or as many as the memory of a CPU holds; the speed hardly depends on them."""
        rows = run.optimisation.batch_size
        row = KEPT_BYTES * size[0] * size[1] * run.optimisation.max_length * len(run.views)
        most = max(2, int(MEMORY_SHARE * self.memory_gib * 2**30 / row))
        return rows if self.device.type != "cpu" else min(rows, most)

    def _like(self, run: Run, size: Size, rows: int, frozen: Sequence[Size]) -> Run:
        """Return a run like another, from random weights, on made-up sentences, without selection."""
        models = (self._frozen(*each) for each in frozen)
        fresh = {"architecture": architecture_of(*size).plain(), "tokenizer": {"kind": "made up"}}
        steps = WARM_UP + self.steps
        return run.replace(
            init=Init.of({"fresh": fresh}, "benchmark"),
            corpus={"name": "made-up"},
            views=(View(column="text"),) * len(run.views or ()),
            objective=with_frozen(run.objective, lambda model: next(models)),
            optimisation=run.optimisation.replace(
                batch_size=rows, steps=steps, epochs=1 + steps * rows // min(TEXTS, 8 * rows)
            ),
            selection=SelectionRule(every=0),
            trajectory=Trajectory(),
        )

    def _frozen(self, layers: int, hidden: int) -> FrozenModel:
        folder = self.work / f"frozen-{layers}-{hidden}"
        if not folder.exists():
            fresh_backbone(architecture_of(layers, hidden), self.tokenizer).save(folder)
        return FrozenModel(folder=str(folder))

    def texts(self, length: int, count: int, seed: int = 0) -> list[str]:
        """Return sentences that fill a length as those of Wikipedia fill 32: to three quarters on average."""
        drawn = random.Random(seed)
        longest = round((2 * FILLED - 1) * length), length
        words = range(VOCABULARY - len(WORDPIECE_SPECIAL))
        return [
            " ".join(f"w{word}" for word in drawn.choices(words, k=max(1, drawn.randint(*longest) - 2)))
            for _ in range(count)
        ]


def made_up_tokenizer(folder: Path, size: int) -> Path:
    """Write a tokenizer of so many tokens, the words w0, w1, ... after the special ones; return its file."""
    words = [*WORDPIECE_SPECIAL, *(f"w{number}" for number in range(size - len(WORDPIECE_SPECIAL)))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    tokenizer_from_vocabulary(folder / "vocab.txt").save(str(folder / TOKENIZER))
    return folder / TOKENIZER


def architecture_of(layers: int, hidden: int) -> Architecture:
    """Return a BERT of a size with heads of 64."""
    return Architecture(
        layers=layers, hidden=hidden, heads=max(1, hidden // 64), intermediate=4 * hidden, positions=512
    )
