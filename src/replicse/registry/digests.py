"""Stable hashes of JSON-like data."""

import hashlib
import json
from typing import Any

# Shared, because thousands of names are hashed and creating an encoder takes as long as encoding a short text.
COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any, length: int = 12) -> str:
    """Compute the first hex digits of the SHA-256 of sorted, compact JSON.

    Numbers are normalised: 1.0 and 1 have the same digest.

    Args:
        value: JSON-like data.
        length: The number of digits. Default: 12.
    """
    # Vocabularies of characters contain surrogates.
    text = COMPACT.encode(tidy(value)).encode(errors="surrogatepass")
    return hashlib.sha256(text).hexdigest()[:length]


def tidy(value: Any) -> Any:
    """Normalise the numbers in JSON-like data.

    1.0 becomes 1, and 3e-5 times 10 becomes 3e-4.

    Args:
        value: Dicts, lists, tuples, strings and numbers.

    Returns:
        The data with strings as keys, and lists instead of tuples.
    """
    if isinstance(value, dict):
        return {str(key): tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(entry) for entry in value]
    if isinstance(value, float):
        value = float(format(value, ".12g"))
        return int(value) if value.is_integer() else value
    return value
