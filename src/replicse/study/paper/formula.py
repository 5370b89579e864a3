"""Formulas of printed numbers and columns: those of derived columns and of the running text."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


class Formula:
    """Sums, differences, products and quotients of numbers and of columns, which stand in braces."""

    def __init__(self, text: str) -> None:
        self.columns = tuple(dict.fromkeys(re.findall(r"\{([^{}]+)\}", text)))
        names = {name: f"c{place}" for place, name in enumerate(self.columns)}
        plain = re.sub(r"\{([^{}]+)\}", lambda found: names[found[1]], text)
        try:
            self._tree = ast.parse(plain, mode="eval").body
            self._value(self._tree, dict.fromkeys(names.values(), 1.0))
        except ZeroDivisionError:
            pass
        except (SyntaxError, ValueError, KeyError, RecursionError):
            raise ValueError("sums, differences, products and quotients of numbers and {column}") from None
        if not self.columns:
            raise ValueError("a formula with at least one {column}")

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the number for values by column; ZeroDivisionError where it divides by zero."""
        return self._value(self._tree, {f"c{place}": values[name] for place, name in enumerate(self.columns)})

    def _value(self, node: ast.expr, values: Mapping[str, float]) -> float:
        match node:
            case ast.BinOp() if type(node.op) in OPERATORS:
                return OPERATORS[type(node.op)](
                    self._value(node.left, values), self._value(node.right, values)
                )
            case ast.UnaryOp() if type(node.op) in OPERATORS:
                return OPERATORS[type(node.op)](self._value(node.operand, values))
            case ast.Name():
                return values[node.id]
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
        raise ValueError(node)
