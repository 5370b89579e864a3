"""Training steps of several runs, whole or in parts; as a program one of the processes that share them (torchrun's)."""

import pickle
import sys
from pathlib import Path

import torch

from replicse.training.loop import Trainer
from replicse.training.parts import Parts
from replicse.training.processes import started

CPU = torch.device("cpu")


def steps(job, folder: Path, parts: Parts, count: int = 3, kind: torch.dtype = torch.float64) -> dict:
    """Return losses, gradients (of each step, by place) and weights of the first steps of a run."""
    trainer = Trainer(job, folder, folder / "out", folder / "state", CPU, parts=parts)
    trainer.model.to(kind)
    trainer.objectives.to(kind)
    source = trainer.sources[0]
    losses, gradients = [], []
    for step, (columns, labels) in enumerate(source.data.batches(0, count)):
        loss, _ = trainer._update(step, source, columns, labels)
        losses.append(float(loss))
        gradients.append([one.grad.clone() for one in trainer.optimiser.parameters if one.grad is not None])
    return {"losses": losses, "gradients": gradients, "weights": list(trainer.model.state_dict().values())}


def main(folder: Path, chunk: int | None) -> None:
    """Run the jobs of a folder in the processes that the environment names; each writes what it has found."""
    torch.set_num_threads(1)
    jobs = pickle.loads((folder / "jobs").read_bytes())
    with started(1, []) as processes:
        found = {name: steps(job, folder, Parts(processes, chunk)) for name, job in jobs.items()}
        torch.save(found, folder / f"found-{processes.rank}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) or None)
