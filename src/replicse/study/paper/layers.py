"""Plain data laid over plain data: how a row stands over its table, a recipe over what it is like."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

# What an encoder is made from: a layer that names one of them leaves nothing of those below.
SOURCES = ("use", "backbone", "released", "vectors")
# What is one choice: a layer replaces it whole.
WHOLE = ("init", "head", "postprocess")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` with `above` laid over it: mappings are merged, everything else is replaced."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and key not in WHOLE
        result[key] = merged(old, value) if both else value
    return result


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an encoder is asked to be, from the lowest layer (the table's) to the highest (the cell's)."""
    return reduce(_over, layers, {})


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    if any(key in above for key in SOURCES):
        below = {key: entry for key, entry in below.items() if key not in SOURCES}
    return merged(below, above)


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping of plain data, outer ones first."""
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        yield from mappings(each)


def named_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files below the data root that mappings name, sorted; a part of a hub data set names its own."""
    named = (one.get(key) for one in values if "path" not in one for key in ("file", "files", "vocabulary"))
    return sorted({file for each in named if each for file in ([each] if isinstance(each, str) else each)})
