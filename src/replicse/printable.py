"""Text as it is shown: numbers, counts and aligned columns."""

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

MINUS = "−"
# The last of several columns is never narrower.
LEAST = 20
# Of names in a line so many are shown.
SHOWN = 8


def minus(text: str) -> str:
    """Return a number as text with a true minus sign."""
    return text.replace("-", MINUS)


def number(value: float, how: str = ".2f") -> str:
    """Return a number by a format, two decimals without one, with a true minus sign."""
    return minus(format(value, how))


def several(count: int, what: str) -> str:
    """Return `1 cell` or `1,204 cells`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def standing(scale: str, comparable: bool) -> str:
    """Return what a caption says of a scale: `scale paper`, or `micro: not comparable`."""
    return f"scale {scale}" if comparable else f"{scale}: not comparable"


def some(names: Sequence[str]) -> str:
    """Return the first few of some names, and how many more there are."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def columns(
    rows: Iterable[Sequence[str] | str],
    numbers: Collection[int] = (),
    width: int | None = None,
    hang: int = 0,
) -> Iterator[str]:
    """Yield rows as lines whose columns are as wide as their widest text; those at `numbers` are aligned at the right.

    A text instead of a row is a line of its own. With a `width` the last column wraps below itself, `hang` deeper.
    """
    rows = list(rows)
    widths = [
        max(map(len, column))
        for column in zip(*(row for row in rows if not isinstance(row, str)), strict=True)
    ]
    for row in rows:
        if isinstance(row, str):
            yield row
            continue
        padded = [
            text.rjust(most) if place in numbers else text.ljust(most)
            for place, (text, most) in enumerate(zip(row, widths, strict=True))
        ]
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
