"""All planted mistakes that are made from the files."""

import pytest
from mistakes import BY_HAND, KINDS, MADE, kind_of, refused, study, validated
from read_once import papers_read_once

__all__ = ["papers_read_once", "study"]  # fixtures


def test_there_are_enough_mistakes_in_every_kind_of_file():
    kinds = list(map(kind_of, MADE))
    assert len(MADE) >= 1000 and min(map(kinds.count, KINDS)) >= 10


def test_what_nobody_planted_a_mistake_in_is_accepted(study):
    assert validated(study) == (0, "")
    assert validated(study, "config/compact.yaml") == (0, "")


@pytest.mark.parametrize("mistake", [*MADE, *(each for each in BY_HAND if each.item)], ids=str)
@pytest.mark.usefixtures("papers_read_once")
def test_a_planted_mistake_is_refused(study, mistake):
    refused(study, mistake)


@pytest.mark.parametrize("mistake", BY_HAND[::5], ids=str)
def test_a_planted_mistake_is_refused_when_every_paper_is_read(study, mistake):
    refused(study, mistake)
