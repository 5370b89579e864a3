"""Verdicts: every branch, properties of the decision, and coverage."""

import math
import statistics
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from replicse.judge.statistics.intervals import spreads_disagree
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.verdicts.table import ItemResult, Verdict
from replicse.judge.verdicts.verdict import judge
from replicse.spec.printed import Reported, Spread

T_975 = {1: 12.706204736, 2: 4.302652730, 3: 3.182446305, 4: 2.776445105, 9: 2.262157163}


VERDICTS = typing.get_args(Verdict)


def judged(values, reported="76.25", **changes):
    """Judge a list of scores against a published number, given as a string.

    Args:
        values: List of scores by seed.
        reported: The published number. Default: "76.25".
        changes: Changed arguments of `judge`, and `prior_sd` and `prior_degrees` of a
            published standard deviation.
    """
    cell = Reported.of({"value": reported, "source": "x"}, "cell")
    if (sd := changes.pop("prior_sd", None)) is not None:
        changes |= {"prior": Spread(sd, changes.pop("prior_degrees", math.inf))} if sd else {"seedless": True}
    return judge(values, cell, **{"planned": len(values), "comparable": True, **changes})


def test_within_seed_spread_against_the_formula():
    values = [75.0, 76.0, 78.0]
    half = T_975[2] * statistics.stdev(values) * math.sqrt(1 + 1 / 3) + 0.005
    cell = judged(values)
    assert cell.verdict == "within seed spread"
    assert (cell.reproduced, cell.delta) == pytest.approx((229 / 3, 229 / 3 - 76.25))
    assert (cell.low, cell.high) == pytest.approx((229 / 3 - half, 229 / 3 + half))
    assert cell.n_seeds == 3
    assert not cell.borrowed
    assert "76.25 lies inside" in cell.reason and "3 seeds" in cell.reason
    assert "below" in judged([80.0, 80.1, 80.2]).reason and "above" in judged([70.0, 70.1, 70.2]).reason


@pytest.mark.parametrize("count", [3, 10])
def test_the_verdict_turns_where_the_formula_says(count):
    values = (70 + 0.1 * np.arange(count)).tolist()
    half = T_975[count - 1] * statistics.stdev(values) * math.sqrt(1 + 1 / count) + 0.0005
    for edge, beyond in (
        (statistics.mean(values) - half, "higher"),
        (statistics.mean(values) + half, "lower"),
    ):
        outward = math.copysign(0.001, edge - statistics.mean(values))
        assert judged(values, f"{edge - outward:.3f}").verdict == "within seed spread"
        assert judged(values, f"{edge + outward:.3f}").verdict == beyond


@pytest.mark.parametrize("count", [1, 4, 10])
def test_a_published_spread_is_pooled_with_ours_at_any_number_of_seeds(count):
    values = 74.0 + np.linspace(-0.9, 0.9, count) if count > 1 else np.array([74.0])
    known = judged(values.tolist(), prior_sd=0.84, prior_degrees=math.inf)
    estimated = judged(values.tolist(), prior_sd=0.84, prior_degrees=9)
    assert known.borrowed and estimated.borrowed and "published spread" in known.reason
    half = 1.959963985 * 0.84 * math.sqrt(1 + 1 / count) + 0.005
    assert known.high - known.low == pytest.approx(2 * half)
    degrees, squares = count - 1 + 9, ((values - values.mean()) ** 2).sum() + 9 * 0.84**2
    half = stats.t.ppf(0.975, degrees) * math.sqrt(squares / degrees * (1 + 1 / count)) + 0.005
    assert estimated.high - estimated.low == pytest.approx(2 * half)


@pytest.mark.parametrize(("count", "degrees"), [(2, math.inf), (4, math.inf), (4, 9)])
def test_a_true_published_spread_is_refused_once_in_a_hundred_times(count, degrees):
    random = np.random.default_rng(count)
    draws = 0.84 * random.normal(size=(20_000, count))
    published = 0.84 * np.sqrt(
        random.chisquare(degrees, 20_000) / degrees if degrees < 99 else np.ones(20_000)
    )
    refused = [spreads_disagree(row, Spread(sd, degrees)) for row, sd in zip(draws, published, strict=True)]
    assert np.mean(refused) == pytest.approx(0.01, abs=0.003)
    assert not spreads_disagree([1.0], Spread(0.84)) and spreads_disagree([1.0, 1.0], Spread(0.84))


