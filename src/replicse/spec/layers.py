"""Merge layers of data, and find the files that plain data name.

For example, the layer of a row is merged over the layer of a table.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from replicse.checked import Checked
from replicse.registry.corpora import CorpusFormat
from replicse.registry.entries import Entry

Layer = TypeVar("Layer", bound=Checked | dict[str, Any])
# Keys with one choice, like entries of the registry: a layer replaces the value instead of merging it.
WHOLE = ("init", "head")


def merge_layers(base: Layer, override: Any) -> Layer:
    """Merge the keys that `override` sets into `base`.

    Dicts and models are merged, other values are replaced.
    """
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
    """Yield every dict in plain data, outer dicts first."""
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from mappings(each)


def named_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files of the data root that dicts name, sorted.

    Parts of datasets of the hub are not included.
    """
    files: set[str] = set()
    for recipe in values:
        if "path" in recipe or _is_in_workspace(recipe):
            continue
        for key in ("file", "files", "vocabulary"):
            named = recipe.get(key)
            files.update([named] if isinstance(named, str) else named or ())
    return sorted(files - {""})


def workspace_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files of the working directory that dicts name, sorted.

    Only dicts that describe a corpus are used.
    """
    return sorted({recipe["file"] for recipe in values if _is_in_workspace(recipe)})


def _is_in_workspace(recipe: Mapping[str, Any]) -> bool:
    """Return whether plain data describe a corpus of the working directory."""
    return getattr(CorpusFormat.known().get(str(recipe.get("format"))), "in_workspace", False)
