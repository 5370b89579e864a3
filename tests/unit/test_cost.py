"""Cost estimates by hand."""

import pytest

from replicse.study.cost import FILLED, run_hours
from replicse.study.specs import RunSpec, build

RUN = {
    "init": {"hub": "bert-base-uncased", "revision": "x"},
    "corpus": {"name": "wiki"},
    "views": [{"column": "text"}] * 2,
    "objective": [{"term": "infonce"}],
}


def spec(**changes):
    return build(RunSpec, {**RUN, **changes}, "run")


def test_an_epoch_of_unsupervised_simcse_takes_its_authors_gpu_under_an_hour():
    hours = run_hours(spec(), 1_000_000, 8e12, {}.__getitem__)
    tokens = 15_625 * 64 * 2 * 32 * FILLED
    assert hours == pytest.approx(6 * 12 * 12 * 768**2 * tokens / 8e12 / 3600)
    assert 0.3 < hours < 1


def test_steps_cap_the_rows_and_masked_lm_encodes_again():
    capped = run_hours(spec(optimisation={"steps": 100}), 1_000_000, 1e12, {}.__getitem__)
    assert capped == pytest.approx(run_hours(spec(), 6400, 1e12, {}.__getitem__))
    both = spec(objective=[{"term": "infonce"}, {"term": "mlm", "weight": 0.1}])
    assert run_hours(both, 6400, 1e12, {}.__getitem__) == pytest.approx(2 * capped)


def test_a_chain_is_followed_and_an_unknown_size_is_none():
    parent = {"first": spec()}.__getitem__
    chained = spec(init={"run": "first"})
    assert run_hours(chained, 6400, 1e12, parent) == run_hours(spec(), 6400, 1e12, parent)
    assert run_hours(spec(init={"hub": "nobody/knows", "revision": "x"}), 6400, 1e12, parent) is None
    assert run_hours(spec(), None, 1e12, parent) is None
