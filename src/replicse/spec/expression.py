"""Arithmetic expressions with names of numbers.

They compute derived columns, numbers of the running text, and the sides of claims.
"""

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
NAME = re.compile(r"\{((?:[^{}]|\{\})+)\}")
EXPECTED = "sums, differences, products and quotients of numbers and {name}, or mean, wins, pareto or dominance of them"


def _mean(*columns: Sequence[float]) -> float:
    numbers = [*itertools.chain(*columns)]
    if not numbers:
        raise ValueError("a mean of an empty list")
    return math.fsum(numbers) / len(numbers)


def _wins(ones: Sequence[float], others: Sequence[float]) -> float:
    return 100 * sum(one > other for one, other in zip(ones, others, strict=True)) / len(ones)


def _pareto(alignments: Sequence[float], uniformities: Sequence[float]) -> float:
    rows = list(zip(alignments, uniformities, strict=True))
    front = 0
    for row in rows:
        if not any(_dominates(other, row) for other in rows):
            front += 1
    return float(front)


def _dominance(alignments: Sequence[float], uniformities: Sequence[float], scores: Sequence[float]) -> float:
    rows = list(zip(alignments, uniformities, scores, strict=True))
    higher = [one[2] > other[2] for one, other in itertools.permutations(rows, 2) if _dominates(one, other)]
    if not higher:
        return math.nan
    return 100 * sum(higher) / len(higher)


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether a row dominates another row; lower numbers are better."""
    return one[:2] != other[:2] and one[0] <= other[0] and one[1] <= other[1]


def _item(column: Sequence[str]) -> str:
    return "/".join(column[0].split("/")[:2])


def _head(column: Sequence[str]) -> str:
    return column[0].split("/")[3]


def _wins_words(one: Sequence[str], other: Sequence[str]) -> str:
    """Describe `wins`, which compares columns by row or rows by column."""
    if _head(one) != _head(other):
        return f"% of rows of {_item(one)} where {_head(one)} is above {_head(other)}"
    first, second = (column[0].split("/")[2] for column in (one, other))
    return f"% of columns of {_item(one)} where {first}, as the claim counts it, is above {second}"


# Functions that compare rows, and their descriptions.
ROWS: dict[str, tuple[Callable[..., float], Callable[..., str]]] = {
    "wins": (_wins, _wins_words),
    "pareto": (_pareto, lambda one, other: f"rows on the Pareto front of {_item(one)}, {_head(one)}"),
    "dominance": (
        _dominance,
        lambda one, other, scores: f"% of pairs of {_item(one)} whose better row in both scores higher",
    ),
}


class Expression:
    """Arithmetic on numbers and names, and functions of columns.

    A name is in braces, and a column is a `{name}` or a list of names.

    `mean(...)` is the mean of all arguments; `wins(one, other)` the percentage of rows with a larger number in the
    first column, or of positions in two lists; `pareto(alignments, uniformities)` the number of rows that no other row
    dominates, lower is better; `dominance(alignments, uniformities, scores)` the percentage of pairs with a dominating
    row in which this row also has the higher score (SimCSE section 7).

    Args:
        text: the expression, such as "({sst} + {paraphrase}) / 2".

    Raises:
        ValueError: if the text is not an expression; the error describes the expected form.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: tuple[str, ...] = tuple(dict.fromkeys(NAME.findall(text)))
        self._places = {f"c{place}": name for place, name in enumerate(self.names)}
        places = {name: place for place, name in self._places.items()}
        try:
            self._tree = ast.parse(NAME.sub(lambda match: places[match[1]], text), mode="eval").body
            self(dict.fromkeys(self.names, 1.0))
        except ZeroDivisionError:
            pass
        except (SyntaxError, TypeError, ValueError, KeyError):
            raise ValueError(EXPECTED) from None

    def __call__(self, values: Mapping[str, float]) -> float:
        """Compute the expression.

        Args:
            values: a dict from names to numbers.

        Raises:
            ZeroDivisionError: if the expression divides by zero.
        """
        if self.single:
            return values[self.names[0]]
        return _number(_value(self._tree, {place: values[name] for place, name in self._places.items()}))

    @property
    def single(self) -> bool:
        """Return whether the expression is a single name."""
        return isinstance(self._tree, ast.Name)

    @property
    def _function(self) -> str:
        """Return the name of the function; empty for arithmetic."""
        function = getattr(self._tree, "func", None)
        return function.id if isinstance(function, ast.Name) else ""

    @property
    def compares_rows(self) -> bool:
        """Return whether the expression compares rows.

        Each column should have the same order of rows.
        """
        return self._function in ROWS

    @property
    def linear(self) -> bool:
        """Return whether the expression is linear.

        In a linear expression names are not multiplied by each other and are not divisors.
        """
        if self.compares_rows:
            return False
        for node in ast.walk(self._tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
                is_divided = isinstance(node.op, ast.Div)
                if self._below(node.right) and (is_divided or self._below(node.left)):
                    return False
        return True

    def replace_names(self, change: Callable[[str], str]) -> "Expression":
        """Return the expression with other names.

        Args:
            change: a function that returns the string for a name; it replaces the braces too.
        """
        return Expression(NAME.sub(lambda match: change(match[1]), self.text))

    def rounding_error(self, values: Mapping[str, float], halves: Mapping[str, float]) -> float:
        """Compute the largest error of the result from rounding the numbers.

        The result is assumed to be monotonic in each number within the rounding. Comparisons of rows have no error.

        Args:
            values: a dict from names to numbers.
            halves: a dict from names to the largest rounding error of each number.
        """
        if self.compares_rows:
            return 0.0
        result = self(values)
        highest, lowest = {}, {}
        for name in self.names:
            change = self({**values, name: values[name] + halves[name]}) - result
            sign = math.copysign(1.0, change)
            highest[name] = values[name] + sign * halves[name]
            lowest[name] = values[name] - sign * halves[name]
        return max(abs(self(highest) - result), abs(self(lowest) - result))

    def operands(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the names on either side of each binary operation.

        The operations are sums, differences, products and quotients.
        """
        for node in ast.walk(self._tree):
            if isinstance(node, ast.BinOp):
                yield self._below(node.left), self._below(node.right)

    def _below(self, node: ast.AST) -> list[str]:
        return [
            self._places[each.id]
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and each.id in self._places
        ]

    def __str__(self) -> str:
        if self.compares_rows:
            return ROWS[self._function][1](*filter(None, map(self._below, ast.iter_child_nodes(self._tree))))
        plain = NAME.sub(r"\1", self.text)
        return f"({plain})" if isinstance(self._tree, ast.BinOp) else plain


def _value(node: ast.AST, values: Mapping[str, float]) -> Any:
    """Return the number of a node, or the numbers of a list."""
    match node:
        case ast.BinOp() if type(node.op) in OPERATORS:
            left, right = (_number(_value(side, values)) for side in (node.left, node.right))
            return OPERATORS[type(node.op)](left, right)
        case ast.UnaryOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](_number(_value(node.operand, values)))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name == "mean" or name in ROWS:
            columns = [_column(_value(each, values)) for each in node.args]
            return _mean(*columns) if name == "mean" else ROWS[name][0](*columns)
        case ast.List():
            return [_number(_value(each, values)) for each in node.elts]
        case ast.Name():
            return values[node.id]
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
    raise ValueError(node)


def _number(value: Any) -> float:
    if isinstance(value, list):
        raise ValueError("a list outside of a function")
    return value


def _column(value: Any) -> list[float]:
    return value if isinstance(value, list) else [value]
