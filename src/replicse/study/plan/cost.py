"""What a study costs before it runs: operations of each run over the effective speed of a device.

An estimate, good to a factor of two: six operations per parameter of the layers and token (forward and backward),
as is usual for transformers, at the sustained speed that a scale's file names with its evidence.
"""

import math
from collections.abc import Mapping

from replicse.registry.encoders import SIZES
from replicse.study.plan.specs import Init, RunSpec

OPERATIONS = 6
# Share of them that a frozen model takes: it has no backward pass.
FROZEN = 1 / 3
# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# Run id or folder of a generator -> what it was made from: hub id, fresh encoder, or another run.
Sources = Mapping[str, Init]


def layer_parameters(source: Init, sources: Sources) -> int | None:
    """Return the parameters of an encoder's layers, 12 width^2 each; None where the encoder is not known here."""
    while source.run:
        source = sources[source.run]
    if source.fresh:
        layers, width = source.fresh.architecture.layers, source.fresh.architecture.hidden
    elif (source.hub or "").rpartition("/")[2] in SIZES:
        layers, width = SIZES[source.hub.rpartition("/")[2]]
    else:
        return None
    return 12 * layers * width**2


def passed_parameters(run: RunSpec, sources: Sources) -> float | None:
    """Return the parameters that all views of one row pass in training; a pass without gradients counts a third.

    Several sources take turns, so that a row costs their mean. Each term says what it costs: the views it reads as
    vectors, further passes, and passes of its frozen generator.
    """
    size = layer_parameters(run.init, sources)
    if size is None:
        return None
    passed = 0.0
    for source in run.sources:
        count = len(source.views)
        encoded = {view for term in source.objective for view in term.vector_views(count)}
        passed += size * (len(encoded) + sum(term.passes(count) for term in source.objective))
    for term in run.terms:
        if term.generator_passes():
            generator = layer_parameters(sources[term.generator], sources)
            if generator is None:
                return None
            passed += FROZEN * generator * term.generator_passes()
    return passed / len(run.sources)


def run_hours(run: RunSpec, rows: int | None, speed: float, sources: Sources) -> float | None:
    """Return the hours of a run on a device of `speed` operations per second; None where a size is not known."""
    options = run.optimisation
    steps = options.epochs * math.ceil(rows / options.batch_size) * len(run.sources) if rows else None
    if options.steps is not None:
        steps = min(steps or options.steps, options.steps)
    passed = passed_parameters(run, sources)
    if steps is None or passed is None:
        return None
    tokens = steps * options.batch_size * options.max_length * FILLED
    return OPERATIONS * passed * tokens / speed / 3600
