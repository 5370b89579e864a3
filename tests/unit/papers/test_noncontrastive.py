"""Barlow Twins and VICReg against slow loops, closed forms, and gradients of the direct form."""

import math

import pytest
import torch
from papers.noncontrastive.losses import product_squares
from pydantic import TypeAdapter, ValidationError

from replicse.errors import BadInput
from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.runs import Run
from replicse.registry.terms import Term

# Wider than the batch and narrower: the sums are taken in two ways.
SHAPES = ((6, 9), (9, 4), (7, 7))
CONVENTIONS = ("reference", "paper")


def loss_of(views, **spec):
    """Return the loss of two views."""
    term = make_term(TypeAdapter(Term).validate_python(spec))
    return term(Step(vectors=views, columns=[], model=None, generator=torch.Generator()))


def two_views(rows, width, seed=0, dtype=torch.float64):
    """Return two views of unequal scale and mean that agree with each other to some degree."""
    generator = torch.Generator().manual_seed(seed)
    first, noise = torch.randn(2, rows, width, generator=generator, dtype=dtype)
    scale = torch.linspace(0.3, 2, width, dtype=dtype)
    return [first * scale + 1, (first + 0.5 * noise) * scale - 2]


def moments(column):
    """Return mean and sum of squared deviations of a list."""
    mean = sum(column) / len(column)
    return mean, sum((value - mean) ** 2 for value in column)


def slow_barlow_twins(views, weight):
    """Zbontar et al. (2021), one entry of the matrix at a time; 1e-5 is what BatchNorm adds to a variance."""
    columns = []
    for view in views:
        standardised = []
        for column in view.T.tolist():
            mean, squares = moments(column)
            spread = math.sqrt(squares / len(column) + 1e-5)
            standardised.append([(value - mean) / spread for value in column])
        columns.append(standardised)
    total = 0.0
    for i, left in enumerate(columns[0]):
        for j, right in enumerate(columns[1]):
            entry = sum(a * b for a, b in zip(left, right, strict=True)) / len(left)
            total += (1 - entry) ** 2 if i == j else weight * entry**2
    return total


