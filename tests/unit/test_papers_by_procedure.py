"""Papers of tests/papers with a training procedure, compared in float64.

Each step equals a separate implementation.
"""

import copy
import math
from dataclasses import replace
from pathlib import Path

import micro
import numpy as np
import one_step
import pytest
import torch
import transformers
import yaml
from made_up import write_workspace
from places import ROOT
from tiny_encoders import written

from replicse.data.store import write_store
from replicse.encoder.heads import load_head
from replicse.errors import BadInput
from replicse.objective.kept import save_terms
from replicse.objective.mlm import masked_copy
from replicse.registry.plugins import use_plugins
from replicse.registry.runs import Run


@pytest.fixture(autouse=True)
def _in_float64_and_nothing_in_use_after(monkeypatch):
    """Use float64 where the loop converts values to float32."""
    torch.set_num_threads(1)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    yield
    use_plugins([])


def recipes(key):
    """Register the plug-ins of a test paper; return the recipes as a dict."""
    use_plugins(write_workspace(micro.Path(), key)["plugins"])
    return yaml.safe_load((ROOT / "tests" / "papers" / key / "recipes.yaml").read_text())


def made(folder, recipe, labels=None, **changes):
    """Create a trainer of a small run in float64.

    Args:
        folder: Folder for the job and the encoder.
        recipe: Recipe as a dict.
        labels: List of labels of the corpus. Default: no labels.
        changes: Settings of the run that replace the recipe's.

    Returns:
        The trainer, and a BERT of `transformers` with the initial weights.
    """
    kept = {key: value for key, value in recipe.items() if key not in ("init", "like", "corpus", "views")}
    still = {"hidden": 0, "attention": 0}
    values = {"views": one_step.VIEWS, "dropout": still, "selection": {"every": 0}, **changes}
    if labels is not None:
        values["corpus"] = {
            "name": "test",
            "format": "labelled",
            "file": "a",
            "sentences": ["a"],
            "label": "b",
        }
    job = micro.job(folder, **{**kept, **values})
    if labels is not None:
        write_store(job.stores[0], micro.sentences(96, 3), job.tokenizer, 16, {}, None, labels)
    if len(job.stores) > 2:
        job.stores[2] = folder / "third"
        write_store(job.stores[2], micro.sentences(96, 5), job.tokenizer, 16, {})
    job = replace(job, init=job.spec.init.folder and Path(job.spec.init.folder))
    trainer = micro.trainer_of(job, folder)
    trainer.model.double()
    trainer.objectives.double()
    return trainer, one_step.opened(folder / "before", trainer.model.backbone)


def batches(trainer, count):
    """Yield step, packed columns, labels and token ids of the first steps."""
    for step, (columns, labels) in enumerate(trainer.sources[0].data.batches(0, count)):
        yield step, columns, labels, list(map(one_step.rows_of, columns))


def means(bert, rows):
    """Return the mean over the tokens of each row; rows are encoded alone."""
    return [bert(torch.tensor([row])).last_hidden_state[0].mean(0) for row in rows]


class Adam:
    """Adam on weights by name, written as in the formulas."""

    def __init__(self, betas=(0.9, 0.999)):
        self.betas, self.first, self.second, self.count = betas, {}, {}, 0

    @torch.no_grad()
    def step(self, weights, rates):
        self.count += 1
        one, two = self.betas
        for name, weight in weights.items():
            self.first[name] = one * self.first.get(name, 0) + (1 - one) * weight.grad
            self.second[name] = two * self.second.get(name, 0) + (1 - two) * weight.grad**2
            mean, square = self.first[name] / (1 - one**self.count), self.second[name] / (1 - two**self.count)
            weight -= rates[name] * mean / (square.sqrt() + 1e-8)


def angle_loss(first, second, labels):
    """Compute AnglE's loss in a loop over pairs of sentence pairs."""
    total, half = torch.ones(()), len(first[0]) // 2
    angles = []
    for z, w in zip(first, second, strict=True):
        (a, b), (c, d) = z.split(half), w.split(half)
        norms = (a @ a + b @ b).sqrt() * (c @ c + d @ d).sqrt()
        angles.append(20 * abs((a @ c + b @ d + b @ c - a @ d) / norms))
    for one, label in zip(angles, labels, strict=True):
        for other, lower in zip(angles, labels, strict=True):
            total = total + (other - one).exp() if label > lower else total
    return total.log()


