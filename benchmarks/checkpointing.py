"""What it costs to save the state of a training, and to go on from it (goal: saving takes less than 3 % of the time).

A state (weights, AdamW's moments, random generators; checksummed) is saved every two minutes, less often where that
would take more than a fiftieth of the time; the best weights are saved beside it whenever the development score
improves. Both are timed in real trainings of encoders of three sizes, and so is the reading of the state by a process
that goes on, which repeats what was done since the last save.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import micro  # noqa: E402

from replicse.training.loop import SAVE_EVERY_SECONDS, Trainer, pause_between_saves  # noqa: E402

# Of the scales micro, compact and paper. The size of the vocabulary is that of the test's tokenizer, except where said.
SIZES = {
    "micro": {"layers": 2, "hidden": 64, "heads": 2, "intermediate": 256, "positions": 64},
    "compact": {"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": 512},
    # 40 rows of positions more stand in for each 40 of the 30,522 words of BERT's vocabulary.
    "bert-base": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072, "positions": 512 + 30_400},
}
SAVES = 5


class Stopped(Exception):
    """The end of a measured training."""


class Measured(Trainer):
    """A training that saves behind each step, says how long that took, and ends behind so many."""

    def _visit(self, step: int, loss: torch.Tensor | None) -> None:
        self.seconds = getattr(self, "seconds", {"state": [], "best": []})
        if step:
            best = {"step": step, "dev": 0.0}
            self.seconds["best"].append(timed(lambda: self.state.save_best(self.model, step)))
            self.seconds["state"].append(
                timed(lambda: self.state.save(step, best, history=[], machines=self.machines))
            )
        if step == SAVES:
            raise Stopped


def timed(action: Callable[[], object]) -> float:
    """Return how many seconds an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(architecture: dict[str, int], folder: Path) -> dict[str, float]:
    """Return the costs for an encoder of an architecture."""
    init = {"fresh": {"architecture": {"family": "bert", **architecture}, "tokenizer": {"name": "test"}}}
    job = micro.job(folder, init=init)
    arguments = (job, folder, folder / "out", folder / "state", torch.device("cpu"))
    trainer = Measured(*arguments)
    with contextlib.suppress(Stopped):
        trainer.run()
    resumed = Measured(*arguments)
    loading = timed(resumed.state.load)
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


def main() -> None:
    """Measure all sizes and write the record."""
    torch.set_num_threads(1)
    result = {"save_every_seconds": SAVE_EVERY_SECONDS, "goal_share": 0.03, "saves": SAVES}
    result |= {"load_per_core": round(os.getloadavg()[0] / (os.cpu_count() or 1), 1), "sizes": {}}
    for name, architecture in SIZES.items():
        with tempfile.TemporaryDirectory(prefix="replicse-checkpointing-") as scratch:
            result["sizes"][name] = measure(architecture, Path(scratch))
    text = json.dumps(result, indent=1) + "\n"
    (Path(__file__).parent / "results" / "checkpointing.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
