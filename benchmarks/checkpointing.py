"""Cost of saving a training's state and of resuming (goal: below 3%).

A state contains the weights, AdamW's moments and the random generators, with a checksum. It is saved every two minutes,
or less often if saving would take more than a fiftieth of the time. The best weights are saved whenever the development
score improves. The benchmark times both in real trainings of encoders of three sizes, and also the loading of a state
by a process that resumes. Such a process repeats the steps since the last save.
"""

import argparse
import contextlib
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from record import row, timed, write_record

from replicse.training.loop import Trainer
from replicse.training.state import SAVE_EVERY_SECONDS, pause_between_saves

# The encoders of the scales micro, compact and paper, with the vocabulary of the tests' tokenizer.
SIZES = {
    "micro": {"layers": 2, "hidden": 64, "heads": 2, "intermediate": 256, "positions": 64},
    "compact": {"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": 512},
    # The tokenizer has fewer tokens than BERT; 30,400 additional positions give the same number of weights.
    "bert-base": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072, "positions": 512 + 30_400},
}
SAVES = 5


class Stopped(Exception):
    """Raised to end a measured training."""


class Measured(Trainer):
    """A training that saves a state at each step, times this, and stops early."""

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        self.seconds = getattr(self, "seconds", {"state": [], "best": []})
        if step:
            best = {"step": step, "dev": 0.0}
            self.seconds["best"].append(timed(lambda: self.state.save_best(step))[0])
            self.seconds["state"].append(
                timed(lambda: self.state.save(step, best, history=[], machines=self.machines))[0]
            )
        if step == SAVES:
            raise Stopped


def measure(architecture: dict[str, int], folder: Path) -> dict[str, float]:
    """Measure the costs for an encoder.

    Args:
        architecture: dict of the encoder's sizes, such as `layers` and `hidden`.
        folder: an empty folder for the training.

    Returns:
        Dict with the number of parameters, the size of the state in MB, seconds, and shares of the training's time.
    """
    import micro  # a module of the tests; `record` adds their folder to the path

    init = {"fresh": {"architecture": {"family": "bert", **architecture}, "tokenizer": {"name": "test"}}}
    job = micro.job(folder, init=init)
    arguments = (job, folder, folder / "out", folder / "state", torch.device("cpu"))
    trainer = Measured(*arguments)
    with contextlib.suppress(Stopped):
        trainer.run()
    resumed = Measured(*arguments)
    loading, _ = timed(resumed.state.load)
    state, best = (statistics.median(trainer.seconds[kind]) for kind in ("state", "best"))
    pause = pause_between_saves(state)
    return {
        "parameters": sum(each.numel() for each in trainer.model.parameters()),
        "state_mb": round(next((folder / "state").glob("state-*.pt")).stat().st_size / 1e6, 1),
        "save_seconds": round(state, 4),
        "save_best_seconds": round(best, 4),
        "seconds_between_saves": round(pause, 1),
        "share_of_training": round(state / pause, 5),
        "share_with_a_better_checkpoint_each_time": round((state + best) / pause, 5),
        "resume_seconds": round(loading, 4),
    }


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    for name, size in found["sizes"].items():
        share = size["share_with_a_better_checkpoint_each_time"]
        yield row(
            f"saving state and best weights, {name} ({size['state_mb']:,.1f} MB): share of a training's time",
            f"{share:.2%}",
            goal=f"{found['goal_share']:.0%}",
            met=share <= found["goal_share"],
        )


def main() -> None:
    """Measure the chosen sizes and write the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    chosen = parser.parse_args().sizes
    torch.set_num_threads(1)
    sizes = {}
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="replicse-checkpointing-") as scratch:
            sizes[name] = measure(SIZES[name], Path(scratch))
    found = {"save_every_seconds": SAVE_EVERY_SECONDS, "goal_share": 0.03, "saves": SAVES, "sizes": sizes}
    write_record("checkpointing", found, list(lines_of(found)))
    print(found)


if __name__ == "__main__":
    main()