def gradients(bert, rows, labels, step):
    """Compute the gradients of the recipe's objective; return the loss.

    The weights of the terms follow schedules over sixteen steps.
    """
    bert.zero_grad()
    first, second = means(bert, rows[0]), means(bert, rows[1])
    error = 0
    for one, other, label in zip(first, second, labels, strict=True):
        error = error + (5 * one_step.cosine(one, other).sigmoid() - label) ** 2 / len(labels)
    loss = min(1, step / 8) * angle_loss(first, second, labels) + (16 - step) / 16 * error
    loss.backward()
    return float(loss.detach())


@pytest.mark.parametrize("name", ["angle", "sharp"])
def test_schedules_layers_and_a_second_pass_are_as_written(tmp_path, name):
    recipe, sharp = recipes("angle"), name == "sharp"
    options = {**recipe["angle"]["optimisation"], **recipe[name].get("optimisation", {})}
    options |= {"clip": 1e9, "steps": 16, "warmup": 0.2, "epochs": 2}
    labels = np.random.default_rng(0).integers(0, 6, 96).tolist()
    trainer, bert = made(tmp_path, {**recipe["angle"], "optimisation": options}, labels)
    weights = dict(bert.named_parameters())
    below = {}
    for key in weights:
        below[key] = 2 if "embeddings" in key else 1 - int(key.split(".")[2])
    adam = Adam((0.9, 0.999 if sharp else 0.98))
    for step, columns, rated, rows in batches(trainer, 6):
        loss, _ = trainer._update(step, trainer.sources[0], columns, rated)
        assert float(loss) == pytest.approx(gradients(bert, rows, rated.double(), step), rel=1e-9)
        factor = 1.0 if sharp else 0.1 + 0.9 * (1 + math.cos(math.pi * (step - 4) / 12)) / 2
        if sharp:
            before = copy.deepcopy(bert.state_dict())
            norm = math.sqrt(sum(float((weight.grad**2).sum()) for weight in weights.values()))
            with torch.no_grad():
                for weight in weights.values():
                    weight += 0.05 * weight.grad / norm
            gradients(bert, rows, rated.double(), step)
            bert.load_state_dict(before)
        rate = 1e-3 * (step / 4 if step < 4 else factor)
        adam.step(weights, {key: rate * 0.9 ** below[key] for key in weights})
    after = one_step.opened(tmp_path / "after", trainer.model.backbone).state_dict()
    assert all(torch.allclose(after[key], weight, rtol=0, atol=1e-6) for key, weight in weights.items())


def info_nce(anchors, positives):
    """Compute InfoNCE at temperature 0.05 in a loop."""
    total = 0
    for place, anchor in enumerate(anchors):
        logits = torch.stack([one_step.cosine(anchor, other) / 0.05 for other in positives])
        total = total + logits.exp().sum().log() - logits[place]
    return total / len(anchors)


