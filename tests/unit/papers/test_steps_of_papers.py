"""One step of Mirror-BERT and of RankCSE: loss and new weights, computed apart in double precision.

The reference is a model of `transformers` under a loss that is written out here, and the closed form of Adam's first
step.
"""

import micro
import pytest
import torch
from tiny_encoders import tiny

from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.heads import make_head
from replicse.registry.encoders import MlpHead
from replicse.training.loop import Trainer

LEARNING_RATE, DECAY, LENGTH = 1e-3, 0.01, 20
STEPS = {
    "batch_size": 6, "learning_rate": LEARNING_RATE, "decay": "none", "weight_decay": DECAY, "clip": 1e6, "steps": 3,
}  # fmt: skip
STILL = {"hidden": 0, "attention": 0}


def stepped(folder, **changes):
    """Make one step of a run; return its loss and the rows of both views; save the encoder before and after."""
    job = micro.job(folder, optimisation=STEPS, dropout=STILL, selection={"every": 0}, **changes)
    trainer = Trainer(job, folder, folder / "out", folder / "state", torch.device("cpu"))
    model, source = trainer.model, trainer.sources[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.1)
    columns, labels = next(source.data.batches(0, 1))
    model.backbone.save(folder / "before", model.head)
    loss, _ = trainer._update(0, source, columns, labels)
    model.backbone.save(folder / "after", model.head)
    rows = [[ids.tolist() for ids in column.tokens.split(column.lengths.tolist())] for column in columns]
    return float(loss), rows


def bert(folder, name):
    import transformers

    return transformers.BertModel.from_pretrained(folder / name).double().eval()


def states(model, rows, length):
    """Return the last hidden states of rows padded to a length, (rows, length, hidden)."""
    tokens = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return model(input_ids=tokens, attention_mask=mask).last_hidden_state


def check_weights(folder, model):
    """Check that each weight with a gradient moved by the closed form of AdamW's first step, and no other moved."""
    after = dict(bert(folder, "after").named_parameters())
    seen = 0
    for name, before in model.named_parameters():
        gradient = before.grad
        if gradient is None:
            assert torch.equal(after[name], before), name
            continue
        expected = before * (1 - LEARNING_RATE * DECAY) - LEARNING_RATE * gradient / (gradient.abs() + 1e-8)
        # Adam takes a full step of the sign of a gradient that is 0 but for rounding (biases of keys).
        sure = gradient.abs() > 1e-5
        seen += int(sure.sum())
        torch.testing.assert_close(after[name][sure], expected[sure], rtol=0, atol=2e-6)
    assert seen > 1000


def cosine(one, other):
    return (one * other).sum() / (one.square().sum() * other.square().sum()).sqrt()


def test_a_step_of_mirror_bert(tmp_path):
    """Means over padding, each of 2B vectors against the 2B - 1 others, weight decay, no clipping, constant rate."""
    pooling = {"train": {"pooling": "mean", "pad_to": LENGTH}, "test": "mean"}
    loss, rows = stepped(
        tmp_path,
        views=[{"column": "text"}, {"column": "other"}],
        objective=[{"term": "nt-xent", "temperature": 0.04}],
        pooling=pooling,
    )
    model = bert(tmp_path, "before")
    vectors = [vector for side in rows for vector in states(model, side, LENGTH).sum(1) / LENGTH]
    count, terms = len(rows[0]), []
    for i, anchor in enumerate(vectors):
        others = [cosine(anchor, other) / 0.04 for j, other in enumerate(vectors) if j != i]
        positive = cosine(anchor, vectors[(i + count) % (2 * count)]) / 0.04
        terms.append(torch.stack(others).exp().sum().log() - positive)
    expected = torch.stack(terms).mean()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    check_weights(tmp_path, model)


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("ranking", ["listmle", "listnet"])
def test_a_step_of_rankcse(tmp_path, ranking, clamped):
    """InfoNCE, consistency and the ranking of two teachers of other widths; the student's head goes along."""
    tokenizer, teachers = micro.tokenizer_file(tmp_path), []
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    for seed, hidden in ((1, 16), (2, 24)):
        torch.manual_seed(seed)
        encoder = tiny(layers=1, vocabulary=size, hidden=hidden, heads=2, intermediate=16, positions=64)
        encoder.save(tmp_path / f"teacher-{seed}", make_head(MlpHead(kind="mlp"), hidden), tokenizer)
        teachers.append({"folder": str(tmp_path / f"teacher-{seed}"), "pooling": "cls"})
    common = {
        "term": ranking,
        "teachers": teachers,
        "shares": [0.33, 0.67],
        "temperature": 0.05,
        "weight": 0.5,
    }
    own = {"diagonal": True, "epsilon": 1e-7} if ranking == "listmle" else {}
    loss, rows = stepped(
        tmp_path,
        views=[{"column": "text"}, {"column": "other"}],
        objective=[
            {"term": "infonce", "temperature": 0.05},
            {"term": "ranking-consistency", "temperature": 0.05, "clamped": clamped},
            {**common, "teacher_temperature": 0.1, **own},
        ],
        pooling={"train": "cls-head"},
    )
    model = bert(tmp_path, "before")
    sides = [torch.tanh(model.pooler.dense(states(model, side, 24)[:, 0])) for side in rows]
    count = len(rows[0])
    student = torch.stack([torch.stack([cosine(a, b) for b in sides[1]]) for a in sides[0]]) / 0.05
    taught = torch.zeros(count, count).double()
    for share, number in ((0.33, 1), (0.67, 2)):
        with torch.no_grad():
            own_sides = [states(bert(tmp_path, f"teacher-{number}"), side, 24)[:, 0] for side in rows]
        for i in range(count):
            for j in range(count):
                taught[i, j] += share * cosine(own_sides[0][i], own_sides[1][j]) / 0.1
    expected = contrastive(student) + divergence(student, clamped) + 0.5 * RANKINGS[ranking](student, taught)
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    check_weights(tmp_path, model)


def contrastive(student):
    return torch.stack([row.exp().sum().log() - row[i] for i, row in enumerate(student)]).mean()


def divergence(student, clamped):
    total = 0
    for i in range(len(student)):
        p, q = (scores.exp() / scores.exp().sum() for scores in (student[i], student[:, i]))
        if clamped:
            # The code's KL(log of the mean, at least 1e-7, against log p) with both as logarithms.
            p, q = p.clamp(min=1e-7), q.clamp(min=1e-7)
            total = total + ((p * (p.log() - 1e-7)).sum() + (q * (q.log() - 1e-7)).sum()) / 2
        else:
            m = (p + q) / 2
            total = total + ((p * (p / m).log()).sum() + (q * (q / m).log()).sum()) / 2
    return total / len(student)


def listnet(student, taught):
    total = 0
    for i in range(len(student)):
        others = [j for j in range(len(student)) if j != i]
        p, q = (scores[i, others].exp() / scores[i, others].exp().sum() for scores in (student, taught))
        total = total - (q * p.log()).sum()
    return total / len(student)


def listmle(student, taught):
    total = 0
    for scores, ranks in zip(student, taught, strict=True):
        ranked = scores[sorted(range(len(ranks)), key=lambda place: -float(ranks[place]))]
        for k in range(len(ranked)):
            rest = (ranked[k:] - ranked.max()).exp().sum()
            total = total + (rest + 1e-7).log() - (ranked[k] - ranked.max())
    return total / len(student)


RANKINGS = {"listmle": listmle, "listnet": listnet}
