"""Format numbers, counts and aligned columns for people."""

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

MINUS = "−"
# The minimum width of the last column.
LEAST = 20
# The maximum number of names in a line.
SHOWN = 8


def minus(text: str) -> str:
    """Replace hyphens by minus signs.

    Args:
        text: A number as a string.
    """
    return text.replace("-", MINUS)


def number(value: float, how: str = ".2f") -> str:
    """Format a number with a minus sign.

    Args:
        value: The number.
        how: A format specification. Default: two decimals.
    """
    return minus(format(value, how))


def several(count: int, what: str) -> str:
    """Format a count with a noun.

    Args:
        count: The count.
        what: The noun in the singular.

    Returns:
        A string such as "1 cell" or "1,204 cells".
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def standing(scale: str, comparable: bool) -> str:
    """Return the scale for a caption.

    Args:
        scale: The name of the scale.
        comparable: Whether its numbers can be compared with published numbers.

    Returns:
        A string such as "scale paper" or "micro: not comparable".
    """
    return f"scale {scale}" if comparable else f"{scale}: not comparable"


def some(names: Sequence[str]) -> str:
    """Join the first eight names of a list, with the number of other names.

    Args:
        names: A list of names.
    """
    text = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        text += f" and {len(names) - SHOWN} more"
    return text


def columns(
    rows: Iterable[Sequence[str] | str],
    numbers: Collection[int] = (),
    width: int | None = None,
    hang: int = 0,
) -> Iterator[str]:
    """Yield rows as lines with aligned columns.

    Args:
        rows: A list of rows of cells. A string instead of a row is a line.
        numbers: The indices of columns that are right-aligned. Default: none.
        width: The maximum width, at which the last column is wrapped. Default: no limit.
        hang: The additional indentation of wrapped lines. Default: 0.
    """
    rows = list(rows)
    cells = [row for row in rows if not isinstance(row, str)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in rows:
        if isinstance(row, str):
            yield row
            continue
        padded = []
        for place, (text, most) in enumerate(zip(row, widths, strict=True)):
            padded.append(text.rjust(most) if place in numbers else text.ljust(most))
        line = "  ".join(padded).rstrip()
        if width is None or len(line) <= width:
            yield line
            continue
        start = "".join(f"{text}  " for text in padded[:-1])
        below = " " * (len(start) + hang)
        room = max(width, len(below) + LEAST)
        yield from textwrap.wrap(
            row[-1],
            room,
            initial_indent=start,
            subsequent_indent=below,
            break_long_words=False,
            break_on_hyphens=False,
        )
