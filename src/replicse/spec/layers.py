"""Layers of data: how a row extends its table, a recipe what it is like."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from replicse.checked import Checked
from replicse.registry.corpora import CorpusFormat
from replicse.registry.entries import Entry

Layer = TypeVar("Layer", bound=Checked | dict[str, Any])
# What is one choice, as every entry of a registry is: a layer replaces it whole.
WHOLE = ("init", "head")


def merge_layers(base: Layer, override: Any) -> Layer:
    """Merge the keys that `override` sets into `base`: dicts and models are merged, other values replaced."""
    old, new = _entries(base), _entries(override)
    changed = {key: _merge_value(key, old.get(key), value) for key, value in new.items()}
    layer: Any = base.replace(**changed) if isinstance(base, Checked) else {**old, **changed}
    return layer


def _merge_value(key: str, old: Any, new: Any) -> Any:
    alike = isinstance(new, Mapping) and isinstance(old, Mapping)
    alike = alike or (isinstance(new, Checked) and isinstance(old, type(new)))
    return merge_layers(old, new) if alike and key not in WHOLE and not isinstance(new, Entry) else new


def _entries(layer: Any) -> dict[str, Any]:
    """Return the keys and values that a layer sets, without defaults."""
    return layer.entries() if isinstance(layer, Checked) else dict(layer)


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping of plain data, outer ones first."""
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        yield from mappings(each)


def named_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files below the data root that mappings name, sorted; a part of a hub data set names its own."""
    below = (one for one in values if "path" not in one and not _in_workspace(one))
    named = (one.get(key) for one in below for key in ("file", "files", "vocabulary"))
    return sorted({file for each in named if each for file in ([each] if isinstance(each, str) else each)})


def workspace_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files of the working directory that corpora among some mappings are read from, sorted."""
    return sorted({one["file"] for one in values if _in_workspace(one)})


def _in_workspace(one: Mapping[str, Any]) -> bool:
    return getattr(CorpusFormat.known().get(str(one.get("format"))), "in_workspace", False)
