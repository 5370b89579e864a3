"""Load and write pickle files of the user's own cache.

A file is a SHA-256 followed by the pickled value. The checksum detects damaged files. It does not protect against files
of other people, which can run code when they are loaded.
"""

import copyreg
import hashlib
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from replicse.errors import BadInput, Failed
from replicse.files import atomic_write

CHECKSUM = hashlib.sha256().digest_size


def read_only(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    """Return a read-only view of a dict."""
    return MappingProxyType(mapping)


def _reduce(mapping: Mapping[Any, Any]) -> Any:
    return read_only, (dict(mapping),)


# Python cannot pickle read-only mappings by itself.
copyreg.pickle(MappingProxyType, _reduce)


def load_pickle(file: Path) -> Any:
    """Load a pickle file.

    Args:
        file: the path.

    Returns:
        The value; None if the file does not exist or is broken.
    """
    # A file of another version of Python or a library can raise any exception.
    with suppress(Exception):
        content = file.read_bytes()
        checksum, pickled = content[:CHECKSUM], content[CHECKSUM:]
        if hashlib.sha256(pickled).digest() == checksum:
            return pickle.loads(pickled)
    return None


def write_pickle(file: Path, value: object) -> None:
    """Write a pickle file if the folder is writable.

    Args:
        file: the path.
        value: the value to pickle.
    """
    with suppress(OSError, Failed, BadInput), atomic_write(file) as temporary:
        pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        temporary.write_bytes(hashlib.sha256(pickled).digest() + pickled)


class Remembered:
    """A cache of the results of functions of a study.

    By default, results are only in memory. If the study is cached, they are also in files next to the study.

    Args:
        folder: the folder of the cached study. Default: None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._results: dict[str, Any] = {}

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return a cached result, or compute it.

        Args:
            name: the name of the result.
            compute: a function without arguments, called if neither the memory nor the folder contains the result.
        """
        if name not in self._results:
            file = self.folder and self.folder / f"{name}.pickle"
            result = load_pickle(file) if file else None
            if result is None:
                result = compute()
                if file:
                    write_pickle(file, result)
            self._results[name] = result
        return self._results[name]
