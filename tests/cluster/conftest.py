"""What the tests of all schedulers share."""

import pytest
import small_study


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The results of the study as jobs of this machine."""
    return small_study.undisturbed(tmp_path_factory.mktemp("local"))
