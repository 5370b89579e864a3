"""All planted mistakes."""

from pathlib import Path

import pytest
from mistakes import KINDS, MISTAKES, PAPERS, refused, study
from places import ROOT
from read_once import papers_read_once

__all__ = ["papers_read_once", "study"]  # fixtures


def test_there_are_enough_mistakes_of_every_kind():
    kinds = [*KINDS, "reported.csv"]
    planted_in = [name for mistake in MISTAKES for name in mistake.files]
    globs = {**KINDS, "reported.csv": f"{PAPERS}/*/reported.csv"}
    found = {kind: sum(Path(name).match(globs[kind]) for name in planted_in) for kind in kinds}
    if not (ROOT / KINDS["lock"]).exists():
        found.pop("lock")
    assert len(MISTAKES) >= 300 and min(found.values()) >= 10, found


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
@pytest.mark.usefixtures("papers_read_once")
def test_a_planted_mistake_is_refused(study, mistake):
    refused(study, mistake)


@pytest.mark.parametrize("mistake", MISTAKES[:: len(MISTAKES) // 45], ids=str)
def test_a_planted_mistake_is_refused_when_every_paper_is_read(study, mistake):
    refused(study, mistake)
