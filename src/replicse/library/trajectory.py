"""Alignment and uniformity of the checkpoints kept during a training."""

import time
from pathlib import Path
from typing import Any

from replicse.encoder.folders import run_metrics
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation.suites import run_suites
from replicse.library.encoders import open_requested
from replicse.library.evaluation import record_result
from replicse.library.requests import EncoderOptions
from replicse.registry.artefacts import METRICS


def measure_trajectory(request: EncoderOptions, root: Path, device: str | None) -> dict[str, Any]:
    """Compute alignment and uniformity of each kept checkpoint of a run.

    Args:
        request: The options. `encoder` is the folder of the run.
        root: The data root, a folder of datasets.
        device: `cpu`, `cuda`, ...; None for the first GPU if there is one.

    Returns:
        A dict with `suites`, in which `trajectory` has the numbers by step, `failures`, `pooling` and
        `provenance`.

    Raises:
        BadInput: If the run kept no checkpoints.

    Examples:
        >>> result = measure_trajectory(EncoderOptions(encoder="runs/first"), Path("data"), None)
        >>> result["suites"]["trajectory"]["500"]["alignment"]
    """
    start = time.monotonic()
    suites: dict[str, Any] = {}
    failures: dict[str, str] = {}
    kept = list_checkpoints(Path(request.encoder))
    vectors = open_requested(request, device, str(kept[0][1]))
    assert isinstance(vectors, SentenceEncoder)  # a run writes encoders that an engine can load
    for step, folder in kept:
        # The notebook of the reproducibility study initialises a new head for each checkpoint (methods 1.8).
        vectors.reload(folder, head_seed=step)
        outcome = run_suites(root, vectors, ["geometry"])
        suites[str(step)] = outcome["suites"]["geometry"]
        for path, reason in outcome["failures"].items():
            failures[path.replace("geometry/", f"trajectory/{step}/")] = reason
    result = {
        "encoder": request.encoder,
        "suites": {"trajectory": suites},
        "failures": failures,
        "pooling": vectors.pooling.spelling,
    }
    return record_result(result, vectors, start)


def list_checkpoints(run: Path) -> list[tuple[int, Path]]:
    """List the kept checkpoints of a run.

    Args:
        run: The folder of the run.

    Returns:
        A list of step and folder of each checkpoint.

    Raises:
        BadInput: If the run kept no checkpoints.

    Examples:
        >>> list_checkpoints(Path("runs/first"))
        [(500, PosixPath('runs/first/trajectory/step-500'))]
    """
    kept = run_metrics(run).get("checkpoints")
    if not kept:
        raise BadInput(f"{run / METRICS}: the run did not keep checkpoints; set trajectory in the recipe")
    return [(int(name.rpartition("-")[2]), run / name) for name in kept]
