"""Centring, whitening and flow: closed forms, inverses, and likelihoods."""

import numpy as np
import pytest
import torch

from replicse.encoder.baselines import postprocess
from replicse.encoder.baselines.postprocess import Centring, Flow, Whitening
from replicse.errors import BadInput

FITTED = 500


def correlated(rows, dimensions, seed=0):
    """Return vectors with correlated dimensions; the default seed is 0."""
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(dimensions, dimensions))
    return (generator.normal(size=(rows, dimensions)) @ mixing + 3).astype(np.float32)


def curved(rows, seed=0):
    """Return points on a noisy parabola, which no linear map makes normal."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=rows)
    noise = generator.normal(size=(2, rows))
    return np.stack([x, x**2 + 0.2 * noise[0], 5 + 0.1 * noise[1], x], axis=1).astype(np.float32)


def test_centred_vectors_have_the_mean_that_was_fitted_taken_away():
    vectors = np.array([[1.0, 2.0], [3.0, 8.0]], dtype=np.float32)
    centring = Centring.fit(vectors)
    assert centring.transform(vectors).tolist() == [[-1.0, -3.0], [1.0, 3.0]]
    assert centring.transform(np.zeros((1, 2), dtype=np.float32)).tolist() == [[-2.0, -5.0]]


@pytest.mark.parametrize("at_once", [64, 1000])
def test_whitening_is_the_formula_however_many_vectors_are_read_at_once(monkeypatch, at_once):
    monkeypatch.setattr(postprocess, "_FITTED_AT_ONCE", at_once)
    vectors, others = correlated(300, 5), correlated(7, 5, seed=1)
    found = Whitening.fit(vectors).transform(others)
    mean = vectors.astype(np.float64).mean(axis=0)
    covariance = np.zeros((5, 5))
    for vector in vectors:
        covariance += np.outer(vector - mean, vector - mean) / len(vectors)
    # Inner products of whitened vectors are Mahalanobis products, because W W^T is the inverse covariance.
    expected = (others - mean) @ np.linalg.inv(covariance) @ (others - mean).T
    assert found @ found.T == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert found.dtype == np.float32


def test_directions_without_variance_become_zero():
    vectors = correlated(4, 10)
    whitening = Whitening.fit(vectors)
    found = whitening.transform(vectors).astype(np.float64)
    assert found.shape == (4, 10)
    spectrum = np.sort(np.linalg.eigvalsh(found.T @ found / 4))
    assert spectrum == pytest.approx([0] * 7 + [1] * 3, abs=1e-4)
    assert not Whitening.fit(np.ones((5, 3))).transform(correlated(2, 3)).any()


@pytest.fixture(scope="module")
def flow():
    return Flow.fit(curved(FITTED), seed=1, epochs=4, learning_rate=1e-2)


def test_flow_density_is_that_of_the_change_of_variables(flow):
    """The density of the flow should follow from the change of variables.

    log p(x) = log N(f(x)) + log |det f'(x)|, where the Jacobian is computed by automatic differentiation.
    """
    vectors = curved(5, seed=3)
    for vector, density in zip(vectors, flow.log_density(vectors), strict=True):
        jacobian = torch.autograd.functional.jacobian(flow.model().transform, torch.from_numpy(vector))
        latent = flow.transform(vector[None])[0]
        normal = -0.5 * (latent @ latent) - 2 * np.log(2 * np.pi)
        assert density == pytest.approx(normal + np.linalg.slogdet(jacobian.numpy())[1], abs=1e-3)


def test_training_improves_the_density_of_unseen_vectors(flow):
    unseen = curved(500, seed=4)
    untrained = Flow.fit(curved(FITTED), seed=1, epochs=0)
    assert flow.log_density(unseen).mean() > untrained.log_density(unseen).mean() + 1


def test_the_seed_decides_and_the_global_state_is_left_alone():
    vectors = correlated(100, 6)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    found = [Flow.fit(vectors, seed=seed).transform(vectors) for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(3), expected)
    assert np.array_equal(found[0], found[1]) and not np.allclose(found[0], found[2], atol=1e-3)


def test_divergence_and_bad_vectors_are_named():
    vectors = correlated(64, 4)
    with pytest.raises(BadInput, match=r"diverged at learning rate 1e\+30; lower it"):
        Flow.fit(vectors, seed=0, learning_rate=1e30)
    broken = vectors.copy()
    broken[3, 1] = np.nan
    for fit, name in ((Whitening.fit, "whitening"), (lambda rows: Flow.fit(rows, seed=0), "flow")):
        with pytest.raises(BadInput, match=f"{name}: a sentence vector is not finite"):
            fit(broken)
        with pytest.raises(BadInput, match=f"{name}: vectors of shape"):
            fit(vectors[:1])
