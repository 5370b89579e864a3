"""Barlow Twins and VICReg, compared with the formulas of their papers.

Includes gradients, and shuffled tokens.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replicse.augment import token_change
from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.terms import Term

# The width is larger or smaller than the batch size; the sums are computed in two ways.
SHAPES = ((6, 9), (9, 4), (7, 7))


def loss_of(views, **spec):
    """Return the loss of two views.

    Args:
        views: Two tensors of shape (rows, width).
        spec: Parameters of the term.
    """
    term = make_term(TypeAdapter(Term).validate_python(spec))
    return term(Step(vectors=views, columns=[], model=None, generator=torch.Generator()))


def two_views(rows, width, seed=0, dtype=torch.float64):
    """Return two similar views with different scales and means.

    Args:
        rows: Batch size.
        width: Size of the vectors.
        seed: Seed of the random generator. Default: 0.
        dtype: Precision. Default: float64.
    """
    generator = torch.Generator().manual_seed(seed)
    first, noise = torch.randn(2, rows, width, generator=generator, dtype=dtype)
    scale = torch.linspace(0.3, 2, width, dtype=dtype)
    return [first * scale + 1, (first + 0.5 * noise) * scale - 2]


def direct_barlow_twins(views, weight=0.0051):
    """Compute Barlow Twins from the correlation matrix (Zbontar et al., 2021).

    As in BatchNorm, 1e-5 is added to a variance. The default weight is the paper's.
    """
    first, second = ((view - view.mean(0)) / (view.var(0, unbiased=False) + 1e-5).sqrt() for view in views)
    matrix = first.T @ second / len(first)
    diagonal = matrix.diagonal()
    return (1 - diagonal).square().sum() + weight * (matrix - diagonal.diag()).square().sum()


def direct_vicreg(views, convention="reference", weights=(25, 25, 1), gamma=1.0, epsilon=1e-4):
    """Compute VICReg from the covariance matrices (Bardes et al., 2022).

    Args:
        views: Two tensors of shape (rows, width).
        convention: Scaling of the terms as in the "reference" code or the "paper". Default: "reference".
        weights: Weights of distance, variance and covariance. Default: (25, 25, 1).
        gamma: Target standard deviation. Default: 1.
        epsilon: Added to a variance. Default: 1e-4.
    """
    first, second = views
    distance, variance, covariance = (first - second).square().sum() / len(first), 0.0, 0.0
    for view in views:
        centred = view - view.mean(0)
        matrix = centred.T @ centred / (len(view) - 1)
        variance = variance + (gamma - (matrix.diagonal() + epsilon).sqrt()).relu().mean()
        covariance = covariance + (matrix - matrix.diagonal().diag()).square().sum() / view.shape[1]
    if convention == "reference":
        distance, variance = distance / first.shape[1], variance / 2
    return weights[0] * distance + weights[1] * variance + weights[2] * covariance


OWN = {"invariance": 1, "variance": 2, "covariance": 0.3, "gamma": 1.5, "epsilon": 0.01}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("spec", "direct"),
    [
        ({"term": "barlow-twins"}, direct_barlow_twins),
        ({"term": "barlow-twins", "off_diagonal_weight": 1.0}, lambda views: direct_barlow_twins(views, 1.0)),
        ({"term": "vicreg"}, direct_vicreg),
        ({"term": "vicreg", "convention": "paper"}, lambda views: direct_vicreg(views, "paper")),
        (
            {"term": "vicreg", "convention": "reference", **OWN},
            lambda views: direct_vicreg(views, "reference", (1, 2, 0.3), 1.5, 0.01),
        ),
    ],
)
def test_loss_and_gradients_are_those_of_the_direct_form(shape, spec, direct):
    views = [view.requires_grad_() for view in two_views(*shape)]
    found, expected = loss_of(views, **spec), direct(views)
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    gradients = torch.autograd.grad(found, views), torch.autograd.grad(expected, views)
    for own, other in zip(*gradients, strict=True):
        assert torch.allclose(own, other, rtol=1e-6, atol=1e-9)


def test_the_sums_stay_in_single_precision_under_autocast():
    views = two_views(32, 64, dtype=torch.float32)
    for term in ("barlow-twins", "vicreg"):
        expected = loss_of(views, term=term)
        with torch.autocast("cpu", torch.bfloat16):
            found = loss_of(views, term=term)
        assert found.dtype == torch.float32 and float(found) == float(expected)


# Token shuffle, after tokenization


def shuffled(ids, fraction, row=0, seed=42):
    """Return the ids of a row after shuffling.

    Args:
        ids: List of token ids, where 0 is a special token.
        fraction: Fraction of tokens to shuffle.
        row: Index of the row. Default: 0.
        seed: Seed of the augmentation. Default: 42.
    """
    change = token_change({"name": "shuffle", "fraction": fraction, "seed": seed}, Path())
    return change(row, ids, [int(token == 0) for token in ids])


@given(ids=st.lists(st.integers(0, 9), max_size=30), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_shuffle_permutes_at_most_its_share_of_places(ids, share, seed):
    moved = shuffled(ids, share, seed=seed)
    assert Counter(moved) == Counter(ids)
    before, after = np.array(ids), np.array(moved)
    assert np.array_equal(before == 0, after == 0)
    changed, ordinary = np.sum(before != after), np.count_nonzero(before)
    assert changed <= (min(ordinary, max(2, round(share * ordinary))) if share else 0)


def test_a_small_share_moves_tokens_in_half_of_the_lines_and_in_none_where_it_is_zero():
    """A small fraction should move tokens in half of the lines.

    A fraction of zero should move no tokens. If the number were rounded, 0.05 of 20 tokens would be a single
    token, which cannot move.
    """
    line = list(range(1, 21))
    same = sum(shuffled(line, 0.05, row) == line for row in range(2000))
    assert 900 < same < 1100


def test_shuffle_of_everything_reaches_every_order_and_rows_and_seeds_draw_apart():
    found = Counter(tuple(shuffled([0, 1, 2, 3, 0], 1.0, row)) for row in range(3000))
    assert len(found) == 6 and min(found.values()) > 400
    assert all(shuffled([0, 1, 2, 3, 0], 0.0, row) == [0, 1, 2, 3, 0] for row in range(9))
    line = list(range(1, 21))
    assert shuffled(line, 0.5) == shuffled(line, 0.5) != shuffled(line, 0.5, seed=43)
