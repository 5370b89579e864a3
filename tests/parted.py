"""Training steps of several runs, computed with whole batches or in parts.

If run as a script, starts the processes that share the steps.
"""

import multiprocessing
import os
import pickle
import socket
import sys
from pathlib import Path

import torch

from replicse.training.loop import Trainer
from replicse.training.parts import Parts
from replicse.training.processes import start_processes

CPU = torch.device("cpu")


def steps(job, folder: Path, parts: Parts, count: int = 3, kind: torch.dtype = torch.float64) -> dict:
    """Compute the first steps of a run.

    Args:
        job: The training job.
        folder: Data root, and folder for the output.
        parts: How batches are split.
        count: Number of steps. Default: 3.
        kind: Precision. Default: float64.

    Returns:
        Dict with lists: the loss of each step, the gradients by step and parameter, and the final weights.
    """
    trainer = Trainer(job, folder, folder / "out", folder / "state", CPU, parts=parts)
    trainer.model.to(kind)
    trainer.objectives.to(kind)
    source = trainer.sources[0]
    losses, gradients = [], []
    for step, (columns, labels) in enumerate(source.data.batches(0, count)):
        loss, _ = trainer._update(step, source, columns, labels)
        losses.append(float(loss))
        gradients.append([one.grad.clone() for one in trainer.parameters if one.grad is not None])
    return {"losses": losses, "gradients": gradients, "weights": list(trainer.model.state_dict().values())}


def write_found(folder: Path, chunk: int, rank: int) -> None:
    """Run the jobs of a folder as one process of a group; save the results.

    Args:
        folder: Folder with the pickled jobs.
        chunk: Number of rows in a chunk.
        rank: Index of this process. The size and the address of the group are environment variables.
    """
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    torch.set_num_threads(1)
    jobs = pickle.loads((folder / "jobs").read_bytes())
    with start_processes(1, []) as processes:
        found = {name: steps(job, folder, Parts(processes, chunk)) for name, job in jobs.items()}
        torch.save(found, folder / f"found-{processes.rank}")


def main(folder: Path, chunk: int, count: int) -> None:
    """Run the jobs of a folder in several processes, as torchrun would.

    The processes are forked after the imports. Exits with the number of processes that failed.

    Args:
        folder: Folder with the pickled jobs.
        chunk: Number of rows in a chunk.
        count: Number of processes.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    os.environ |= {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=write_found, args=(folder, chunk, rank)) for rank in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(sum(process.exitcode != 0 for process in processes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
