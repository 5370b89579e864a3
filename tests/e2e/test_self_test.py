"""The self-test of a device: every row at a tiny size on a CPU, and its checks fail on what they are there for."""

import sys
from contextlib import nullcontext

import pytest
import torch
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import self_test
from pretended import pretended_gpu
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
    assert len(rows) == 17
    skipped = {name for name, row in rows.items() if row.verdict == "skipped"}
    on_gpu = {
        "peak memory / sentence-transformers",
        "a step in fp16 with loss scaling against fp32",
        "20 steps in fp16: skipped",
        f"{len(Term.known())} loss terms in tf32 against fp64",
    }
    assert on_gpu <= skipped <= {*on_gpu, SPEED[0]}
    judged = {name: row for name, row in rows.items() if name not in skipped | {*SPEED}}
    assert {name: row.verdict for name, row in judged.items() if row.verdict != "ok"} == {}
    errors = rows[f"{len(Term.known())} loss terms in bf16 against fp64"].numbers
    assert set(errors["terms"]) == set(Term.known()) and not errors["left_out"]


def test_a_term_that_rounds_is_outside_and_named(tested, monkeypatch):
    loss = InfoNCE._compute_loss

    def rounded(self, compared):
        return loss(self, [one.half().float() if one.dtype == torch.float32 else one for one in compared])

    monkeypatch.setattr(InfoNCE, "_compute_loss", rounded)
    row = tested.terms("fp32")
    assert (row.verdict, row.note) == ("outside", "outside: infonce")


def test_similarities_that_are_products_in_half_precision_are_outside(tested, monkeypatch):
    monkeypatch.setattr(similarity, "full_precision", lambda device: nullcontext())
    row = tested.terms("bf16")
    assert row.verdict == "outside" and "infonce" in row.note and "ranking-consistency" in row.note


def test_a_gpu_trains_in_fp16_with_loss_scaling_and_gradients_that_stay_scaled_are_outside(
    tmp_path, monkeypatch
):
    with pretended_gpu():
        tested = SelfTest(tmp_path, torch.device("cuda"), Extent(1, 64, 8, 4, 5.0))
        rows = list(tested.loss_scaling())
        assert [row.verdict for row in rows] == ["ok", "ok"]
        assert rows[0].numbers["value"] > 1e-5, "fp16 rounds"
        # Gradients that are never divided by the scale are large, and clipped with it.
        monkeypatch.setattr(torch.amp.GradScaler, "unscale_", lambda *_: None)
        assert next(iter(tested.loss_scaling())).verdict == "outside"
