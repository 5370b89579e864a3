"""The sources of batches: stores, objective and pooling of each view."""

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
    """A source of batches.

    Attributes:
        data: The batches.
        objective: The objective of the batches.
        encoded: A list of the views that are encoded, because a term uses their vectors.
        repeated: Whether the first two views are the same text.
        poolings: A list with the pooling of each view.
    """

    data: TrainingData
    objective: Objective
    encoded: list[int]
    repeated: bool
    poolings: list[SentencePooling]


def open_sources(job: TrainJob, model: SentenceModel) -> list[TrainingSource]:
    """Open the sources of a run and prepare their objectives.

    Args:
        job: The training job.
        model: The model in training.

    Returns:
        A list of sources.

    Raises:
        BadInput: If a store has token ids that the encoder does not have, or no labels although a term needs
            them.
    """
    stores, options = iter(job.stores), job.spec.optimisation
    poolings: dict[PoolingParameters, SentencePooling] = {}
    sources = []
    for spec in job.spec.sources:
        objective = Objective(spec.objective)
        objective.prepare(model)
        data = TrainingData(
            list(itertools.islice(stores, len(spec.views))),
            options.batch_size,
            job.spec.seed,
            job.spec.order,
            options.accumulate,
        )
        _check_data(data, spec, model.backbone.vocabulary)
        # Equal parameters share one pooling, so that views with the same pooling are encoded in one batch.
        view_poolings = []
        for params in job.spec.poolings(spec):
            if params not in poolings:
                poolings[params] = SentencePooling(params, model.backbone)
            view_poolings.append(poolings[params])
        source = TrainingSource(
            data=data,
            objective=objective,
            encoded=objective.vector_views(len(spec.views)),
            repeated=len(spec.views) > 1 and spec.views[0].text == spec.views[1].text,
            poolings=view_poolings,
        )
        sources.append(source)
    return sources


def _check_data(data: TrainingData, spec: RunSource, vocabulary: int) -> None:
    for store, column in zip(data.stores, data.columns, strict=True):
        if column.tokens.max() >= vocabulary or column.tokens.min() < 0:
            raise BadInput(
                f"{store}: token ids from {column.tokens.min()} to {column.tokens.max()}, but the"
                f" vocabulary of the encoder has {vocabulary} tokens; prepare the store with the encoder's tokenizer"
            )
    if data.labels is None and any(term.reads_labels() for term in spec.objective):
        raise BadInput(f"{data.stores[0]}: the store does not contain labels; use a corpus with labels")
