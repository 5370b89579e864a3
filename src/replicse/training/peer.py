"""The trainer of sentence-transformers on the same encoder and sentences, to compare with."""

from pathlib import Path
from typing import Any

import torch

from replicse.runtime.devices import waited_for


def sentence_transformers_seconds(
    folder: Path,
    texts: list[str],
    rows: int,
    steps: int,
    seconds: float,
    length: int,
    device: torch.device,
    precision: str,
    work: Path,
) -> list[float]:
    """Return when each step of its unsupervised training ended, by the clock, in at most so many seconds.

    Raises ImportError where sentence-transformers, or `datasets`, is not installed.
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

    class Noting(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            times.append(waited_for(device))
            control.should_training_stop = len(times) > 3 and times[-1] - times[0] > seconds

    transformer = models.Transformer(str(folder), max_seq_length=length)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="cls")
    model = SentenceTransformer(modules=[transformer, pooling], device=str(device))
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(work),
        per_device_train_batch_size=rows,
        max_steps=steps,
        learning_rate=3e-5,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        use_cpu=device.type == "cpu",
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        disable_tqdm=True,
    )
    arguments._n_gpu = 1  # it would split a batch over all GPUs that it sees
    SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"anchor": texts, "positive": texts}),
        loss=losses.MultipleNegativesRankingLoss(model, scale=20.0),
        callbacks=[Noting()],
    ).train()
    return times
