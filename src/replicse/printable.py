"""Format numbers, counts and aligned columns for people."""

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

MINUS = "−"
# The minimum width of the last column.
LEAST = 20
# The maximum number of names in a line.
SHOWN = 8


def minus(text: str) -> str:
    """Replace each hyphen in a formatted number with a minus sign."""
    return text.replace("-", MINUS)


def number(value: float, how: str = ".2f") -> str:
    """Format a number with a minus sign (U+2212).

    Args:
        value: The number.
        how: A format specification. Default: two decimals.
    """
    return minus(format(value, how))


def several(count: int, what: str) -> str:
    """Return a count and a noun, such as `1 cell` or `1,204 cells`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def standing(scale: str, comparable: bool) -> str:
    """Format a scale for a caption: `scale paper`, `micro: not comparable`."""
    return f"scale {scale}" if comparable else f"{scale}: not comparable"


def some(names: Sequence[str]) -> str:
    """Join the first names of a list and count the others."""
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
        rows: Lists of cells. A string is yielded unchanged.
        numbers: Indices of the columns to right-align. Default: no column.
        width: Maximum length of a line; the last column of a longer line is wrapped. Default: no limit.
        hang: Additional indentation of wrapped lines. Default: 0.

    Yields:
        Lines without a newline.
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
