"""Papers that are loaded again only if one of their files has changed.

Loading papers takes most of the time of compiling a study.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replicse.registry.registry import current
from replicse.spec import papers


def once_per_content(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that loads a file or folder again only if it changed.

    Errors are not cached.

    Args:
        load: Function that loads a path.
    """
    known: dict[Path, tuple] = {}

    def read(path: Path, *more: str) -> Any:
        files = sorted(path.rglob("*")) if path.suffix != ".yaml" else [path]
        # A paper in a workspace may use entries of plug-ins.
        entries = None if path.is_absolute() else current().entries
        state = [entries, *((file, file.read_bytes()) for file in files if file.is_file())]
        if known.get(path, (None,))[0] != state:
            known[path] = state, load(path, *more)
        return known[path][1]

    return read


READ_ONCE = {name: once_per_content(getattr(papers, name)) for name in ("load_paper", "load_item")}


@pytest.fixture
def papers_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load a paper or a table again only if one of the files has changed."""
    for name, load in READ_ONCE.items():
        monkeypatch.setattr(papers, name, load)