def slow_vicreg(views, convention, weights=(25, 25, 1), gamma=1.0, epsilon=1e-4):
    """Bardes et al. (2022), one entry at a time, scaled as printed or as in the reference code."""
    first, second = (view.tolist() for view in views)
    rows, width = len(first), len(first[0])
    distance = (
        sum((a - b) ** 2 for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True))
        / rows
    )
    variance = covariance = 0.0
    for view in views:
        columns = view.T.tolist()
        for i, left in enumerate(columns):
            mean, squares = moments(left)
            variance += max(0.0, gamma - math.sqrt(squares / (rows - 1) + epsilon)) / width
            for j, right in enumerate(columns):
                if i != j:
                    other = moments(right)[0]
                    product = sum((a - mean) * (b - other) for a, b in zip(left, right, strict=True))
                    covariance += (product / (rows - 1)) ** 2 / width
    if convention == "reference":
        distance, variance = distance / width, variance / 2
    return weights[0] * distance + weights[1] * variance + weights[2] * covariance


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weight", [0.0051, 1.0])
def test_barlow_twins_is_its_formula(shape, weight):
    views = two_views(*shape)
    found = loss_of(views, term="barlow-twins", off_diagonal_weight=weight)
    assert float(found) == pytest.approx(slow_barlow_twins(views, weight), rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_vicreg_is_its_formula(shape, convention):
    views = two_views(*shape)
    for values in ({}, {"invariance": 1, "variance": 2, "covariance": 0.3, "gamma": 1.5, "epsilon": 0.01}):
        found = loss_of(views, term="vicreg", convention=convention, **values)
        weights = tuple(values.get(name, default) for name, default in
                        (("invariance", 25), ("variance", 25), ("covariance", 1)))  # fmt: skip
        expected = slow_vicreg(
            views, convention, weights, values.get("gamma", 1), values.get("epsilon", 1e-4)
        )
        assert float(found) == pytest.approx(expected, rel=1e-6)


def decorrelated(rows=64, width=16):
    """Return columns of mean 0 and variance 1 (over rows) of which no two are correlated."""
    values = torch.randn(rows, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return torch.linalg.qr(values - values.mean(0))[0] * math.sqrt(rows)


def test_identical_decorrelated_views_leave_nothing_to_do():
    view = decorrelated()
    assert float(loss_of([view, view], term="barlow-twins")) == pytest.approx(0, abs=1e-8)
    # Variance 64/63 with rows - 1 in the denominator: beyond gamma, where the hinge is flat.
    for convention in CONVENTIONS:
        assert float(loss_of([view, view], term="vicreg", convention=convention)) == pytest.approx(
            0, abs=1e-12
        )


def test_closed_forms_of_single_terms():
    view = decorrelated()
    # Opposite views correlate by -1 in each of 16 dimensions: (1 + 1)^2 each.
    assert float(loss_of([view, -view], term="barlow-twins")) == pytest.approx(64, rel=1e-4)
    # All dimensions alike: every one of 16 * 15 other entries is 1.
    alike = view[:, :1].repeat(1, 16)
    assert float(loss_of([alike, alike], term="barlow-twins")) == pytest.approx(0.0051 * 240, rel=1e-4)
    only = dict.fromkeys(("invariance", "variance", "covariance"), 0)
    for convention, factor in (("reference", 1), ("paper", 16)):
        shifted = [view, view + 3]
        found = loss_of(shifted, term="vicreg", convention=convention, **only | {"invariance": 1})
        assert float(found) == pytest.approx(9 * factor)
    for convention, factor in (("reference", 1), ("paper", 2)):
        collapsed = [torch.ones(5, 3), torch.ones(5, 3)]
        found = loss_of(collapsed, term="vicreg", convention=convention, **only | {"variance": 1})
        assert float(found) == pytest.approx(factor * (1 - math.sqrt(1e-4)))
        found = loss_of([alike, alike], term="vicreg", convention=convention, **only | {"covariance": 1})
        assert float(found) == pytest.approx(2 * 15 * (64 / 63) ** 2)


def direct_barlow_twins(views, weight):
    """The matrix itself, as a textbook writes it."""
    first, second = ((view - view.mean(0)) / (view.var(0, unbiased=False) + 1e-5).sqrt() for view in views)
    matrix = first.T @ second / len(first)
    diagonal = matrix.diagonal()
    return (1 - diagonal).square().sum() + weight * (matrix - diagonal.diag()).square().sum()


def direct_vicreg(views):
    """The matrices themselves, in the reference code's convention."""
    first, second = views
    loss = 25 * (first - second).square().mean()
    for view in views:
        centred = view - view.mean(0)
        matrix = centred.T @ centred / (len(view) - 1)
        loss = loss + 25 * (1 - (matrix.diagonal() + 1e-4).sqrt()).relu().mean() / 2
        loss = loss + (matrix - matrix.diagonal().diag()).square().sum() / view.shape[1]
    return loss


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("term", ["barlow-twins", "vicreg"])
def test_gradients_are_those_of_the_direct_form(shape, term):
    views = [view.requires_grad_() for view in two_views(*shape)]
    found = torch.autograd.grad(loss_of(views, term=term), views)
    direct = direct_barlow_twins(views, 0.0051) if term == "barlow-twins" else direct_vicreg(views)
    for own, expected in zip(found, torch.autograd.grad(direct, views), strict=True):
        assert torch.allclose(own, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(256, 2048), (256, 300), (256, 64)])
@pytest.mark.parametrize("term", ["barlow-twins", "vicreg"])
def test_single_precision_is_that_of_the_direct_form(shape, term):
    """The squares off the diagonal are a difference of two sums: no more is lost in it than rounding."""
    views = two_views(*shape)
    exact = direct_barlow_twins(views, 0.0051) if term == "barlow-twins" else direct_vicreg(views)
    found = loss_of([view.float() for view in views], term=term)
    assert float(found) == pytest.approx(float(exact), rel=1e-6)


def test_the_sums_stay_in_single_precision_under_autocast():
    views = two_views(32, 64, dtype=torch.float32)
    for term in ("barlow-twins", "vicreg"):
        expected = loss_of(views, term=term)
        with torch.autocast("cpu", torch.bfloat16):
            found = loss_of(views, term=term)
        assert found.dtype == torch.float32 and float(found) == float(expected)


def test_both_ways_of_summing_agree():
    first, second = two_views(5, 8)
    expected = (first.T @ second).square().sum()
    assert float(product_squares(first, second)) == pytest.approx(float(expected), rel=1e-12)
    assert float(product_squares(second.T, first.T)) == pytest.approx(
        float((second @ first.T).square().sum()), rel=1e-12
    )


def test_a_run_of_one_view_is_refused():
    run = {"init": {"hub": "a"}, "corpus": {"name": "wiki"}, "views": [{"column": "text"}]}
    for term in ("barlow-twins", "vicreg"):
        with pytest.raises(BadInput, match=f"term {term} on views 0 to 0, not on view 1"):
            Run.of({**run, "objective": [{"term": term}]}, "run")


def test_an_unknown_convention_is_refused():
    with pytest.raises(ValidationError, match="convention"):
        TypeAdapter(Term).validate_python({"term": "vicreg", "convention": "printed"})
