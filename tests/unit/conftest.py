"""Fixtures of the unit tests."""

from collections.abc import Iterator

import pytest
from read_once import papers_read_once

__all__ = ["papers_read_once"]


@pytest.fixture(autouse=True)
def _papers_read_once(papers_read_once: None) -> None:
    """Load the repository's papers once for all unit tests."""


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Use a single thread, because threads change the last digits of numbers."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Create a small data root with all evaluation datasets."""
    from replicse.world.world import write_world

    folder = tmp_path_factory.mktemp("world")
    write_world(folder, sentences=1200)
    return folder