@pytest.mark.parametrize("runs", [4, 10, 50])
@pytest.mark.parametrize("count", [1, 3, 5, 10])
def test_false_alarms_are_five_percent_whatever_runs_a_spread_is_estimated_from(count, runs):
    """False alarms should be 5%, whatever the runs of a standard deviation.

    With the normal quantile there were 14.5% for a single seed and a standard deviation from four runs.
    """
    random = np.random.default_rng(100 * count + runs)
    ours, printed = random.normal(size=(2000, count)), random.normal(size=2000)
    spreads = np.sqrt(random.chisquare(runs - 1, 2000) / (runs - 1))
    alarms = 0
    for row, number, sd in zip(ours, printed, spreads, strict=True):
        found = judged(row.tolist(), f"{number:.6f}", prior_sd=sd, prior_degrees=runs - 1)
        assert (found.p < 0.05) == (found.verdict != "within seed spread")
        alarms += found.p < 0.05
    assert alarms / 2000 == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / 2000))


def test_power_with_a_published_spread_is_not_lost_at_five_seeds():
    """With five seeds, a published standard deviation should still be used.

    Without it, the power against a gap of three standard deviations was only 55% instead of 77%.
    """
    random = np.random.default_rng(5)
    ours, printed = random.normal(size=(2000, 5)), random.normal(size=2000) + 3.0

    def power(**prior):
        lower = 0
        for row, number in zip(ours, printed, strict=True):
            lower += judged(row.tolist(), f"{number:.6f}", **prior).verdict == "lower"
        return lower / len(ours)

    assert power(prior_sd=1.0, prior_degrees=49) > 0.74 and power() < 0.62


SOME = [75.0, 76.0, 78.0]


@pytest.mark.parametrize(
    ("values", "reported", "changes", "word"),
    [
        ([math.inf, None], "n/a", {"comparable": False, "failures": ["no encoder"]}, "failed"),
        ([math.inf, 75.0], "76.25", {"comparable": False}, "failed"),
        ([None, None], "n/a", {"comparable": False}, "not run"),
        ([75.0, None], "n/a", {"comparable": False}, "not run"),
        ([75.0, 75.0], "n/a", {"comparable": False}, ""),
        ([75.0, 75.0], "76.25", {"comparable": False}, "not comparable"),
        ([75.0, 75.0], "76.25", {}, "undetermined"),
        (SOME, "76.25", {"comparable": False}, "not comparable"),
        (SOME, "76.25", {}, "within seed spread"),
    ],
)
def test_of_two_reasons_the_verdict_names_the_one_that_comes_first(values, reported, changes, word):
    assert judged(values, reported, **changes).verdict == word


@pytest.mark.parametrize(
    ("reported", "rounding", "margin"),
    [("76.25", 0, 0.005), ("7625.25", 0, 5e-5 * 7625.25), ("76.25", 0.05, 0.055), ("76", 0, 0.5)],
)
def test_a_number_without_seeds_is_equal_up_to_the_rounding_of_print_or_a_twenty_thousandth(
    reported, rounding, margin
):
    number = float(reported)
    for sign in (-1, 1):
        inside, beyond = number + sign * 0.999 * margin, number + sign * 1.001 * margin
        assert judged([inside], reported, seedless=True, rounding=rounding).verdict == "equal"
        assert judged([beyond], reported, seedless=True, rounding=rounding).verdict == "not equal"


@pytest.mark.parametrize("shift", [-3.0, -0.6, 0.0, 0.6, 3.0])
def test_p_is_that_of_the_nearest_number_that_is_printed_so(shift):
    """p should be computed for the nearest number that rounds to the reported.

    A published 76 can be any number between 75.5 and 76.5.
    """
    values = (76.0 + shift + np.array([-1.0, 0.0, 0.5, 0.5])).tolist()
    mean, scale = statistics.mean(values), statistics.stdev(values) * math.sqrt(1 + 1 / 4)
    below, above = stats.t.cdf((76.5 - mean) / scale, 3), stats.t.sf((75.5 - mean) / scale, 3)
    assert judged(values, "76").p == pytest.approx(min(1, 2 * below, 2 * above))


