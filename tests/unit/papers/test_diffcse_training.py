"""Complete runs of DiffCSE: terms, views, resuming and saved files."""

import copy
import os
import signal

import micro
import pytest
import torch
from tiny_encoders import tiny

from replicse.data.tokenizer import load_tokenizer
from replicse.objective import Objective, Step
from replicse.registry.terms import InfoNCEParameters
from replicse.training.loop import Trainer

TEXT, OTHER = {"column": "text"}, {"column": "other"}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def root(tmp_path):
    return micro.dev_root(tmp_path / "data")


@pytest.fixture
def generator(tmp_path):
    torch.manual_seed(0)
    tokenizer = micro.tokenizer_file(tmp_path)
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    sizes = {"vocabulary": size, "hidden": 8, "layers": 1, "heads": 2, "intermediate": 16, "positions": 64}
    folder = tmp_path / "generator"
    tiny("distilbert", token_head=True, **sizes).save(folder, None, tokenizer)
    return str(folder)


def diffcse(folder, generator, **changes):
    objective = [{"term": "infonce"}, {"term": "rtd", "weight": 0.1, "generator": generator}]
    return micro.job(folder, **{"head": "projector", "objective": objective, **changes})


def trainer_of(job, root, folder):
    return Trainer(job, root, folder / "out", folder / "state", torch.device("cpu"))


def trained(job, root, folder):
    trainer_of(job, root, folder).run()
    return folder / "out"


@pytest.mark.parametrize("stop_after", [3, 12])
def test_a_killed_run_resumes_bit_for_bit(tmp_path, root, generator, monkeypatch, stop_after):
    job = diffcse(tmp_path, generator, pooling={"train": "cls-head", "test": "cls-head"})
    whole = trained(job, root, tmp_path / "whole")
    update = Trainer._update

    def update_then_kill(self, step, *batch):
        if step == stop_after:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(self, step, *batch)

    monkeypatch.setattr(Trainer, "_update", update_then_kill)
    with pytest.raises(KeyboardInterrupt):
        trained(job, root, tmp_path / "cut")
    monkeypatch.setattr(Trainer, "_update", update)
    resumed = trained(job, root, tmp_path / "cut")
    assert micro.equal_weights(whole / "last", resumed / "last")
    assert micro.equal_weights(whole / "best", resumed / "best")
    assert micro.metrics(whole)["history"] == micro.metrics(resumed)["history"]
    assert micro.metrics(whole)["parameters"] == micro.metrics(resumed)["parameters"]


def moved(before, after):
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    return [bool((one != other).any()) for one, other in pairs]


def test_the_discriminator_learns_the_generator_does_not_and_neither_is_saved(tmp_path, root, generator):
    trainer = trainer_of(diffcse(tmp_path, generator), root, tmp_path)
    term = trainer.sources[0].objective.terms[1]
    start = trainer.model.backbone.state_dict()
    copied = term.discriminator.state_dict()
    assert copied and all(torch.equal(value, start[name]) for name, value in copied.items())
    parts = (term.generator.backbone, term.discriminator, term.head)
    before = list(map(copy.deepcopy, parts))
    assert set(map(id, term.discriminator.parameters())) <= set(map(id, trainer.parameters))
    trainer.run()
    generator_moved, *others_moved = map(moved, before, parts)
    assert not any(generator_moved) and all(map(all, others_moved))
    saved = micro.weights(tmp_path / "out" / "best")
    assert not any("discriminator" in name or "head" in name for name in saved)


def test_the_next_sentence_is_edited_but_not_encoded(tmp_path, root, generator):
    contrastive = {"term": "infonce", "views": [0, 1]}
    rtd = {"term": "rtd", "generator": generator, "views": [2, 2], "condition": [0, 1]}
    job = diffcse(tmp_path, generator, views=[TEXT, TEXT, OTHER], objective=[contrastive, rtd])
    trainer = trainer_of(job, root, tmp_path)
    assert trainer.sources[0].encoded == [0, 1]
    columns, _ = next(trainer.sources[0].data.batches(0, 1))
    vectors = trainer.model.train().vectors(
        columns, trainer.sources[0].poolings, trainer.sources[0].repeated, trainer.sources[0].encoded
    )
    assert vectors[2] is None
    step = Step(vectors, columns, trainer.model, trainer.generator)
    assert torch.equal(
        trainer.sources[0].objective.terms[1].originals(step).tokens, columns[2].tokens.repeat(2)
    )
    two = Step(vectors[:2], columns[:2], trainer.model, trainer.generator)
    assert torch.equal(
        trainer.sources[0].objective.terms[0](step), Objective([InfoNCEParameters(term="infonce")])(two)
    )
    trainer.run()
    assert micro.metrics(tmp_path / "out")["history"][-1]["loss"] > 0


@pytest.mark.parametrize("encoders", ["shared", "two"])
def test_a_view_left_out_changes_no_other_vector(tmp_path, root, encoders):
    quiet = {"hidden": 0, "attention": 0}
    job = micro.job(tmp_path, views=[TEXT, OTHER, OTHER], encoders=encoders, dropout=quiet)
    trainer = trainer_of(job, root, tmp_path)
    columns, _ = next(trainer.sources[0].data.batches(0, 1))
    with torch.no_grad():
        every = trainer.model.vectors(columns, trainer.sources[0].poolings, False)
        for views in ([0, 2], [1, 2], [0], [2], []):
            some = trainer.model.vectors(columns, trainer.sources[0].poolings, False, views)
            assert [place for place, vectors in enumerate(some) if vectors is not None] == views
            for view in views:
                assert torch.allclose(some[view], every[view], atol=1e-6)
