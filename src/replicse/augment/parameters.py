"""Checks of augmentation parameters; an error names the parameter, its value and what was expected."""

from collections.abc import Sequence
from typing import Any

from replicse.errors import BadInput, nearest


def fraction(augmentation: str, parameter: str, value: Any, above_zero: bool = False) -> float:
    """Return `value` as a number from 0 to 1 (0 excluded where `above_zero`); raises BadInput."""
    expected = f"a number {'above 0 and at most 1' if above_zero else 'from 0 to 1'}"
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not 0 <= value <= 1 or (above_zero and value == 0):
        raise BadInput(f"augmentation {augmentation}: {parameter} is {value!r}; expected {expected}")
    return float(value)


def count(augmentation: str, parameter: str, value: Any) -> int:
    """Return `value` as a whole number of at least 1; raises BadInput."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(
            f"augmentation {augmentation}: {parameter} is {value!r}; expected a whole number of at least 1"
        )
    return value


def choice(augmentation: str, parameter: str, value: Any, known: Sequence[str]) -> str:
    """Return `value` if it is one of `known`; raises BadInput."""
    if value not in known:
        raise BadInput(
            f"augmentation {augmentation}: {parameter} is {value!r}; expected one of {', '.join(known)}"
            f"{nearest(value, known) if isinstance(value, str) else ''}"
        )
    return value