def test_a_term_reads_before_a_head_of_its_own_and_both_are_trained_and_kept(tmp_path):
    recipe = recipes("twostage")["contrast"]
    steps = {"batch_size": 6, "learning_rate": 1e-2, "clip": 1e9, "steps": 3, "decay": "none"}
    trainer, _ = made(tmp_path, {**recipe, "optimisation": steps})
    model = transformers.BertForMaskedLM.from_pretrained(tmp_path / "before", dtype=torch.float64).eval()
    term = trainer.sources[0].objective.terms[1]
    parts = {"dense": copy.deepcopy(term.dense), "head": copy.deepcopy(trainer.model.head.dense)}
    weights = dict(model.named_parameters())
    weights |= {f"{name} {key}": one for name, part in parts.items() for key, one in part.named_parameters()}
    adam = Adam()
    for step, columns, _, rows in batches(trainer, 3):
        drawn = torch.Generator()
        drawn.set_state(trainer.generator.get_state())
        masked = masked_copy(columns[0], trainer.model.backbone, 0.4, drawn)
        for weight in weights.values():
            weight.grad = None
        first, second = means(model.bert, rows[0]), means(model.bert, rows[1])
        predicted = []
        for number, vector in enumerate(first):
            begin, end = masked.batch.offsets[number : number + 2].tolist()
            states = model.bert(masked.batch.tokens[None, begin:end]).last_hidden_state[0]
            for place in masked.positions[(masked.positions >= begin) & (masked.positions < end)].tolist():
                hidden = torch.nn.functional.gelu(parts["dense"](torch.cat([vector, states[place - begin]])))
                logits = model.cls(hidden[None])[0]
                predicted.append(logits.exp().sum().log() - logits[columns[0].tokens[place]])
        headed = []
        for vectors in (first, second):
            headed.append([vector + parts["head"](vector).tanh() for vector in vectors])
        contrast, rebuilt = info_nce(*headed), sum(predicted) / len(predicted)
        (contrast + 0.5 * rebuilt).backward()
        loss, _ = trainer._update(step, trainer.sources[0], columns, None)
        found = {name: float(value) for name, value in trainer.step_gradients.scalars.items()}
        expected = {
            "infonce": contrast.item(),
            "reconstruction": rebuilt.item(),
            "masked tokens": len(predicted),
        }
        assert found == pytest.approx(expected, rel=1e-8) and float(loss) == pytest.approx(
            found["infonce"] + found["reconstruction"] / 2
        )
        adam.step(weights, dict.fromkeys(weights, 1e-2))
    trainer.model.backbone.save(tmp_path / "kept", trainer.model.head)
    save_terms(tmp_path / "kept", [trainer.sources[0].objective])
    assert torch.equal(load_head(tmp_path / "kept").dense.weight, trainer.model.head.dense.weight)
    init = {"folder": str(tmp_path / "kept"), "keep_terms": True}
    job = replace(
        trainer.job, spec=Run.of({**trainer.job.spec.plain(), "init": init}, "run"), init=tmp_path / "kept"
    )
    second = micro.trainer_of(job, tmp_path)
    assert torch.equal(second.sources[0].objective.terms[1].dense.weight, term.dense.weight.to(torch.float32))
    (tmp_path / "kept" / "terms.safetensors").unlink()
    with pytest.raises(BadInput, match="weights for the terms of the run are missing"):
        micro.trainer_of(job, tmp_path)


def sncse_loss(first, second, third):
    """Compute InfoNCE and SNCSE's margin loss in a loop."""
    margins = 0
    for anchor, positive, soft in zip(first, second, third, strict=True):
        difference = one_step.cosine(anchor, soft) - one_step.cosine(anchor, positive)
        margins = margins + max(0, difference + 0.1) + max(0, -difference - 0.3)
    return info_nce(first, second) + 1e-3 * margins / len(first)


def nested_loss(first, second):
    """Compute InfoNCE on the first 8 dimensions and on all 16 dimensions."""
    first, second = torch.stack(first), torch.stack(second)
    return info_nce(first, second) + info_nce(first[:, :8], second[:, :8])


NESTED = {"objective": [{"term": "nested-infonce", "widths": [8]}]}
THREE = {"views": [{"column": "text"}, {"column": "other"}, {"column": "third"}]}


@pytest.mark.parametrize(
    ("name", "changes", "expected"), [("sncse", THREE, sncse_loss), ("matryoshka", NESTED, nested_loss)]
)
def test_losses_of_a_plug_in_are_as_written(tmp_path, name, changes, expected):
    steps = {"batch_size": 6, "learning_rate": 1e-3, "clip": 1e9, "steps": 3, "decay": "none"}
    read = {"train": "mean", "test": "mean"}
    recipe = {**recipes(name)[name], **changes, "optimisation": steps, "pooling": read}
    trainer, bert = made(tmp_path, recipe, views=changes.get("views", one_step.VIEWS))
    weights, adam = dict(bert.named_parameters()), Adam()
    for step, columns, _, rows in batches(trainer, 3):
        bert.zero_grad()
        loss = expected(*(means(bert, each) for each in rows))
        loss.backward()
        found, _ = trainer._update(step, trainer.sources[0], columns, None)
        assert float(found) == pytest.approx(loss.item(), rel=1e-9)
        adam.step(weights, dict.fromkeys(weights, 1e-3))
    after = one_step.opened(tmp_path / "after", trainer.model.backbone).state_dict()
    for key, weight in weights.items():
        assert torch.allclose(after[key], weight, rtol=0, atol=1e-6)


