"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from places import CHECKOUT, ROOT, linked
from snakemake_runs import copied

from replicse.registry.plugins import use_plugins

# Tests import the papers' methods, as papers.diffcse.losses.
use_plugins([], ROOT / "workflow")

# What `make check` runs.
LONG = {"cluster", "e2e", "faults"}

# No test asserts a time: a loaded machine is no failure.
settings.register_profile("without a deadline", deadline=None, max_examples=50)
settings.load_profile("without a deadline")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the long tests out, except where they are asked for."""
    name = collection_path.name
    return True if name in LONG and not any(name in word for word in config.args) else None


@pytest.fixture(scope="session", autouse=True)
def _outside_of_the_checkout() -> None:
    """Fixtures that several tests share are made outside of the checkout too."""
    os.chdir(ROOT)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test works in a folder of its own, which has no results, whatever was run in the checkout."""
    monkeypatch.chdir(linked(tmp_path_factory.mktemp("checkout")))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real public data; skips where it is absent."""
    folder = Path(os.environ.get("REPLICSE_DATA") or CHECKOUT.parent / "shared" / "data")
    if not (folder / "SentEval" / "downstream").is_dir():
        pytest.skip("real data absent: set REPLICSE_DATA to a folder that holds SentEval/downstream")
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout without results."""
    return copied(tmp_path)
