"""Sizes of encoders, as far as they are known without their weights, and what a training takes of memory and disk."""

from collections.abc import Mapping
from pathlib import Path

from replicse.registry.architectures import size_in, size_of
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Init, Run

# Run id or folder of weights -> what it was made from: hub id, fresh encoder, or another run.
Sources = Mapping[str, Init]
# The largest vocabulary of the papers' encoders, that of RoBERTa.
VOCABULARY = 50_265
# fp32 weights, their gradients and AdamW's two moments.
TRAINED_BYTES, FROZEN_BYTES = 16, 4
# Bytes that a layer keeps of each token and unit of width for the backward pass: counted line by line in the packed
# encoder, with autocast (half precision for products, fp32 for normalisation and sums) and without.
KEPT_BYTES = {"fp16": 42, "bf16": 42, "fp32": 74, "tf32": 74}
# How far the estimate may be off, in either direction.
UNSURE = 1.3


def sizes_of(source: Init, sources: Sources) -> tuple[int, int] | None:
    """Return layers and width of an encoder; None where it is not known here."""
    while source.run:
        source = sources[source.run]
    if source.fresh:
        return source.fresh.architecture.layers, source.fresh.architecture.hidden
    if source.folder:
        return size_in(Path(sources.get(source.folder, source).folder or ""))
    return size_of(source.hub or "")


def layer_parameters(layers: int, hidden: int) -> int:
    """Return the parameters of an encoder's layers, 12 width^2 each."""
    return 12 * layers * hidden**2


def encoder_parameters(layers: int, hidden: int) -> int:
    """Return about how many parameters an encoder has, its token embeddings included."""
    return layer_parameters(layers, hidden) + VOCABULARY * hidden


def saved_bytes(run: Run, sources: Sources) -> float | None:
    """Return about how many bytes of weights a run leaves on the disk; None if the size of its encoder is not known.

    `best` and `last` are one file if nothing selects, and so is each step of a trajectory by itself.
    """
    size = sizes_of(run.init, sources)
    if size is None:
        return None
    checkpoints = (2 if run.selection.every else 1) + len(run.trajectory.steps())
    return checkpoints * FROZEN_BYTES * encoder_parameters(*size)


def training_bytes(run: Run, sources: Sources, rows: int | None = None) -> float | None:
    """Return about how many bytes of GPU memory a training step takes.

    Weights with gradients and moments, frozen models, and what the layers keep of each token for the backward pass.

    Args:
        run: the run.
        sources: where weights come from.
        rows: rows of a chunk that is encoded at a time; the batch if not given.

    Returns:
        Bytes, to about 30%; None if the size of an encoder is not known.
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
    weights = TRAINED_BYTES * encoder_parameters(layers, hidden) * (2 if run.encoders == "two" else 1)
    weights += FROZEN_BYTES * encoder_parameters(layers, hidden) * (1 if run.momentum else 0)
    for model in frozen_models(run.terms):
        other = sizes_of(sources[model.folder or ""], sources)
        if other is None:
            return None
        weights += FROZEN_BYTES * encoder_parameters(*other)
    return weights + largest
