"""Claims: sentences of a paper as relations between cells, and by how much a relation holds for given numbers."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from replicse.checked import Checked, Id, Number, Text
from replicse.errors import BadInput
from replicse.study.paper.protocols import listed

STRICT = (">", "<")
SIZES = {"number": 0, "difference": 2, "share": 2, "change": 2}


class Side(Checked):
    """One side of a relation: a number, each of some cells in turn, or one number made of several cells.

    `form` is number, each, difference (first - second), mean, share (100 * first / second), change (their difference
    in percent of the second), wins (the percentage of rows whose first column is above the second), or one of two that
    compare rows by their alignments and their uniformities, lower better. pareto: how many rows no other row dominates.
    dominance: of the pairs in which one row dominates the other, the percentage in which it has the higher score too,
    scores being the last third of the cells (SimCSE section 7).
    """

    form: Literal["number", "each", "difference", "mean", "share", "change", "wins", "pareto", "dominance"]
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
            case "share" | "change":
                share = 100 * values[0] / values[1] if values[1] else math.nan
                return share if self.form == "share" else share - 100
            case "wins":
                rows = _columns(values, 2)
                return 100 * sum(first > second for first, second in rows) / len(rows)
            case "pareto":
                return float(_undominated(_columns(values, 2)))
            case "dominance":
                return _concordant(_columns(values, 3))
            case _:
                return values[0]

    def of_cells(self, values: Mapping[str, float]) -> float:
        """Return the side's number for values by cell."""
        return self.value([values[cell] for cell in self.cells])

    def half_digit(self, values: Sequence[float], halves: Sequence[float]) -> float:
        """Return how far rounding of the cells can have moved the number, at most."""
        match self.form:
            case "mean":
                return math.fsum(halves) / len(halves)
            case "share" | "change":
                moved = halves[0] + abs(values[0] / values[1]) * halves[1] if values[1] else math.nan
                return 100 * moved / abs(values[1]) if values[1] else math.nan
            case "number" | "wins" | "pareto" | "dominance":
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
            case "change":
                return f"(100 * {self.cells[0]} / {self.cells[1]} - 100)"
            case "mean":
                return f"mean({', '.join(self.cells)})"
            case "wins":
                paper, item, _, first, *_ = self.cells[0].split("/")
                return f"% of rows of {paper}/{item} where {first} is above {self.cells[-1].split('/')[3]}"
            case "pareto":
                paper, item, _, column, *_ = self.cells[0].split("/")
                return f"rows on the Pareto front of {paper}/{item}, {column}"
            case "dominance":
                paper, item, *_ = self.cells[0].split("/")
                return f"% of pairs of {paper}/{item} whose better row in both scores higher"
            case _:
                return ", ".join(self.cells)


