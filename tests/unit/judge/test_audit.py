"""Test all findings on the shipped papers, and dataset sizes."""

from itertools import chain
from pathlib import Path

import pytest
from planned import WORKFLOW, shipped_audit

from replicse.data.sts import load_sts
from replicse.data.transfer import load_transfer
from replicse.files import read_rows
from replicse.judge.audit.audit_papers import audit, audit_plan
from replicse.spec.datasets import load_datasets

DATASETS = load_datasets(WORKFLOW)


@pytest.fixture(scope="module")
def shipped():
    return shipped_audit()[0]


@pytest.fixture(scope="module")
def findings():
    return shipped_audit()[1]


def test_every_finding_is_expected(findings):
    """The findings equal a list of findings checked in the papers.

    The reason of a finding is in the CSV file, or in claims.yaml for a claim.
    """
    expected = [
        tuple(row.values())[:4] for row in read_rows(Path(__file__).with_name("shipped_findings.csv"))
    ]
    found = []
    for one in findings:
        numbers = ("", "") if one.rule == "claim" else (one.printed, one.follows)
        found.append((one.cells[0], *numbers, one.certainty))
    assert sorted(found) == sorted(expected)


def test_a_cell_alone_has_the_findings_of_the_whole(shipped, findings):
    """A cell alone should have the same findings as in an audit of all papers.

    `why` only compiles items related to the cell. This is enough for all rules except notes on seeds of other
    papers.
    """
    described = chain.from_iterable(map(shipped.described, shipped.items))
    cells = {str(cell.id): cell for cell in described}
    for rule in ("equal", "text"):
        named = chain.from_iterable(one.cells for one in findings if one.rule == rule)
        name = next(name for name in named if name in cells)
        alone = audit_plan(WORKFLOW, cells[name])
        assert len(alone.items) < len(shipped.items) / 2
        found = [one for one in audit(alone) if name in one.cells]
        assert found == [one for one in findings if name in one.cells]


def test_sizes_are_those_of_the_data(real_data):
    for read in DATASETS.sizes:
        _, kind, task, split = read.split("/")
        if kind == "sts":
            subsets = {subset.name: len(subset.gold) for subset in load_sts(real_data, task, split)}
            parts = DATASETS.parts(read)
            assert list(parts.values()) == list(subsets.values()) if len(parts) == 1 else parts == subsets, (
                read
            )
        elif task in ("SST2", "TREC"):
            counted = len(load_transfer(real_data, task).splits[split].labels)
            assert sum(DATASETS.parts(read).values()) == counted, read
