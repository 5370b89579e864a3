"""The self-test of a device: every row at a tiny size on a CPU, and its checks fail on what they are there for."""

import sys
from contextlib import nullcontext

import pytest
import torch
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import self_test
from self_test import Extent, SelfTest

from replicse.objective import similarity
from replicse.objective.infonce import InfoNCE
from replicse.registry.terms import Term

# What a tiny encoder on a busy machine reaches is no matter here.
SPEED = (
    "rows a second / sentence-transformers",
    "model-flops utilisation",
    "share of a step that waits for its batch",
)


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    self_test.use_all_terms()
    return SelfTest(tmp_path_factory.mktemp("self-test"), torch.device("cpu"), Extent(1, 64, 8, 4, 5.0))


def test_a_cpu_passes_every_row_and_what_needs_a_gpu_says_so(tested):
    rows = {row.what: row for row in tested.rows()}
    assert len(rows) == 14
    skipped = {name for name, row in rows.items() if row.verdict == "skipped"}
    memory = "peak memory / sentence-transformers"
    assert {memory} <= skipped <= {memory, SPEED[0]}
    judged = {name: row for name, row in rows.items() if name not in skipped | {*SPEED}}
    assert {name: row.verdict for name, row in judged.items() if row.verdict != "ok"} == {}
    errors = rows[f"{len(Term.known())} loss terms in bf16 against fp64"].numbers
    assert set(errors["terms"]) == set(Term.known()) and not errors["left_out"]


def test_a_term_that_rounds_is_outside_and_named(tested, monkeypatch):
    loss = InfoNCE._loss

    def rounded(self, compared):
        return loss(self, [one.half().float() if one.dtype == torch.float32 else one for one in compared])

    monkeypatch.setattr(InfoNCE, "_loss", rounded)
    row = tested.terms("fp32")
    assert (row.verdict, row.note) == ("outside", "outside: infonce")


def test_similarities_that_are_products_in_half_precision_are_outside(tested, monkeypatch):
    monkeypatch.setattr(similarity, "full_precision", lambda device: nullcontext())
    row = tested.terms("bf16")
    assert row.verdict == "outside" and "infonce" in row.note and "ranking-consistency" in row.note
