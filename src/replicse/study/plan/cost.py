"""What a study costs before it runs: operations of each run over the effective speed of a device.

An estimate, good to a factor of two: six operations per parameter of the layers and token (forward and backward),
as is usual for transformers, at the sustained speed that a scale's file names with its evidence.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from replicse.study.plan.specs import RunSpec

OPERATIONS = 6
# Share of them that a frozen model takes: it has no backward pass.
FROZEN = 1 / 3
# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# Layers and width of the released encoders the papers start from or generate with.
SIZES = {
    "bert-base-uncased": (12, 768),
    "bert-large-uncased": (24, 1024),
    "roberta-base": (12, 768),
    "roberta-large": (24, 1024),
    "distilbert-base-uncased": (6, 768),
    "distilroberta-base": (6, 768),
    "bert_uncased_L-8_H-512_A-8": (8, 512),
    "bert_uncased_L-4_H-512_A-8": (4, 512),
    "bert_uncased_L-4_H-256_A-4": (4, 256),
    "bert_uncased_L-2_H-128_A-2": (2, 128),
}
# Terms with a discriminator of the encoder's size, and the views they edit unless they say otherwise.
CONDITIONAL = ("rtd", "conditional-mlm", "corrective-lm")
EDITED = (0, 1)
# Run id or folder of a generator -> what it was made from: hub id, fresh encoder, or another run.
Sources = Mapping[str, Mapping[str, Any]]


def layer_parameters(source: Mapping[str, Any], sources: Sources) -> int | None:
    """Return the parameters of an encoder's layers, 12 width^2 each; None where the encoder is not known here."""
    while "run" in source:
        source = sources[source["run"]]
    if "fresh" in source:
        layers, width = source["fresh"]["architecture"]["layers"], source["fresh"]["architecture"]["hidden"]
    elif str(source.get("hub", "")).rpartition("/")[2] in SIZES:
        layers, width = SIZES[str(source["hub"]).rpartition("/")[2]]
    else:
        return None
    return 12 * layers * width**2


def encoded_views(run: RunSpec) -> set[int]:
    """Return the views whose vectors some term reads: the others are not encoded."""
    found: set[int] = set()
    for term in run.objective:
        if term["term"] == "infonce":
            found |= set(term.get("views") or range(len(run.views)))
        elif term["term"] in CONDITIONAL:
            condition = term.get("condition", term.get("views", EDITED))
            found |= set(condition if isinstance(condition, Sequence) else [condition])
    return found


def passed_parameters(run: RunSpec, sources: Sources) -> float | None:
    """Return the parameters that all views of one row pass in training; a pass without gradients counts a third.

    Masked-LM terms encode all views once more; a conditional term passes what it edits through its
    discriminator, and before that through its frozen generator (DiffCSE section 3).
    """
    size = layer_parameters(run.init, sources)
    if size is None:
        return None
    passed: float = size * len(encoded_views(run))
    for term in run.objective:
        if term["term"] == "mlm":
            passed += size * len(run.views)
        elif term["term"] in CONDITIONAL:
            generator = layer_parameters(sources[term["generator"]], sources) if "generator" in term else 0
            if generator is None:
                return None
            passed += (size + FROZEN * generator) * len(term.get("views", EDITED))
    return passed


def run_hours(run: RunSpec, rows: int | None, speed: float, sources: Sources) -> float | None:
    """Return the hours of a run on a device of `speed` operations per second; None where a size is not known."""
    options = run.optimisation
    steps = options.epochs * math.ceil(rows / options.batch_size) if rows else None
    if options.steps is not None:
        steps = min(steps or options.steps, options.steps)
    passed = passed_parameters(run, sources)
    if steps is None or passed is None:
        return None
    tokens = steps * options.batch_size * options.max_length * FILLED
    return OPERATIONS * passed * tokens / speed / 3600
