"""Count the parameters of an encoder.

Table 1 of the reproducibility study.
"""

from pathlib import Path
from typing import Any

from replicse.evaluation.suites import Vectors


def evaluate(root: Path, vectors: Vectors) -> dict[str, Any]:
    """Count the encoder's parameters without heads.

    Args:
        root: Not used.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).

    Returns:
        A dict with `parameters`, which is None if the encoder is not a neural network.
    """
    backbone = getattr(vectors, "backbone", None)
    if backbone is None:
        return {"parameters": None}
    heads = {id(parameter) for parameter in backbone.token_head_parameters()}
    counted = [parameter.numel() for parameter in backbone.parameters() if id(parameter) not in heads]
    return {"parameters": sum(counted)}