# Properties. Scores have two decimals, as printed by evaluation tools.
scores = st.integers(0, 10_000).map(lambda cents: cents / 100)
samples = st.lists(scores, min_size=1, max_size=7)
priors = st.none() | st.sampled_from([0.0, 0.21, 0.84])


@given(samples, scores, priors, st.booleans())
def test_every_cell_gets_a_known_verdict_and_a_coherent_interval(values, reported, prior, comparable):
    cell = judged(values, f"{reported:.2f}", prior_sd=prior, comparable=comparable)
    assert cell.verdict in VERDICTS
    assert cell.delta == pytest.approx(cell.reproduced - reported)
    if cell.low is not None:
        assert cell.low < cell.reproduced < cell.high
        assert cell.reproduced - cell.low == pytest.approx(cell.high - cell.reproduced, rel=1e-6, abs=1e-9)


def paper_of(values, paper="made", item="table1", protocol="as-described"):
    """Return an item with a cell for each list of seeds, judged against 0.

    Args:
        values: Array of shape (rows, seeds).
        paper: Key of the paper. Default: "made".
        item: Name of the item. Default: "table1".
        protocol: Protocol of the cells. Default: "as-described".
    """
    about = {"column": "a", "metric": "m", "protocol": protocol}
    cells = [
        {"row": f"r{place}", **about, **vars(judged(list(row), "0.0000"))} for place, row in enumerate(values)
    ]
    about = {"item": f"{paper}/{item}", "paper": paper, "scale": "paper", "comparable": True, "kind": "table"}
    return ItemResult(**about, title="", place="", columns=(), rows=(), cells=cells)


def test_verdicts_of_a_paper_are_controlled_for_their_number():
    """The verdicts of a paper are adjusted for their number.

    Of 200 cells without a difference, 5% are higher or lower before the adjustment, and few or none after it.
    """
    random = np.random.default_rng(7)
    before = after = 0
    for _ in range(20):
        printed = random.normal(size=(200, 1))
        result = paper_of(random.normal(size=(200, 5)) - printed)
        (together,) = adjust_verdicts([result])
        adjusted = stats.false_discovery_control([cell.p for cell in result.cells])
        for cell, found, p in zip(result.cells, together.cells, adjusted, strict=True):
            assert found.p_adjusted == p
            before += cell.verdict in ("higher", "lower")
            after += found.verdict in ("higher", "lower")
    assert before == pytest.approx(200, abs=45) and after <= 5
    shifted = random.normal(size=(200, 10)) + 20 * (np.arange(200) < 100)[:, None]
    (together,) = adjust_verdicts([paper_of(shifted)])
    found = [cell.verdict != "within seed spread" for cell in together.cells]
    assert sum(found[:100]) == 100 and sum(found[100:]) <= 0.05 * 200
    assert "among 200 cells of the paper (Benjamini-Hochberg)" in together.cells[0].reason


def test_verdicts_are_controlled_within_the_text_of_a_paper_and_within_its_variants():
    """Verdicts are adjusted within a paper's text and its variants.

    Cells of another paper, and of variants, should not change an adjusted p-value, but cells of another item
    should.
    """
    random = np.random.default_rng(3)
    results = [
        paper_of(random.normal(size=(7, 5)), "one", "table1"),
        paper_of(random.normal(size=(3, 5)), "one", "table2"),
        paper_of(random.normal(size=(4, 5)), "one", "table3", "last-checkpoint"),
        paper_of(random.normal(size=(5, 5)), "two", "table1"),
    ]
    found = adjust_verdicts(results)
    for family in ((0, 1), (2,), (3,)):
        p, adjusted = [], []
        for place in family:
            p += [cell.p for cell in results[place].cells]
            adjusted += [cell.p_adjusted for cell in found[place].cells]
        assert adjusted == pytest.approx(stats.false_discovery_control(p).tolist())
