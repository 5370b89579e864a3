"""Pickle files of what is expensive to compute again."""

import copyreg
import pickle
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from replicse.errors import BadInput, Failed
from replicse.files import atomic_write


def read_only(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    """Return a mapping that refuses changes."""
    return MappingProxyType(mapping)


def _reduce(mapping: Mapping[Any, Any]) -> Any:
    return read_only, (dict(mapping),)


# Python cannot pickle read-only mappings by itself.
copyreg.pickle(MappingProxyType, _reduce)


def load_pickle(file: Path) -> Any:
    """Load a pickle file; None if it does not exist or is broken."""
    # A broken file can raise any exception.
    with suppress(Exception):
        return pickle.loads(file.read_bytes())
    return None


def write_pickle(file: Path, value: object) -> None:
    """Write a pickle file if its folder can be written."""
    with suppress(OSError, Failed, BadInput), atomic_write(file) as temporary:
        temporary.write_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
