"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_study
from hypothesis import settings
from places import CHECKOUT, ROOT, linked
from snakemake_runs import copied

from replicse.registry.plugins import use_plugins

# Tests can import the papers' methods, for example papers.diffcse.losses.
use_plugins([], ROOT / "workflow")

# Tests that only `make check` runs.
LONG = {"cluster", "e2e", "faults"}
# The slowest files start first, so that no process runs such a file alone at the end. A process with only two
# tests gets the next file at once, so a short file follows each slow file.
FIRST = (
    "test_slurm", "test_faults", "test_rehearsal", "test_wheel", "test_example_notebook", "test_device",
    "test_papers_run", "test_snakemake", "test_public_encoder", "test_kept_studies", "test_docs_commands",
    "test_study", "test_dag", "test_workspace", "test_golden_finish", "test_parts", "test_cli",
    "test_fidelity",
)  # fmt: skip

# No test asserts a time, so a loaded machine causes no failure.
settings.register_profile("without a deadline", deadline=None, max_examples=50)
settings.load_profile("without a deadline")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the long tests unless the command line names them."""
    name = collection_path.name
    return True if name in LONG and not any(name in word for word in config.args) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first; keep the order of all other tests."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(FIRST)))


@pytest.fixture(scope="session", autouse=True)
def _outside_of_the_checkout() -> None:
    """Create shared fixtures outside of the checkout, too."""
    os.chdir(ROOT)


@pytest.fixture(scope="session")
def of_all_processes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder that all processes of a test run share."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(autouse=True)
def _own_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, of_all_processes: Path
) -> None:
    """Run each test in a separate folder, without the results in the checkout.

    The tests share a cache, so that they leave the user's cache alone.
    """
    monkeypatch.chdir(linked(tmp_path_factory.mktemp("checkout")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(of_all_processes / "cache"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real public datasets; skip if it does not exist."""
    folder = Path(os.environ.get("REPLICSE_DATA") or CHECKOUT.parent / "shared" / "data")
    if not (folder / "SentEval" / "downstream").is_dir():
        pytest.skip("real data absent: set REPLICSE_DATA to a folder that holds SentEval/downstream")
    return folder


@pytest.fixture(scope="session")
def whole(of_all_processes: Path) -> Path:
    """Return the folder of the finished small study, shared and read-only.

    The first process of a test run creates it without any fault.
    """
    folder = of_all_processes / "whole"
    small_study.undisturbed(folder)
    return folder


@pytest.fixture(scope="session")
def undisturbed(whole: Path) -> dict[str, bytes]:
    """Return the results of the small study without any fault."""
    return small_study.results(whole)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the checkout without results."""
    return copied(tmp_path)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder filled by `replicse init`."""
    from replicse.cli import main

    monkeypatch.delenv("REPLICSE_WORKFLOW", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    yield tmp_path
    use_plugins([])
