"""RankCSE's losses, compared with loops in float64, and a complete step."""

import math
from types import SimpleNamespace

import micro
import numpy as np
import pytest
import torch
from one_step import bert, check_weights, cosine, states, stepped
from papers.rankcse.losses import ListMLE
from tiny_encoders import tiny

from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.heads import make_head
from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.encoders import MlpHead
from replicse.registry.terms import TermParameters

TEACHERS = [{"folder": "a/teacher"}, {"folder": "another/teacher"}]


def parameters(**spec):
    return TermParameters.of(spec, "a test")


def vectors(rows, count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 5, generator=generator, dtype=torch.float64) for _ in range(count)]


def similarities(first, second, temperature):
    cosines = []
    for anchor in first:
        cosines.append(torch.stack([cosine(anchor, other) for other in second]))
    return torch.stack(cosines) / temperature


def softmax(scores):
    return (scores - scores.max()).exp() / (scores - scores.max()).exp().sum()


def divergence(student, clamped):
    total = 0
    for i in range(len(student)):
        p, q = softmax(student[i]), softmax(student[:, i])
        if clamped:
            # In the code, both arguments of KL are logarithms: log of the mean (at least 1e-7), and log p.
            p, q = p.clamp(min=1e-7), q.clamp(min=1e-7)
            total = total + ((p * (p.log() - 1e-7)).sum() + (q * (q.log() - 1e-7)).sum()) / 2
        else:
            m = (p + q) / 2
            total = total + ((p * (p / m).log()).sum() + (q * (q / m).log()).sum()) / 2
    return total / len(student)


def lists(student, taught, diagonal):
    for i in range(len(student)):
        places = [j for j in range(len(student)) if diagonal or j != i]
        yield student[i, places], taught[i, places]


def listnet(student, taught, diagonal=False, epsilon=0):
    losses = [-(softmax(q) * softmax(p).log()).sum() for p, q in lists(student, taught, diagonal)]
    return torch.stack(losses).mean()


def listmle(student, taught, diagonal=False, epsilon=0):
    """Compute ListMLE in a loop; the default of `epsilon` is 0."""
    total = 0
    for scores, ranks in lists(student, taught, diagonal):
        ranked = scores[sorted(range(len(ranks)), key=lambda place: -float(ranks[place]))]
        for k in range(len(ranked)):
            rest = (ranked[k:] - ranked.max()).exp().sum()
            total = total + (rest + epsilon).log() - (ranked[k] - ranked.max())
    return total / len(student)


RANKINGS = {"listmle": listmle, "listnet": listnet}


class Teacher:
    """A teacher that returns fixed vectors for any input."""

    def __init__(self, vectors):
        self.own, self.asked = vectors, 0

    def vectors(self, batch):
        self.asked += 1
        return self.own


def distilled(teachers, views, **spec):
    """Return the loss of a term with synthetic teachers.

    Both views have the same text, so a teacher should encode it only once.

    Args:
        teachers: List of vectors of each teacher.
        views: Two tensors of shape (rows, width).
        spec: Parameters of the term.
    """
    term = make_term(parameters(teachers=TEACHERS[: len(teachers)], **spec))
    term.teachers = list(map(Teacher, teachers))
    text = SimpleNamespace(tokens=torch.zeros(1))
    loss = term(Step(views, [text, text], None, torch.Generator()))
    assert [teacher.asked for teacher in term.teachers] == [1] * len(teachers), "one text is encoded once"
    return float(loss)


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("shares", "epsilon"), [(None, 0), ((0.33, 0.67), 0.1), ((1.0,), 1e-7)])
def test_rankings_are_their_loops(rows, diagonal, shares, epsilon):
    given = shares or (0.5, 0.5)
    first, second, *teachers = vectors(rows, 2 + len(given), rows)
    student = similarities(first, second, 0.1)
    taught = sum(share * similarities(each, each, 0.2) for share, each in zip(given, teachers, strict=True))
    common = {"shares": shares, "diagonal": diagonal, "temperature": 0.1, "teacher_temperature": 0.2}
    for term, more in (("listnet", {}), ("listmle", {"epsilon": epsilon})):
        found = distilled(teachers, [first, second], term=term, **common, **more)
        if rows == 1 and not diagonal:
            assert found == 0, "a batch of one row has nothing to rank"
        else:
            expected = RANKINGS[term](student, taught, diagonal, epsilon)
            assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def test_listmle_of_equal_scores_is_the_logarithm_of_a_factorial_and_never_nan():
    """ListMLE of equal scores should be log(n!), never NaN.

    Every order of n equal scores is equally likely, so the loss is minus log(1/n!).
    """
    loss = ListMLE(parameters(term="listmle", teachers=TEACHERS))
    rows = loss.compare(torch.ones(3, 6).double(), torch.rand(3, 6).double(), torch.Generator())
    torch.testing.assert_close(rows, torch.full((3,), math.log(720)).double())
    student = torch.tensor([[500.0, -500.0, 0.0]], requires_grad=True)
    loss.compare(student, torch.tensor([[2.0, 1.0, 0.0]]), torch.Generator()).sum().backward()
    assert student.grad.isfinite().all()


