"""Claims: sentences of a paper as relations between cells.

The slack of a relation is computed from numbers.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, InstanceOf, PrivateAttr, model_validator

from replicse.checked import Checked, Id, Number, Text, UserMessage, checked_entries, excerpt
from replicse.errors import BadInput, check_known, nearest
from replicse.spec.expression import Expression

Comparison = Literal[">", ">=", "<", "<=", "within", "up to"]
COMPARISONS: tuple[str, ...] = get_args(Comparison)
STRICT = (">", "<")
# What others write for the comparisons.
SPELLINGS = {
    "=>": ">=", "≥": ">=", "⩾": ">=", "=<": "<=", "≤": "<=", "⩽": "<=", "==": "within", "=": "within", "≈": "within",
    "~": "within", "+-": "within", "±": "within", "above": ">", "below": "<",
}  # fmt: skip


def _side(entry: object) -> object:
    """Parse the expressions of a side in claims.yaml."""
    entries = entry if isinstance(entry, list) else [entry]
    if not entries or not all(isinstance(each, str | int | float) for each in entries):
        raise ValueError('a number, a cell, an expression such as "{NAME} - {NAME}", or a list of these')
    return tuple(map(_expression, entries))


def _expression(entry: str | float) -> Expression:
    """Parse a number, the name of a cell, or a string with names in braces."""
    if isinstance(entry, str) and "{" not in entry.replace("{}", ""):
        entry = f"{{{entry}}}"
    return Expression(str(entry))


Written = Number | Text
Side = Annotated[
    tuple[InstanceOf[Expression], ...],
    BeforeValidator(_side, json_schema_input_type=Written | tuple[Written, ...]),
]


def _check_comparison(value: object) -> object:
    """Return a comparison; UserMessage with all of them if it is another."""
    if value in COMPARISONS:
        return value
    near = nearest(SPELLINGS.get(str(value), value), COMPARISONS)
    hint = near if near.startswith("; did") else ""
    raise UserMessage(f"{excerpt(value)} is not one of {', '.join(COMPARISONS)}{hint}")


class Relation(Checked):
    """A relation `left op right`.

    `>` requires a difference of more than `margin`, `within` a difference of at most `margin` in either direction. A
    side is an expression, or a list of expressions that should all satisfy the relation. `up to` means "by up to 14%":
    no number on the left exceeds the number on the right, and the largest number reaches it, both within the rounding
    of the reported number, which is the margin.

    Attributes:
        left: an expression in cells, or a list of them. The relation must hold for each.
        op: the comparison. `within` allows a difference in either direction, `up to` names the largest of several
            numbers.
        right: an expression in cells, or a list of them.
        margin: the difference that `>` must exceed, or that `within` allows.
        over: the texts that replace `{}` in the names of cells. The relation must hold for each.
    """

    left: Side
    op: Annotated[Comparison, BeforeValidator(_check_comparison)]
    right: Side
    margin: Annotated[Number, Field(ge=0)] = 0.0
    over: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if not self.cells:
            raise ValueError("a cell on the left or right")
        if bool(self.over) != any("{}" in cell for cell in self.cells):
            raise ValueError("{} in a name if over is given, and only then")
        if self.op == "up to" and (len(self.right) > 1 or self.right[0].names or not self.margin):
            raise ValueError("a number on the right of up to, and half a unit of the last digit as margin")
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells of both sides."""
        return tuple(name for side in (*self.left, *self.right) for name in side.names)

    def replace_expressions(self, change: Callable[[Expression], Iterable[Expression]]) -> "Relation":
        """Replace the expressions on both sides.

        Args:
            change: a function that returns the new expressions of an expression.
        """
        left = tuple(itertools.chain.from_iterable(map(change, self.left)))
        right = tuple(itertools.chain.from_iterable(map(change, self.right)))
        return self.model_copy(update={"left": left, "right": right})

    def each(self) -> Iterator["Relation"]:
        """Yield the relation for each word of `over`, which replaces `{}`.

        `up to` is a single relation with all words.
        """
        words = self.over or ("",)
        groups: list[tuple[str, ...]] = [(word,) for word in words]
        if self.op == "up to":
            groups = [words]
        for some in groups:

            def with_words(side: Expression, some: Sequence[str] = some) -> Iterator[Expression]:
                texts = dict.fromkeys(side.text.replace("{}", word) for word in some)
                return map(Expression, texts)

            yield self.replace_expressions(with_words).model_copy(update={"over": ()})

    def pairs(self) -> Iterator["Relation"]:
        """Yield the relation for every pair of expressions.

        The relation is true if it is true for all pairs.
        """
        if self.op == "up to":
            yield self
            return
        for left, right in itertools.product(self.left, self.right):
            yield self.model_copy(update={"left": (left,), "right": (right,)})

    def numbers(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Compute both sides.

        Args:
            values: a dict from cells to values.

        Returns:
            The left and the right side. The left side is the extreme of several expressions. Both sides are NaN after
            a division by zero.
        """
        try:
            lefts, right = [side(values) for side in self.left], self.right[0](values)
        except ZeroDivisionError:
            return math.nan, math.nan
        left = max(lefts) if right >= 0 else min(lefts)
        return left, right

    def slack(self, left: float, right: float) -> float:
        """Compute the margin by which the relation is true; negative if false.

        The result is rounded to remove binary noise.

        Args:
            left: the value of the left side.
            right: the value of the right side.
        """
        gap = {">": left - right, "<": right - left}.get(self.op[0], -abs(left - right))
        if self.op[0] in STRICT:
            return round(gap - self.margin, 10)
        return round(gap + self.margin, 10)

    def __str__(self) -> str:
        left, *others = self.left
        right = ", ".join(map(str, self.right))
        if self.op == "within":
            return f"{left} within {self.margin:g} of {right}"
        if self.op == "up to":
            more = f" and {len(others)} more" if others else ""
            return f"{left}{more} up to {right} ± {self.margin:g}"
        if not self.margin:
            return f"{left} {self.op} {right}"
        sign = "+" if self.op[0] == ">" else "-"
        return f"{left} {self.op} {right} {sign} {self.margin:g}"


class Claim(Checked):
    """A sentence of a paper with relations that should all be true.

    An ambiguous sentence ("%" can mean percent or points) has `readings`, each with relations in addition to the
    common relations; the sentence counts as supported if it is true under one reading. `untested` is the part of the
    sentence that no cell measures, so the sentence is never fully supported; `against` is another contradiction in the
    paper, such as another sentence or a missing number. `contradicts` is a list of claims of other papers, as
    `paper/id`, that state the opposite; it is enough if one of the two claims lists the other.

    Attributes:
        id: the id of the claim.
        text: the sentence of the paper.
        place: the place in the paper.
        relations: the relations that must all hold.
        readings: further relations of each reading of an ambiguous sentence, by name.
        untested: the part of the sentence that no cell measures.
        against: another contradiction in the paper, such as a missing number.
        note: a remark for readers of the file.
        contradicts: the claims of other papers that state the opposite, as `paper/id`.
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
        """Return the location of the claim for errors."""
        return f"{self._file}: claim {self.id}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the names of all cells, in order, without duplicates."""
        groups = (self.relations, *self.readings.values())
        relations = itertools.chain.from_iterable(groups)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(each.cells for each in relations)))

    def parts(self) -> dict[str, tuple[Relation, ...]]:
        """Return the relations between single expressions by reading.

        Returns:
            A dict from readings to relations; the key is "" if there is only one reading.
        """
        parts = {}
        for name, reading in (self.readings or {"": ()}).items():
            relations = (*self.relations, *reading)
            parts[name] = tuple(itertools.chain.from_iterable(each.pairs() for each in relations))
        return parts

    def replace_relations(self, change: Callable[[Relation], Iterable[Relation]]) -> "Claim":
        """Replace the relations of the claim.

        Args:
            change: a function that returns the new relations of a relation.
        """

        def new(relations: Iterable[Relation]) -> tuple[Relation, ...]:
            return tuple(itertools.chain.from_iterable(map(change, relations)))

        readings = {name: new(reading) for name, reading in self.readings.items()}
        return self.model_copy(update={"relations": new(self.relations), "readings": readings})


