"""The possible range of each metric."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Range:
    """The range of a metric.

    Args:
        low: The minimum. Default: minus infinity.
        high: The maximum. Default: infinity.
        whole: Whether the metric is an integer. Default: False.
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def __str__(self) -> str:
        """Return the range for error messages."""
        what = "a whole number" if self.whole else "a finite number"
        if math.isfinite(self.low):
            what += f" from {self.low:g}"
        if math.isfinite(self.high):
            what += f" to {self.high:g}"
        return what

    def holds(self, value: Any) -> bool:
        """Return whether a value is in the range, up to a rounding error of 1e-6.

        Args:
            value: The value; a bool or a string is not in any range.
        """
        if type(value) not in (int, float) or not math.isfinite(value):
            return False
        return self.low - 1e-6 <= value <= self.high + 1e-6 and not (self.whole and value != int(value))


ANY, ABOVE, COUNT = Range(), Range(low=0), Range(low=0, whole=True)
PERCENTAGE, CORRELATION, COSINE, SHARE = Range(0, 100), Range(-100, 100), Range(-1, 1), Range(0, 1)
# The range of each path below the name of a suite; None for paths of sentences.
# `*` matches a name that options or a scale specify.
Metrics = Mapping[str, Range | None]


def metrics_in(range_: Range | None, *parts: Iterable[str]) -> dict[str, Range | None]:
    """Combine a name of each list to metric paths with the same range.

    Args:
        range_: The range of all paths; None for sentences.
        parts: Lists of names, one for each part of the path.

    Returns:
        A dict from paths to the range.
    """
    return dict.fromkeys(map("/".join, product(*parts)), range_)


def check_metrics(metrics: Metrics, selects: Iterable[str]) -> None:
    """Check the metrics of a suite.

    Args:
        metrics: A dict from paths to ranges.
        selects: The metrics that can select a checkpoint, by the last part of their paths.

    Raises:
        ValueError: If a range is not a `Range` or None, or a selecting metric does not exist.
    """
    for path, limits in metrics.items():
        if limits is not None and not isinstance(limits, Range):
            raise ValueError(
                f'metric "{path}" has the range {limits!r}; import Range from replicse.registry.ranges and write'
                " Range(low, high)"
            )
    names = {path.rpartition("/")[2] for path in metrics}
    for name in selects:
        if name not in names:
            raise ValueError(
                f'selects has "{name}", which is not a metric; known: {", ".join(sorted(names))}'
            )
