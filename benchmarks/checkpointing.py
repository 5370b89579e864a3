"""Cost of saving a training's state and resuming (goal: under 3%).

A state (weights, AdamW's moments, random generators; checksummed) is saved every two minutes, or less often if saving
would take more than a fiftieth of the time; the best weights are saved beside it whenever the development score
improves. Both are timed in real trainings of encoders of three sizes. So is loading the state in a process that
resumes, and repeats the steps since the last save.
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

# The scales micro, compact and paper. The vocabulary size is usually that of the test's tokenizer.
SIZES = {
    "micro": {"layers": 2, "hidden": 64, "heads": 2, "intermediate": 256, "positions": 64},
    "compact": {"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": 512},
    # 30,400 more positions replace the words of BERT's vocabulary that the tokenizer lacks.
    "bert-base": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072, "positions": 512 + 30_400},
}
SAVES = 5


class Stopped(Exception):
    """The end of a measured training."""


class Measured(Trainer):
    """A training that times the saves after each step, and stops early."""

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
    """Return the costs for an encoder of an architecture."""
    import micro  # a file of the tests, which `record` puts on the path

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
    """Yield the lines of the table."""
    for name, size in found["sizes"].items():
        share = size["share_with_a_better_checkpoint_each_time"]
        yield row(
            f"saving state and best weights, {name} ({size['state_mb']:,.1f} MB): share of a training's time",
            f"{share:.2%}",
            goal=f"{found['goal_share']:.0%}",
            met=share <= found["goal_share"],
        )


def main() -> None:
    """Measure the sizes and write the record."""
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
