"""Adjudication: gaps, paired effects, shares, and the cells that stand for one another."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import NoProvenance
from planned import shipped_plan
from scipy import stats

from replicse.study.judge.adjudicate import SAME_RUN, adjudicate, explained, outcome
from replicse.study.paper.counterparts import counterparts
from replicse.study.paper.printed import Reported
from replicse.study.results.table import CellResult, ItemResult, SeedValue
from replicse.study.results.tabulate import item_result

CONFIG = {"papers": {"simcse": ["table1", "table5"], "repro": "all"}, "seeds": [0, 1, 2]}


def plan_of(**changes):
    return shipped_plan(**{**CONFIG, **changes})


@pytest.fixture(scope="module")
def plan():
    return plan_of(adjudicate="all")


class Scores(NoProvenance):
    """Evaluations whose value depends on the run alone: dropout below 0.1 costs 2 points and a seed adds its number."""

    def __init__(self, plan, missing=()):
        self.plan, self.missing = plan, missing

    def value(self, encoder, metric_path):
        spec = self.plan.encoders[encoder]
        run = self.plan.runs[spec.source.run]
        if run.seed in self.missing or not metric_path.endswith("/all"):
            return None, ""
        loss = 2 + 0.1 * run.seed if run.dropout.hidden < 0.1 else 0
        return 70 + run.seed - loss - (5 if spec.pooling == "cls-head" else 0), ""


def rows_of(plan, item, missing=()):
    """Return the rows of one item where the seeds `missing` gave nothing."""
    result = item_result(plan, plan.items[item], Scores(plan, missing))
    return list(adjudicate(plan.papers, result))


def test_cells_that_a_difference_joins_are_counterparts(plan):
    found = counterparts(plan.papers)
    assert found["repro/table4", "crop-10", "stsb-dev", "spearman"] == (
        "simcse/table1",
        "crop-10",
        "stsb-dev",
        "spearman",
    )
    assert found["repro/table6", "unsup-simcse-bert-base", "avg", "spearman"][0] == "simcse/table5"
    assert len(set(found.values())) == len(found), "no cell stands for two"
    assert not any(key[0] == "repro/table7" for key in found), "a table of differences holds no minuend"


def test_an_effect_is_paired_by_seed_and_set_against_the_printed_gap(plan):
    rows = {(row.row, row.column, row.protocol): row for row in rows_of(plan, "repro/table4")}
    found = rows["crop-10", "stsb-dev", "low-dropout"]
    assert (found.reported_other, found.reported, found.gap) == ("77.8", "64.60", pytest.approx(-13.2))
    assert found.described == pytest.approx(71) and found.n_seeds == 3
    differences = [-2.0, -2.1, -2.2]
    half = stats.t.ppf(0.975, 2) * statistics.stdev(differences) / math.sqrt(3)
    assert found.effect == pytest.approx(-2.1)
    assert (found.low, found.high) == (pytest.approx(-2.1 - half), pytest.approx(-2.1 + half))
    assert found.share == pytest.approx(2.1 / 13.2)
    assert (
        found.share_low == pytest.approx((2.1 - half) / 13.2)
        and found.share_low < found.share < found.share_high
    )


def test_a_gap_within_its_noise_has_no_share(plan):
    rows = rows_of(plan, "repro/table4")
    found = next(row for row in rows if (row.row, row.protocol) == ("deletion-10", "low-dropout"))
    assert 0 < found.gap < found.noise and found.effect < 0
    assert (found.share, found.share_low, found.share_high) == (None, None, None)
    assert found.outcome == "undetermined"


def test_missing_runs_leave_blanks_and_only_pairs_count(plan):
    rows = rows_of(plan, "repro/table4", missing=(0, 1, 2))
    assert all(row.effect is row.described is row.share is None and row.n_seeds == 0 for row in rows)
    found = rows_of(plan, "repro/table4", missing=(1,))[0]
    assert found.n_seeds == 2 and found.described is None


# One cell under one variant


def cell(*values, seeds=None, encoders=None, protocol="as-described", printed=None):
    """Return a cell with these values, of encoders e0, e1, ... unless named."""
    seeds = range(len(values)) if seeds is None else seeds
    names = encoders or tuple(f"{protocol}-{seed}" for seed in seeds)
    return CellResult(
        row="r", column="c", metric="m", protocol=protocol, metric_path="sts/avg", encoders=names,
        reported=Reported(value=printed, source="Table 1") if printed else None,
        values=tuple(SeedValue(seed=seed, value=value) for seed, value in zip(seeds, values, strict=True)),
    )  # fmt: skip


ITEM = ItemResult(
    item="p/t", paper="p", scale="paper", comparable=True, kind="table", title="T", place="Table 1", columns=(),
    rows=(), cells=(),
)  # fmt: skip


def of(base, variant):
    return explained(ITEM, base, variant, None, None)


def test_a_lone_value_stands_beside_every_seed():
    found = of(cell(70.0, seeds=[None]), cell(71.0, 72.0, 73.0, protocol="v"))
    assert (found.effect, found.n_seeds) == (pytest.approx(2.0), 3)
    assert found.low < 2 < found.high


# How large a gap may be by itself, and what explains it

SPREAD = (69.0, 70.0, 71.0)


def against(other, own, base, changed, *, reported=None, printed=None, **more):
    """Return a cell that prints `own`, another paper `other`, under a variant that gives `changed`."""
    described = cell(*base, printed=own, **more)
    if reported:
        described = described.model_copy(update={"reported": Reported(value=own, source="x", **reported)})
    theirs = Reported(value=other, source="y", **(printed or {}))
    return explained(ITEM, described, cell(*changed, protocol="v"), ("q", "t", "r", "c", "m"), theirs)


def test_the_noise_of_a_gap_is_that_of_two_single_runs_and_their_rounding():
    found = against("60.0", "70.00", SPREAD, SPREAD)
    assert found.noise == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(2) + 0.05 + 0.005)
    found = against("60.0", "70.00", SPREAD, SPREAD, printed={"statistic": "mean", "seeds": 50, "sd": 0.5})
    assert found.noise == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(1 + 0.25 / 50) + 0.05 + 0.005)
    spreads = {"statistic": "mean", "seeds": 4, "sd": 0.5}
    found = against("60.0", "70.0", (70.0,), (71.0,), reported=spreads, printed=spreads)
    assert found.noise == pytest.approx(1.959963985 * math.sqrt(2 * 0.25 / 4) + 0.1)


def test_where_no_other_paper_prints_a_number_the_noise_has_our_mean_on_the_other_side():
    found = explained(ITEM, cell(*SPREAD, printed="80.0"), cell(*SPREAD, protocol="v"), None, None)
    assert found.noise == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(1 + 1 / 3) + 0.05)


@pytest.mark.parametrize("base", [(70.0,), (69.99, 70.01)])
def test_below_three_seeds_the_noise_of_a_gap_is_unknown_and_no_share_is_given(base):
    found = against("60.0", "70.0", base, [value - 8 for value in base])
    assert (found.gap, found.noise, found.share, found.low) == (10.0, None, None, None)
    assert (found.effect, found.outcome) == (pytest.approx(-8.0), "undetermined")
    assert [float(one) for one in found.by_seed.split("; ")] == pytest.approx([-8.0] * len(base))


def test_an_encoder_without_seeds_has_an_exact_share():
    base = cell(70.0, seeds=[None], printed="70.0").model_copy(update={"seedless": True})
    variant = cell(60.5, seeds=[None], protocol="v").model_copy(update={"seedless": True})
    found = explained(ITEM, base, variant, ("q", "t", "r", "c", "m"), Reported(value="80.0", source="y"))
    assert (found.noise, found.share) == (pytest.approx(0.1), pytest.approx(0.95))
    assert found.share_low == found.share == found.share_high and found.outcome == "in part"


@pytest.mark.parametrize(
    ("effects", "word"),
    [
        ((-20.0, -20.1, -19.9), "explains"),
        ((-40.0, -40.1, -39.9), "explains"),
        ((-10.0, -10.1, -9.9), "in part"),
        ((-18.0, -18.1, -17.9), "in part"),
        ((0.0, -0.1, 0.1), "no"),
        ((10.0, 10.1, 9.9), "no"),
        ((-10.0, -30.0, 0.0), "undetermined"),
    ],
)
def test_what_a_variant_explains_from_made_up_numbers(effects, word):
    found = against(
        "90.0", "70.0", SPREAD, [base + effect for base, effect in zip(SPREAD, effects, strict=True)]
    )
    assert (found.gap, found.outcome) == (-20.0, word)
    assert found.share == pytest.approx(statistics.fmean(effects) / -20)
    assert found.share_low < found.share < found.share_high


def test_a_variant_that_changes_nothing_has_no_share_and_no_outcome():
    runs = ("a", "b", "c")
    base, same = cell(*SPREAD, encoders=runs, printed="70.0"), cell(*SPREAD, encoders=runs, protocol="v")
    found = explained(ITEM, base, same, ("q", "t", "r", "c", "m"), Reported(value="90.0", source="y"))
    assert (found.note, found.share, found.outcome) == (SAME_RUN, None, "")


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


def test_a_cell_that_failed_has_no_mean_but_its_other_seeds_are_paired():
    found = of(cell(70.0, None, 71.0), cell(71.0, 99.0, 72.0, protocol="v"))
    assert (found.described, found.effect, found.n_seeds) == (None, 1.0, 2)
