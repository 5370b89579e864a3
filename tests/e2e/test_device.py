"""The device rehearsal: every row at a tiny size on a CPU.

Each check should fail if the mistake that it looks for is present.
"""

import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import product

import pytest
import torch
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import rehearsal
from device_checks import DeviceChecks
from pretended import pretended_gpu
from rehearsal import Rehearsal
from step_rates import Shape, StepRates

from replicse.compile.speed import Speed
from replicse.objective import similarity
from replicse.objective.infonce import InfoNCE
from replicse.registry.terms import Term
from replicse.training.parts import Parts
from replicse.training.state import RunState

# The speed of a tiny encoder on a busy machine is not judged here.
SPEED = (
    "rows a second / sentence-transformers",
    "model-flops utilisation",
    "share of a step that waits for its batch",
)
TINY = replace(
    rehearsal.ON_CPU,
    peer=Shape(1, 64, 8),
    steps=4,
    seconds=5.0,
    shapes=(Shape(1, 64, 8), Shape(2, 64, 8, 4)),
    measured=3,
    study=Shape(1, 64, 8),
    study_steps=6,
)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    return Rehearsal(tmp_path_factory.mktemp("rehearsal"), CPU, TINY, "a CPU")


@pytest.fixture(scope="module")
def checks(rehearsed):
    return DeviceChecks(rehearsed.work / "again", CPU)


def test_a_cpu_passes_every_row_and_what_needs_a_gpu_says_so(rehearsed):
    rows = {row.what: row for row in rehearsed.rows()}
    skipped = {name for name, row in rows.items() if row.verdict == "skipped"}
    on_gpu = {
        "peak memory / sentence-transformers",
        "a step in fp16 with loss scaling against fp32",
        "20 steps in fp16: skipped",
        f"{len(Term.known())} loss terms in tf32 against fp64",
        "a step on the CPU against the GPU, fp32",
        "SIGTERM on a GPU after 7 of 20 steps, then resumed without one: losses",
    }
    for shape, precision in product(TINY.shapes, TINY.precisions):
        name = f"{shape.text}, {precision}"
        on_gpu |= {f"{name}: rows a second", f"{name}: peak GB"}
    assert on_gpu <= skipped <= {*on_gpu, SPEED[0]}
    judged = {name: row for name, row in rows.items() if name not in skipped | {*SPEED}}
    outside = {name: (row.value, row.note) for name, row in judged.items() if row.verdict != "ok"}
    assert outside == {}
    assert {
        "6 steps of simcse/table5, two at a time: exit code",
        "SIGTERM after 7 of 20 steps, then resumed: tensors that differ",
        "synchronisations of a step",
        "two processes against one",
    } <= judged.keys()
    errors = rows[f"{len(Term.known())} loss terms in bf16 against fp64"].numbers
    assert set(errors["terms"]) == set(Term.known()) and not errors["left_out"]
    assert set(rehearsed.rates.measured) == {"bf16", "fp32"}
    for value in rehearsed.speed({}).flops.values():
        assert value > 0


def test_a_term_that_rounds_is_outside_and_named(checks, monkeypatch):
    loss = InfoNCE._compute_loss

    def rounded(self, compared):
        vectors = []
        for one in compared:
            vectors.append(one.half().float() if one.dtype == torch.float32 else one)
        return loss(self, vectors)

    monkeypatch.setattr(InfoNCE, "_compute_loss", rounded)
    row = checks.terms("fp32")
    assert (row.verdict, row.note) == ("outside", "outside: infonce")


def test_similarities_that_are_products_in_half_precision_are_outside(checks, monkeypatch):
    monkeypatch.setattr(similarity, "full_precision", lambda device: nullcontext())
    row = checks.terms("bf16")
    assert row.verdict == "outside" and "infonce" in row.note and "ranking-consistency" in row.note


def test_a_gpu_trains_in_fp16_with_loss_scaling_and_gradients_that_stay_scaled_are_outside(
    tmp_path, monkeypatch
):
    with pretended_gpu():
        checks = DeviceChecks(tmp_path, torch.device("cuda"))
        rows = list(checks.loss_scaling())
        assert [row.verdict for row in rows] == ["ok", "ok"]
        assert rows[0].numbers["value"] > 1e-5, "fp16 rounds"
        # If gradients are not divided by the scale, they are large, and are clipped with the scale.
        monkeypatch.setattr(torch.amp.GradScaler, "unscale_", lambda *_: None)
        assert next(iter(checks.loss_scaling())).verdict == "outside"


def test_a_step_on_a_gpu_is_the_step_of_the_cpu_and_a_gpu_that_rounds_is_outside(tmp_path, monkeypatch):
    trained_on_cpu = DeviceChecks(tmp_path / "cpu", CPU).train_small(Parts())
    with pretended_gpu():
        checks = DeviceChecks(tmp_path, torch.device("cuda"))
        # The optimiser of a real CPU cannot be used next to a simulated GPU.
        checks.trained_on_cpu = trained_on_cpu
        assert checks.other_device().verdict == "ok"
        train = checks.train_small

        def rounded(*arguments):
            trainer = train(*arguments)
            trainer.gradients = trainer.gradients.bfloat16().double()
            return trainer

        monkeypatch.setattr(checks, "train_small", rounded)
        assert checks.other_device().verdict == "outside"


def test_a_run_that_resumes_without_its_generator_is_outside(checks, monkeypatch):
    load = RunState.load

    def without_generator(self):
        progress = load(self)
        torch.manual_seed(1)
        return progress

    monkeypatch.setattr(RunState, "load", without_generator)
    assert checks.resumed().verdict == "outside"


@pytest.mark.parametrize(("flops", "verdict"), [(1.9, "ok"), (2.1, "outside"), (0.4, "outside")])
def test_a_rate_is_within_the_interval_of_the_plan(tmp_path, flops, verdict):
    speed = Speed(device="one H100", flops={"fp16": 8e13})
    rates = StepRates(tmp_path, CPU, TINY, (speed,), "NVIDIA H100 80GB HBM3")
    row = rates._rate_row("", 100.0, flops * 8e13, "fp16", {})
    assert row.verdict == verdict
    assert rates._rate_row("", 100.0, 8e13, "fp16", {}).expected == "50 to 200"
