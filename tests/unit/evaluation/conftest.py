"""What the tests of evaluation share."""

import pytest

from replicse.world.world import write_world


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A data root with all evaluation sets, small."""
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, sentences=1200)
    return folder
