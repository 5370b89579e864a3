"""Claims: sentences of a paper as relations between cells, and by how much a relation holds for given numbers."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, InstanceOf, PrivateAttr, model_validator

from replicse.checked import Checked, Id, Number, Text, checked_entries
from replicse.errors import BadInput, check_known
from replicse.spec.expression import Expression

STRICT = (">", "<")


def _side(entry: object) -> object:
    """Return the expressions of a side as written in claims.yaml."""
    entries = entry if isinstance(entry, list) else [entry]
    if not entries or not all(isinstance(each, str | int | float) for each in entries):
        raise ValueError('a number, a cell, an expression such as "{NAME} - {NAME}", or a list of these')
    return tuple(map(_expression, entries))


def _expression(entry: str | float) -> Expression:
    """Return the expression of a number, of the name of a cell, or of a text with names in braces."""
    if isinstance(entry, str) and "{" not in entry.replace("{}", ""):
        entry = f"{{{entry}}}"
    return Expression(str(entry))


Written = Number | Text
Side = Annotated[
    tuple[InstanceOf[Expression], ...],
    BeforeValidator(_side, json_schema_input_type=Written | tuple[Written, ...]),
]


class Relation(Checked):
    """`left op right`, where `>` asks for more than `margin` and `within` for at most `margin` in either direction.

    A side is an expression, or several, for each of which the relation must hold. `up to` is what "by up to 14%" says,
    and means one thing wherever it is: nothing on the left lies beyond the number, and the farthest of them
    reaches it, both to the rounding of the printed number, which is the margin.
    """

    left: Side
    op: Literal[">", ">=", "<", "<=", "within", "up to"]
    right: Side
    margin: Annotated[Number, Field(ge=0)] = 0.0
    over: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if not self.cells:
            raise ValueError("a cell on one side at least")
        if bool(self.over) != any("{}" in cell for cell in self.cells):
            raise ValueError("{} in a name where over is given, and only there")
        if self.op == "up to" and (len(self.right) > 1 or self.right[0].names or not self.margin):
            raise ValueError("a number on the right of up to, and half a unit of its last digit as margin")
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of both sides."""
        return tuple(name for side in (*self.left, *self.right) for name in side.names)

    def changed(self, change: Callable[[Expression], Iterable[Expression]]) -> "Relation":
        """Return the relation with each expression replaced by those that `change` makes of it."""
        left, right = (tuple(itertools.chain(*map(change, side))) for side in (self.left, self.right))
        return self.model_copy(update={"left": left, "right": right})

    def each(self) -> Iterator["Relation"]:
        """Yield the relation for each word of `over`, in the place of `{}`; `up to` speaks of all words at once."""
        words = self.over or ("",)
        for some in [words] if self.op == "up to" else [(word,) for word in words]:

            def with_words(side: Expression, some: Sequence[str] = some) -> Iterator[Expression]:
                texts = dict.fromkeys(side.text.replace("{}", word) for word in some)
                return map(Expression, texts)

            yield self.changed(with_words).model_copy(update={"over": ()})

    def pairs(self) -> Iterator["Relation"]:
        """Yield the relation for every two of its expressions: all of them must hold."""
        if self.op == "up to":
            yield self
            return
        for left, right in itertools.product(self.left, self.right):
            yield self.model_copy(update={"left": (left,), "right": (right,)})

    def numbers(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the number of either side for values by cell, the farthest of several; NaN for a share of zero."""
        try:
            lefts, right = [side(values) for side in self.left], self.right[0](values)
        except ZeroDivisionError:
            return math.nan, math.nan
        return (max if right >= 0 else min)(lefts), right

    def slack(self, left: float, right: float) -> float:
        """Return by how much the relation holds, negative where it fails, without binary noise."""
        gap = {">": left - right, "<": right - left}.get(self.op[0], -abs(left - right))
        return round(gap - self.margin if self.op[0] in STRICT else gap + self.margin, 10)

    def __str__(self) -> str:
        left, *others = self.left
        right = ", ".join(map(str, self.right))
        if self.op == "within":
            return f"{left} within {self.margin:g} of {right}"
        if self.op == "up to":
            more = f" and {len(others)} more" if others else ""
            return f"{left}{more} up to {right} ± {self.margin:g}"
        sign = "+" if self.op[0] == ">" else "-"
        return f"{left} {self.op} {right}" + (f" {sign} {self.margin:g}" if self.margin else "")


class Claim(Checked):
    """A sentence of a paper and the relations it comes to, all of which must hold.

    A sentence that can be read in several ways (a "%" that is percent or points) has `readings`, each with its own
    relations besides the common ones; it needs one reading under which all of it holds. `untested` is what of the
    sentence no cell holds, so that nothing supports all of it; `against` says what else in print contradicts it
    where no relation can: another sentence, or what a table prints or leaves out. `contradicts` names claims of other
    papers, as `paper/id`, that speak of the same thing and say otherwise; one of the two names the other.
    """

    id: Id
    text: Text
    place: Text
    relations: tuple[Relation, ...] = ()
    readings: dict[Id, Annotated[tuple[Relation, ...], Field(min_length=1)]] = {}
    untested: str = ""
    against: str = ""
    note: str = ""
    contradicts: tuple[Text, ...] = ()
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
    def location(self) -> str:
        """Return where a mistake in the claim is."""
        return f"{self._file}: claim {self.id}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the names of all cells, each once, in order."""
        groups = (self.relations, *self.readings.values())
        return tuple(dict.fromkeys(cell for group in groups for each in group for cell in each.cells))

    def parts(self) -> dict[str, tuple[Relation, ...]]:
        """Return by reading the relations between single cells that it consists of; one without a name if alone."""
        return {
            name: tuple(part for each in (*self.relations, *reading) for part in each.pairs())
            for name, reading in (self.readings or {"": ()}).items()
        }

    def changed(self, change: Callable[[Relation], Iterable[Relation]]) -> "Claim":
        """Return the claim with each relation replaced by what `change` makes of it."""

        def new(relations: Iterable[Relation]) -> tuple[Relation, ...]:
            return tuple(made for each in relations for made in change(each))

        readings = {name: new(reading) for name, reading in self.readings.items()}
        return self.model_copy(update={"relations": new(self.relations), "readings": readings})


def load_claims(file: Path) -> tuple[Claim, ...]:
    """Return the claims of `papers/<paper>/claims.yaml`, names as written; none where there is no such file."""
    claims = tuple(claim.changed(Relation.each) for claim in checked_entries(file, Claim))
    for claim in claims:
        claim._file = file
    return claims


def contradictions(claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return by the name of a claim those that it contradicts, whichever of the two says so.

    BadInput names a claim that is not there, and one of the same paper.
    """
    by_name = {claim.name: claim for claim in claims}
    found: dict[str, dict[str, None]] = {}
    for claim, other in ((each, other) for each in by_name.values() for other in each.contradicts):
        check_known(other, by_name, f'{claim.location}: contradicts "{other}", no claim')
        if by_name[other].paper == claim.paper:
            raise BadInput(
                f'{claim.location}: contradicts "{other}" of the same paper; name one of another paper'
            )
        found.setdefault(claim.name, {})[other] = None
        found.setdefault(other, {})[claim.name] = None
    return {name: tuple(others) for name, others in found.items()}
