"""How fast this machine trains and encodes: the steps of a study, with random weights and made-up sentences."""

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import torch

from replicse.data.store import write_store
from replicse.data.tokenizer import WORDPIECE_SPECIAL, tokenizer_from_vocabulary
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.registry.encoders import Architecture
from replicse.registry.runs import Run
from replicse.study.plan.cost import FILLED, Measured, Shape
from replicse.study.results.statistics import mean_and_spread, t_quantile
from replicse.training.loop import Trainer, TrainJob
from replicse.training.model import fresh_backbone

VOCABULARY, WARM_UP, BLOCKS = 30_522, 3, 10
# Bytes that a CPU keeps of each token, layer and unit of width for the backward pass, about; and the share of the
# memory that they may take. A GPU that is too small says so itself.
KEPT_BYTES, MEMORY_SHARE = 68, 0.25
TEXTS = 4096


class _Enough(Exception):
    """The time is spent."""


@dataclass
class _Timed(Trainer):
    """A trainer that notes when each step was done and keeps nothing."""

    seconds: float = 120.0
    times: list[float] = field(default_factory=list)

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.times.append(time.perf_counter())
        if step > WARM_UP + 2 and self.times[-1] - self.times[0] > self.seconds:
            raise _Enough

    def _finish(self, step: int, seconds: float, done: int) -> None:
        pass


@dataclass
class Bench:
    """What is measured with: a folder for scratch files, the device, and how long a shape may take."""

    work: Path
    device: torch.device
    steps: int = 50
    seconds: float = 120.0
    memory_gib: float = 0.0

    def __post_init__(self) -> None:
        words = [*WORDPIECE_SPECIAL, *(f"w{number}" for number in range(VOCABULARY - len(WORDPIECE_SPECIAL)))]
        (self.work / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
        self.tokenizer = self.work / "tokenizer.json"
        tokenizer_from_vocabulary(self.work / "vocab.txt").save(str(self.tokenizer))

    def fitting(self, shape: Shape) -> Shape:
        """Return a shape with as many rows as the memory of a CPU holds; its speed hardly depends on them."""
        row = KEPT_BYTES * shape.layers * shape.hidden * shape.max_length * shape.passes
        most = max(2, int(MEMORY_SHARE * self.memory_gib * 2**30 / row))
        fits = self.device.type != "cpu" or shape.batch_size <= most
        return shape if fits else shape.model_copy(update={"batch_size": most})

    def train(self, run: Run, shape: Shape, generators: Sequence[tuple[int, int]]) -> Measured:
        """Return rows per second of a run's steps; `generators` are layers and width of those of its terms."""
        texts = self._texts(shape.max_length, min(TEXTS, 8 * shape.batch_size))
        store = self.work / f"store-{shape.max_length}-{len(texts)}"
        if not store.exists():
            write_store(store, texts, self.tokenizer, shape.max_length, {})
        timed = _Timed(
            TrainJob(self._plain(run, shape, generators), "benchmark", None, self.tokenizer, [store] * len(run.views)),
            self.work, self.work / "out", self.work / "state", self.device,
            save_every_seconds=float("inf"), seconds=self.seconds,
        )  # fmt: skip
        with contextlib.suppress(_Enough):
            timed.run()
        durations = [later - before for before, later in pairwise(timed.times)]
        return measured(shape, shape.batch_size, durations[WARM_UP:])

    def encode(self, shape: Shape) -> Measured:
        """Return rows per second of encoding sentences."""
        backbone = (
            fresh_backbone(_architecture(shape.layers, shape.hidden), self.tokenizer).to(self.device).eval()
        )
        encoder = SentenceEncoder(backbone, None, self.tokenizer, "cls")
        durations, start = [], time.perf_counter()
        for turn in range(WARM_UP + self.steps):
            texts = self._texts(shape.max_length, shape.batch_size, turn)
            began = time.perf_counter()
            encoder(texts)
            durations.append(time.perf_counter() - began)
            encoder.clear()
            if turn > WARM_UP + 1 and time.perf_counter() - start > self.seconds:
                break
        return measured(shape, shape.batch_size, durations[WARM_UP:])

    def _plain(self, run: Run, shape: Shape, generators: Sequence[tuple[int, int]]) -> Run:
        """Return a run like another, from random weights, on made-up sentences, without selection."""
        sizes, objective = iter(generators), []
        for term in run.objective:
            folder = getattr(term, "generator", None) and self._generator(*next(sizes))
            objective.append({**term.plain(), **({"generator": folder} if folder else {})})
        plain = run.plain()
        made_of = {"kind": "made up"}
        fresh = {"architecture": _architecture(shape.layers, shape.hidden).plain(), "tokenizer": made_of}
        epochs = 1 + (WARM_UP + self.steps) * shape.batch_size // min(TEXTS, 8 * shape.batch_size)
        rows = {"batch_size": shape.batch_size, "steps": WARM_UP + self.steps, "epochs": epochs}
        return Run.of(
            {
                **{
                    key: plain[key]
                    for key in ("encoders", "dropout", "pooling", "head", "precision")
                    if key in plain
                },
                "init": {"fresh": fresh},
                "corpus": {"name": "made-up"},
                "views": [{"column": "text"}] * len(run.views),
                "objective": objective,
                "optimisation": {**plain.get("optimisation", {}), **rows},
                "selection": {"every": 0},
            },
            "benchmark",
        )

    def _generator(self, layers: int, hidden: int) -> str:
        folder = self.work / f"generator-{layers}-{hidden}"
        if not folder.exists():
            fresh_backbone(_architecture(layers, hidden), self.tokenizer).save(folder)
        return str(folder)

    def _texts(self, length: int, count: int, seed: int = 0) -> list[str]:
        """Return sentences that fill a length as those of Wikipedia fill 32: to three quarters on average."""
        drawn = random.Random(seed)
        longest = round((2 * FILLED - 1) * length), length
        words = range(VOCABULARY - len(WORDPIECE_SPECIAL))
        return [
            " ".join(f"w{word}" for word in drawn.choices(words, k=max(1, drawn.randint(*longest) - 2)))
            for _ in range(count)
        ]


def measured(shape: Shape, rows: int, durations: Sequence[float]) -> Measured:
    """Return rows per second and the 95% interval of their mean.

    It is taken over up to ten blocks of consecutive steps, which hang together less than the steps do.
    """
    if len(durations) < 2:
        raise BadInput(f"{len(durations)} steps were measured; give --steps at least 2")
    count = min(BLOCKS, len(durations))
    bounds = [round(place * len(durations) / count) for place in range(count + 1)]
    blocks = [sum(durations[low:high]) / (high - low) for low, high in pairwise(bounds)]
    mean = sum(durations) / len(durations)
    half = t_quantile(count - 1) * (mean_and_spread(blocks)[1] or 0.0) / count**0.5
    return Measured(
        shape=shape, rows_per_second=rows / mean, steps=len(durations),
        low=rows / (mean + half), high=rows / max(mean - half, min(durations)),
    )  # fmt: skip


def _architecture(layers: int, hidden: int) -> Architecture:
    return Architecture(
        layers=layers, hidden=hidden, heads=max(1, hidden // 64), intermediate=4 * hidden, positions=512
    )


def attempt(measure: Callable[[], Measured]) -> Measured | None:
    """Return what a measurement gives; None where the device has too little memory for it."""
    try:
        return measure()
    except torch.OutOfMemoryError:
        return None