def _columns(values: Sequence[float], count: int) -> list[tuple[float, ...]]:
    """Return the rows of as many columns as `count`, which stand one behind the other."""
    height = len(values) // count
    return list(zip(*(values[place * height :][:height] for place in range(count)), strict=True))


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether a row is at least as good in alignment and uniformity, and better in one; lower is better."""
    return one[:2] != other[:2] and one[0] <= other[0] and one[1] <= other[1]


def _undominated(rows: Sequence[Sequence[float]]) -> int:
    return sum(not any(_dominates(other, row) for other in rows) for row in rows)


def _concordant(rows: Sequence[Sequence[float]]) -> float:
    higher = [one[2] > other[2] for one, other in itertools.permutations(rows, 2) if _dominates(one, other)]
    return 100 * sum(higher) / len(higher) if higher else math.nan


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
        if form == "wins" and not (isinstance(cells, list) and len(cells) == 2):
            raise ValueError("{wins: [ONE COLUMN, ANOTHER COLUMN]}")
        if form == "dominance" and not (isinstance(cells, list) and len(cells) == 3):
            raise ValueError("{dominance: [ALIGNMENTS, UNIFORMITIES, SCORES]}")
        return {"form": form, "cells": cells}
    return entry


class Relation(Checked):
    """`left op right`, where `>` asks for more than `margin` and `within` for at most `margin` in either direction.

    `up to` is what "by up to 14%" says, and means one thing wherever it stands: nothing on the left lies beyond the
    number, and the farthest of them reaches it, both to the rounding of the printed number, which is the margin.
    """

    left: Annotated[Side, BeforeValidator(_side)]
    op: Literal[">", ">=", "<", "<=", "within", "up to"]
    right: Annotated[Side, BeforeValidator(_side)]
    margin: Annotated[Number, Field(ge=0)] = 0.0
    over: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if not self.cells:
            raise ValueError("a cell on one side at least")
        if bool(self.over) != any("{}" in cell for cell in self.cells):
            raise ValueError("{} in a name where over is given, and only there")
        if self.op == "up to" and (self.right.form != "number" or not self.margin):
            raise ValueError("a number on the right of up to, and half a unit of its last digit as margin")
        return self

    def each(self) -> Iterator["Relation"]:
        """Yield the relation for each word of `over`, in the place of `{}`; `up to` speaks of all words at once."""
        words = self.over or ("",)
        for some in [words] if self.op == "up to" else [(word,) for word in words]:
            sides = {
                name: side.model_copy(
                    update={"cells": tuple(cell.replace("{}", word) for word in some for cell in side.cells)}
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
        if self.op == "up to":
            yield self
            return
        for left, right in itertools.product(_singles(self.left), _singles(self.right)):
            yield self.model_copy(update={"left": left, "right": right})

    def lefts(self) -> list[Side]:
        """Return the left side, or the several that `up to` takes the farthest of."""
        if self.op != "up to":
            return [self.left]
        size, cells = SIZES.get(self.left.form, 1), self.left.cells
        return [
            self.left.model_copy(update={"cells": cells[start : start + size]})
            for start in range(0, len(cells), size)
        ]

    def numbers(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the number of either side for values by cell."""
        lefts, right = ([side.of_cells(values) for side in sides] for sides in (self.lefts(), [self.right]))
        return (max if right[0] >= 0 else min)(lefts), right[0]

    def slack(self, left: float, right: float) -> float:
        """Return by how much the relation holds, negative where it fails, without binary noise."""
        gap = {">": left - right, "<": right - left}.get(self.op[0], -abs(left - right))
        return round(gap - self.margin if self.op[0] in STRICT else gap + self.margin, 10)

    def __str__(self) -> str:
        if self.op == "within":
            return f"{self.left} within {self.margin:g} of {self.right}"
        if self.op == "up to":
            first, *others = self.lefts()
            more = f" and {len(others)} more" if others else ""
            return f"{first}{more} up to {self.right} ± {self.margin:g}"
        sign = "+" if self.op[0] == ">" else "-"
        return f"{self.left} {self.op} {self.right}" + (f" {sign} {self.margin:g}" if self.margin else "")


def _singles(side: Side) -> list[Side]:
    return [Side(form="each", cells=(cell,)) for cell in side.cells] if side.form == "each" else [side]


class Claim(Checked):
    """A sentence of a paper and the relations it comes to, all of which must hold.

    A sentence that can be read in several ways (a "%" that is percent or points) has `readings`, each with its own
    relations beside the common ones; it needs one reading under which all of it holds. `untested` says what of the
    sentence no cell holds, so that nothing supports all of it; `against` says what else in print contradicts it
    where no relation can: another sentence, or what a table prints or leaves out.
    """

    id: Id
    text: Text
    place: Text
    relations: tuple[Relation, ...] = ()
    readings: dict[Id, Annotated[tuple[Relation, ...], Field(min_length=1)]] = {}
    untested: str = ""
    against: str = ""
    note: str = ""
    _file: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _is_testable(self) -> Self:
        if not (self.relations or self.readings or self.untested or self.against):
            raise ValueError("relations, readings, untested, or against")
        if len(self.readings) == 1:
            raise ValueError("two readings, or relations alone")
        return self

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
        groups = (self.relations, *self.readings.values())
        return tuple(dict.fromkeys(cell for group in groups for each in group for cell in each.cells))

    def parts(self) -> dict[str, tuple[Relation, ...]]:
        """Return by reading the relations between single cells that it consists of; one without a name if alone."""
        return {
            name: tuple(part for each in (*self.relations, *own) for part in each.pairs())
            for name, own in (self.readings or {"": ()}).items()
        }

    def changed(self, change: Callable[[Relation], Iterable[Relation]]) -> "Claim":
        """Return the claim with each relation replaced by what `change` makes of it."""

        def new(relations: Iterable[Relation]) -> tuple[Relation, ...]:
            return tuple(made for each in relations for made in change(each))

        readings = {name: new(own) for name, own in self.readings.items()}
        return self.model_copy(update={"relations": new(self.relations), "readings": readings})


def load_claims(file: Path) -> tuple[Claim, ...]:
    """Return the claims of `papers/<paper>/claims.yaml`, names as written; none where there is no such file."""
    claims = []
    for claim in listed(file, Claim):
        claims.append(claim.changed(Relation.each))
        claims[-1]._file = file
    ids = [claim.id for claim in claims]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice:
        raise BadInput(f'{file}: claim "{twice}" is given twice; ids must differ')
    return tuple(claims)
