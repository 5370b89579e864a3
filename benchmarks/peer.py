"""The trainer of sentence-transformers, for comparison.

It trains the same encoder on the same sentences.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from replicse.encoder.stored import read_config
from replicse.runtime.devices import read_clock

ROLES = ("anchor", "positive", "negative")


@dataclass(frozen=True)
class SentenceTransformersPeer:
    """SentenceTransformerTrainer with InfoNCE at temperature 0.05, and AdamW.

    The sentence vector is the vector of position 0.

    Args:
        folder: the folder of the encoder.
        device: the device to train on.
        precision: "fp32", "bf16" or "fp16".
        length: the maximum number of tokens of a sentence.
        work: a folder for the trainer's files.
        clock: function that returns a time in seconds. Default: the wall clock, after the device has finished its work.
    """

    folder: Path
    device: torch.device
    precision: str
    length: int
    work: Path
    clock: Callable[[], float] | None = None

    def times(
        self, columns: Sequence[Sequence[str]], rows: int, steps: int, seconds: float = float("inf")
    ) -> list[float]:
        """Train, and return the time at the end of each step.

        Args:
            columns: the sentences of each view.
            rows: the batch size.
            steps: the maximum number of steps.
            seconds: the time after which to stop. Default: no limit.

        Returns:
            List of times in seconds.

        Raises:
            ImportError: if sentence-transformers or its dependency `datasets` is not installed.
        """
        from datasets import Dataset
        from sentence_transformers import (
            SentenceTransformer,
            SentenceTransformerTrainer,
            SentenceTransformerTrainingArguments,
            losses,
            models,
        )
        from transformers import TrainerCallback

        times: list[float] = []
        clock = self.clock or partial(read_clock, self.device)

        class Noting(TrainerCallback):
            def on_step_end(peer, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: N805
                times.append(clock())
                control.should_training_stop = len(times) > 3 and times[-1] - times[0] > seconds

        transformer = models.Transformer(str(self.folder), max_seq_length=self.length)
        pooling = models.Pooling(read_config(self.folder)["hidden_size"], pooling_mode="cls")
        model = SentenceTransformer(modules=[transformer, pooling], device=str(self.device))
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(self.work),
            per_device_train_batch_size=rows,
            max_steps=steps,
            learning_rate=3e-5,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            use_cpu=self.device.type == "cpu",
            bf16=self.precision == "bf16",
            fp16=self.precision == "fp16",
            disable_tqdm=True,
        )
        arguments._n_gpu = 1  # otherwise the trainer splits a batch over all visible GPUs
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict(dict(zip(ROLES, columns, strict=False))),
            loss=losses.MultipleNegativesRankingLoss(model, scale=20.0),
            callbacks=[Noting()],
        )
        with contextlib.redirect_stdout(sys.stderr):  # the trainer prints a summary
            trainer.train()
        return times
