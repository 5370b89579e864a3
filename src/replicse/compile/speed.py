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

# The factor by which hours may be wrong in either direction, with a published and with a measured speed: steps of
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
        device: the name of the device.
        flops: a dict from precisions to operations per second.
        when: the date of the measurement. Default: empty, for a published number.
        rates: a dict from precisions to training rows per second, if two were measured. Default: empty.
        shapes: the shapes of the measured training steps. Default: empty.
    """

    device: Text
    flops: Flops
    when: str = ""
    commit: str = ""
    machine: dict[str, object] = {}
    rates: dict[str, Positive] = {}
    shapes: tuple[dict[str, object], ...] = ()

    def flops_in(self, precision: Precision) -> float:
        """Return the operations per second in a precision.

        Args:
            precision: the precision. If it was not measured, the most similar precision is used, or else the slowest.
        """
        for name in (precision, *LIKE[precision]):
            if name in self.flops:
                return self.flops[name]
        return min(self.flops.values())

    def precisions(self, runs: Iterable[Run]) -> list[str]:
        """Return remarks on half precision, and on runs in slower precisions.

        Args:
            runs: the runs.

        Returns:
            A list of sentences; empty if fewer than two precisions were measured.
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
        """Return the hours of operations in a precision.

        Args:
            operations: the number of operations.
            precision: the precision. Default: "fp32".
        """
        return self.interval(operations / self.flops_in(precision) / 3600)

    def interval(self, hours: float) -> Interval:
        """Return expected hours with an interval.

        Args:
            hours: the expected hours.
        """
        factor = MEASURED if self.when else PUBLISHED
        return Interval(hours / factor, hours, hours * factor)


def speeds(study: Study) -> list[Speed]:
    """Return the known speeds.

    Measurements of `replicse benchmark` are first, sorted from newest to oldest, then published speeds.

    Args:
        study: the study, whose scale and results contain speeds.
    """
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
        device: a part of the name. Default: the first known device.

    Raises:
        BadInput: if no device matches.
    """
    measured = speeds(study)
    for one in measured:
        if device.lower() in one.device.lower():
            return one
    names = "; ".join(one.device for one in measured)
    raise BadInput(
        f'device "{device}" is unknown; known: {names}. Use replicse benchmark to measure this machine'
    )
