"""Text as it may be shown: aligned columns, without characters that control a terminal."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

# The last of several columns is never narrower.
LEAST = 20
# Control characters but tab and line feed, marks of writing direction, invisible format characters, lone surrogates.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return text without hidden characters; those that are white space become a space."""
    return HIDDEN.sub(lambda match: " " if match[0].isspace() else "", text)


def hidden_in(text: str) -> str:
    """Return the first hidden character of a text and its line, `U+202E in line 3`; blank where there is none."""
    match = HIDDEN.search(text.replace("\r\n", "\n"))
    return f"U+{ord(match[0]):04X} in line {text.count(chr(10), 0, match.start()) + 1}" if match else ""


def several(count: int, what: str) -> str:
    """Return `1 cell` or `1,204 cells`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


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
