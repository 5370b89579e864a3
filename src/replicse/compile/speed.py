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

# The factor by which hours may be wrong in either direction, with a published speed and with a measured one: steps of
# other shapes ran at 0.6 to 1.7 times the operations per second of the measured shape.
PUBLISHED, MEASURED = 2.0, 1.7
# Precisions of about the same speed, the most similar first.
LIKE: dict[Precision, tuple[Precision, ...]] = {
    "fp32": ("tf32",),
    "tf32": ("fp32",),
    "bf16": ("fp16",),
    "fp16": ("bf16",),
}


class Interval(NamedTuple):
    """Expected hours and their interval."""

    low: float
    expected: float
    high: float


class Speed(Checked):
    """The speed of a device.

    Args:
        device: the name.
        flops: operations per second by precision.
        when: the date of the measurement; empty for a published number.
        rates: rows of training per second by precision, if two were measured.
        shapes: the shapes of training steps that were measured.
    """

    device: Text
    flops: Flops
    when: str = ""
    commit: str = ""
    machine: dict[str, object] = {}
    rates: dict[str, Positive] = {}
    shapes: tuple[dict[str, object], ...] = ()

    def flops_in(self, precision: Precision) -> float:
        """Return the operations per second in a precision, else in the most similar one, else the slowest."""
        for name in (precision, *LIKE[precision]):
            if name in self.flops:
                return self.flops[name]
        return min(self.flops.values())

    def precisions(self, runs: Iterable[Run]) -> list[str]:
        """Return remarks on the speed of half precision, and on runs in the slower precision.

        An empty list if only one precision was measured.
        """
        if len(self.rates) < 2:
            return []
        half = next(name for name in self.rates if name != "fp32")
        remark = (
            f"{half} is {self.rates[half] / self.rates['fp32']:.2f} times as fast as fp32 on {self.device}"
        )
        best = max(self.rates, key=lambda name: self.rates[name])
        remarks = [remark]
        if any(run.precision != best for run in runs):
            remarks.append(f"write precision: {best} in the config to train faster; numbers change")
        return remarks

    def hours(self, operations: float, precision: Precision = "fp32") -> Interval:
        """Return the hours of operations in a precision."""
        return self.interval(operations / self.flops_in(precision) / 3600)

    def interval(self, hours: float) -> Interval:
        """Return expected hours with their interval."""
        factor = MEASURED if self.when else PUBLISHED
        return Interval(hours / factor, hours, hours * factor)


def speeds(study: Study) -> list[Speed]:
    """Return the known speeds: measurements of `replicse benchmark`, the newest first, then published ones."""
    stored = [_stored(file) for file in Path(study.paths.throughput()).glob("*.json")]
    published = [Speed(device=each.device, flops=each.flops) for each in study.scale.cost]
    return [*sorted(stored, key=lambda one: one.when, reverse=True), *published]


def _stored(file: Path) -> Speed:
    try:
        return Speed.of(read_json(file), str(file))
    except BadInput as error:
        raise BadInput(f"{error}; delete the file, and let replicse benchmark write it again") from None


def speed_of(study: Study, device: str = "") -> Speed:
    """Return the speed of a device.

    Args:
        study: the study, whose scale and results contain speeds.
        device: a part of the name; empty for the first known device.

    Raises:
        BadInput: if no device matches.
    """
    measured = speeds(study)
    for one in measured:
        if device.lower() in one.device.lower():
            return one
    names = "; ".join(one.device for one in measured)
    raise BadInput(
        f'no device "{device}" is known; there is {names}, and replicse benchmark measures this one'
    )
