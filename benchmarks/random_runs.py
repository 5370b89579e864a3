"""Trainings of random encoders on random sentences, for the rehearsal.

The rehearsal uses them for checks and rates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from term_errors import spread

from replicse.data.store import write_store
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.fresh import fresh_backbone
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput
from replicse.registry.runs import Run
from replicse.training.benchmark import Bench, Timed, architecture_of
from replicse.training.job import TrainJob
from replicse.training.parts import Parts

LENGTH, SMALL = 32, (2, 128)
VIEWS = ("anchor", "positive", "negative")


class RecordingTrainer(Timed):
    """A trainer that stores all losses and the gradients of the first step."""

    losses: list[float]
    gradients: torch.Tensor

    def _tell(self, *_: Any) -> None:
        pass

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        super()._visit(step, loss)
        if loss is None:
            return
        self.losses = [*getattr(self, "losses", []), float(loss)]
        if step == 1:
            parameters = [one for group in self.optimiser.param_groups for one in group["params"]]
            gradients = [one.grad.flatten().double().cpu() for one in parameters if one.grad is not None]
            self.gradients = torch.cat(gradients)


@dataclass
class RandomRuns:
    """Trainings of random encoders on a device.

    Args:
        work: a folder for encoders, stores and states.
        device: the device.

    Raises:
        BadInput: if the device is a GPU and torch does not find a GPU.
    """

    work: Path
    device: torch.device
    bench: Bench = field(init=False)

    def __post_init__(self) -> None:
        if self.on_gpu and not torch.cuda.is_available():
            raise BadInput(f"device {self.device}: torch sees no GPU here; say --device cpu")
        self.bench = Bench(self.work, self.device)

    @property
    def on_gpu(self) -> bool:
        """Return whether the device is a GPU of CUDA or ROCm."""
        return self.device.type == "cuda"

    @property
    def precision(self) -> str:
        """Return the default training precision of the device.

        It is fp32 on a CPU, bf16 on a GPU, and fp16 on a GPU without bf16.
        """
        if not self.on_gpu:
            return "fp32"
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"

    def train_small(
        self, parts: Parts, steps: int = 2, dropout: float = 0.0, precision: str = "fp32"
    ) -> RecordingTrainer:
        """Train a small run with hard negatives, and return the trainer.

        For the arguments, see `small_trainer`.
        """
        trainer = self.small_trainer(parts, steps, dropout, precision)
        trainer.run()
        return trainer

    def small_trainer(
        self, parts: Parts, steps: int = 2, dropout: float = 0.0, precision: str = "fp32"
    ) -> RecordingTrainer:
        """Create a trainer of a small run with hard negatives.

        Args:
            parts: the chunks and processes of a batch.
            steps: the number of steps. Default: 2.
            dropout: the dropout rate. Default: 0.
            precision: the precision. Default: "fp32".
        """
        run = self.small_run(steps, dropout, precision)
        trainer: RecordingTrainer = self.trainer(
            RecordingTrainer, run, self.texts_of(run), float("inf"), parts
        )
        return trainer

    def small_run(self, steps: int = 2, dropout: float = 0.0, precision: str = "fp32") -> Run:
        """Create a run of a small encoder on triples with hard negatives.

        Args:
            steps: the number of steps. Default: 2.
            dropout: the dropout rate. Default: 0.
            precision: the precision. Default: "fp32".
        """
        rates = {"dropout": {"hidden": dropout, "attention": dropout}}
        return self.run(SMALL, 16, steps, VIEWS, precision=precision, **rates)

    def texts_of(self, run: Run) -> dict[str, list[str]]:
        """Return a dict from the columns of a run's views to random sentences."""
        count = run.optimisation.batch_size * 4
        columns = [view.column for view in run.views]
        return {column: self.bench.texts(LENGTH, count, place) for place, column in enumerate(columns)}

    def run(self, size: tuple[int, int], rows: int, steps: int, columns: tuple[str, ...], **more: Any) -> Run:
        """Create a run of InfoNCE.

        Args:
            size: the number of layers and the width of the encoder.
            rows: the batch size.
            steps: the number of steps.
            columns: the names of the columns of the views.
            more: additional keys of the run, or replacements of default keys.
        """
        return Run.of(
            {
                "init": {"folder": str(self.folder(*size))},
                "corpus": {"name": "made-up"},
                "views": [{"column": column} for column in columns],
                "objective": [{"term": "infonce"}],
                "pooling": {"train": "cls", "test": "cls"},
                "optimisation": {"batch_size": rows, "steps": steps, "epochs": steps, "max_length": LENGTH},
                "selection": {"every": 0},
                **more,
            },
            "rehearsal",
        )

    def job(self, run: Run, texts: Mapping[str, list[str]]) -> TrainJob:
        """Write the stores of a run, and return the job.

        Args:
            run: the run.
            texts: dict from columns to sentences.
        """
        stores = {name: self.work / f"store-{name}" for name in texts}
        for name, column in texts.items():
            write_store(stores[name], column, self.bench.tokenizer, LENGTH, {})
        folder, columns = Path(str(run.init.folder)), [stores[view.column] for view in run.views or ()]
        return TrainJob(run, run.run_id, folder, self.bench.tokenizer, columns)

    def trainer(
        self,
        kind: type[Any],
        run: Run,
        texts: Mapping[str, list[str]],
        seconds: float,
        parts: Parts | None = None,
    ) -> Any:
        """Create a trainer of a run.

        Args:
            kind: the class of the trainer.
            run: the run.
            texts: dict from columns to sentences.
            seconds: the time after which to stop.
            parts: the chunks and processes of a batch. Default: one pass in one process.
        """
        return kind(
            self.job(run, texts), self.work, self.work / "out", self.work / "state", self.device,
            save_every_seconds=float("inf"), seconds=seconds, parts=parts or Parts(),
        )  # fmt: skip

    def folder(self, layers: int, hidden: int) -> Path:
        """Return the folder of a random encoder, created if it is missing."""
        folder = self.work / f"encoder-{layers}-{hidden}"
        if not folder.exists():
            torch.manual_seed(0)
            backbone = fresh_backbone(architecture_of(layers, hidden), self.bench.tokenizer)
            backbone.drop_token_head()
            spread(backbone)
            backbone.save(folder)
        return folder

    def open(self, size: tuple[int, int]) -> Backbone:
        """Load a random encoder onto the device.

        Args:
            size: the number of layers and the width.
        """
        return open_backbone(self.folder(*size)).to(self.device)

    def tokens(self, lengths: list[int]) -> TokenBatch:
        """Return rows of random tokens with these lengths, on the CPU."""
        generator = np.random.default_rng(0)
        return TokenBatch.from_rows([generator.integers(5, 1000, length) for length in lengths])
