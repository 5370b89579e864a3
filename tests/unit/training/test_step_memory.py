"""If a step runs out of memory, it is repeated with half the chunk size.

The result is equal, and the chunk size is recorded.
"""

import logging

import micro
import pytest
import torch

from replicse.errors import Failed
from replicse.training.parts import Parts
from replicse.training.processes import Processes

# A queue and batch statistics, which are changed by a forward pass, and dropout, which is random.
CHANGED_BY_A_PASS = {
    "objective": [{"term": "momentum-queue", "queue": 40}, {"term": "mlm", "weight": 0.1}],
    "momentum": {"decay": 0.9},
    "head": {"kind": "projector", "width": 16},
    "pooling": {"train": "cls-head", "test": "cls"},
    "selection": {"every": 0},
    "optimisation": {"batch_size": 16, "learning_rate": 1e-3, "steps": 4},
}


class Memory:
    """Memory that is full after the forward pass of large chunks.

    Args:
        trainer: The trainer.
        rows: Maximum number of rows of a chunk.
    """

    def __init__(self, trainer, rows):
        self.trainer, self.rows, self.scale = trainer, rows, trainer.scaler.scale
        trainer.scaler.scale = self

    def __call__(self, loss):
        chunk = self.trainer.model.parts.chunk or 16
        if chunk > self.rows:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.\nSee the docs")
        return self.scale(loss)


def trained(folder, rows=16, **options):
    """Train a run; by default 16 rows fit in memory."""
    folder.mkdir()
    trainer = micro.trainer_of(micro.job(folder, **CHANGED_BY_A_PASS), folder, **options)
    Memory(trainer, rows)
    trainer.run()
    return trainer


def test_the_step_and_those_after_it_are_those_of_the_whole_batch(tmp_path, caplog):
    whole = trained(tmp_path / "whole")
    with caplog.at_level(logging.WARNING):
        parted = trained(tmp_path / "parted", rows=5)
    halves = [{"step": 1, "chunk": 8}, {"step": 1, "chunk": 4}]
    assert micro.metrics(tmp_path / "parted" / "out")["out_of_memory"] == halves
    assert "out_of_memory" not in micro.metrics(tmp_path / "whole" / "out")
    assert parted.model.parts.record() == {"processes": 1, "chunk": 4}
    assert "event=out-of-memory step=1 chunk=4 reason=CUDA out of memory. Tried" in caplog.text
    for own, other in ((parted.model, whole.model), (parted.objectives, whole.objectives)):
        expected = other.state_dict()
        for name, value in own.state_dict().items():
            torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=1e-5, msg=name)
    losses = [each["loss"] for each in whole.history]
    assert [each["loss"] for each in parted.history] == pytest.approx(losses, rel=1e-5)


def test_what_never_fits_and_what_other_processes_wait_for_is_one_sentence(tmp_path):
    with pytest.raises(
        Failed, match=r"out of memory at step 1 \(CUDA out of memory\. .*MiB\.\); give the job"
    ):
        trained(tmp_path / "small", rows=0)
    parts = Parts(Processes())
    parts.processes.count = 2
    trainer = micro.trainer_of(micro.job(tmp_path, **CHANGED_BY_A_PASS), tmp_path)
    trainer.model.parts = parts

    def full():
        raise torch.OutOfMemoryError("full")

    with pytest.raises(Failed, match=r"at step 3 \(full\); set chunk to 8"):
        trainer.chunk_size.compute(2, 16, full)
