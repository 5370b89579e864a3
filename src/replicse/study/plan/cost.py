"""What a study costs before it runs, from speeds that `replicse benchmark` measured, or from a published one.

Operations are six per parameter of the layers and token (forward and backward), as is usual for transformers. A
published speed, which a scale's file names with its evidence, gives an estimate good to a factor of two.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pydantic import PrivateAttr

from replicse.checked import Checked, Count, Positive, Text
from replicse.registry.encoders import Precision, size_of
from replicse.registry.runs import Init, Run

OPERATIONS = 6
# Share of them that a pass without gradients takes: it has no backward pass.
FROZEN = 1 / 3
# Share of max_length that a sentence fills: Wikipedia sentences at 32 word pieces average about 24.
FILLED = 0.75
# How far a published speed may be off, in either direction.
PUBLISHED = 2.0
# A selection encodes both sentences of the 1,500 pairs of STS-B's development set (methods 2.2).
DEV_SENTENCES = 3000
# Run id or folder of a generator -> what it was made from: hub id, fresh encoder, or another run.
Sources = Mapping[str, Init]


class Interval(NamedTuple):
    """A number and the interval that it is expected in."""

    low: float
    expected: float
    high: float


class Shape(Checked):
    """What the speed of a step hangs on; `passes` are those of one row through an encoder of these sizes.

    A pass without gradients counts a third, as does the only one where sentences are just encoded (`encode`).
    """

    layers: Count
    hidden: Count
    batch_size: Count
    max_length: Count
    precision: Precision
    passes: Positive
    encode: bool = False

    @property
    def row_operations(self) -> float:
        """Return the operations of one row."""
        tokens = self.max_length * FILLED
        return OPERATIONS * layer_parameters(self.layers, self.hidden) * self.passes * tokens


class Measured(Checked):
    """Rows per second of a shape over so many steps, and the 95% interval of their mean."""

    shape: Shape
    low: Positive
    rows_per_second: Positive
    high: Positive
    steps: Count

    @property
    def rate(self) -> Interval:
        """Return rows per second with their interval."""
        return Interval(self.low, self.rows_per_second, self.high)


class Throughput(Checked):
    """What one device does: the shapes measured on it, or `flops`, a published speed in operations per second."""

    device: Text
    when: str = ""
    commit: str = ""
    machine: dict[str, object] = {}
    shapes: tuple[Measured, ...] = ()
    flops: Positive | None = None
    _rates: dict[Shape, Interval | None] = PrivateAttr(default_factory=dict)

    def rate(self, shape: Shape) -> Interval | None:
        """Return rows per second of a shape; None where nothing of its precision was measured.

        A shape that was not measured has the operations per second of those that were, from the slowest to the fastest.
        """
        if shape not in self._rates:
            self._rates[shape] = self._rate(shape)
        return self._rates[shape]

    def _rate(self, shape: Shape) -> Interval | None:
        if self.flops:
            speed = Interval(self.flops / PUBLISHED, self.flops, self.flops * PUBLISHED)
            return Interval(*(each / shape.row_operations for each in speed))
        alike = [one for one in self.shapes if one.shape.precision == shape.precision]
        alike = [one for one in alike if one.shape.encode == shape.encode]
        known = [one for one in alike if one.shape == shape] or alike
        if not known:
            return None
        factors = [one.shape.row_operations / shape.row_operations for one in known]
        lows, middles, highs = (
            [value * factor for value, factor in zip(column, factors, strict=True)]
            for column in zip(*(one.rate for one in known), strict=True)
        )
        return Interval(min(lows), math.prod(middles) ** (1 / len(middles)), max(highs))

    def hours(self, shape: Shape, rows: float) -> Interval | None:
        """Return the hours that some rows of a shape take."""
        rate = self.rate(shape)
        return rate and Interval(*(rows / each / 3600 for each in reversed(rate)))


def added(parts: list[Interval | None]) -> Interval | None:
    """Return the sum of intervals, as if all were off in one direction; None where one is not known."""
    return None if None in parts else Interval(*(sum(part[place] for part in parts) for place in range(3)))


def sizes_of(source: Init, sources: Sources) -> tuple[int, int] | None:
    """Return layers and width of an encoder; None where it is not known here."""
    while source.before:
        source = sources[source.before]
    if source.fresh:
        return source.fresh.architecture.layers, source.fresh.architecture.hidden
    return size_of(source.hub or "")


def layer_parameters(layers: int, hidden: int) -> int:
    """Return the parameters of an encoder's layers, 12 width^2 each."""
    return 12 * layers * hidden**2


def passes(run: Run, sources: Sources) -> float | None:
    """Return the passes of one row through the encoder in training; a pass without gradients counts a third.

    Several sources take turns, so that a row costs their mean. Each term says what it costs: the views it reads as
    vectors, further passes, and passes of its frozen generator. None where the size of an encoder is not known.
    """
    size = sizes_of(run.init, sources)
    if size is None:
        return None
    total = 0.0
    for source in run.sources:
        count = len(source.views)
        encoded = {view for term in source.objective for view in term.vector_views(count)}
        total += len(encoded) + sum(term.passes(count) for term in source.objective)
    for term in run.terms:
        if term.generator_passes():
            generator = sizes_of(sources[term.generator], sources)
            if generator is None:
                return None
            total += FROZEN * layer_parameters(*generator) / layer_parameters(*size) * term.generator_passes()
    return total / len(run.sources)


def shape_of(run: Run, sources: Sources) -> Shape | None:
    """Return the shape of a run's steps; None where the size of an encoder is not known."""
    size, count = sizes_of(run.init, sources), passes(run, sources)
    if size is None or count is None:
        return None
    options = run.optimisation
    return Shape(
        layers=size[0],
        hidden=size[1],
        batch_size=options.batch_size,
        max_length=options.max_length,
        precision=run.precision,
        passes=float(format(count, ".6g")),
    )


@cache
def encode_shape(layers: int, hidden: int) -> Shape:
    """Return the shape of encoding sentences for an evaluation, which is always in fp32."""
    return Shape(
        layers=layers,
        hidden=hidden,
        batch_size=128,
        max_length=32,
        precision="fp32",
        passes=FROZEN,
        encode=True,
    )


def steps_of(run: Run, rows: int | None) -> int | None:
    """Return the steps of a run on so many rows; None where neither these nor the steps are known."""
    options = run.optimisation
    steps = options.epochs * math.ceil(rows / options.batch_size) * len(run.sources) if rows else None
    return steps if options.steps is None else min(steps or options.steps, options.steps)


def run_hours(run: Run, rows: int | None, throughput: Throughput, sources: Sources) -> Interval | None:
    """Return the hours of a run, its selection included; None where a size or a speed is not known."""
    steps, shape = steps_of(run, rows), shape_of(run, sources)
    if steps is None or shape is None:
        return None
    every = run.selection.every
    selected = DEV_SENTENCES * (steps // every) if every else 0
    encoding = encode_shape(shape.layers, shape.hidden)
    parts = [throughput.hours(shape, steps * shape.batch_size)]
    return added(parts + ([throughput.hours(encoding, selected)] if selected else []))
