"""The stage that measures alignment and uniformity of the checkpoints of a run."""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from replicse.cli.stages import Stage
from replicse.cli.stages.evaluate import EncoderJob, opened, set_threads, write_result
from replicse.errors import BadInput
from replicse.registry.artefacts import METRICS


def geometry(job: EncoderJob, arguments: Namespace) -> None:
    """Measure alignment and uniformity of each checkpoint that a run kept; the encoder is the run's folder."""
    from replicse.data.sets import data_folder
    from replicse.evaluation.suites import run_suites

    start, root = time.monotonic(), data_folder(arguments.data)
    set_threads(arguments.threads)
    suites: dict[str, Any] = {}
    failures: dict[str, str] = {}
    kept = trajectory_folders(Path(job.encoder))
    vectors = opened(job, str(kept[0][1]), arguments.device)
    for step, folder in kept:
        # The notebook of the reproducibility study draws a head whenever it loads a checkpoint (methods 1.8).
        vectors.reload(folder, head_seed=step)
        outcome = run_suites(root, vectors, ["geometry"])
        suites[str(step)] = outcome["suites"]["geometry"]
        failures |= {
            path.replace("geometry/", f"trajectory/{step}/"): why for path, why in outcome["failures"].items()
        }
    result = {"encoder": job.encoder, "suites": {"trajectory": suites}, "failures": failures}
    write_result(arguments.out, {**result, "pooling": vectors.pooling.spelling}, vectors, start)


def trajectory_folders(run: Path) -> list[tuple[int, Path]]:
    """Return step and folder of each kept checkpoint of a run; BadInput where the run kept none."""
    from replicse.encoder.folders import run_metrics

    kept = run_metrics(run).get("checkpoints")
    if not kept:
        raise BadInput(f"{run / METRICS}: the run kept no checkpoints; its spec asks for no trajectory")
    return [(int(name.rpartition("-")[2]), run / name) for name in kept]


STAGE = Stage(EncoderJob.of, geometry)