def prefixed(bert, prefix, row):
    """Return the state of position 0 of a row, with a prefix in each layer.

    Args:
        bert: BERT of `transformers`.
        prefix: Keys and values of all layers.
        row: List of token ids.
    """
    states = bert.embeddings(torch.tensor([row]))[0]
    for layer, pair in zip(bert.encoder.layer, prefix.view(4, 3, 2, 32).unbind(1), strict=True):
        own = layer.attention.self
        keys = torch.cat([pair[:, 0], own.key(states)])
        values = torch.cat([pair[:, 1], own.value(states)])
        heads = zip(*(part.split(8, dim=1) for part in (own.query(states), keys, values)), strict=True)
        context = torch.cat([(q @ k.T / math.sqrt(8)).softmax(1) @ v for q, k, v in heads], dim=1)
        between = layer.attention.output(context, states)
        states = layer.output(layer.intermediate(between), between)
    return states[0]


def trained_names(trainer):
    return {name for name, weight in trainer.model.backbone.named_parameters() if weight.requires_grad}


def test_prefixes_of_another_architecture_are_trained_alone(tmp_path):
    every = recipes("prefix")
    steps = {"batch_size": 6, "learning_rate": 1e-2, "clip": 1e9, "steps": 3, "decay": "none"}
    start = {**every["prefix"]["init"], "folder": str(written(tmp_path / "start"))}
    del start["backbone"]
    recipe = {**every["prefix"], "optimisation": steps}
    trainer, bert = made(tmp_path, recipe, init=start)
    backbone, adam = trainer.model.backbone, Adam()
    assert trained_names(trainer) == {"network.prefix.weight"}
    prefix = backbone.model.prefix.weight.detach().clone().requires_grad_()
    before = copy.deepcopy(backbone.state_dict())
    for step, columns, _, rows in batches(trainer, 3):
        prefix.grad = None
        views = []
        for view in rows:
            views.append([prefixed(bert, prefix, row) for row in view])
        loss = info_nce(*views)
        loss.backward()
        found, _ = trainer._update(step, trainer.sources[0], columns, None)
        assert float(found) == pytest.approx(loss.item(), rel=1e-9)
        adam.step({"prefix": prefix}, {"prefix": 1e-2})
    after = backbone.state_dict()
    assert torch.allclose(after.pop("network.prefix.weight"), prefix, rtol=0, atol=1e-6)
    assert all(torch.equal(weight, before[name]) for name, weight in after.items())
    backbone.save(tmp_path / "kept")
    init = {"folder": str(tmp_path / "kept")}
    second, _ = made(tmp_path, {**recipe, "freeze": every["further"]["freeze"]}, init=init)
    assert trained_names(second) == {"network.prefix.weight"}
    assert torch.allclose(second.model.backbone.model.prefix.weight, prefix, rtol=0, atol=1e-6)
    with pytest.raises(BadInput, match='does not have a key "prefix_lengh"; did you mean "prefix_length"'):
        made(tmp_path, recipe, init={**start, "config": {"prefix_lengh": 4}})
    for freeze, told in (
        ({"but": ["bias"]}, "freeze: {encoder: true}"),
        ({"encoder": True, "but": ["x"]}, "contains x"),
    ):
        with pytest.raises(BadInput, match=told):
            made(tmp_path, {**recipe, "freeze": freeze})
    third, _ = made(tmp_path, {**recipe, "freeze": every["biases"]["freeze"]})
    third.model.backbone.drop_token_head()
    assert trained_names(third) == {name for name in third.model.backbone.state_dict() if "bias" in name}
