"""Stable hashes of JSON-like data."""

import hashlib
import json
from typing import Any

# Shared, because thousands of names are hashed and creating an encoder takes as long as encoding a short text.
COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any, length: int = 12) -> str:
    """Return the first hex digits of the SHA-256 of sorted, compact JSON.

    Numbers are normalised: 1.0 and 1 have the same digest.
    """
    return hashlib.sha256(COMPACT.encode(tidy(value)).encode()).hexdigest()[:length]


def tidy(value: Any) -> Any:
    """Return JSON-like data with normalised numbers, and lists for tuples.

    1.0 becomes 1, and 3e-5 times 10 becomes 3e-4.
    """
    if isinstance(value, dict):
        return {str(key): tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    if isinstance(value, float):
        value = float(format(value, ".12g"))
        return int(value) if value.is_integer() else value
    return value
