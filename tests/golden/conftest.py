"""Golden files: rendered text, compared byte for byte.

`pytest tests/golden --update-golden` accepts the new text.
"""

from pathlib import Path

import pytest
from read_once import papers_read_once

from replicse.judge.values import record_measurements
from replicse.spec.record import Record

__all__ = ["papers_read_once"]

FOLDER = Path(__file__).with_name("expected")


@pytest.fixture(autouse=True)
def _papers_read_once(papers_read_once):
    """Load the papers of the repository once, because most tests use them."""


@pytest.fixture(autouse=True)
def _no_shipped_record(monkeypatch):
    """Use an empty record, so that a new source changes no golden file."""
    monkeypatch.setattr(record_measurements, "load_record", lambda workflow: Record())


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request):
    """Return a function that compares a text with a golden file.

    If --update-golden is set, the function writes the file instead.
    """
    update = request.config.getoption("--update-golden", default=False)

    def check(name, text):
        path = FOLDER / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"no golden file {name}: run pytest tests/golden --update-golden and read it"
        assert text == path.read_bytes().decode(), f"{name} differs: read the difference before you accept it"

    return check
