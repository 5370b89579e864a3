"""Where the numbers of a metric lie."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Range:
    """Where a metric lies; `whole` is that of a count."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def __str__(self) -> str:
        """Return it as an error says it."""
        what = "a whole number" if self.whole else "a finite number"
        ends = (("from", self.low), ("to", self.high))
        return " ".join([what, *(f"{word} {end:g}" for word, end in ends if math.isfinite(end))])

    def holds(self, value: Any) -> bool:
        """Return whether a value is such a number; rounding may lift one a millionth beyond a bound."""
        if type(value) not in (int, float) or not math.isfinite(value):
            return False
        return self.low - 1e-6 <= value <= self.high + 1e-6 and not (self.whole and value != int(value))


ANY, ABOVE, COUNT = Range(), Range(low=0), Range(low=0, whole=True)
PERCENTAGE, CORRELATION, COSINE, SHARE = Range(0, 100), Range(-100, 100), Range(-1, 1), Range(0, 1)
# Paths below the name of a suite, and where each number lies; None where a sentence stands.
# A `*` stands for a name that options or a scale give.
Metrics = Mapping[str, Range | None]


def metrics_in(range_: Range | None, *parts: Iterable[str]) -> dict[str, Range | None]:
    """Return the paths of one name out of each of several lists, all in one range."""
    return dict.fromkeys(map("/".join, product(*parts)), range_)
