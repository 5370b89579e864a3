"""What a run's own record says of its training: hours, steps, speed (Table 3 of the reproducibility study), and size.

The size is what the optimiser moved, a discriminator included and a frozen generator not (DiffCSE Table 14).
"""

from pathlib import Path
from typing import Any

from replicse.encoder.folders import run_metrics
from replicse.evaluation.suites import Vectors
from replicse.registry.artefacts import METRICS


def evaluate(root: Path, vectors: Vectors, folder: str = "") -> dict[str, Any]:
    """Return hours, steps, speed and trained parameters of the run whose checkpoint lies in `folder`."""
    keys = ("hours", "steps", "sentences_per_second", "parameters")
    record = Path(folder).parent / METRICS
    if not folder or not record.is_file():
        reason = "the encoder is not a checkpoint of a run of this study"
        return {**dict.fromkeys(keys), "failures": dict.fromkeys(keys, reason)}
    metrics = run_metrics(record.parent)
    result = {"hours": metrics["seconds"] / 3600, **{key: metrics.get(key) for key in keys[1:]}}
    if "parameters" not in metrics:
        reason = f"{record} counts no parameters; delete its folder to train the run again"
        result["failures"] = {"parameters": reason}
    return result
