"""The momentum encoder, and a whole step of ESimCSE against one written out in float64 on another implementation."""

import math

import micro
import pytest
import torch
import transformers

from replicse.errors import BadInput
from replicse.training.loop import Trainer

CPU = torch.device("cpu")
QUEUE = {"term": "momentum-queue", "temperature": 0.1, "queue": 20}
STEPS = {"batch_size": 8, "learning_rate": 1e-3, "steps": 12, "epochs": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


def esimcse(folder, **changes):
    """Return a trainer of ESimCSE on a tiny encoder."""
    values = {"objective": [QUEUE], "optimisation": STEPS, "momentum": {"decay": 0.9, "start": "random"}}
    job = micro.job(folder, count=44, **{**values, "selection": {"every": 0}, **changes})
    return Trainer(job, folder, folder / "out", folder / "state", CPU)


def updates(trainer, count):
    """Make steps; yield the batch and the loss of each."""
    source = trainer.sources[0]
    for step, (columns, labels) in enumerate(source.data.batches(0, count)):
        loss, _ = trainer._update(step, source, columns, labels)
        yield columns, float(loss)


# One step, written out: what the encoder computes is left to the BERT of `transformers`, row by row.


def opened(folder, backbone):
    """Return the BERT of `transformers` with the weights of a backbone, in float64."""
    backbone.save(folder)
    options = {"dtype": torch.float64, "add_pooling_layer": False, "attn_implementation": "eager"}
    return transformers.AutoModel.from_pretrained(folder, **options).eval()


def rows_of(column):
    return [column.slice(row, row + 1).tokens.long()[None] for row in range(column.rows)]


def heads_vector(encoder, weight, bias, row):
    """Return tanh(W h + b) of the first token's last hidden state h."""
    return torch.tanh(weight @ encoder(input_ids=row).last_hidden_state[0, 0] + bias)


def cosine(one, other):
    return (one * other).sum() / ((one**2).sum().sqrt() * (other**2).sum().sqrt())


class ByHand:
    """ESimCSE as its code runs it: momentum update, loss, queue update, clipped AdamW with linear decay."""

    def __init__(self, trainer, folder):
        self.encoder = opened(folder / "trained", trainer.model.backbone)
        self.momentum = opened(folder / "momentum", trainer.model.momentum.backbone)
        weight, bias = (each.detach().clone().requires_grad_() for each in trainer.model.head.parameters())
        self.weight, self.bias = (weight, bias) if weight.ndim == 2 else (bias, weight)
        self.trained = [*self.encoder.parameters(), self.weight, self.bias]
        self.moments = [(torch.zeros_like(each), torch.zeros_like(each)) for each in self.trained]
        self.queue, self.taken = [], 0

    def step(self, first, second):
        """Return the loss of a batch, and move everything."""
        with torch.no_grad():
            for own, other in zip(self.momentum.parameters(), self.encoder.parameters(), strict=True):
                own.copy_(0.9 * own + 0.1 * other)
        anchors, positives = (
            [heads_vector(self.encoder, self.weight, self.bias, row) for row in view] for view in (first, second)
        )  # fmt: skip
        loss = 0
        for place, anchor in enumerate(anchors):
            logits = torch.stack([cosine(anchor, other) / 0.1 for other in [*positives, *self.queue]])
            loss = loss + torch.log(torch.exp(logits).sum()) - logits[place]
        loss = loss / len(anchors)
        with torch.no_grad():
            keys = [heads_vector(self.momentum, self.weight, self.bias, row) for row in first]
        self.queue = [*self.queue, *keys][-20:]
        gradients = torch.autograd.grad(loss, self.trained)
        self._move(gradients)
        return float(loss.detach())

    @torch.no_grad()
    def _move(self, gradients):
        norm = math.sqrt(math.fsum(float((each**2).sum()) for each in gradients))
        rate, self.taken = 1e-3 * (12 - self.taken) / 12, self.taken + 1
        for weights, gradient, (mean, square) in zip(self.trained, gradients, self.moments, strict=True):
            clipped = gradient * min(1.0, 1 / norm)
            mean.copy_(0.9 * mean + 0.1 * clipped)
            square.copy_(0.999 * square + 0.001 * clipped**2)
            best, spread = mean / (1 - 0.9**self.taken), square / (1 - 0.999**self.taken)
            weights -= rate * best / (spread.sqrt() + 1e-8)


def test_steps_of_esimcse_are_those_written_out(tmp_path, monkeypatch):
    """Four steps in float64: the queue grows to its end, and the momentum encoder moves before each update."""
    trainer = esimcse(
        tmp_path,
        dropout={"hidden": 0, "attention": 0},
        views=[{"column": "text"}, {"column": "other"}],
        momentum={"decay": 0.9, "start": "random", "head": "trained"},
    )
    by_hand = ByHand(trainer, tmp_path)
    trainer.model.double()
    trainer.objectives.double()
    for each in (by_hand.weight, by_hand.bias):
        each.data = each.data.double()
    by_hand.moments = [tuple(each.double() for each in pair) for pair in by_hand.moments]
    # Vectors are float32 to all precisions of a run; here they stay what they are.
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    (term,) = trainer.objectives[0].terms
    sizes = []
    for columns, loss in updates(trainer, 4):
        sizes.append(len(by_hand.queue))
        assert loss == pytest.approx(by_hand.step(*map(rows_of, columns)), rel=1e-9)
        kept = term.keys[len(term.keys) - int(term.filled) :]
        torch.testing.assert_close(kept, torch.stack(by_hand.queue), rtol=1e-7, atol=1e-9)
    assert sizes == [0, 8, 16, 20]
    # What moves without a gradient but that of rounding (biases of attention keys) is left out of the vectors.
    rows = rows_of(columns[0])
    column = columns[0]
    (pooling, _) = trainer.sources[0].poolings
    trainer.model.eval()
    with torch.no_grad():
        for ours, theirs in (
            (trainer.model.vectors([column], [pooling], False)[0], by_hand.encoder),
            (trainer.model.momentum_vectors(column, pooling), by_hand.momentum),
        ):
            expected = [heads_vector(theirs, by_hand.weight, by_hand.bias, row) for row in rows]
            torch.testing.assert_close(ours, torch.stack(expected), rtol=1e-7, atol=1e-9)


# The momentum encoder


@pytest.mark.parametrize("start", ["trained", "random"])
def test_the_momentum_encoder_is_the_closed_form_of_its_average(tmp_path, start):
    """After t steps: m^t g + (1 - m) (m^(t-1) f_1 + ... + f_t), f_s what is trained before step s."""
    trainer = esimcse(tmp_path, momentum={"decay": 0.9, "start": start})
    average, trained = trainer.model.momentum.backbone, list(trainer.model.backbone.parameters())
    first = [parameter.detach().clone() for parameter in average.parameters()]
    assert all(torch.equal(*pair) for pair in zip(first, trained, strict=True)) == (start == "trained")
    snapshots = [[parameter.detach().clone() for parameter in trained]]
    snapshots += [[parameter.detach().clone() for parameter in trained] for _ in updates(trainer, 7)]
    for place, parameter in enumerate(average.parameters()):
        expected = 0.9**7 * first[place].double()
        for step, weights in enumerate(snapshots[:7], 1):
            expected += 0.1 * 0.9 ** (7 - step) * weights[place].double()
        torch.testing.assert_close(parameter.double(), expected, rtol=1e-5, atol=1e-7)
        assert not parameter.requires_grad


@pytest.mark.parametrize("head", ["averaged", "trained"])
@pytest.mark.parametrize("kind", ["mlp", "projector"])
def test_keys_have_no_dropout_and_the_head_that_is_asked_for(tmp_path, head, kind):
    trainer = esimcse(tmp_path, head=kind, momentum={"decay": 0.5, "head": head})
    list(updates(trainer, 3))
    model = trainer.model
    columns, _ = next(trainer.sources[0].data.batches(0, 1))
    before = {name: value.clone() for name, value in model.head.state_dict().items()}
    model.train()
    (pooling, _) = trainer.sources[0].poolings
    keys = model.momentum_vectors(columns[0], pooling)
    assert torch.equal(keys, model.momentum_vectors(columns[0], pooling)) and not keys.requires_grad
    assert model.head.training, "the trained head goes on as it was"
    assert all(torch.equal(before[name], value) for name, value in model.head.state_dict().items())
    used = model.momentum.head if head == "averaged" else model.head
    rows = [columns[0].slice(row, row + 1) for row in range(columns[0].rows)]
    used.eval()
    with torch.no_grad():
        each = [used(model.momentum.backbone(row).last[:1]) for row in rows]
    torch.testing.assert_close(keys, torch.cat(each), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"momentum": None}, "momentum: {decay: ...} for term momentum-queue"),
        ({"objective": [{"term": "infonce"}]}, "no momentum, which none of infonce reads"),
        ({"encoders": "two"}, "encoders shared with momentum"),
        ({"momentum": {"decay": 1}}, "momentum.decay is 1"),
        ({"momentum": {"decay": 0.9, "start": "pretrained"}}, 'start is "pretrained"'),
    ],
)
def test_a_momentum_encoder_that_does_not_fit_is_refused(tmp_path, changes, problem):
    with pytest.raises(BadInput) as error:
        esimcse(tmp_path, **changes)
    assert problem in str(error.value)
