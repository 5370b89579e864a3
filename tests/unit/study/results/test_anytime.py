"""Verdicts at any look: coverage over twenty looks, the seeds that they take, and every form of a printed number."""

import math

import numpy as np
import pytest

from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Reducer
from replicse.study.results.anytime import allowed_gap, gap_sequence, settled, settled_sign
from replicse.study.results.verdict import judge

LOOKS, STUDIES = 20, 4000
ERROR = 0.005


def printed(value, **more):
    return Reported(value=str(value), source="a page", **more)


def tabled(looks, spread):
    """Return bounds of the gap by number of seeds, tabled over their standardised mean, for many studies at once."""
    half = np.geomspace(0.1, 30, 14)
    means, table = np.concatenate([-half[::-1], [0.0], half]), {}
    for count in looks:
        base = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        base = base / base.std(ddof=1) if count > 1 else base
        bounds = [gap_sequence(list(base + mean), 0.0, error=ERROR, spread=spread) for mean in means]
        table[count] = (means, *np.array(bounds).T)
    return table


def looked_at(gap, spread=None):
    """Return verdicts (-1 lower, 1 higher, 0 within, None open) and seeds of studies looked at after each seed."""
    looks = range(1 if spread else 2, LOOKS + 1)
    low, high = allowed_gap("single", 1, 0.0, 0.04)
    table, random = tabled(looks, spread), np.random.default_rng(1)
    seeds = random.normal(size=(STUDIES, LOOKS)) - (random.normal(size=STUDIES) + gap)[:, None]
    verdicts, taken = np.full(STUDIES, np.nan), np.full(STUDIES, LOOKS)
    for count in looks:
        unit = 1.0 if spread else seeds[:, :count].std(axis=1, ddof=1)
        means, lows, highs = table[count]
        least, most = (np.interp(seeds[:, :count].mean(axis=1) / unit, means, side) for side in (lows, highs))
        new = np.select([least > high, most < low, (least >= low) & (most <= high)], [1.0, -1.0, 0.0], np.nan)
        first = np.isnan(verdicts) & ~np.isnan(new)
        verdicts[first], taken[first] = new[first], count
    return verdicts, taken


@pytest.mark.parametrize("spread", [None, 1.0])
def test_of_papers_that_can_be_repeated_no_more_than_five_percent_are_called_higher_or_lower(spread):
    verdicts, taken = looked_at(0.0, spread)
    assert (abs(verdicts) == 1).mean() <= 0.05
    # A fixed design of twenty seeds takes twenty; most of these settle with fewer.
    assert (verdicts == 0).mean() > 0.6 and taken.mean() < 13


@pytest.mark.parametrize("spread", [None, 1.0])
def test_a_large_gap_is_told_with_fewer_seeds_than_a_fixed_design(spread):
    verdicts, taken = looked_at(8.0, spread)
    assert (verdicts == -1).mean() > 0.95 and not (verdicts == 1).any()
    assert taken.mean() < (13 if spread is None else 5)


def test_looking_at_the_fixed_interval_twenty_times_calls_too_many_papers_higher_or_lower():
    random = np.random.default_rng(2)
    seeds, paper = random.normal(size=(500, LOOKS)), random.normal(size=500)
    called = 0
    for own, number in zip(seeds, paper, strict=True):
        print_ = printed(f"{number:.4f}")
        judged = (
            judge(list(own[:n]), print_, planned=n, comparable=True).verdict for n in range(3, LOOKS + 1)
        )
        called += any(verdict in ("higher", "lower") for verdict in judged)
    assert called / 500 > 0.08


@pytest.mark.parametrize("gap", [-1.0, 0.0, 3.0])
def test_the_true_gap_is_in_the_sequence_at_all_looks_together(gap):
    random, missed = np.random.default_rng(3), 0
    for _ in range(40):
        seeds = random.normal(gap * 2.0, 2.0, LOOKS)
        bounds = [gap_sequence(list(seeds[:count]), 0.0, error=0.1) for count in (2, 3, 5, 8, 12, 20)]
        missed += any(not low <= gap <= high for low, high in bounds)
    assert missed / 40 <= 0.2


def test_the_sequence_knows_no_unit_and_no_origin():
    seeds = [70.1, 71.3, 70.7, 70.2]
    scaled = [10 * value - 5 for value in seeds]
    assert gap_sequence(seeds, 72.0, error=0.05) == pytest.approx(gap_sequence(scaled, 715.0, error=0.05))


def test_a_known_spread_gives_the_normal_mixture():
    low, high = gap_sequence([1.0, 1.0], 0.0, error=0.05, spread=1.0)
    assert low + high == pytest.approx(2.0, abs=0.2)
    wide = gap_sequence([1.0], 0.0, error=0.05, spread=1.0)
    assert wide[0] < low and high < wide[1]


NEAR = list(np.random.default_rng(4).normal(75.0, 0.5, 20))


@pytest.mark.parametrize(
    ("value", "more", "verdict"),
    [
        ("75.1", {}, "within seed spread"),
        ("82.5", {}, "lower"),
        ("65.0", {}, "higher"),
        ("76.1", {}, ""),
        ("76.6", {"statistic": "mean", "seeds": 20}, "lower"),
        ("76.0", {"statistic": "max", "seeds": 10}, ""),
        ("80.0", {"statistic": "max", "seeds": 10}, "lower"),
        ("0.5", {"statistic": "sd", "seeds": 10}, ""),
        ("-", {}, ""),
    ],
)
def test_a_verdict_is_settled_where_no_number_of_seeds_would_change_it(value, more, verdict):
    assert settled(NEAR, printed(value, **more)) == verdict


def test_a_maximum_that_the_paper_does_not_count_stays_open():
    assert settled(NEAR, printed("82.5"), reducer=Reducer(statistic="max")) == ""
    assert settled([75.0], printed("82.5")) == "" and settled([75.0], printed("82.5"), spread=0.4) == "lower"


def test_a_sign_is_settled_at_any_look():
    assert settled_sign([1.0, 1.2, 0.9, 1.1, 1.0]) == 1 and settled_sign([-1.0, -1.2, -0.9, -1.1, -1.0]) == -1
    assert settled_sign([1.0, -1.2, 0.3]) == 0 and settled_sign([1.0]) == 0
    assert settled_sign([0.5, 0.5, 0.5]) == 1 and settled_sign([0.0, 0.0, 0.0]) == 0


def test_the_allowed_gap_of_a_maximum_is_below_zero_on_average():
    low, high = allowed_gap("max", 10, 1.0, 0.05)
    random = np.random.default_rng(5)
    ours = -random.normal(size=(20_000, 10)).max(axis=1)
    assert ((low <= ours) & (ours <= high)).mean() == pytest.approx(0.95, abs=0.01)
    assert allowed_gap("mean", 4, 0.0, 0.05)[1] == pytest.approx(1.959964 / math.sqrt(4), abs=1e-4)
