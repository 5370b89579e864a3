"""The training loop: determinism, resuming, selection and trajectories.

Also tests chains, and runs with two encoders.
"""

import itertools
import os
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import ModuleType

import micro
import numpy as np
import pandas as pd
import pytest
import torch
from pretended import pretended_gpu
from torch.utils._python_dispatch import TorchDispatchMode

from replicse.cli import main
from replicse.cli.stages.train import failing_once
from replicse.data.store import write_store
from replicse.encoder.heads import load_head
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput, Failed, MissingData
from replicse.files import read_json
from replicse.registry.procedures import AdamWParameters
from replicse.registry.registry import Registry, current
from replicse.registry.run_options import SelectionRule
from replicse.registry.suites import COUNT, Suite
from replicse.runtime.locks import HOLDER
from replicse.training.data import TrainingData
from replicse.training.guards import Guard
from replicse.training.loop import Trainer
from replicse.training.model import SentenceModel
from replicse.training.precision import check_precision
from replicse.training.selection import make_dev_score

pytestmark = pytest.mark.usefixtures("one_thread")


def changed(job, **changes):
    """Return the settings of a job with some values replaced."""
    return type(job.spec).of({**job.spec.plain(), **changes}, "run")


def trained(job, root, folder, **options):
    micro.trainer_of(job, folder, root, **options).run()
    return folder / "out"


def disturb(patch, disturbed):
    """Replace each update of a trainer.

    Args:
        patch: The monkeypatch fixture.
        disturbed: Function of the trainer, the step, and the original update.
    """
    update = Trainer._update
    patch.setattr(
        Trainer,
        "_update",
        lambda self, step, *batch: disturbed(self, step, partial(update, self, step, *batch)),
    )


@contextmanager
def gradients_times(factor, weight):
    """Multiply the gradient of a weight by a factor during the block."""
    hook = weight.register_hook(lambda gradient: gradient * factor)
    yield
    hook.remove()


@pytest.fixture
def root(tmp_path):
    return micro.dev_root(tmp_path / "data")


def test_the_same_seed_gives_the_same_weights_bit_for_bit(tmp_path, root):
    job = micro.job(tmp_path)
    first, second = trained(job, root, tmp_path / "a"), trained(job, root, tmp_path / "b")
    assert micro.equal_runs(first, second)
    other = replace(job, spec=changed(job, seed=8))
    assert not micro.equal_weights(first / "last", trained(other, root, tmp_path / "c") / "last")


def test_a_killed_run_resumes_to_the_same_weights(tmp_path, root, monkeypatch):
    """A killed run should resume and end with the same weights.

    A masked-LM term is used, because it needs the run's random generator, which must be in the state, too.
    """
    job = micro.job(tmp_path, objective=[{"term": "infonce", "temperature": 0.05}, {"term": "mlm"}])
    assert micro.trainer_of(job, tmp_path / "seeded", root).generator.initial_seed() == job.spec.seed
    whole = trained(job, root, tmp_path / "whole")

    done = []

    def killed(trainer, step, update):
        done.append(step)
        if step == 12:
            os.kill(os.getpid(), signal.SIGTERM)
        return update()

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        disturb(patch, killed)
        trained(job, root, tmp_path / "cut")
    assert done[-1] == 12 and list((tmp_path / "cut" / "state").glob("state-13-*"))
    assert not (tmp_path / "cut" / "out" / "last").exists()
    assert micro.equal_runs(whole, trained(job, root, tmp_path / "cut"))
    assert not (tmp_path / "cut" / "state").exists()


@pytest.mark.parametrize(("keeps", "taken"), [("highest", np.argmax), ("lowest", np.argmin)])
def test_best_is_the_best_development_score_and_last_the_last(tmp_path, root, keeps, taken):
    """The checkpoint with the best development score, and the last, are kept.

    If `keeps` is set so, the worst checkpoint is kept instead.
    """
    out = trained(micro.job(tmp_path, selection={"every": 5, "keeps": keeps}), root, tmp_path / "run")
    found = micro.metrics(out)
    history = pd.DataFrame(found["history"])
    assert history["step"].tolist() == [5, 10, 15, 20]
    assert found["best"] == history.loc[int(taken(history["dev"].tolist())), ["step", "dev"]].to_dict()
    same = found["best"]["step"] == 20
    assert micro.equal_weights(out / "best", out / "last") == same


