"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from places import ROOT

# Minutes each: `make test-cluster`, `make test-faults`.
LONG = {"cluster", "faults"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the long tests out, except where they are asked for."""
    name = collection_path.name
    return True if name in LONG and not any(name in word for word in config.args) else None


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real public data; skips where it is absent."""
    folder = Path(os.environ.get("REPLICSE_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "SentEval" / "downstream").is_dir():
        pytest.skip("real data absent: set REPLICSE_DATA to a folder that holds SentEval/downstream")
    return folder
