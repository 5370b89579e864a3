"""Facts about a run's training, from the metrics file of the run.

Hours, steps and speed are in Table 3 of the reproducibility study. The number of updated parameters includes
a discriminator and excludes a frozen generator (DiffCSE Table 14). ESimCSE's logs contain the position where
the selected checkpoint was saved, and the number of development scores.
"""

from pathlib import Path
from typing import Any

from replicse.encoder.folders import run_metrics
from replicse.evaluation.suites import Vectors
from replicse.registry.artefacts import METRICS


def evaluate(root: Path, vectors: Vectors, folder: str = "") -> dict[str, Any]:
    """Return facts about the run of a checkpoint.

    By default, the encoder is not a checkpoint, so that all facts are None.

    Args:
        root: Not used.
        vectors: Not used.
        folder: The folder of the checkpoint.

    Returns:
        A dict with `hours`, `steps`, `sentences_per_second`, `parameters`, `evaluations` and `selected_at` (a
        share of the steps). If one is unknown, it is None and `failures` has the reason.
    """
    keys = ("hours", "steps", "sentences_per_second", "parameters", "evaluations", "selected_at")
    record = Path(folder).parent / METRICS
    if not folder or not record.is_file():
        reason = "the encoder is not a checkpoint of a run of this study"
        return {**dict.fromkeys(keys), "failures": dict.fromkeys(keys, reason)}
    metrics = run_metrics(record.parent)
    best, failures = metrics["best"], {}
    result = {
        "hours": metrics["seconds"] / 3600,
        "steps": metrics["steps"],
        "sentences_per_second": metrics["sentences_per_second"],
        "parameters": metrics["parameters"],
        "evaluations": sum("dev" in entry for entry in metrics["history"]),
        "selected_at": best["step"] / metrics["steps"] if best else None,
    }
    if not best:
        failures["selected_at"] = "the run was never evaluated on a development dataset"
    return {**result, "failures": failures} if failures else result
