"""Adjudication: gaps, paired effects, shares, and the cells that stand for one another."""

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from replicse.study.plan.counterparts import counterparts
from scipy import stats

from replicse.files import read_rows
from replicse.study.judge.adjudicate import adjudicate, adjudicated, paired_effect, write_adjudication
from replicse.study.plan.planner import load_plan

CONFIG = {"scale": "micro", "papers": {"simcse": "all", "repro": "all"}, "seeds": [0, 1, 2]}
numbers = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


def plan_of(**changes):
    return load_plan({**CONFIG, **changes}, ROOT / "workflow")


@pytest.fixture(scope="module")
def plan():
    return plan_of(adjudicate="all")


class Scores:
    """Evaluations whose value depends on the run alone: dropout below 0.1 costs 2 points and a seed adds its number."""

    def __init__(self, plan, missing=()):
        self.plan, self.missing = plan, missing

    def value(self, encoder, read):
        spec = self.plan.encoders[encoder]
        run = self.plan.runs[spec.source["run"]]
        if run.seed in self.missing:
            return None, ""
        loss = 2 + 0.1 * run.seed if run.dropout.hidden < 0.1 else 0
        return 70 + run.seed - loss - (5 if spec.pooling == "cls-head" else 0), ""


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
    rows = {
        (row.row, row.column, row.protocol): row for row in adjudicate(plan, "repro/table4", Scores(plan))
    }
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


def test_a_share_may_be_negative_and_its_bounds_stay_in_order(plan):
    rows = adjudicate(plan, "repro/table4", Scores(plan))
    found = next(row for row in rows if (row.row, row.protocol) == ("deletion-10", "low-dropout"))
    assert found.gap > 0 > found.effect and found.share < 0
    assert found.share_low < found.share < found.share_high


def test_where_no_other_paper_prints_a_number_a_smaller_scale_has_no_gap(plan):
    rows = list(adjudicate(plan, "repro/table4", Scores(plan)))
    sick = [row for row in rows if row.column == "sick-dev"]
    assert sick and all(row.gap is None and row.share is None and row.effect is not None for row in sick)


def test_the_papers_own_scale_sets_its_text_against_its_code():
    plan = plan_of(scale="paper", adjudicate=["repro/table4"])
    found = next(row for row in adjudicate(plan, "repro/table4", Scores(plan)) if row.column == "sick-dev")
    assert found.gap == pytest.approx(float(found.reported) - found.described)


def test_missing_runs_leave_blanks_and_only_pairs_count(plan):
    rows = list(adjudicate(plan, "repro/table4", Scores(plan, missing=(0, 1, 2))))
    assert all(row.effect is row.described is row.share is None and row.n_seeds == 0 for row in rows)
    found = next(iter(adjudicate(plan, "repro/table4", Scores(plan, missing=(1,)))))
    assert found.n_seeds == 2 and found.described is None


def test_every_adjudicated_item_has_rows_and_the_file_keeps_them(plan, tmp_path):
    names = adjudicated(plan)
    assert {"repro/table4", "repro/table6", "repro/figure1", "simcse/table1"} <= set(names)
    rows = list(adjudicate(plan, "repro/table4", Scores(plan)))
    write_adjudication(rows, tmp_path / "adjudication.csv")
    written = read_rows(tmp_path / "adjudication.csv")
    assert len(written) == len(rows)
    assert [float(row["effect"]) for row in written] == [row.effect for row in rows]
    assert {row["gap"] for row in written if row["column"] == "sick-dev"} == {""}


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=6), numbers)
def test_an_effect_ignores_what_a_seed_does_to_both(pairs, shift):
    base, changed = zip(*pairs, strict=True)
    effect, low, high, count = paired_effect(base, changed)
    shifted = paired_effect([value + shift for value in base], [value + shift for value in changed])
    assert count == len(pairs) and low <= effect <= high
    assert shifted[0] == pytest.approx(effect, abs=1e-9)
    backwards = paired_effect(changed, base)
    assert backwards[0] == pytest.approx(-effect) and backwards[1] == pytest.approx(-high)


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=5))
def test_an_effect_agrees_with_a_paired_t_interval(pairs):
    base, changed = zip(*pairs, strict=True)
    differences = [new - old for old, new in pairs]
    effect, low, high, _ = paired_effect(base, changed)
    assert effect == pytest.approx(statistics.fmean(differences), abs=1e-9)
    if len(set(differences)) > 1:
        interval = stats.ttest_rel(changed, base).confidence_interval(0.95)
        assert (low, high) == (pytest.approx(interval.low, abs=1e-6), pytest.approx(interval.high, abs=1e-6))


def test_one_seed_has_no_interval_and_none_no_effect():
    assert paired_effect([70.0], [68.0]) == (-2.0, None, None, 1)
    assert paired_effect([None], [68.0]) == (None, None, None, 0)
    for missing in itertools.product([None, 1.0], repeat=2):
        assert paired_effect(missing, [2.0, 2.0])[3] == sum(value is not None for value in missing)
