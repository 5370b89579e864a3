"""The self-test of a device: every row at a tiny size on a CPU, and each check fails on what it is there for."""

import sys
from types import SimpleNamespace
from typing import Literal

import pytest
import torch
from torch.nn.attention import SDPBackend

from replicse.encoder.packed.transformer import Layer
from replicse.errors import BadInput
from replicse.objective.frozen import FrozenEncoder
from replicse.objective.infonce import InfoNCE
from replicse.registry.terms import Term, TermParameters
from replicse.training import self_test
from replicse.training.model import open_model
from replicse.training.processes import Processes
from replicse.training.self_test import Extent, SelfTest, refusal
from replicse.training.term_errors import NOT_FINITE, relative_error

CPU = torch.device("cpu")
# What a tiny encoder on a busy machine reaches is no matter here.
SPEED = (
    "rows a second / sentence-transformers",
    "model-flops utilisation",
    "share of a step that waits for its batch",
)


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    return SelfTest(tmp_path_factory.mktemp("self-test"), CPU, Extent(1, 64, 8, 4, 5.0))


def test_a_cpu_passes_every_row_and_what_needs_a_gpu_says_so(tested):
    rows = {row.what: row for row in tested.rows()}
    assert len(rows) == 14
    skipped = {name for name, row in rows.items() if row.verdict == "skipped"}
    fp16, memory = f"{len(Term.known)} loss terms in fp16 against fp64", "peak memory / sentence-transformers"
    assert {fp16, memory} <= skipped <= {fp16, memory, SPEED[0]}
    assert all(rows[name].note for name in skipped)
    judged = {name: row for name, row in rows.items() if name not in skipped | {*SPEED}}
    assert {name: row.verdict for name, row in judged.items() if row.verdict != "ok"} == {}
    errors = rows[f"{len(Term.known)} loss terms in bf16 against fp64"].numbers
    assert set(errors["terms"]) == set(Term.known) and not errors["left_out"]
    assert rows["attention kernel in training, fp32"].value == "packed"
    assert rows["attention kernel at test, fp32"].value == "flash"
    assert rows["model-flops utilisation"].numbers["value"] > 0


def test_a_term_that_rounds_is_outside_and_named(tested, monkeypatch):
    loss = InfoNCE._loss

    def rounded(self, compared):
        return loss(self, [one.half().float() if one.dtype == torch.float32 else one for one in compared])

    monkeypatch.setattr(InfoNCE, "_loss", rounded)
    row = tested.terms("fp32")
    assert (row.verdict, row.note) == ("outside", "outside: infonce")
    assert row.numbers["terms"]["infonce"] > 1e-5 > row.numbers["terms"]["vicreg"]


def test_a_term_that_needs_what_nobody_can_guess_is_left_out_with_its_reason(tested, monkeypatch):
    known = dict(Term.known)
    monkeypatch.setattr(Term, "known", known)

    class Needy(TermParameters):
        term: Literal["needy"]
        scale: tuple[str, float]

    row = tested.terms("fp32")
    assert row.verdict == "ok" and "needy left out: it needs other parameters" in row.note


def test_an_encoder_that_is_not_that_of_transformers_is_outside(tested, monkeypatch):
    finish = Layer._finish
    monkeypatch.setattr(Layer, "_finish", lambda self, values, context: finish(self, values, 1.01 * context))
    assert [row.verdict for row in tested.encoder()] == ["outside", "outside"]


def test_chunks_that_sum_wrong_are_outside(tested, monkeypatch):
    places = self_test.Parts.local_rows
    monkeypatch.setattr(
        self_test.Parts, "local_rows", lambda self, rows: places(self, rows - 1 if self.chunk else rows)
    )
    assert tested.chunks().verdict == "outside"


def test_processes_that_do_not_gather_are_outside(tested, monkeypatch):
    """Each process then has the vectors of its own rows alone, and zeros for those of the other."""
    monkeypatch.setattr("replicse.training.self_test.started", lambda count, words: Alone())
    assert tested.processes().verdict == "outside"


class Alone:
    def __enter__(self):
        processes = Processes(0, 2)
        processes.sum = lambda values: values * 2 if values.dtype == torch.int64 else values
        processes.any = lambda flag: flag
        return processes

    def __exit__(self, *_):
        pass


def test_steps_that_differ_the_second_time_are_outside(tested, monkeypatch):
    seeds = iter((1, 2))
    run = tested.small_run
    monkeypatch.setattr(tested, "small_run", lambda *options: run(*options).replace(seed=next(seeds)))
    assert tested.repeated().verdict == "outside"


def test_a_check_that_cannot_be_made_is_outside_and_the_others_go_on(tested, monkeypatch):
    def broken(self):
        raise RuntimeError("CUDA error:\nno kernel image")

    monkeypatch.setattr(SelfTest, "terms", lambda self, precision: self_test.within(precision, 0, 1))
    monkeypatch.setattr(SelfTest, "chunks", broken)
    for name in ("encoder", "training"):
        monkeypatch.setattr(SelfTest, name, lambda self: ())
    for name in ("repeated", "processes"):
        monkeypatch.setattr(SelfTest, name, lambda self: self_test.within("", 0, 1))
    rows = list(tested.rows())
    (failed,) = (row for row in rows if row.verdict == "outside")
    assert (failed.what, failed.note) == ("gradient caching", "RuntimeError: CUDA error: no kernel image")
    assert [row.verdict for row in rows[-3:]] == ["ok"] * 3


def test_without_sentence_transformers_its_rows_are_skipped(tested, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    rows = {row.what: row for row in tested.training()}
    assert "is not installed (requirements/bench.txt)" in rows[SPEED[0]].note
    assert rows["model-flops utilisation"].verdict in ("ok", "outside")


def test_why_a_kernel_is_refused_is_said_as_torch_says_it():
    values = torch.randn(1, 2, 4, 8)
    assert refusal(SDPBackend.FLASH_ATTENTION, values, None, 0.0) == ""
    assert refusal(SDPBackend.CUDNN_ATTENTION, values, None, 0.0).startswith("No viable backend")


def test_a_device_that_is_not_there_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadInput, match="device cuda: torch sees no GPU here; say --device cpu"):
        SelfTest(tmp_path, torch.device("cuda"), Extent(1, 64, 8))


def test_a_gpu_without_bf16_trains_in_fp16(tested, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    on_gpu = SimpleNamespace(on_gpu=True)
    assert SelfTest.precision.fget(on_gpu) == "fp16"
    assert tested.precision == "fp32"


def test_an_error_is_relative_to_what_is_exact_and_never_hides_what_is_no_number():
    exact = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert relative_error(torch.tensor([3.0, 4.5]), exact) == pytest.approx(0.1)
    assert relative_error(torch.tensor([3.0, float("nan")]), exact) == NOT_FINITE


def test_the_frozen_model_ranks_so_that_half_precision_cannot_change_an_order(tested):
    (run,) = tested.term_errors.runs("listmle")
    model = open_model(run, None, tested.term_errors.tokenizer)
    teacher = FrozenEncoder(run.objective[0].teachers[0], model.backbone)
    batches = [tested.term_errors._tokens(model.backbone, view) for view in range(2)]
    first, second = (torch.nn.functional.normalize(teacher.vectors(batch)) for batch in batches)
    cosines = first @ second.T
    lists = cosines[~torch.eye(len(cosines), dtype=torch.bool)].view(len(cosines), -1)
    assert float(lists.sort(-1).values.diff(dim=-1).min()) > 0.04
