"""Planted mistakes, one of each kind: the others are planted by `make check`."""

import pytest
from mistakes import BY_HAND, MADE, kind_of, refused, study

__all__ = ["study"]  # a fixture


EARLY = [each for each in BY_HAND if not each.late]


@pytest.mark.parametrize("mistake", [*EARLY, *{kind_of(each): each for each in MADE}.values()], ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    scale = "micro" if "workflow/scales/micro.yaml" in mistake.files else "paper"
    refused(study, mistake, *(["plan", *mistake.item.split(), "--scale", scale] if mistake.item else []))
