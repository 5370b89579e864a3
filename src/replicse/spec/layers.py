"""Merge layers of dicts and models; list the files in dicts.

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
    """Merge the keys of `override` into `base`.

    Dicts and models are merged, other values are replaced.

    Args:
        base: a dict or a model.
        override: a dict or a model of the same kind.

    Returns:
        A new dict or model of the kind of `base`.
    """
    old, new = _entries(base), _entries(override)
    changed = {key: _merge_value(key, old.get(key), value) for key, value in new.items()}
    layer: Any = base.replace(**changed) if isinstance(base, Checked) else {**old, **changed}
    return layer


def _merge_value(key: str, old: Any, new: Any) -> Any:
    if key in WHOLE or isinstance(new, Entry):
        return new
    are_dicts = isinstance(new, Mapping) and isinstance(old, Mapping)
    are_models = isinstance(new, Checked) and isinstance(old, type(new))
    return merge_layers(old, new) if are_dicts or are_models else new


def _entries(layer: Any) -> dict[str, Any]:
    """Return a dict of the keys in a layer, without defaults."""
    return layer.entries() if isinstance(layer, Checked) else dict(layer)


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every dict in nested dicts and lists, outer dicts first.

    Args:
        value: JSON-like data.
    """
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from mappings(each)


def named_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files of the data root in dicts, sorted.

    Parts of hub datasets are not included.

    Args:
        values: dicts, such as the recipes of corpora.
    """
    files: set[str] = set()
    for recipe in values:
        if "path" in recipe or _is_in_workspace(recipe):
            continue
        for key in ("file", "files", "vocabulary"):
            named = recipe.get(key) or ()
            files.update([named] if isinstance(named, str) else named)
    return sorted(files - {""})


def workspace_files(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the files of the working directory in dicts, sorted.

    Args:
        values: dicts; only descriptions of a corpus are used.
    """
    return sorted({recipe["file"] for recipe in values if _is_in_workspace(recipe)})


def _is_in_workspace(recipe: Mapping[str, Any]) -> bool:
    """Return whether a dict describes a corpus of the working directory."""
    return getattr(CorpusFormat.known().get(str(recipe.get("format"))), "in_workspace", False)
