"""Text of others as it may be shown: nothing in it steers a terminal or turns the order of what stands beside it."""

import re

# Control characters but tab and line feed, marks of writing direction, invisible format characters, lone surrogates.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return text without hidden characters; those that are white space become a space."""
    return HIDDEN.sub(lambda found: " " if found[0].isspace() else "", text)


def hidden_in(text: str) -> str:
    """Return the first hidden character of a text and its line, `U+202E in line 3`; blank where there is none."""
    found = HIDDEN.search(text.replace("\r\n", "\n"))
    return f"U+{ord(found[0]):04X} in line {text.count(chr(10), 0, found.start()) + 1}" if found else ""