def test_the_suite_that_the_rule_names_selects_by_its_own_code(tmp_path, root, monkeypatch, capsys):
    """The suite in the selection rule should be used with its own code.

    Tested with a plug-in's suite and a user's dataset. If scores are equal, the first checkpoint is selected.
    """
    values = iter((4, 4, 2, 4))
    mine = ModuleType("mine")
    mine.evaluate = lambda root, vectors, **_: {"some": {"score": next(values)}}
    monkeypatch.setitem(sys.modules, "mine", mine)
    suite = Suite("mine", "mine", {"some/score": COUNT})
    known = replace(current(), suites={**current().suites, "mine": suite})
    monkeypatch.setattr(Registry, "in_use", known)
    out = trained(micro.job(tmp_path, selection={"metric": "mine/some/score", "every": 5}), root, tmp_path)
    assert micro.metrics(out)["best"] == {"step": 5, "dev": 4}
    assert not SelectionRule(keeps="lowest").prefers(4, 4)
    texts, scores = micro.sentences(21, 5), [0, 1, 2, 3, 4] * 4
    rows = [",".join(map(str, each)) for each in zip(texts, texts[1:], scores, strict=False)]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,score", *rows]))
    monkeypatch.chdir(tmp_path)
    headings = {"first": "a", "second": "b", "score": "score", "range": [0, 5]}
    options = {"sets": {"mine": {"file": "mine.csv", **headings}}}
    selection = {"metric": "sets/mine/spearman/all", "every": 20, "options": options}
    out = trained(micro.job(tmp_path, selection=selection), root, tmp_path / "own")
    words = ["--encoder", str(out / "best"), "--out", "mine.json", "--set", "mine.csv", "first=a", "second=b"]
    assert main(["evaluate", *words, "score=score", "range=0,5"]) == 0
    written = read_json(tmp_path / "mine.json")
    score = written["suites"]["sets"]["mine"]["spearman"]["all"]
    assert micro.metrics(out)["best"]["dev"] == pytest.approx(score, abs=1e-4)
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line}
    assert rows["sets"][:2] == ["n", "all"] and rows["mine/spearman"][0] == f"{score:.2f}"
    assert next(iter(written)) == "suites" and "pairs" not in written
    assert "sets/mine/spearman" in read_json(tmp_path / "mine.pairs.json")


def test_the_trajectory_keeps_step_zero_and_every_asked_step(tmp_path, root):
    job = micro.job(tmp_path, trajectory={"every": 10, "until": 100})
    out = trained(job, root, tmp_path / "run")
    kept = sorted(path.name for path in (out / "trajectory").iterdir())
    assert kept == ["step-0", "step-10", "step-20"]
    assert micro.equal_weights(out / "trajectory" / "step-20", out / "last")
    plain_run = trained(micro.job(tmp_path), root, tmp_path / "without")
    assert micro.equal_weights(out / "last", plain_run / "last")


@pytest.mark.parametrize(
    ("dropout", "equal"),
    [({"masks": "fixed"}, True), ({"hidden": 0, "attention": 0}, True), ({}, False)],
)
def test_fixed_masks_and_no_dropout_make_the_two_vectors_equal(tmp_path, root, dropout, equal):
    trainer = micro.trainer_of(micro.job(tmp_path, dropout=dropout), tmp_path, root)
    (source,) = trainer.sources
    columns, _ = next(source.data.batches(0, 1))
    first, second = trainer.model.train().vectors(columns, source.poolings, source.repeated)
    assert torch.equal(first, second) == torch.allclose(first, second) == equal


def kind_of(name):
    """Return "second", "token" or the first part of a parameter's name."""
    if "second" in name:
        return "second"
    return "token" if "masked_lm" in name else name.split(".")[0]


