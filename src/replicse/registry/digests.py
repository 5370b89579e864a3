"""The name of plain data: digits of the hash of its one spelling."""

import hashlib
import json
from typing import Any

# One for all: thousands of names are hashed, and making an encoder takes as long as a short text.
COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any, length: int = 12) -> str:
    """Return the first hexadecimal digits of the sha256 of sorted, space-free JSON; 1.0 reads as 1."""
    return hashlib.sha256(COMPACT.encode(tidy(value)).encode()).hexdigest()[:length]


def tidy(value: Any) -> Any:
    """Return plain data with numbers in one spelling: 1.0 -> 1, 3e-5 times 10 -> 3e-4, tuples -> lists."""
    if isinstance(value, dict):
        # Most of it is text, which stays as it is.
        return {str(key): entry if type(entry) is str else tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    if isinstance(value, float):
        value = float(format(value, ".12g"))
        return int(value) if value.is_integer() else value
    return value
