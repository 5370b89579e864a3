"""The momentum encoder, and a complete step of ESimCSE.

The step is compared with a separate implementation in float64.
"""

import copy

import micro
import pytest
import torch
from one_step import cosine, opened

from replicse.errors import BadInput

QUEUE = {"term": "momentum-queue", "temperature": 0.1, "queue": 20}
STEPS = {"batch_size": 8, "learning_rate": 1e-3, "steps": 12, "epochs": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


def esimcse(folder, **changes):
    """Return a trainer of ESimCSE with a tiny encoder."""
    values = {"objective": [QUEUE], "optimisation": STEPS, "momentum": {"decay": 0.9, "start": "random"}}
    job = micro.job(folder, count=44, **{**values, "selection": {"every": 0}, **changes})
    return micro.trainer_of(job, folder)


def updates(trainer, count):
    """Run some steps; yield the batch and the loss of each step."""
    source = trainer.sources[0]
    for step, (columns, labels) in enumerate(source.data.batches(0, count)):
        loss, _ = trainer._update(step, source, columns, labels)
        yield columns, float(loss)


# A step, written out: BERT of `transformers` encodes each row separately.


def rows_of(column):
    return [column.slice(row, row + 1).tokens.long()[None] for row in range(column.rows)]


def heads_vector(encoder, weight, bias, row):
    """Return tanh(W h + b), where h is the last state of the first token."""
    return torch.tanh(weight @ encoder(input_ids=row).last_hidden_state[0, 0] + bias)


class ByHand:
    """ESimCSE as in the authors' code: momentum, loss, queue, clipped AdamW.

    The learning rate decays linearly.
    """

    def __init__(self, trainer, folder):
        self.encoder = opened(folder / "trained", trainer.model.backbone)
        self.momentum = opened(folder / "momentum", trainer.model.momentum.backbone)
        dense = trainer.model.head.dense
        self.weight = dense.weight.detach().clone().requires_grad_()
        self.bias = dense.bias.detach().clone().requires_grad_()
        self.trained = [*self.encoder.parameters(), self.weight, self.bias]
        self.adam = torch.optim.AdamW(self.trained, lr=1e-3, weight_decay=0)
        self.decay = torch.optim.lr_scheduler.LinearLR(self.adam, 1, 0, total_iters=12)
        self.queue = []

    def vectors(self, encoder, rows):
        return [heads_vector(encoder, self.weight, self.bias, row) for row in rows]

    def step(self, first, second):
        """Compute the loss of a batch, and update encoders and queue."""
        with torch.no_grad():
            for own, other in zip(self.momentum.parameters(), self.encoder.parameters(), strict=True):
                own.copy_(0.9 * own + 0.1 * other)
        anchors = self.vectors(self.encoder, first)
        positives = self.vectors(self.encoder, second)
        loss = 0
        for place, anchor in enumerate(anchors):
            logits = torch.stack([cosine(anchor, other) / 0.1 for other in [*positives, *self.queue]])
            loss = loss + torch.log(torch.exp(logits).sum()) - logits[place]
        loss = loss / len(anchors)
        with torch.no_grad():
            keys = self.vectors(self.momentum, first)
        self.queue = [*self.queue, *keys][-20:]
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.adam.step()
        self.decay.step()
        return float(loss.detach())


def test_steps_of_esimcse_are_those_written_out(tmp_path, double):
    """Steps of ESimCSE equal a separate implementation.

    Four steps in float64: the queue is filled, and the momentum encoder is updated before each step.
    """
    trainer = esimcse(
        tmp_path,
        dropout={"hidden": 0, "attention": 0},
        views=[{"column": "text"}, {"column": "other"}],
        momentum={"decay": 0.9, "start": "random", "head": "trained"},
    )
    trainer.model.double()
    trainer.objectives.double()
    by_hand = ByHand(trainer, tmp_path)
    (term,) = trainer.objectives[0].terms
    sizes = []
    for columns, loss in updates(trainer, 4):
        sizes.append(len(by_hand.queue))
        assert loss == pytest.approx(by_hand.step(*map(rows_of, columns)), rel=1e-9)
        kept = term.keys[len(term.keys) - int(term.filled) :]
        torch.testing.assert_close(kept, torch.stack(by_hand.queue), rtol=1e-7, atol=1e-9)
    assert sizes == [0, 8, 16, 20]
    # Parameters whose gradient is only rounding (biases of attention keys) are not compared.
    column = columns[0]
    (pooling, _) = trainer.sources[0].poolings
    trainer.model.eval()
    with torch.no_grad():
        for ours, theirs in (
            (trainer.model.vectors([column], [pooling], False)[0], by_hand.encoder),
            (trainer.model.momentum_vectors(column, pooling), by_hand.momentum),
        ):
            expected = [heads_vector(theirs, by_hand.weight, by_hand.bias, row) for row in rows_of(column)]
            torch.testing.assert_close(ours, torch.stack(expected), rtol=1e-7, atol=1e-9)


# Momentum encoder


@pytest.mark.parametrize("start", ["trained", "random"])
def test_the_momentum_encoder_starts_as_it_is_said_and_has_no_gradients(tmp_path, start):
    model = esimcse(tmp_path, momentum={"decay": 0.9, "start": start}).model
    average = list(model.momentum.backbone.parameters())
    pairs = zip(average, model.backbone.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs) == (start == "trained")
    for parameter in average:
        assert not parameter.requires_grad


@pytest.mark.parametrize("head", ["averaged", "trained"])
@pytest.mark.parametrize("kind", ["mlp", "projector"])
def test_keys_have_no_dropout_and_the_head_that_is_asked_for(tmp_path, head, kind):
    trainer = esimcse(tmp_path, head=kind, momentum={"decay": 0.5, "head": head})
    list(updates(trainer, 3))
    model = trainer.model.train()
    columns, _ = next(trainer.sources[0].data.batches(0, 1))
    before = copy.deepcopy(model.head.state_dict())
    (pooling, _) = trainer.sources[0].poolings
    keys = model.momentum_vectors(columns[0], pooling)
    assert torch.equal(keys, model.momentum_vectors(columns[0], pooling)) and not keys.requires_grad
    assert model.head.training, "the trained head goes on as it was"
    torch.testing.assert_close(model.head.state_dict(), before, rtol=0, atol=0)
    used = model.momentum.head if head == "averaged" else model.head
    used.eval()
    rows = [columns[0].slice(row, row + 1) for row in range(columns[0].rows)]
    with torch.no_grad():
        each = [used(model.momentum.backbone(row).last[:1]) for row in rows]
    torch.testing.assert_close(keys, torch.cat(each), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"momentum": None}, "momentum: {decay: ...} for term momentum-queue"),
        (
            {"objective": [{"term": "infonce"}]},
            "a run without momentum, because the terms (infonce) do not use it",
        ),
        ({"encoders": "two"}, "encoders shared with momentum"),
        ({"momentum": {"decay": 1}}, "momentum.decay is 1"),
        ({"momentum": {"decay": 0.9, "start": "pretrained"}}, 'start is "pretrained"'),
    ],
)
def test_a_momentum_encoder_that_does_not_fit_is_refused(tmp_path, changes, problem):
    with pytest.raises(BadInput) as error:
        esimcse(tmp_path, **changes)
    assert problem in str(error.value)