def test_every_parameter_of_two_encoders_is_trained_once_the_masked_lm_head_behind_the_sentence_head(
    tmp_path, root
):
    job = micro.job(tmp_path, encoders="two", views=[{"column": "text"}, {"column": "other"}])
    trainer = micro.trainer_of(job, tmp_path, root)
    model = trainer.model
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    order = [names[id(parameter)] for parameter in model.trained_parameters()]
    assert sorted(order) == sorted(names.values())
    kinds = [kind for kind, _ in itertools.groupby(map(kind_of, order))]
    assert kinds == ["backbone", "head", "token", "second"]
    trainer.run()
    first, second = model.backbone.state_dict(), model.second[0].state_dict()
    assert second.keys() < first.keys(), "the second one has no masked-LM head"
    assert any(not torch.equal(first[name], second[name]) for name in second)
    saved, name = micro.weights(tmp_path / "out" / "best"), "embeddings.word_embeddings.weight"
    (table,) = (weight for key, weight in saved.items() if key.endswith(name))
    assert np.array_equal(table, model.backbone.input_embeddings.detach().numpy()), "the first is tested"


def test_the_first_of_two_encoders_selects_the_checkpoint(tmp_path, root):
    """Score the encoder that is saved and tested, not the second one, which encodes other views."""
    views = [{"column": "text"}, {"column": "other"}]
    trainer = micro.trainer_of(micro.job(tmp_path, encoders="two", views=views), tmp_path, root)
    trainer.run()
    model, rule = trainer.model.eval(), trainer.job.spec.selection
    score = make_dev_score(root, rule, {})
    rest = (trainer.job.tokenizer, trainer.job.spec.pooling.test)
    first = score(SentenceEncoder(model.backbone, model.head, *rest))
    second = score(SentenceEncoder(*model.second, *rest))
    assert trainer.best["dev"] == pytest.approx(first, abs=1e-4)
    assert abs(first - second) > 0.01


def test_a_run_gives_its_model_the_progress_of_each_step(tmp_path, root, monkeypatch):
    seen = []
    monkeypatch.setattr(SentenceModel, "set_progress", lambda self, progress: seen.append(progress))
    dropout = {"hidden": 0.1, "schedule": "curriculum"}
    optimisation = {"batch_size": 16, "epochs": 4, "steps": 4}
    job = micro.job(tmp_path, dropout=dropout, optimisation=optimisation, selection={"every": 0})
    trainer = micro.trainer_of(job, tmp_path, root)
    trainer.model.pooled_rate = 0.0
    trainer.run()
    assert seen == [0, 0, 0.25, 0.5, 0.75]


def first_columns(data, start, stop):
    return [columns[0] for columns, _ in data.batches(start, stop)]


def test_batches_are_a_permutation_each_epoch_and_resume_in_place(tmp_path):
    job = micro.job(tmp_path, count=50)
    data = TrainingData(job.stores, 16, seed=1)
    batches = first_columns(data, 0, 8)
    assert [batch.rows for batch in batches] == [16, 16, 16, 2] * 2
    rows = [bytes(data.columns[0].row(i)) for i in range(50)]

    def seen(part):
        found = []
        for batch in part:
            bounds = batch.offsets.tolist()
            tokens = batch.tokens.numpy().astype(np.int32)
            found += [bytes(tokens[a:b]) for a, b in itertools.pairwise(bounds)]
        return found

    assert sorted(seen(batches[:4])) == sorted(rows) == sorted(seen(batches[4:]))
    assert seen(batches[:4]) != seen(batches[4:])
    assert seen(first_columns(data, 5, 8)) == seen(batches[5:])
    other = TrainingData(job.stores, 16, seed=2)
    assert seen(first_columns(other, 0, 4)) != seen(batches[:4])


def test_views_of_different_length_are_refused(tmp_path):
    job = micro.job(tmp_path)
    write_store(tmp_path / "short", micro.sentences(3), job.tokenizer, 16, {})
    with pytest.raises(BadInput, match="different numbers of rows"):
        TrainingData([job.stores[0], tmp_path / "short"], 4, 0)


