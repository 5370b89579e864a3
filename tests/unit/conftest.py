"""Fixtures of the unit tests."""

import pytest
from read_once import papers_read_once

__all__ = ["papers_read_once"]


@pytest.fixture(autouse=True)
def _papers_read_once(papers_read_once: None) -> None:
    """Most tests read the papers of the repository; that changed files are read, `make check` holds without this."""
