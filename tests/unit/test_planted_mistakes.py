"""Planted mistakes, one of each kind: the others are planted by `make check`."""

import pytest
from mistakes import BY_HAND, MADE, kind_of, refused, study, validated

__all__ = ["study"]  # a fixture


def test_what_nobody_planted_a_mistake_in_is_accepted(study):
    assert validated(study) == (0, "")
    assert validated(study, "config/compact.yaml") == (0, "")


@pytest.mark.parametrize("mistake", [*BY_HAND, *{kind_of(each): each for each in MADE}.values()], ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    refused(study, mistake)