def test_a_head_goes_on_along_a_chain_only_where_asked(tmp_path, root):
    steps = {"batch_size": 16, "learning_rate": 1e-3, "steps": 4}
    job = micro.job(tmp_path, optimisation=steps, selection={"every": 0}, trajectory={"every": 4, "until": 0})
    first = trained(job, root, tmp_path / "first") / "last"
    adaptive = {"kind": "mlp", "standout": {"alpha": 1, "beta": 0}}
    for number, (keep, kind) in enumerate(((True, "mlp"), (False, "mlp"), (True, adaptive))):
        spec = changed(job, init={"run": job.run_id, "keep_head": keep}, head=kind)
        out = trained(replace(job, init=first, spec=spec), root, tmp_path / str(number))
        assert micro.equal_weights(first, out / "trajectory" / "step-0") == keep
    assert load_head(out / "last").settings.standout.alpha == 1
    other = changed(job, init={"run": job.run_id, "keep_head": True}, head="projector")
    with pytest.raises(BadInput, match="the projector head to keep does not exist"):
        trained(replace(job, init=first, spec=other), root, tmp_path / "other")


def test_equal_checkpoints_are_one_file_on_the_disk(tmp_path, root):
    for name, every, linked in (("unselected", 0, True), ("selected", 5, None)):
        out = trained(micro.job(tmp_path, selection={"every": every}), root, tmp_path / name)
        best, last = out / "best" / "model.safetensors", out / "last" / "model.safetensors"
        if linked is None:
            linked = micro.metrics(out)["best"]["step"] == 20
        assert best.samefile(last) == linked == micro.equal_weights(out / "best", out / "last"), name
        assert read_json(out / "best" / "checkpoint.json")["checkpoint"] == "best"


def test_precision_is_what_the_spec_says(tmp_path, root):
    outs = {}
    for precision in ("fp32", "bf16"):
        outs[precision] = trained(micro.job(tmp_path, precision=precision), root, tmp_path / precision)
        assert micro.metrics(outs[precision])["precision"] == precision
        assert {value.dtype for value in micro.weights(outs[precision] / "last").values()} == {np.dtype("f4")}
    assert not micro.equal_weights(outs["fp32"] / "last", outs["bf16"] / "last")
    left, right = (micro.metrics(out)["history"][0]["loss"] for out in outs.values())
    assert left == pytest.approx(right, rel=0.05)
    for precision in ("fp16", "tf32"):
        told = rf"{precision} needs a GPU; set precision: bf16 or fp32 in config\.yaml"
        with pytest.raises(Failed, match=told):
            trained(micro.job(tmp_path, precision=precision), root, tmp_path / precision)


@pytest.mark.parametrize(("precision", "expected"), [("tf32", "high"), ("fp32", "highest")])
def test_tf32_is_a_precision_of_the_products_of_a_step_but_not_of_similarities(
    tmp_path, monkeypatch, precision, expected
):
    seen = []

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func._schema.name in ("aten::mm", "aten::addmm"):
                seen.append(torch.get_float32_matmul_precision())
            return func(*args, **(kwargs or {}))

    with pretended_gpu():
        job = micro.job(tmp_path, precision=precision, selection={"every": 0})
        trainer = Trainer(job, tmp_path, tmp_path / "out", tmp_path / "state", torch.device("cuda"))
        source = trainer.sources[0]
        columns, labels = next(source.data.batches(0, 1))
        with Noting():
            trainer._update(0, source, columns, labels)
    # Only the product of the two views in the forward pass is a similarity.
    similarities = seen.count("highest") if precision == "tf32" else 0
    assert similarities == (precision == "tf32") and set(seen) <= {expected, "highest"} and len(seen) > 20
    assert torch.get_float32_matmul_precision() == "highest"


def test_tf32_is_refused_by_a_gpu_that_has_none(monkeypatch):
    with pretended_gpu():
        check_precision("tf32", torch.device("cuda"))
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
        with pytest.raises(BadInput, match="precision tf32 needs a GPU from Ampere on, not a pretended GPU"):
            check_precision("tf32", torch.device("cuda"))