def test_ties_of_the_teachers_are_in_random_order():
    loss = ListMLE(parameters(term="listmle", teachers=TEACHERS))
    generator = torch.Generator().manual_seed(1)
    found = []
    for _ in range(400):
        found.append(float(loss.compare(torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2), generator)))
    values, counts = np.unique(np.round(found, 5), return_counts=True)
    assert values == pytest.approx([math.log(1 + math.exp(-1)), math.log(1 + math.e)], abs=1e-5)
    assert 150 < counts[1] < 250


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.4), (0.2, 0.3, 0.5)])
def test_shares_are_one_for_each_teacher_and_one_together(shares):
    term = parameters(term="listnet", teachers=TEACHERS, shares=shares)
    assert f"shares {list(shares)} of 2 teachers" in term.describe_missing()
    assert not parameters(term="listnet", teachers=TEACHERS, shares=(0.33, 0.67)).describe_missing()


@pytest.mark.parametrize("clamped", [False, True])
def test_consistency_is_the_divergence_and_clamped_what_the_code_has(clamped):
    for rows, temperature in ((1, 0.5), (6, 0.05), (5, 1.0)):
        views = vectors(rows, 2, rows)
        term = make_term(parameters(term="ranking-consistency", clamped=clamped, temperature=temperature))
        expected = divergence(similarities(*views, temperature), clamped)
        found = float(term(Step(views, [], None, torch.Generator())))
        assert found == pytest.approx(float(expected), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("ranking", "clamped"), [("listmle", True), ("listnet", False)])
def test_a_step(tmp_path, ranking, clamped):
    """A step equals a separate implementation in float64.

    The loss is InfoNCE, consistency and the ranking of two teachers, whose widths differ. The student's head
    is trained, too.
    """
    tokenizer, teachers = micro.tokenizer_file(tmp_path), []
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    for seed, hidden in ((1, 16), (2, 24)):
        torch.manual_seed(seed)
        encoder = tiny(layers=1, vocabulary=size, hidden=hidden, heads=2, intermediate=16, positions=64)
        encoder.save(tmp_path / f"teacher-{seed}", make_head(MlpHead(kind="mlp"), hidden), tokenizer)
        teachers.append({"folder": str(tmp_path / f"teacher-{seed}"), "pooling": "cls"})
    own = {"diagonal": True, "epsilon": 1e-7} if ranking == "listmle" else {}
    ranked = {
        "term": ranking,
        "teachers": teachers,
        "shares": [0.33, 0.67],
        "teacher_temperature": 0.1,
        **own,
    }
    consistent = {"term": "ranking-consistency", "clamped": clamped}
    objective = [{"term": "infonce"}, consistent, {**ranked, "weight": 0.5}]
    loss, rows = stepped(tmp_path, objective=objective, pooling={"train": "cls-head"})
    model = bert(tmp_path, "before")
    sides = [torch.tanh(model.pooler.dense(states(model, side, 24)[:, 0])) for side in rows]
    student, taught = similarities(*sides, 0.05), 0
    for share, number in ((0.33, 1), (0.67, 2)):
        with torch.no_grad():
            read = [states(bert(tmp_path, f"teacher-{number}"), side, 24)[:, 0] for side in rows]
        taught = taught + share * similarities(*read, 0.1)
    contrastive = torch.stack([row.exp().sum().log() - row[i] for i, row in enumerate(student)]).mean()
    expected = contrastive + divergence(student, clamped) + 0.5 * RANKINGS[ranking](student, taught, **own)
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    check_weights(tmp_path, model)
