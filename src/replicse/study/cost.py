"""What a study costs before it runs: operations of each run over the effective speed of a device.

An estimate, good to a factor of two: six operations per parameter of the layers and token (forward and backward),
as is usual for transformers, at the sustained speed that a scale's file names with its evidence.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from replicse.study.specs import RunSpec

OPERATIONS = 6
# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# Layers and width of the released encoders the papers start from.
SIZES = {
    "bert-base-uncased": (12, 768),
    "bert-large-uncased": (24, 1024),
    "roberta-base": (12, 768),
    "roberta-large": (24, 1024),
    "distilbert-base-uncased": (6, 768),
    "distilroberta-base": (6, 768),
}


def layer_parameters(init: Mapping[str, Any], parent: Callable[[str], RunSpec]) -> int | None:
    """Return the parameters of an encoder's layers, 12 width^2 each; None where the encoder is not known here."""
    while "run" in init:
        init = parent(init["run"]).init
    if "fresh" in init:
        layers, width = init["fresh"]["architecture"]["layers"], init["fresh"]["architecture"]["hidden"]
    elif str(init.get("hub", "")).rpartition("/")[2] in SIZES:
        layers, width = SIZES[str(init["hub"]).rpartition("/")[2]]
    else:
        return None
    return 12 * layers * width**2


def run_hours(run: RunSpec, rows: int | None, speed: float, parent: Callable[[str], RunSpec]) -> float | None:
    """Return the hours of a run on a device of `speed` operations per second; None where a size is not known."""
    options = run.optimisation
    steps = options.epochs * math.ceil(rows / options.batch_size) if rows else None
    if options.steps is not None:
        steps = min(steps or options.steps, options.steps)
    parameters = layer_parameters(run.init, parent)
    if steps is None or parameters is None:
        return None
    sentences = steps * options.batch_size * len(run.views)
    # Masked-LM terms encode all sentences once more.
    passes = sum(1 if term["term"] == "mlm" else 0 for term in run.objective) + any(
        term["term"] != "mlm" for term in run.objective
    )
    tokens = sentences * passes * options.max_length * FILLED
    return OPERATIONS * parameters * tokens / speed / 3600
