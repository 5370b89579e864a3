"""Planted mistakes that are written down, in the plan of an item where that finds them, else in `validate`."""

import pytest
from mistakes import BY_HAND, refused_early, study
from read_once import papers_read_once

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once", "study"]  # fixtures


@pytest.mark.parametrize("mistake", BY_HAND, ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    refused_early(study, mistake)
