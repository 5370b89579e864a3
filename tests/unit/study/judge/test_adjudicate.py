"""Adjudication: gaps, paired effects, shares, and the cells that stand for one another."""

import math
import statistics
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import NoProvenance
from places import ROOT
from scipy import stats

from replicse.files import read_rows, write_rows
from replicse.study.judge.adjudicate import FIELDS, SAME_RUN, adjudicate, adjudicated, explained, outcome
from replicse.study.paper.counterparts import counterparts
from replicse.study.paper.printed import Reported
from replicse.study.plan.planner import load_plan
from replicse.study.results.statistics import paired_difference
from replicse.study.results.table import CellResult, ItemResult, SeedValue
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations

CONFIG = {"scale": "micro", "papers": {"simcse": "all", "repro": "all"}, "seeds": [0, 1, 2]}
numbers = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


def plan_of(**changes):
    return load_plan({**CONFIG, **changes}, ROOT / "workflow")


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


def test_where_no_other_paper_prints_a_number_a_smaller_scale_has_no_gap(plan):
    rows = rows_of(plan, "repro/table4")
    sick = [row for row in rows if row.column == "sick-dev"]
    assert sick and all(row.gap is None and row.share is None and row.effect is not None for row in sick)


def test_the_papers_own_scale_sets_its_text_against_its_code():
    plan = plan_of(scale="paper", adjudicate=["repro/table4"])
    found = next(row for row in rows_of(plan, "repro/table4") if row.column == "sick-dev")
    assert found.gap == pytest.approx(float(found.reported) - found.described)


def test_missing_runs_leave_blanks_and_only_pairs_count(plan):
    rows = rows_of(plan, "repro/table4", missing=(0, 1, 2))
    assert all(row.effect is row.described is row.share is None and row.n_seeds == 0 for row in rows)
    found = rows_of(plan, "repro/table4", missing=(1,))[0]
    assert found.n_seeds == 2 and found.described is None


def test_every_adjudicated_item_has_rows_and_the_file_keeps_them(plan, tmp_path):
    names = adjudicated(plan)
    assert {"repro/table4", "repro/table6", "repro/figure1", "simcse/table1"} <= set(names)
    rows = rows_of(plan, "repro/table4")
    write_rows(tmp_path / "adjudication.csv", FIELDS, map(asdict, rows))
    written = read_rows(tmp_path / "adjudication.csv")
    assert len(written) == len(rows)
    assert [float(row["effect"]) for row in written] == [row.effect for row in rows]
    assert {row["gap"] for row in written if row["column"] == "sick-dev"} == {""}


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


def test_866_percent_of_a_gap_that_is_no_larger_than_its_noise_is_no_result():
    found = against("75.9", "75.01", (75.0, 75.8, 74.3), (65.0, 77.0, 60.0))
    assert found.gap == pytest.approx(-0.89) and found.share is None and found.outcome == "undetermined"


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
ORDER = ["no", "in part", "explains"]


@given(bounds, st.floats(0, 1), st.floats(0, 1))
def test_a_narrower_interval_never_takes_back_what_was_certain(wide, one, other):
    low, high = wide
    narrow = sorted(low + part * (high - low) for part in (one, other))
    before, after = outcome(low, high), outcome(*narrow)
    if before == "explains":
        assert after in ("explains", "in part")
    if before == "in part":
        assert after in ("explains", "in part")
    if before == "no":
        assert after in ("no", "in part") and narrow[1] < 0.5


@given(bounds, st.floats(0, 3))
def test_a_larger_share_never_explains_less(found, shift):
    before, after = outcome(*found), outcome(*(bound + shift for bound in found))
    if before in ("explains", "in part"):
        assert ORDER.index(after) >= ORDER.index(before)
    if before == "undetermined":
        assert after != "no"


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


def test_of_unequal_numbers_of_seeds_those_of_both_are_paired():
    found = of(cell(70.0, 71.0), cell(71.0, 72.5, 99.0, protocol="v"))
    assert (found.n_seeds, found.by_seed) == (2, "1.0; 1.5")


def test_a_variant_whose_encoders_are_those_of_the_text_is_marked():
    same, other = ("a", "b"), ("a", "c")
    base = cell(70.0, 71.0, encoders=same)
    found = of(base, cell(70.0, 71.0, encoders=same, protocol="v"))
    assert (found.note, found.ours, found.effect) == (SAME_RUN, 70.5, 0.0)
    assert of(base, cell(70.0, 71.0, encoders=other, protocol="v")).note == ""
    assert FIELDS[-1] == "note"


def test_a_variant_that_a_scale_does_not_change_is_marked(plan):
    """At the embedded scale every backbone is one layer wide: some variants have nothing left to change."""
    rows = [row for item in adjudicated(plan) for row in same_runs(plan, item)]
    assert rows and all(row.note == SAME_RUN for row in rows)


def same_runs(plan, item):
    """Return the rows whose variant stands on the encoders of the text."""
    described = {cell.key: cell for cell in plan.described(item)}
    pairs = {
        (*cell.key[1:], cell.protocol): bool(cell.encoders) and cell.encoders == described[cell.key].encoders
        for cell in plan.cells[item]
    }
    result = item_result(plan, plan.items[item], Nothing(plan))
    rows = adjudicate(plan.papers, result)
    return [row for row in rows if pairs[row.row, row.column, row.metric, row.protocol]]


class Nothing(Evaluations):
    """Evaluations of which none is there."""

    def read(self, path):
        return None


def test_a_cell_that_failed_has_no_mean_but_its_other_seeds_are_paired():
    found = of(cell(70.0, None, 71.0), cell(71.0, 99.0, 72.0, protocol="v"))
    assert (found.described, found.effect, found.n_seeds) == (None, 1.0, 2)


# Paired differences


@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=6), numbers)
def test_an_effect_ignores_what_a_seed_does_to_both(pairs, shift):
    base, changed = zip(*pairs, strict=True)
    found = paired_difference(changed, base)
    shifted = paired_difference([value + shift for value in changed], [value + shift for value in base])
    assert found.n == len(pairs) and found.low <= found.mean <= found.high
    assert shifted.mean == pytest.approx(found.mean, abs=1e-9)
    backwards = paired_difference(base, changed)
    assert backwards.mean == pytest.approx(-found.mean) and backwards.high == pytest.approx(-found.low)


@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=5))
def test_an_effect_agrees_with_a_paired_t_interval(pairs):
    base, changed = zip(*pairs, strict=True)
    differences = [new - old for old, new in pairs]
    found = paired_difference(changed, base)
    assert found.mean == pytest.approx(statistics.fmean(differences), abs=1e-9)
    if len(set(differences)) > 1:
        interval = stats.ttest_rel(changed, base).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_one_seed_has_no_interval_and_none_no_effect():
    found = paired_difference([68.0], [70.0])
    assert (found.mean, found.low, found.high, found.n) == (-2.0, None, None, 1)
    assert paired_difference([None], [68.0]) is None
