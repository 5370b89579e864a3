"""Facts of the encoder itself: how many parameters it has (Table 1 of the reproducibility study)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replicse.evaluation.suites import Vectors


def sentences(root: Path) -> Iterator[str]:
    """Yield nothing: no sentence is encoded."""
    return iter(())


def evaluate(root: Path, vectors: Vectors) -> dict[str, Any]:
    """Return the number of the encoder's parameters, without heads; None where it is not a neural network."""
    encoder = getattr(vectors, "encoder", None)
    count = None if encoder is None else sum(parameter.numel() for parameter in encoder.parameters())
    return {"parameters": count}
