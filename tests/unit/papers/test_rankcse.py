"""NT-Xent, distillation of rankings and their consistency against loops from the formulas, in double precision."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from papers.rankcse.losses import ListMLE
from pydantic import TypeAdapter

from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.terms import Term


def parameters(**spec):
    return TypeAdapter(Term).validate_python(spec)


def vectors(rows, count, seed, width=5):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, width, generator=generator, dtype=torch.float64) for _ in range(count)]


def step_of(views, columns=()):
    return Step(vectors=views, columns=columns, model=None, generator=torch.Generator().manual_seed(0))


def cosine(one, other):
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))


def cosines(first, second, temperature):
    return [[cosine(one, other) / temperature for other in second.tolist()] for one in first.tolist()]


def softmax(scores):
    most = max(scores)
    weights = [math.exp(score - most) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


# NT-Xent


@settings(max_examples=40)
@given(st.integers(1, 6), st.sampled_from([0.04, 0.1, 1.0]), st.integers(0, 999))
def test_nt_xent_is_the_mean_over_both_views_with_negatives_of_both(rows, temperature, seed):
    first, second = vectors(rows, 2, seed)
    every = [*first.tolist(), *second.tolist()]
    losses = []
    for i, anchor in enumerate(every):
        positive = (i + rows) % (2 * rows)
        others = [cosine(anchor, every[j]) / temperature for j in range(2 * rows) if j != i]
        most = max(others)
        total = most + math.log(math.fsum(math.exp(other - most) for other in others))
        losses.append(total - cosine(anchor, every[positive]) / temperature)
    loss = make_term(parameters(term="nt-xent", temperature=temperature))(step_of([first, second]))
    assert float(loss) == pytest.approx(math.fsum(losses) / len(losses), rel=1e-9, abs=1e-12)


def test_nt_xent_of_equal_views_has_a_closed_form():
    """Orthogonal rows, both views alike: e^(1/t) is the positive, 2 (B - 1) negatives have a cosine of 0."""
    loss = make_term(parameters(term="nt-xent", temperature=0.5))(step_of([torch.eye(4).double()] * 2))
    assert float(loss) == pytest.approx(math.log(math.exp(2) + 6) - 2, rel=1e-12)


# Distillation of rankings


class Teacher:
    """A teacher with vectors of its own, whatever it is given."""

    def __init__(self, vectors):
        self.own, self.asked = vectors, 0

    def vectors(self, batch):
        self.asked += 1
        return self.own


TEACHERS = [{"folder": "a/teacher"}, {"folder": "another/teacher"}]


def distilled(teachers, views, **spec):
    """Return the loss of a term whose teachers are made up; both views are one text."""
    term = make_term(parameters(teachers=TEACHERS[: len(teachers)], **spec))
    term.teachers = [Teacher(each) for each in teachers]
    text = SimpleNamespace(tokens=torch.zeros(1))
    loss = term(step_of(views, [text, text]))
    assert [teacher.asked for teacher in term.teachers] == [1] * len(teachers), "one text is encoded once"
    return float(loss)


def taught_by(teachers, shares, temperature):
    lists = [cosines(each, each, temperature) for each in teachers]
    rows = range(len(lists[0]))
    return [
        [math.fsum(s * one[i][j] for s, one in zip(shares, lists, strict=True)) for j in rows] for i in rows
    ]


def listed(scores, i, diagonal):
    return [score for j, score in enumerate(scores[i]) if diagonal or j != i]


def listnet_by_hand(student, taught, diagonal):
    losses = []
    for i in range(len(student)):
        p, q = softmax(listed(student, i, diagonal)), softmax(listed(taught, i, diagonal))
        losses.append(-math.fsum(b * math.log(a) for a, b in zip(p, q, strict=True)))
    return math.fsum(losses) / len(losses)


def listmle_by_hand(student, taught, diagonal, epsilon):
    losses = []
    for i in range(len(student)):
        scores, ranks = listed(student, i, diagonal), listed(taught, i, diagonal)
        order = sorted(range(len(ranks)), key=lambda place: -ranks[place])
        ranked, most = [scores[place] for place in order], max(scores)
        losses += [
            math.log(math.fsum(math.exp(s - most) for s in ranked[k:]) + epsilon) - (ranked[k] - most)
            for k in range(len(ranked))
        ]
    return math.fsum(losses) / len(student)


@settings(max_examples=40)
@given(
    rows=st.integers(2, 6),
    diagonal=st.booleans(),
    shares=st.sampled_from([None, (0.33, 0.67), (1.0,)]),
    epsilon=st.sampled_from([0, 1e-7, 0.1]),
    seed=st.integers(0, 999),
)
def test_listnet_and_listmle_are_their_loops(rows, diagonal, shares, epsilon, seed):
    count = len(shares or (0.5, 0.5))
    first, second, *teachers = vectors(rows, 2 + count, seed)
    student = cosines(first, second, 0.1)
    taught = taught_by(teachers, shares or (0.5, 0.5), 0.2)
    common = {
        "shares": shares, "diagonal": diagonal, "temperature": 0.1, "teacher_temperature": 0.2,
    }  # fmt: skip
    found = distilled(teachers, [first, second], term="listnet", **common)
    assert found == pytest.approx(listnet_by_hand(student, taught, diagonal), rel=1e-9)
    found = distilled(teachers, [first, second], term="listmle", epsilon=epsilon, **common)
    assert found == pytest.approx(listmle_by_hand(student, taught, diagonal, epsilon), rel=1e-9, abs=1e-12)


def test_listmle_of_equal_scores_is_the_logarithm_of_a_factorial():
    """Every order of n equal scores is as likely as any other: minus log(1/n!)."""
    loss = ListMLE(parameters(term="listmle", teachers=TEACHERS))
    rows = loss.compared(torch.ones(3, 6).double(), torch.rand(3, 6).double(), torch.Generator())
    torch.testing.assert_close(rows, torch.full((3,), math.log(720)).double())


def test_listmle_has_no_nan_where_scores_are_far_apart():
    loss = ListMLE(parameters(term="listmle", teachers=TEACHERS))
    student = torch.tensor([[500.0, -500.0, 0.0]], requires_grad=True)
    rows = loss.compared(student, torch.tensor([[2.0, 1.0, 0.0]]), torch.Generator())
    rows.sum().backward()
    assert float(rows.detach()) == pytest.approx(500.0) and student.grad.isfinite().all()


def test_ties_of_the_teachers_are_in_random_order():
    loss = ListMLE(parameters(term="listmle", teachers=TEACHERS))
    scores, tied = torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2)
    generator = torch.Generator().manual_seed(1)
    found = [float(loss.compared(scores, tied, generator)) for _ in range(400)]
    one, other = math.log(1 + math.exp(-1)), math.log(1 + math.e)
    assert {round(value, 5) for value in found} == {round(one, 5), round(other, 5)}
    assert 150 < sum(value > 1 for value in found) < 250


@pytest.mark.parametrize("term", ["listnet", "listmle"])
def test_a_batch_of_one_row_has_nothing_to_rank(term):
    first, second, teacher = vectors(1, 3, 0)
    assert distilled([teacher], [first, second], term=term) == 0


@pytest.mark.parametrize("shares", [(1.0,), (0.5, 0.4), (0.2, 0.3, 0.5)])
def test_shares_are_one_for_each_teacher_and_one_together(shares):
    term = parameters(term="listnet", teachers=TEACHERS, shares=shares)
    assert f"shares {list(shares)} of 2 teachers" in term.missing()
    assert not parameters(term="listnet", teachers=TEACHERS, shares=(0.33, 0.67)).missing()


# Consistency of rankings


def divergence_by_hand(first, second, temperature):
    rows, columns = cosines(first, second, temperature), cosines(second, first, temperature)
    losses = []
    for i in range(len(rows)):
        p, q = softmax(rows[i]), softmax(columns[i])
        mean = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        each = [a * math.log(a / m) for side in (p, q) for a, m in zip(side, mean, strict=True)]
        losses.append(math.fsum(each) / 2)
    return math.fsum(losses) / len(losses)


def clamped_by_hand(first, second, temperature):
    """As the community code writes it: probabilities of at least 1e-7, and a logarithm of the mean of at least 1e-7."""
    rows, columns = cosines(first, second, temperature), cosines(second, first, temperature)
    losses = []
    for i in range(len(rows)):
        p, q = ([max(a, 1e-7) for a in softmax(scores)] for scores in (rows[i], columns[i]))
        mean = [max(math.log(0.5 * (a + b)), 1e-7) for a, b in zip(p, q, strict=True)]
        each = [a * (math.log(a) - m) for side in (p, q) for a, m in zip(side, mean, strict=True)]
        losses.append(math.fsum(each) / 2)
    return math.fsum(losses) / len(losses)


def consistency(views, **spec):
    return float(make_term(parameters(term="ranking-consistency", **spec))(step_of(views)))


@settings(max_examples=40)
@given(st.integers(1, 6), st.sampled_from([0.05, 0.5]), st.integers(0, 999))
def test_consistency_is_the_divergence_and_clamped_what_the_code_has(rows, temperature, seed):
    views = vectors(rows, 2, seed)
    found = consistency(views, temperature=temperature)
    assert found == pytest.approx(divergence_by_hand(*views, temperature), rel=1e-8, abs=1e-12)
    assert -1e-12 <= found <= math.log(2)
    clamped = consistency(views, temperature=temperature, clamped=True)
    assert clamped == pytest.approx(clamped_by_hand(*views, temperature), rel=1e-8, abs=1e-12)


def test_what_is_clamped_is_minus_the_mean_entropy_and_no_divergence():
    """Of views that rank alike the divergence is 0; the clamped term is minus the entropy, least for uniform rows."""
    alike = torch.eye(4).double()
    assert consistency([alike, alike], temperature=1) == pytest.approx(0, abs=1e-12)
    shares = softmax([1, 0, 0, 0])
    entropy = -math.fsum(share * math.log(share) for share in shares)
    assert consistency([alike, alike], temperature=1, clamped=True) == pytest.approx(-entropy, abs=1e-6)
    same = torch.ones(4, 4).double()
    assert consistency([same, same], clamped=True) == pytest.approx(-math.log(4), abs=1e-6)
