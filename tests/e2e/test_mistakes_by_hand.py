"""Planted mistakes from mistakes.yaml, in `plan` and in `validate`.

If the plan of an item reports a mistake, only this item is planned, which is faster.
"""

import pytest
from mistakes import BY_HAND, refused, refused_early, study, validated
from read_once import papers_read_once

__all__ = ["papers_read_once", "study"]  # fixtures


def test_what_nobody_planted_a_mistake_in_is_accepted(study):
    assert validated(study) == (0, "")
    assert validated(study, "config/compact.yaml") == (0, "")


@pytest.mark.parametrize("mistake", BY_HAND, ids=str)
@pytest.mark.usefixtures("papers_read_once")
def test_a_planted_mistake_is_refused(study, mistake):
    refused_early(study, mistake)


@pytest.mark.parametrize("mistake", [each for each in BY_HAND if each.item], ids=str)
@pytest.mark.usefixtures("papers_read_once")
def test_a_mistake_in_an_item_is_refused_by_validate(study, mistake):
    refused(study, mistake)


@pytest.mark.parametrize("mistake", BY_HAND[::5], ids=str)
def test_a_planted_mistake_is_refused_when_every_paper_is_read(study, mistake):
    refused(study, mistake)
