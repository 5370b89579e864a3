"""Test adjudication: counterparts of cells, and outcomes by interval."""

import math
import statistics
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned import WORKFLOW

from replicse.judge.adjudication.adjudicate import explain_gap, gap_noise, outcome
from replicse.judge.verdicts.table import CellResult
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import load_papers
from replicse.spec.printed import Reported


def test_cells_that_a_difference_joins_are_counterparts():
    found = {str(cell): str(other) for cell, other in counterparts(load_papers(WORKFLOW)).items()}
    assert found["repro/table4/crop-10/stsb-dev/spearman"] == "simcse/table1/crop-10/stsb-dev/spearman"
    other = found["repro/table6/unsup-simcse-bert-base/avg/spearman"]
    assert other.startswith("simcse/table5/")
    assert len(set(found.values())) == len(found), "no cell stands for two"
    assert not any(cell.startswith("repro/table7/") for cell in found), (
        "a table of differences holds no minuend"
    )


bounds = st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(sorted)


@given(bounds)
def test_the_word_says_what_the_interval_holds(found):
    low, high = found
    word = outcome(low, high)
    assert (word in ("explains", "in part")) == (low > 0), "some is certain"
    if word == "explains":
        assert low > 0.5 and high >= 1
    if word == "no":
        assert low <= 0 and high < 0.5
    assert outcome(None, None) == "undetermined"


def printed(value, **more):
    return Reported.of({"value": value, "source": "x", **more}, "cell")


SEEDS = (70.0, 71.0, 71.5, 73.0)
T_3 = 3.182446305
MEAN_OF_5 = {"statistic": "mean", "seeds": 5, "sd": 0.4}


@pytest.mark.parametrize(
    ("ours", "reported", "other", "noise"),
    [
        # The published number is a single run, and ours is the mean of four runs; or both sides are single
        # runs.
        (SEEDS, printed("75.0"), None, lambda sd: T_3 * sd * math.sqrt(1 + 1 / 4) + 0.05),
        (SEEDS, printed("75.0"), printed("74"), lambda sd: T_3 * sd * math.sqrt(2) + 0.55),
        # A published mean of five runs with a published standard deviation.
        (SEEDS, printed("75.0", **MEAN_OF_5), None, lambda sd: T_3 * math.sqrt(0.16 / 5 + sd**2 / 4) + 0.05),
        (SEEDS, printed("1.0", statistic="sd", seeds=5), None, None),
        (SEEDS[:2], printed("75.0"), None, None),
        ((70.0,), printed("75.0"), printed("74.00"), lambda sd: 0.055),
    ],
)
def test_noise_of_a_gap_is_that_of_its_two_sides(ours, reported, other, noise):
    seedless = len(ours) == 1
    seeds = [None] if seedless else range(len(ours))
    values = [{"seed": seed, "value": value} for seed, value in zip(seeds, ours, strict=True)]
    names = {"row": "r", "column": "c", "metric": "spearman", "protocol": "as-described"}
    cell = CellResult(**names, values=values, seedless=seedless, reported=reported)
    found = gap_noise(cell, other)
    sd = statistics.stdev(ours) if len(ours) > 1 else 0.0
    assert found == (None if noise is None else pytest.approx(noise(sd)))


def cell_of(values, reported="80.0"):
    """Return a cell with a score per seed; the default of `reported` is 80.0."""
    names = {"row": "r", "column": "c", "metric": "spearman", "protocol": "as-described"}
    by_seed = [{"seed": seed, "value": value} for seed, value in enumerate(values)]
    return CellResult(**names, values=by_seed, reported=printed(reported))


def test_an_effect_is_the_variant_less_the_text_and_a_gap_the_printed_number_less_the_other():
    item = SimpleNamespace(item="simcse/table1", comparable=True)
    base, variant = cell_of([70.0, 71.0, 72.0]), cell_of([73.0, 74.5, 74.5])
    found = explain_gap(item, base, variant, None, printed("70.0"))
    assert (found.described, found.ours, found.by_seed) == (71.0, 74.0, (3.0, 3.5, 2.5))
    half = 4.302652730 * 0.5 / math.sqrt(3)
    assert (found.effect, found.low, found.high) == pytest.approx((3.0, 3 - half, 3 + half))
    assert (found.gap, found.share, found.share_low) == pytest.approx((10.0, 0.3, (3 - half) / 10))
    assert explain_gap(item, base, variant, None, None).gap == pytest.approx(9.0), "80 less ours"