def scaled(monkeypatch, scale):
    """Scale losses by a power of two, which is exact in fp32.

    On a GPU, fp16 scales losses like this.
    """
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=1000)
    monkeypatch.setattr(torch.amp, "GradScaler", lambda device, enabled: scaler)


def test_a_scaled_loss_gives_the_same_weights_because_gradients_are_unscaled_before_they_are_clipped(
    tmp_path, root, monkeypatch
):
    job = micro.job(tmp_path)
    plain = trained(job, root, tmp_path / "plain")
    scaled(monkeypatch, 2.0**12)
    assert micro.equal_weights(plain / "last", trained(job, root, tmp_path / "scaled") / "last")


def test_a_step_whose_gradients_overflow_is_left_out_and_counted(tmp_path, root, monkeypatch):
    scaled(monkeypatch, 2.0**12)
    trainer, scales, moved = micro.trainer_of(micro.job(tmp_path), tmp_path, root), [], []
    weight = trainer.model.backbone.input_embeddings

    def overflowing(trainer, step, update):
        before = weight.detach().clone()
        with gradients_times(float("inf") if step == 2 else 1, weight):
            loss = update()
        scales.append(trainer.scaler.get_scale())
        moved.append(not torch.equal(before, weight))
        return loss

    disturb(monkeypatch, overflowing)
    trainer.run()
    assert moved[:5] == [True, True, False, True, True]
    assert scales[:4] == [2.0**12, 2.0**12, 2.0**11, 2.0**11]
    metrics = micro.metrics(tmp_path / "out")
    assert metrics["skipped"] == 1 and [each["skipped"] for each in metrics["history"]] == [1, 1, 1, 1]


def test_skipped_steps_are_counted_on_after_a_resume_and_whatever_the_optimiser(tmp_path, monkeypatch):
    scaled(monkeypatch, 2.0**12)
    monkeypatch.setattr(AdamWParameters, "made_by", lambda _: lambda groups, _: torch.optim.SGD(groups))
    job = micro.job(tmp_path, selection={"every": 0})

    def overflowing(trainer, step, update):
        with gradients_times(float("inf") if step in (2, 9) else 1, trainer.model.backbone.input_embeddings):
            return update()

    disturb(monkeypatch, overflowing)
    micro.run_until_killed(micro.trainer_of(job, tmp_path), 6)
    micro.trainer_of(job, tmp_path).run()
    assert micro.metrics(tmp_path / "out")["skipped"] == 2


def no_number(trainer, update):
    loss, norm = update()
    return loss * float("nan"), norm


def exploding(factor):
    def exploded(trainer, update):
        with gradients_times(factor, trainer.model.backbone.layers[0].output.weight):
            return update()

    return exploded


def collapsing(trainer, update):
    found, norm = update(), trainer.model.backbone.layers[-1].output_norm
    with torch.no_grad():
        norm.weight.mul_(1e-9)
        norm.bias.fill_(1.0)
    return found


@pytest.mark.parametrize(
    ("disturbed", "told"),
    [
        (no_number, "loss nan at step 8"),
        (exploding(float("inf")), "gradients of norm (nan|inf) at step 8; lower"),
        (exploding(1e12), r"gradients of norm \d\.?\d*e\+1\d at step 8; lower"),
        (collapsing, "the encoder has collapsed, .* at step 10;"),
    ],
)
def test_what_can_only_be_a_failure_stops_the_run(tmp_path, root, monkeypatch, disturbed, told):
    """A run should stop if it can only fail.

    With clipping, an exploded gradient changes the weights as little as any other gradient, so the loss would
    not show it.
    """
    job = micro.job(tmp_path)
    disturb(monkeypatch, lambda trainer, step, update: update() if step < 7 else disturbed(trainer, update))
    with pytest.raises(Failed, match=f"{job.run_id}: {told}"):
        trained(job, root, tmp_path / "run")
    assert not (tmp_path / "run" / "out" / "last").exists()


