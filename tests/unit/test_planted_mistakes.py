"""A planted mistake for each file; `make check` plants all mistakes."""

import pytest
from mistakes import BY_HAND, refused_early, study

__all__ = ["study"]  # a fixture

BY_FILE = {next(iter(each.files)): each for each in reversed(BY_HAND) if not each.late}


@pytest.mark.parametrize("mistake", BY_FILE.values(), ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    refused_early(study, mistake)
