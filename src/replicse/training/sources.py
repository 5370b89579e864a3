"""What a run trains on: each source with its stores, its objective and how its views are read."""

import itertools
from dataclasses import dataclass

from replicse.encoder.pooling import SentencePooling
from replicse.errors import BadInput
from replicse.objective import Objective
from replicse.registry.poolings import PoolingParameters
from replicse.registry.runs import RunSource
from replicse.training.data import TrainingData
from replicse.training.job import TrainJob
from replicse.training.model import SentenceModel


@dataclass
class TrainingSource:
    """A source of batches: data, objective, the views that are encoded and how, whether the first two are one text."""

    data: TrainingData
    objective: Objective
    encoded: list[int]
    repeated: bool
    poolings: list[SentencePooling]


def sources_of(job: TrainJob, model: SentenceModel) -> list[TrainingSource]:
    """Return the sources of a run; BadInput where a store is not one for the encoder, or lacks labels that are read."""
    stores, options = iter(job.stores), job.spec.optimisation
    poolings: dict[PoolingParameters, SentencePooling] = {}
    sources = []
    for spec in job.spec.sources:
        objective = Objective(spec.objective)
        objective.prepare(model)
        source_stores = list(itertools.islice(stores, len(spec.views)))
        spread = options.batch_size, job.spec.seed, job.spec.order, options.accumulate
        data = TrainingData(source_stores, *spread)
        _check(data, spec, model.backbone.vocabulary)
        repeated = len(spec.views) > 1 and spec.views[0].text == spec.views[1].text
        # Equal parameters have one pooling: views that are read alike are encoded in one batch.
        for params in job.spec.poolings(spec):
            if params not in poolings:
                poolings[params] = SentencePooling(params, model.backbone)
        read = [poolings[params] for params in job.spec.poolings(spec)]
        sources.append(
            TrainingSource(data, objective, objective.vector_views(len(spec.views)), repeated, read)
        )
    return sources


def _check(data: TrainingData, spec: RunSource, vocabulary: int) -> None:
    for store, column in zip(data.stores, data.columns, strict=True):
        if column.tokens.max() >= vocabulary or column.tokens.min() < 0:
            raise BadInput(
                f"{store}: token ids from {column.tokens.min()} to {column.tokens.max()}, but the encoder"
                f" knows {vocabulary}; prepare the store with the encoder's own tokenizer"
            )
    if data.labels is None and any(term.reads_labels() for term in spec.objective):
        raise BadInput(f"{data.stores[0]}: the store has no labels; name one of a corpus with labels")
