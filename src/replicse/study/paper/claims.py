"""Claims: sentences of a paper as relations between cells, and by how much a relation holds for given numbers."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from replicse.checked import Checked, Id, Number, Text
from replicse.errors import BadInput
from replicse.study.paper.protocols import listed

STRICT = (">", "<")
SIZES = {"number": 0, "difference": 2, "share": 2}


class Side(Checked):
    """One side of a relation: a number, each of some cells in turn, or one number made of several cells.

    `form` is number, each, difference (first - second), mean, share (100 * first / second) or pareto: the number
    of rows that no other row dominates, its cells being all alignments and then all uniformities, lower better.
    """

    form: Literal["number", "each", "difference", "mean", "share", "pareto"]
    cells: tuple[Text, ...] = ()
    number: Number = 0.0

    @model_validator(mode="after")
    def _has_its_cells(self) -> Self:
        wanted = SIZES.get(self.form)
        if (len(self.cells) != wanted) if wanted is not None else not self.cells:
            raise ValueError(f"{wanted if wanted is not None else 'some'} cells for {self.form}")
        return self

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


def _side(entry: object) -> object:
    """Return a side as written in claims.yaml, spelt out: 3, NAME, [NAME, ...], {mean: [...]}, {pareto: {...}}."""
    if isinstance(entry, int | float) and not isinstance(entry, bool):
        return {"form": "number", "number": entry}
    if isinstance(entry, str | list):
        return {"form": "each", "cells": [entry] if isinstance(entry, str) else entry}
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((form, cells),) = entry.items()
        if form == "pareto" and isinstance(cells, Mapping) and set(cells) == {"item", "column"}:
            if not all(isinstance(name, str) for name in cells.values()):
                raise ValueError("{pareto: {item: NAME, column: NAME}}")
            metrics = ("alignment", "uniformity")
            cells = [f"{cells['item']}/*/{cells['column']}/{metric}" for metric in metrics]
        return {"form": form, "cells": cells}
    return entry


class Relation(Checked):
    """`left op right`, where `>` asks for more than `margin` and `within` for at most `margin` in either direction."""

    left: Annotated[Side, BeforeValidator(_side)]
    op: Literal[">", ">=", "<", "<=", "within"]
    right: Annotated[Side, BeforeValidator(_side)]
    margin: Annotated[Number, Field(ge=0)] = 0.0
    over: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if not self.cells:
            raise ValueError("a cell on one side at least")
        if bool(self.over) != any("{}" in cell for cell in self.cells):
            raise ValueError("{} in a name where over is given, and only there")
        return self

    def each(self) -> Iterator["Relation"]:
        """Yield the relation for each word of `over`, which stands for `{}` in the names."""
        for word in self.over or ("",):
            sides = {
                name: side.model_copy(
                    update={"cells": tuple(cell.replace("{}", word) for cell in side.cells)}
                )
                for name, side in (("left", self.left), ("right", self.right))
            }
            yield self.model_copy(update={**sides, "over": ()})

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of both sides."""
        return self.left.cells + self.right.cells

    def pairs(self) -> Iterator["Relation"]:
        """Yield the relation for every cell of its lists: all of them must hold."""
        for left, right in itertools.product(_singles(self.left), _singles(self.right)):
            yield self.model_copy(update={"left": left, "right": right})

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
    return [Side(form="each", cells=(cell,)) for cell in side.cells] if side.form == "each" else [side]


class Claim(Checked):
    """A sentence of a paper and the relations it comes to, all of which must hold."""

    id: Id
    text: Text
    place: Text
    relations: Annotated[tuple[Relation, ...], Field(min_length=1)]
    note: str = ""
    _file: Path = PrivateAttr(default=Path())

    @property
    def paper(self) -> str:
        """Return the key of the paper."""
        return self._file.parent.name

    @property
    def name(self) -> str:
        """Return `paper/id`."""
        return f"{self.paper}/{self.id}"

    @property
    def where(self) -> str:
        """Return where a mistake in the claim stands."""
        return f"{self._file}: claim {self.id}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the names of all cells, each once, in order."""
        return tuple(dict.fromkeys(cell for relation in self.relations for cell in relation.cells))

    def parts(self) -> tuple[Relation, ...]:
        """Return the relations between single cells that the claim consists of."""
        return tuple(part for relation in self.relations for part in relation.pairs())


def load_claims(file: Path) -> tuple[Claim, ...]:
    """Return the claims of `papers/<paper>/claims.yaml`, names as written; none where there is no such file."""
    claims = []
    for claim in listed(file, Claim):
        written = tuple(each for relation in claim.relations for each in relation.each())
        claims.append(claim.model_copy(update={"relations": written}))
        claims[-1]._file = file
    ids = [claim.id for claim in claims]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice:
        raise BadInput(f'{file}: claim "{twice}" is given twice; ids must differ')
    return tuple(claims)
