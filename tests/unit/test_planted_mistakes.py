"""Planted mistakes, about 150 of all: the others are planted by `make fuzz`."""

import pytest
from mistakes import MISTAKES, refused, stratified, stratum, study, validated

__all__ = ["study"]  # a fixture


def test_every_kind_of_mistake_is_among_those_that_are_planted_here():
    chosen = stratified(150)
    assert len(MISTAKES) >= 2000 and 120 <= len(chosen) <= 200
    assert {*map(stratum, chosen)} == {*map(stratum, MISTAKES)}


def test_what_nobody_planted_a_mistake_in_is_accepted(study):
    assert validated(study) == (0, "")
    assert validated(study, "config/compact.yaml") == (0, "")


@pytest.mark.parametrize("mistake", stratified(150), ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    refused(study, mistake)
