"""Format a cell as text, such as `82.5 → 75.4 ±0.6 (−7.1) ▼`."""

from dataclasses import dataclass
from typing import Literal

from replicse.judge.verdicts.table import ABSENT, NOT_COMPARABLE, QUOTED, CellResult
from replicse.printable import minus
from replicse.registry.suites import unit_of
from replicse.show.content.numbers import (
    half_width,
    in_braces,
    rounded,
    rounding_of,
    signed,
    small,
)
from replicse.spec.printed import PrintedNumber, Rounding

ARROW = "→"
SYMBOLS = {
    "within seed spread": "≈",
    "higher": "▲",
    "lower": "▼",
    "equal": "=",
    "not equal": "≠",
    "undetermined": "?",
    NOT_COMPARABLE: "◇",
    "not run": "○",
    ABSENT: "–",
    "failed": "✗",
    QUOTED: "†",
}
MEANINGS = {
    "within seed spread": "The reported number is inside our 95% prediction interval for one more run.",
    "higher": "Ours is higher: the reported number is below the interval. A higher score is a mismatch too.",
    "lower": "Ours is lower: the reported number is above the interval.",
    "equal": "The number does not depend on a seed (a count, a released encoder), and ours rounds to the"
    " reported number.",
    "not equal": "The number does not depend on a seed, and ours differs from the reported number.",
    "undetermined": "There are fewer than three seeds and no published spread.",
    NOT_COMPARABLE: "The setting differs from the paper's, so the cell does not get a verdict. If the scale differs,"
    " only the caption of the table shows it.",
    "not run": "Planned, but at least one run is missing.",
    ABSENT: "The dataset is not part of this study, so the cell could not be evaluated. This is not a failure.",
    "failed": "A run that the cell needs failed, so the number is missing.",
    QUOTED: "The paper quotes the number from another source, so it is not reproduced or judged.",
}
Part = Literal["reported", "reproduced"]


@dataclass(frozen=True)
class Shown:
    """The parts of a formatted cell as strings.

    Attributes:
        reported: The published number. Default: "".
        reproduced: Our number. Default: "".
        spread: Half the width of an interval, or the values of the seeds if they are too few for an interval.
            Default: "".
        delta: The difference in brackets. Default: "".
        verdict: The verdict. Default: "".
        scale: The name of a scale other than the paper's, which is shown after the difference. Default: "".
        best: The numbers that are the best of the column: `reported`, `reproduced` or both. Default: ().
    """

    reported: str = ""
    reproduced: str = ""
    spread: str = ""
    delta: str = ""
    verdict: str = ""
    scale: str = ""
    best: tuple[Part, ...] = ()

    @property
    def word(self) -> str:
        """Return the verdict, or "" if the caption gives it."""
        if self.scale and self.verdict == NOT_COMPARABLE:
            return ""
        return self.verdict

    @property
    def symbol(self) -> str:
        """Return the symbol of the verdict, or "" without a verdict."""
        return SYMBOLS.get(self.word, "")

    @property
    def arrow(self) -> str:
        """Return the arrow between the two numbers, or "" if one is missing."""
        return ARROW if self.reported and self.reproduced else ""

    @property
    def numbers(self) -> str:
        """Return both numbers, such as `82.5 → 75.4`, or the only one."""
        return _joined(self.reported, self.arrow, self.reproduced)

    @property
    def detail(self) -> str:
        """Return spread and difference, such as `±0.6 (−7.1)`."""
        return _joined(self.spread, self.delta)

    @property
    def wide(self) -> tuple[str, ...]:
        """Return the details that use a separate line in a stacked cell."""
        if self.scale or self.spread.startswith("{"):
            return tuple(filter(None, (self.delta, self.spread)))
        return ()

    @property
    def text(self) -> str:
        """Return the whole cell, such as `82.5 → 75.4 ±0.6 (−7.1) ▼`."""
        return _joined(self.numbers, self.detail, self.symbol)


def show(cell: CellResult | None, *, scale: str = "", quoted: bool = False) -> Shown:
    """Format a judged cell.

    Args:
        cell: The cell; None returns empty parts.
        scale: Name of the study's scale if it is not the paper's scale; the cell then shows no verdict. Default: "".
        quoted: Whether the paper quotes the number from elsewhere; then only the reported number is shown. Default:
            False.

    Returns:
        The parts of the cell as text.
    """
    if cell is None:
        return Shown()
    reported = ""
    printed: PrintedNumber | None = None
    if cell.reported:
        reported, printed = cell.reported.value.strip(), cell.reported.number
    if printed:
        reported = minus(reported)
    if quoted:
        return Shown(reported=reported, verdict=cell.shown_verdict(not scale, quoted))
    rounding = rounding_of(printed, cell.reproduced or 0)
    if printed is None and unit_of(cell.metric_path) == "count":
        rounding = Rounding(0, commas=True)
    reproduced, delta = cell.text, ""
    if cell.reproduced is not None:
        reproduced = rounded(cell.reproduced, rounding)
    if cell.delta is not None:
        delta = f"({_joined(signed(cell.delta, rounding), scale)})"
    return Shown(
        reported=reported,
        reproduced=reproduced,
        spread=_spread(cell, rounding),
        delta=delta,
        verdict=cell.shown_verdict(not scale),
        scale=scale,
    )


def _spread(cell: CellResult, rounding: Rounding) -> str:
    """Format half the width of the interval, or the seeds if too few."""
    if cell.seedless:
        return ""
    if cell.few:
        return in_braces(rounded(value, rounding) for value in cell.few)
    spread = half_width(cell.low, cell.high)
    if spread is None:
        return ""
    return f"±{small(spread, rounding)}" + "*" * cell.borrowed


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))
