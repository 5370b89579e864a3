"""Estimate the cost of a study before it runs.

The hours are operations divided by the speed of a device. A token uses six operations per parameter of the layers
(forward and backward), as is usual for transformers. The speed, in operations per second, is published in the scale's
file, or measured by `replicse benchmark` on this machine; it depends on the precision of a run.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from replicse.compile.lineage import run_sources
from replicse.compile.sizes import Sources, layer_parameters, saved_bytes, sizes_of, training_bytes
from replicse.compile.speed import Interval, speed_of
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.registry.encoders import Precision
from replicse.registry.frozen import frozen_models
from replicse.registry.registry import current
from replicse.registry.run_options import Freeze
from replicse.registry.runs import FILLED, Run
from replicse.spec.datasets import Datasets, load_datasets

OPERATIONS = 6
# Fraction of the operations of a pass without gradients, because it has no backward pass.
FROZEN = 1 / 3
# A selection encodes both sentences of the 1,500 pairs of STS-B's development set (methods 2.2).
DEV_SENTENCES = 3000
SENTENCE_TOKENS = 32 * FILLED
# Shorter times, in hours, are shown in seconds.
SHORT = 0.1


@dataclass(frozen=True)
class TimeEstimate:
    """The estimated hours of several runs or encoders.

    Args:
        count: the number of runs or encoders.
        hours: the total hours; None if the size of an encoder is not known.
        unknown: the number of encoders of unknown size, which are not counted. Default: 0.
        not_counted: the suites that are not counted. Default: empty.
    """

    count: int
    hours: Interval | None
    unknown: int = 0
    not_counted: tuple[str, ...] = ()

    @property
    def expected(self) -> float | None:
        """Return the expected hours."""
        return self.hours and self.hours.expected

    @property
    def interval(self) -> str:
        """Return the time with an interval."""
        if self.hours is None:
            return "? (the size of an encoder is not known)"
        low, expected, high = map(duration_text, self.hours)
        return f"{expected} ({low} to {high})"

    @property
    def text(self) -> str:
        """Return the time with an interval, and the parts without an estimate."""
        others = []
        if self.unknown:
            others.append(f"{self.unknown} of unknown size")
        if self.not_counted:
            others.append(f"the texts of {', '.join(self.not_counted)}")
        return f"{self.interval}; not counted: {' and '.join(others)}" if others else self.interval

    def plain(self, what: str) -> dict[str, Any]:
        """Return the estimate as a dict.

        Args:
            what: the key of the count, such as "runs".

        Returns:
            A dict with the count, the expected hours, the interval, and the parts without an estimate.
        """
        interval = None
        if self.hours:
            interval = [self.hours.low, self.hours.high]
        left_out = {"unknown": self.unknown, "not_counted": self.not_counted}
        return {what: self.count, "hours": self.expected, "hours_interval": interval, **left_out}


def duration_text(hours: float | None) -> str:
    """Format estimated hours as a string.

    Args:
        hours: the hours; None if they are not known.

    Returns:
        A string such as "2.50 h" or, for less than 0.1 h, "90 s"; a question mark for None.
    """
    if hours is None:
        return "?"
    if hours < SHORT:
        return f"{hours * 3600:.0f} s"
    return f"{hours:.2f} h" if hours < 10 else f"{hours:,.0f} h"


def check_frozen_layers(run: Run, runs: Mapping[str, Run], location: str) -> None:
    """Check that an encoder has the layers that a run freezes.

    The check is skipped if the size of the encoder is not known.

    Args:
        run: the run.
        runs: a dict from ids to all runs of the study.
        location: the location in error messages.

    Raises:
        BadInput: if the encoder does not have one of the layers.
    """
    if not run.freeze.layers:
        return
    size = sizes_of(run.init, {name: each.init for name, each in runs.items()})
    if size is None:
        return
    try:
        run.freeze.numbers(size[0])
    except BadInput as error:
        raise BadInput(f"{location}: {error}") from None


def passes(run: Run, sources: Sources) -> float | None:
    """Compute the number of encoder passes for each training row.

    A pass without gradients counts a third. Several sources alternate, so a row costs their mean. The cost of a term
    is the views that it uses as vectors, additional passes, and passes of frozen models.

    Args:
        run: the run.
        sources: a dict from runs and folders to the source of their weights.

    Returns:
        The passes; None if the size of an encoder is not known.
    """
    size = sizes_of(run.init, sources)
    if size is None:
        return None
    total, share = 0.0, trained_share(run.freeze, size[0])
    for source in run.sources:
        count = len(source.views)
        encoded = {view for term in source.objective for view in term.vector_views(count)}
        around = sum(run.poolings(source)[view].template_length for view in encoded)
        total += share * (len(encoded) + around / run.row_tokens)
        total += sum(term.passes(count) for term in source.objective)
        total += FROZEN * sum(len(term.momentum_views(count)) for term in source.objective)
        for term in source.objective:
            for model in frozen_models(term):
                other = sizes_of(sources[model.folder or ""], sources)
                if other is None:
                    return None
                ratio = layer_parameters(*other) / layer_parameters(*size)
                total += FROZEN * ratio * term.frozen_passes(count)
    return total / len(run.sources)


def trained_share(freeze: Freeze, layers: int) -> float:
    """Compute the fraction of operations left with frozen layers.

    Frozen layers have no gradients of their weights, and no backward pass unless a part below them is trained.

    Args:
        freeze: the weights that are not trained.
        layers: the number of layers of the encoder.

    Returns:
        A fraction from 0 to 1.
    """
    frozen = range(layers) if freeze.encoder else freeze.numbers(layers)
    spared = 2 if freeze.embeddings and 0 in frozen else 1
    return 1 - spared * FROZEN * len(frozen) / layers


def row_operations(run: Run, sources: Sources) -> float | None:
    """Compute the operations of one training row of a run.

    Args:
        run: the run.
        sources: a dict from runs and folders to the source of their weights.

    Returns:
        The operations; None if the size of an encoder is not known.
    """
    size, count = sizes_of(run.init, sources), passes(run, sources)
    if size is None or count is None:
        return None
    return OPERATIONS * layer_parameters(*size) * count * run.row_tokens


def encoding_operations(size: tuple[int, int], tokens: float) -> float:
    """Compute the operations of encoding tokens without gradients.

    Args:
        size: layers and width of the encoder.
        tokens: the number of tokens.
    """
    return OPERATIONS * FROZEN * layer_parameters(*size) * tokens


def operations_of(run: Run, rows: int | None, sources: Sources) -> float | None:
    """Compute the operations of a run, including selection.

    Args:
        run: the run.
        rows: the number of rows of the corpus, if known.
        sources: a dict from runs and folders to the source of their weights.

    Returns:
        The operations; None if the size of an encoder or the number of rows is not known.
    """
    steps, row = run.optimisation.last_step(rows, len(run.sources)), row_operations(run, sources)
    size = sizes_of(run.init, sources)
    if steps is None or row is None or size is None:
        return None
    selected = 0.0
    if run.selection.every:
        selected = DEV_SENTENCES * SENTENCE_TOKENS * (steps // run.selection.every)
    return steps * run.optimisation.rows_per_step * row + encoding_operations(size, selected)


def estimates_of(study: Study) -> Mapping[str, Any]:
    """Compute the inputs of cost estimates, or load them from the cache.

    Callers can use them without loading every run.

    Args:
        study: the study.

    Returns:
        A dict with `operations`, `precisions`, `gpu_bytes` and `saved_bytes` by run, and the `sizes` of each encoder
        (layers and width).
    """
    # The size of an encoder in a folder is read from the folder, which is not part of the key of the cache.
    if any("folder" in source for source in study.backbones.values()):
        return _estimate(study)
    estimates: Mapping[str, Any] = study.remember("estimates", _estimate)
    return estimates


def _estimate(study: Study) -> Mapping[str, Any]:
    sources = run_sources(study)
    estimates: dict[str, dict[str, Any]] = {"operations": {}, "sizes": {}, "precisions": {}}
    estimates |= {"gpu_bytes": {}, "saved_bytes": {}}
    for name, encoder in study.encoders.items():
        source = sources.get(study.encoder_folder(encoder))
        estimates["sizes"][name] = source and sizes_of(source, sources)
    for name, run in study.runs.items():
        rows = study.scale.expected(run.corpus).get("rows")
        estimates["operations"][name] = operations_of(run, rows, sources)
        estimates["precisions"][name] = run.precision
        estimates["gpu_bytes"][name] = training_bytes(run, sources)
        estimates["saved_bytes"][name] = saved_bytes(run, sources)
    return estimates


class Cost:
    """The cost of the parts of a study on a device.

    Args:
        study: the study.
        device: a part of the device's name. Default: the last measured device.
    """

    def __init__(self, study: Study, device: str = "") -> None:
        self.study, self.speed = study, speed_of(study, device)
        self.estimates = estimates_of(study)
        self.operations: Mapping[str, float | None] = self.estimates["operations"]

    def hours(self, runs: Iterable[str]) -> Interval | None:
        """Return the hours of runs; None if a run has no estimate.

        Args:
            runs: the ids of the runs.
        """
        precisions: Mapping[str, Precision] = self.estimates["precisions"]
        hours = []
        for run in runs:
            operations = self.operations[run]
            if operations is None:
                return None
            hours.append(self.speed.hours(operations, precisions[run]).expected)
        # An exact sum does not depend on the order of a set, which differs between processes.
        return self.speed.interval(math.fsum(hours))

    @property
    def gpu_bytes(self) -> float | None:
        """Return the largest GPU memory of a training step in bytes.

        Returns None if the size of no run is known.
        """
        known = [size for size in self.estimates["gpu_bytes"].values() if size is not None]
        return max(known, default=None)

    def saved_bytes(self, runs: Iterable[str]) -> int:
        """Return the approximate disk space of the weights of runs in bytes.

        Args:
            runs: the ids of the runs; a run of unknown size is not counted.
        """
        return round(math.fsum(self.estimates["saved_bytes"][run] or 0 for run in runs))

    def training(self, runs: Collection[str]) -> TimeEstimate:
        """Estimate the time of training runs.

        Args:
            runs: the ids of the runs.
        """
        return TimeEstimate(len(runs), self.hours(runs))

    def evaluation(self, encoders: Collection[str]) -> TimeEstimate:
        """Estimate the time of encoding sentences and texts in fp32.

        The hours are None for the embedded datasets, which are small. Classifiers are not counted, and suites without a
        number of tokens in `datasets.yaml` are not counted either.

        Args:
            encoders: the ids of the encoders.
        """
        if self.study.source == "embedded":
            return TimeEstimate(len(encoders), None)
        known, unknown, others = [], 0, set[str]()
        for name in encoders:
            tokens, not_counted = self._tokens(name)
            others |= not_counted
            if (size := self.estimates["sizes"][name]) is None:
                unknown += 1
            else:
                known.append(encoding_operations(size, tokens))
        return TimeEstimate(len(encoders), self.speed.hours(math.fsum(known)), unknown, tuple(sorted(others)))

    def encoding(self, encoder: str, group: str) -> Interval | None:
        """Return the hours of encoding the texts of a group of suites.

        Args:
            encoder: the id of the encoder.
            group: the group of suites.

        Returns:
            The hours with an interval; None if the size of the encoder or the number of tokens is not known.
        """
        size, tokens = self.estimates["sizes"][encoder], self._tokens_of(encoder, group)
        if size is None or not tokens:
            return None
        return self.speed.hours(encoding_operations(size, tokens))

    def _tokens(self, encoder: str) -> tuple[float, set[str]]:
        """Return the tokens of an encoder's suites, and the suites not counted."""
        total, not_counted = 0.0, set[str]()
        for group, suites in self.study.groups(encoder).items():
            tokens = self._tokens_of(encoder, group)
            total += tokens
            if not tokens:
                not_counted.update(suites)
        return total, not_counted

    def _tokens_of(self, encoder: str, group: str) -> float:
        """Return the tokens of a group of suites; 0 if they are not known."""
        if group == "trajectory":
            return self._trajectory_tokens(encoder)
        sentences = self._datasets.sentences.get(group, 0) * SENTENCE_TOKENS
        suites = self.study.groups(encoder).get(group, [])
        return sentences + sum(self._text_tokens(suite, encoder) for suite in suites)

    def _trajectory_tokens(self, encoder: str) -> float:
        """Return the tokens of a trajectory.

        Each kept checkpoint encodes both sentences of all pairs of STS-B.
        """
        run = self.study.runs[self.study.encoders[encoder].source.name]
        checkpoints = len(run.trajectory.steps())
        sentences = 2 * self._datasets.count_rows("data/sts/STS-B/*")
        return checkpoints * sentences * SENTENCE_TOKENS

    def _text_tokens(self, suite: str, encoder: str) -> float:
        """Return the tokens of a suite's long texts; 0 for other suites."""
        tokens = self._datasets.tokens.get(suite, 0.0)
        if not isinstance(tokens, dict):
            return tokens
        named_by = current().suites[suite].named_by
        read = self.study.options(suite, [encoder]).get(named_by, tokens)
        return sum(count for name, count in tokens.items() if name in read)

    @cached_property
    def _datasets(self) -> Datasets:
        return load_datasets(self.study.workflow)
