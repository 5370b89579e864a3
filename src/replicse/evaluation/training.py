"""What a run's own record says of its training: hours, steps, speed (Table 3 of the reproducibility study)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replicse.evaluation.suites import Vectors
from replicse.files import read_json


def sentences(root: Path) -> Iterator[str]:
    """Yield nothing: no sentence is encoded."""
    return iter(())


def evaluate(root: Path, vectors: Vectors, folder: str = "") -> dict[str, Any]:
    """Return hours, steps, epochs and sentences per second of the run whose checkpoint lies in `folder`."""
    record = Path(folder).parent / "metrics.json"
    if not folder or not record.is_file():
        reason = "the encoder is not a checkpoint of a run of this study"
        keys = ("hours", "steps", "sentences_per_second")
        return {**dict.fromkeys(keys), "failures": dict.fromkeys(keys, reason)}
    metrics = read_json(record)
    return {
        "hours": metrics["seconds"] / 3600,
        "steps": metrics["steps"],
        "sentences_per_second": metrics["sentences_per_second"],
    }
