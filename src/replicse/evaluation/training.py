"""What a run's own record says of its training: hours, steps, speed (Table 3 of the reproducibility study), and size.

The size is what the optimiser moved, a discriminator included and a frozen generator not (DiffCSE Table 14). Where in
its training the selected checkpoint lies, and of how many development scores it is the best, is in ESimCSE's logs.
"""

from pathlib import Path
from typing import Any

from replicse.encoder.folders import run_metrics
from replicse.evaluation.suites import Vectors
from replicse.registry.artefacts import METRICS


def evaluate(root: Path, vectors: Vectors, folder: str = "") -> dict[str, Any]:
    """Return what the record says of the run whose checkpoint lies in `folder`."""
    keys = ("hours", "steps", "sentences_per_second", "parameters", "evaluations", "selected_at")
    record = Path(folder).parent / METRICS
    if not folder or not record.is_file():
        reason = "the encoder is not a checkpoint of a run of this study"
        return {**dict.fromkeys(keys), "failures": dict.fromkeys(keys, reason)}
    metrics = run_metrics(record.parent)
    best, failures = metrics["best"], {}
    result = {
        "hours": metrics["seconds"] / 3600,
        **{key: metrics[key] for key in ("steps", "sentences_per_second", "parameters")},
        "evaluations": sum("dev" in each for each in metrics["history"]),
        "selected_at": best["step"] / metrics["steps"] if best else None,
    }
    if not best:
        failures["selected_at"] = "the run was never read on development data"
    return {**result, "failures": failures} if failures else result