def test_where_losses_are_not_read_at_each_step_the_first_that_failed_is_told():
    """The first failed step should be reported, even if losses are read later.

    On a GPU, a loss is only read sometimes; the reported step was once the step of the reading.
    """
    number = torch.tensor(1.0)
    guard = Guard("run", torch.device("cpu"), scaled=False)
    for step in range(1, 9):
        guard.see(step, number / 0 if step == 4 else number, number)
    with pytest.raises(Failed, match="run: loss inf at step 4;"):
        guard.check(8, number)
    scaled = Guard("run", torch.device("cpu"), scaled=True)
    scaled.see(1, number / 0, number * float("nan"))
    scaled.check(2, number)
    with pytest.raises(Failed, match="run: loss inf at step 3;"):
        scaled.check(3, number / 0)


def test_a_failure_that_would_come_again_ends_the_retries_of_one_start(tmp_path, monkeypatch):
    """If a failure would occur again, it should not be retried.

    Snakemake retries any failure, but a check would stop the training at the same step each time.
    """
    monkeypatch.chdir(tmp_path)
    HOLDER.parent.mkdir()
    HOLDER.write_text("a study")
    note = tmp_path / "state" / "failed.json"
    tries = []

    def attempt(error):
        with failing_once(tmp_path / "state", rank=0):
            tries.append(error)
            raise error

    for error in (MissingData("absent"), OSError("a lost node"), Failed("collapsed"), Failed("another")):
        with pytest.raises(type(error)) as told:
            attempt(error)
    assert str(told.value) == "collapsed" and len(tries) == 3
    HOLDER.write_text("the study, started again")
    os.utime(note, (time.time() + 1e6,) * 2)  # the clock was wrong
    for text in (note.read_text(), "[]", "{"):
        note.write_text(text)
        with pytest.raises(BadInput, match="mended differently"):
            attempt(BadInput("mended differently"))
        HOLDER.write_text(f"the study, started again after {text}")


def test_a_checkpoint_that_is_not_the_one_that_was_written_is_refused(tmp_path, root, capsys):
    """A checkpoint is refused if it has changed since it was written.

    Changed weights of the right shapes were once evaluated as the weights of the run.
    """
    job, other_spec = micro.job(tmp_path), changed(micro.job(tmp_path), seed=8)
    other_job = replace(job, spec=other_spec, run_id=other_spec.run_id)
    first = trained(job, root, tmp_path / "first")
    other = trained(other_job, root, tmp_path / "other")
    chained = replace(job, init=first / "best", spec=changed(job, init={"run": job.run_id}))
    micro.trainer_of(chained, tmp_path)
    told = f"a checkpoint of run {other_job.run_id}, not of {job.run_id}; copy all files of the folder"
    with pytest.raises(BadInput, match=told):
        micro.trainer_of(replace(chained, init=other / "best"), tmp_path)
    shutil.copy(other / "best" / "model.safetensors", first / "best")
    words = ["evaluate", "--suite", "sts-dev", "--data", str(root), "--out", str(tmp_path / "scores.json")]
    assert main([*words, "--encoder", str(first / "best")]) == 2
    assert "model.safetensors: the SHA-256 differs from checkpoint.json" in capsys.readouterr().err
    with pytest.raises(BadInput, match="the SHA-256 differs"):
        micro.trainer_of(chained, tmp_path)
    (other / "best" / "tokenizer.json").unlink()
    assert main([*words, "--encoder", str(other / "best")]) == 2
    assert "tokenizer.json: the file does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("selection", "steps"),
    [({"every": 8}, [8, 16]), ({"every": 8, "at_end": True}, [8, 16, 20]), ({"every": 50}, [])],
)
def test_the_last_step_is_evaluated_between_intervals_only_where_it_is_asked_for(
    tmp_path, root, selection, steps
):
    out = trained(micro.job(tmp_path, selection=selection), root, tmp_path)
    found = micro.metrics(out)
    assert [entry["step"] for entry in found["history"]] == steps and found["steps"] == 20
    if not steps:
        assert found["best"] is None and micro.equal_weights(out / "best", out / "last")
