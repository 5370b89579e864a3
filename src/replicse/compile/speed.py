"""Operations per second of devices, published or measured, by precision."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from replicse.checked import Checked, Positive, Text
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.registry.encoders import Flops, Precision
from replicse.registry.runs import Run

# How far the hours may be off, in either direction: by a published speed; by that of one shape of a training step,
# where the steps of other shapes ran at 0.6 to 1.7 times its operations per second.
PUBLISHED, MEASURED = 2.0, 1.7
# Precisions that compute at about the same rate, the nearest first.
LIKE: dict[Precision, tuple[Precision, ...]] = {
    "fp32": ("tf32",),
    "tf32": ("fp32",),
    "bf16": ("fp16",),
    "fp16": ("bf16",),
}


class Interval(NamedTuple):
    """Hours, and the interval that they are expected in."""

    low: float
    expected: float
    high: float


class Speed(Checked):
    """Operations per second of a device by precision; `when` they were measured, blank for a published number.

    `rates` are rows of training per second by precision, if two were measured; `shapes` is what was measured.
    """

    device: Text
    flops: Flops
    when: str = ""
    commit: str = ""
    machine: dict[str, object] = {}
    rates: dict[str, Positive] = {}
    shapes: tuple[dict[str, object], ...] = ()

    def flops_in(self, precision: Precision) -> float:
        """Return the operations per second in a precision: the nearest one that is known, else the slowest."""
        for name in (precision, *LIKE[precision]):
            if name in self.flops:
                return self.flops[name]
        return min(self.flops.values())

    def precisions(self, runs: Iterable[Run]) -> list[str]:
        """Return how fast half precision is next to fp32, and what to write for runs in the slower of the two.

        Nothing if they were not both measured.
        """
        if len(self.rates) < 2:
            return []
        half = next(name for name in self.rates if name != "fp32")
        said = f"{half} is {self.rates[half] / self.rates['fp32']:.2f} times as fast as fp32 on {self.device}"
        best = max(self.rates, key=lambda name: self.rates[name])
        slower = any(run.precision != best for run in runs)
        return [said, f"write precision: {best} in the config to train faster; numbers change"][: 1 + slower]

    def hours(self, operations: float, precision: Precision = "fp32") -> Interval:
        """Return the hours that so many operations take in a precision."""
        return self.interval(operations / self.flops_in(precision) / 3600)

    def interval(self, hours: float) -> Interval:
        """Return expected hours with their interval."""
        factor = MEASURED if self.when else PUBLISHED
        return Interval(hours / factor, hours, hours * factor)


def speeds(plan: Study) -> list[Speed]:
    """Return what is known of devices: records of `replicse benchmark`, the newest first, then published ones."""
    stored = [_stored(file) for file in Path(plan.paths.throughput()).glob("*.json")]
    published = [Speed(device=each.device, flops=each.flops) for each in plan.scale.cost]
    return [*sorted(stored, key=lambda one: one.when, reverse=True), *published]


def _stored(file: Path) -> Speed:
    try:
        return Speed.of(read_json(file), str(file))
    except BadInput as error:
        raise BadInput(f"{error}; delete the file, and let replicse benchmark write it again") from None


def speed_of(plan: Study, device: str = "") -> Speed:
    """Return the speed of a device by a part of its name, of the first without one; BadInput for no such device."""
    measured = speeds(plan)
    for one in measured:
        if device.lower() in one.device.lower():
            return one
    names = "; ".join(one.device for one in measured)
    raise BadInput(
        f'no device "{device}" is known; there is {names}, and replicse benchmark measures this one'
    )
