"""Planted mistakes, one for each file and kind of file: the others are planted by `make check`."""

import pytest
from mistakes import BY_HAND, MADE, kind_of, refused_early, study

__all__ = ["study"]  # a fixture

BY_FILE = {next(iter(each.files)): each for each in reversed(BY_HAND) if not each.late}
BY_KIND = {kind_of(each): each for each in MADE}


@pytest.mark.parametrize("mistake", [*BY_FILE.values(), *BY_KIND.values()], ids=str)
def test_a_planted_mistake_is_refused(study, mistake):
    refused_early(study, mistake)
