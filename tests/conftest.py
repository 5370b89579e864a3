"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from places import ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real public data; skips where it is absent."""
    folder = Path(os.environ.get("REPLICSE_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "SentEval" / "downstream").is_dir():
        pytest.skip("real data absent: set REPLICSE_DATA to a folder that holds SentEval/downstream")
    return folder
