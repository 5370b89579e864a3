"""Measurements of the training speed of this machine.

The measured runs have random weights and use generated sentences.
"""

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
from replicse.runtime.devices import read_clock
from replicse.training.job import TrainJob
from replicse.training.loop import Trainer
from replicse.training.parts import Parts

VOCABULARY, WARM_UP = 30_522, 3
# Approximate memory of activations on a CPU, in bytes per token, layer and hidden unit, and the share of the memory
# that they can use. A GPU with too little memory raises an error.
KEPT_BYTES, MEMORY_SHARE = 68, 0.25
# Number of generated sentences.
TEXTS = 4096
# Layers and hidden size of an encoder.
Size = tuple[int, int]


class Enough(Exception):
    """The time limit of a measurement is reached."""


@dataclass
class Timed(Trainer):
    """A trainer that records the time of each step and does not save files.

    It waits for the GPU after each step, which takes time. `Throughput` waits only twice.

    Attributes:
        seconds: The time limit in seconds. Default: 120.
        times: The clock after each step, in seconds.
    """

    seconds: float = 120.0
    times: list[float] = field(default_factory=list)

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        self.times.append(read_clock(self.device))
        if step > WARM_UP + 2 and self.times[-1] - self.times[0] > self.seconds:
            raise Enough

    def _finish(self, step: int, seconds: float, done: int) -> None:
        pass


@dataclass
class Throughput(Timed):
    """A trainer that records the time after warm-up and after the last step.

    Attributes:
        measured: The number of steps between the two times. Default: 0.
    """

    measured: int = 0

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        is_late = bool(self.times) and time.perf_counter() - self.times[0] > self.seconds
        if step == WARM_UP:
            self.times.append(read_clock(self.device))
        elif step == self.steps or (is_late and step > WARM_UP + 2):
            self.times.append(read_clock(self.device))
            self.measured = step - WARM_UP
            if step < self.steps:
                raise Enough

    def _tell(self, *_: Any) -> None:
        """Do nothing, because reading the loss waits for the GPU."""


@dataclass
class Bench:
    """A benchmark of the training speed of runs on a device.

    Attributes:
        work: The folder for temporary files.
        device: The device to measure.
        steps: The number of steps to measure. Default: 50.
        seconds: The time limit of a measurement in seconds. Default: 120.
        memory_gib: The memory of the machine, used to limit the batch size on a CPU.
    """

    work: Path
    device: torch.device
    steps: int = 50
    seconds: float = 120.0
    memory_gib: float = 0.0

    def __post_init__(self) -> None:
        self.tokenizer = made_up_tokenizer(self.work, VOCABULARY)

    def rate(self, run: Run, size: Size, frozen: Sequence[Size], parts: Parts | None = None) -> float:
        """Measure the rows per second of a run.

        Time is measured between two synchronisations of the device, after the warm-up and after the last step.

        Args:
            run: The run, for its objective, views, batch size and precision.
            size: The number of layers and the hidden size of the encoder.
            frozen: The number of layers and the hidden size of each frozen model.
            parts: How batches are split. Default: they are not split.

        Returns:
            Rows per second.

        Raises:
            BadInput: If fewer than two steps were measured.
        """
        rows, length = self.fitting(run, size), run.optimisation.max_length
        texts = self.texts(length, min(TEXTS, 8 * rows))
        store = self.work / "store"
        write_store(store, texts, self.tokenizer, length, {})
        stores = [store] * len(run.views or ())
        imitation = self._imitate(run, size, rows, frozen)
        timed = Throughput(
            TrainJob(imitation, "benchmark", None, self.tokenizer, stores),
            self.work, self.work / "out", self.work / "state", self.device,
            save_every_seconds=float("inf"), seconds=self.seconds, parts=parts or Parts(),
        )  # fmt: skip
        with contextlib.suppress(Enough):
            timed.run()
        if timed.measured < 2:
            raise BadInput(f"{timed.measured} steps were measured; use --steps 2 or more")
        return rows * timed.measured / (timed.times[1] - timed.times[0])

    def fitting(self, run: Run, size: Size) -> int:
        """Return the batch size of a run, limited by the memory on a CPU.

        The speed hardly depends on the batch size.

        Args:
            run: The run.
            size: The number of layers and the hidden size of the encoder.
        """
        rows = run.optimisation.batch_size
        row = KEPT_BYTES * size[0] * size[1] * run.optimisation.max_length * len(run.views)
        most = max(2, int(MEMORY_SHARE * self.memory_gib * 2**30 / row))
        return rows if self.device.type != "cpu" else min(rows, most)

    def _imitate(self, run: Run, size: Size, rows: int, frozen: Sequence[Size]) -> Run:
        """Return a copy of a run with random weights and generated sentences."""
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
        """Create random sentences that fill 3/4 of a length on average.

        Sentences of Wikipedia fill 32 tokens to the same share.

        Args:
            length: The maximum length in tokens, with special tokens.
            count: The number of sentences.
            seed: The seed of the sentences. Default: 0.

        Returns:
            A list of strings.
        """
        generator = random.Random(seed)
        shortest = round((2 * FILLED - 1) * length)
        words = range(VOCABULARY - len(WORDPIECE_SPECIAL))
        texts = []
        for _ in range(count):
            tokens = max(1, generator.randint(shortest, length) - 2)
            texts.append(" ".join(f"w{word}" for word in generator.choices(words, k=tokens)))
        return texts


def made_up_tokenizer(folder: Path, size: int) -> Path:
    """Write a tokenizer with the special tokens and the words w0, w1, ...

    Args:
        folder: The folder to write to. It is created if it does not exist.
        size: The number of tokens.

    Returns:
        The path of the tokenizer.json.
    """
    words = [*WORDPIECE_SPECIAL, *(f"w{number}" for number in range(size - len(WORDPIECE_SPECIAL)))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    tokenizer_from_vocabulary(folder / "vocab.txt").save(str(folder / TOKENIZER))
    return folder / TOKENIZER


def architecture_of(layers: int, hidden: int) -> Architecture:
    """Create the architecture of a BERT with attention heads of size 64.

    Args:
        layers: The number of layers.
        hidden: The size of the hidden states.
    """
    return Architecture(
        layers=layers, hidden=hidden, heads=max(1, hidden // 64), intermediate=4 * hidden, positions=512
    )
