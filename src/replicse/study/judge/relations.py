"""Relations: a number, cells or one number made of several cells on either side, and by how much they hold."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

STRICT = (">", "<")


@dataclass(frozen=True)
class Side:
    """One side of a relation: a number, each of some cells in turn, or one number made of several cells.

    `form` is number, each, difference (first - second), mean, share (100 * first / second) or pareto: the number
    of rows that no other row dominates, its cells being all alignments and then all uniformities, lower better.
    """

    form: str
    cells: tuple[str, ...] = ()
    number: float = 0.0

    def value(self, values: Sequence[float]) -> float:
        """Return the side's number; `values` are those of its cells."""
        match self.form:
            case "number":
                return self.number
            case "difference":
                return values[0] - values[1]
            case "mean":
                return math.fsum(values) / len(values)
            case "share":
                return 100 * values[0] / values[1] if values[1] else math.nan
            case "pareto":
                half = len(values) // 2
                return float(_undominated(list(zip(values[:half], values[half:], strict=True))))
            case _:
                return values[0]

    def half_digit(self, values: Sequence[float], halves: Sequence[float]) -> float:
        """Return how far rounding of the cells can have moved the number, at most."""
        match self.form:
            case "mean":
                return math.fsum(halves) / len(halves)
            case "share":
                moved = halves[0] + abs(values[0] / values[1]) * halves[1] if values[1] else math.nan
                return 100 * moved / abs(values[1]) if values[1] else math.nan
            case "number" | "pareto":
                return 0.0
            case _:
                return math.fsum(halves)

    def __str__(self) -> str:
        match self.form:
            case "number":
                return f"{self.number:g}"
            case "difference":
                return f"({self.cells[0]} - {self.cells[1]})"
            case "share":
                return f"(100 * {self.cells[0]} / {self.cells[1]})"
            case "mean":
                return f"mean({', '.join(self.cells)})"
            case "pareto":
                paper, item, _, column, *_ = self.cells[0].split("/")
                return f"rows on the Pareto front of {paper}/{item}, {column}"
            case _:
                return ", ".join(self.cells)


def _undominated(points: Sequence[tuple[float, float]]) -> int:
    """Return how many points no other point dominates; lower is better on both axes."""
    return sum(
        not any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)
        for point in points
    )


@dataclass(frozen=True)
class Relation:
    """`left op right`, where `>` asks for more than `margin` and `within` for at most `margin` in either direction."""

    left: Side
    op: str
    right: Side
    margin: float = 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of both sides."""
        return self.left.cells + self.right.cells

    def pairs(self) -> Iterator["Relation"]:
        """Yield the relation for every cell of its lists: all of them must hold."""
        for left, right in itertools.product(_singles(self.left), _singles(self.right)):
            yield replace(self, left=left, right=right)

    def slack(self, left: float, right: float) -> float:
        """Return by how much the relation holds, negative where it fails, without binary noise."""
        gap = {">": left - right, "<": right - left}.get(self.op[0], -abs(left - right))
        return round(gap + self.margin if self.op == "within" else gap - self.margin, 10)

    def __str__(self) -> str:
        if self.op == "within":
            return f"{self.left} within {self.margin:g} of {self.right}"
        sign = "+" if self.op[0] == ">" else "-"
        return f"{self.left} {self.op} {self.right}" + (f" {sign} {self.margin:g}" if self.margin else "")


def _singles(side: Side) -> list[Side]:
    return [Side("each", (cell,)) for cell in side.cells] if side.form == "each" else [side]