def load_claims(file: Path) -> tuple[Claim, ...]:
    """Load the claims of `papers/<paper>/claims.yaml`.

    The names of cells are not resolved.

    Args:
        file: the path of claims.yaml.

    Returns:
        The claims; empty if the file does not exist.
    """
    claims = tuple(claim.replace_relations(Relation.each) for claim in checked_entries(file, Claim))
    for claim in claims:
        claim._file = file
    return claims


def contradictions(claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return the contradictions between claims, in both directions.

    Args:
        claims: the claims of all papers.

    Returns:
        A dict from the name of a claim to the names of the claims that it contradicts.

    Raises:
        BadInput: if a claim lists a claim of the same paper or a claim that does not exist.
    """
    by_name = {claim.name: claim for claim in claims}
    found: dict[str, dict[str, None]] = {}
    for claim in by_name.values():
        for other in claim.contradicts:
            check_known(other, by_name, f'{claim.location}: contradicts "{other}", which is not a claim')
            if by_name[other].paper == claim.paper:
                problem = f'contradicts "{other}" of the same paper; use a claim of another paper'
                raise BadInput(f"{claim.location}: {problem}")
            found.setdefault(claim.name, {})[other] = None
            found.setdefault(other, {})[claim.name] = None
    return {name: tuple(others) for name, others in found.items()}
