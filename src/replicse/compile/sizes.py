"""Sizes of encoders, and the memory and disk space of a training.

A size is known only if it can be computed without loading the weights.
"""

from collections.abc import Mapping
from pathlib import Path

from replicse.registry.architectures import size_in, size_of
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Init, Run

# A dict from run ids and folders of weights to their source: a hub id, a fresh encoder, or another run.
Sources = Mapping[str, Init]
# The vocabulary size of RoBERTa, the largest of the papers' encoders.
VOCABULARY = 50_265
# fp32 weights, their gradients and AdamW's two moments.
TRAINED_BYTES, FROZEN_BYTES = 16, 4
# Bytes that a layer stores for the backward pass, per token and unit of width: computed from the code of the packed
# encoder, with autocast (half precision for products, fp32 for normalisation and sums) and without.
KEPT_BYTES = {"fp16": 42, "bf16": 42, "fp32": 74, "tf32": 74}
# The factor by which the estimate may be wrong in either direction.
UNSURE = 1.3


def sizes_of(source: Init, sources: Sources) -> tuple[int, int] | None:
    """Return the layers and the width of an encoder.

    Args:
        source: the source of the weights.
        sources: a dict from runs and folders to the source of their weights.

    Returns:
        Layers and width; None if the size is not known.
    """
    while source.run:
        source = sources[source.run]
    if source.fresh:
        return source.fresh.architecture.layers, source.fresh.architecture.hidden
    if source.folder:
        return size_in(Path(sources.get(source.folder, source).folder or ""))
    return size_of(source.hub or "")


def layer_parameters(layers: int, hidden: int) -> int:
    """Compute the parameters of an encoder's layers, 12 width^2 per layer.

    Args:
        layers: the number of layers.
        hidden: the width.
    """
    return 12 * layers * hidden**2


def encoder_parameters(layers: int, hidden: int) -> int:
    """Compute the approximate number of parameters of an encoder.

    Token embeddings are included.

    Args:
        layers: the number of layers.
        hidden: the width.
    """
    return layer_parameters(layers, hidden) + VOCABULARY * hidden


def saved_bytes(run: Run, sources: Sources) -> float | None:
    """Compute the approximate disk space of a run's weights in bytes.

    Without selection `best` and `last` are the same file. Each step of a trajectory is a file.

    Args:
        run: the run.
        sources: a dict from runs and folders to the source of their weights.

    Returns:
        Bytes; None if the size of the encoder is not known.
    """
    size = sizes_of(run.init, sources)
    if size is None:
        return None
    checkpoints = (2 if run.selection.every else 1) + len(run.trajectory.steps())
    return checkpoints * FROZEN_BYTES * encoder_parameters(*size)


def training_bytes(run: Run, sources: Sources, rows: int | None = None) -> float | None:
    """Compute the approximate bytes of GPU memory of a training step.

    Includes weights with gradients and moments, frozen models, and activations kept for the backward pass.

    Args:
        run: the run.
        sources: a dict from runs and folders to the source of their weights.
        rows: the number of rows that are encoded at a time. Default: the batch size.

    Returns:
        Bytes, within about 30%; None if the size of an encoder is not known.
    """
    size = sizes_of(run.init, sources)
    if size is None:
        return None
    layers, hidden = size
    largest = 0.0
    for source in run.sources:
        count = len(source.views)
        views = {view for term in source.objective for view in term.vector_views(count)}
        passes = len(views) + sum(term.passes(count) for term in source.objective)
        tokens = (rows or run.optimisation.batch_size) * passes * run.row_tokens
        largest = max(largest, tokens * layers * hidden * KEPT_BYTES[run.precision])
    parameters = encoder_parameters(layers, hidden)
    weights = TRAINED_BYTES * parameters
    if run.encoders == "two":
        weights *= 2
    if run.momentum:
        weights += FROZEN_BYTES * parameters
    for model in frozen_models(run.terms):
        other = sizes_of(sources[model.folder or ""], sources)
        if other is None:
            return None
        weights += FROZEN_BYTES * encoder_parameters(*other)
    return weights + largest
