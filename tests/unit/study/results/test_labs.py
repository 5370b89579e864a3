"""Random effects of labs by restricted maximum likelihood: published examples, statsmodels, and one of each kind."""

import numpy as np
import pytest

from replicse.study.results.labs import pooled, restricted_log_likelihood

# Travel times of ultrasonic waves in six rails (Pinheiro and Bates 2000, section 1.1): lme, method REML.
RAILS = [[55, 53, 54], [26, 37, 32], [78, 91, 85], [92, 100, 96], [49, 51, 50], [80, 85, 83]]
# Yield of dyestuff in six batches (Davies and Goldsmith 1972; lme4's Dyestuff): 42.00 and 49.51, mean 1527.5.
DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
]  # fmt: skip


def by_lab(groups):
    return {f"lab {place}": list(map(float, group)) for place, group in enumerate(groups)}


def test_the_rails_have_the_published_deviations():
    pool = pooled(by_lab(RAILS))
    assert (pool.labs, pool.seeds, pool.mean) == pytest.approx((24.80547, 4.020779, 66.5), abs=1e-4)
    assert restricted_log_likelihood(RAILS, (pool.labs / pool.seeds) ** 2) == pytest.approx(
        -61.0885, abs=1e-4
    )
    # Balanced: the interval is that of the six means, (mean square of labs / 18) ^ 0.5 with five degrees.
    error = np.std([np.mean(rail) for rail in RAILS], ddof=1) / np.sqrt(6)
    assert pool.half == pytest.approx(2.570582 * error, rel=1e-5)
    assert str(pool) == "6 labs, 18 seeds: 66.50 ±26.15, seeds 4.02, labs 24.81"


def test_the_dyestuff_has_the_published_deviations():
    pool = pooled(by_lab(DYESTUFF))
    assert (pool.labs, pool.seeds, pool.mean) == pytest.approx((42.00, 49.51, 1527.5), abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_unequal_labs_are_as_statsmodels_has_them(seed):
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    random = np.random.default_rng(seed)
    groups = [random.normal(75 + random.normal(0, 1.5), 1.0, size).tolist() for size in (3, 5, 1, 4, 2)]
    values = np.concatenate(groups)
    names = np.repeat(range(5), [len(group) for group in groups])
    model = mixed.MixedLM(values, np.ones(len(values)), groups=names).fit(reml=True)
    pool = pooled(by_lab(groups))
    assert pool.mean == pytest.approx(float(model.fe_params[0]), abs=1e-4)
    assert pool.seeds**2 == pytest.approx(float(model.scale), rel=1e-3)
    assert pool.labs**2 == pytest.approx(float(model.cov_re[0, 0]), rel=2e-3, abs=1e-4)


def test_labs_that_differ_no_more_than_their_seeds_have_no_deviation():
    pool = pooled(by_lab([[74, 75, 76], [74.5, 75, 75.5], [74, 75, 76]]))
    assert pool.labs == 0 and pool.mean == pytest.approx(75)


def test_two_labs_have_two_deviations_and_no_interval():
    pool = pooled(by_lab([[64.8, 63.5, 63.4], [66.0]]))
    assert pool.half is None and pool.labs > 0 and "2 labs, 4 seeds: " in str(pool) and "±" not in str(pool)


def test_one_lab_or_one_seed_each_tells_nothing_apart():
    assert pooled({"a": [1.0, 2.0]}) is None and pooled({"a": [1.0], "b": [2.0]}) is None
    assert pooled({"a": [1.0, 1.0], "b": [1.0]}) is None and pooled({"a": [1.0, 2.0], "b": []}) is None
