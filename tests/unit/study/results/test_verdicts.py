"""Verdicts: every branch, properties of the decision, and the coverage of the prediction interval."""

import math
import statistics
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from replicse.errors import BadInput
from replicse.study.paper.printed import Reported, Spread, printed_number, read_reported
from replicse.study.paper.tables import Reducer
from replicse.study.results.multiplicity import controlled
from replicse.study.results.statistics import disagrees, order_statistic_interval
from replicse.study.results.table import ItemResult, Verdict
from replicse.study.results.verdict import judge

T_975 = {1: 12.706204736, 2: 4.302652730, 3: 3.182446305, 4: 2.776445105, 9: 2.262157163}


VERDICTS = typing.get_args(Verdict)


def judged(values, reported="76.25", *, printed=None, **changes):
    """Judge values against a printed text; `printed` holds what is said of it besides."""
    cell = (
        None
        if reported is None
        else Reported.of({"value": reported, "source": "x", **(printed or {})}, "cell")
    )
    if (sd := changes.pop("prior_sd", None)) is not None:
        changes |= {"prior": Spread(sd, changes.pop("prior_degrees", math.inf))} if sd else {"seedless": True}
    return judge(values, cell, **{"planned": len(values), "comparable": True, **changes})


@pytest.mark.parametrize(
    ("text", "value", "half_digit"),
    [
        ("82.5", 82.5, 0.05),
        ("82.50", 82.5, 0.005),
        ("−0.9", -0.9, 0.05),
        ("+1.1", 1.1, 0.05),
        (".533", 0.533, 0.0005),
        ("76.", 76, 0.5),
        ("3e-5", 3e-5, 5e-6),
        ("1.5E+3", 1500, 50),
        ("2.5k", 2500, 50),
        ("1,234,567.8", 1234567.8, 0.05),
        ("75.11 ± 0.84", 75.11, 0.005),
        ("75.11 (0.84)", 75.11, 0.005),
        ("82.5%", 82.5, 0.05),
        ("82.5*", 82.5, 0.05),
        (" 82.5 ", 82.5, 0.05),
    ],
)
def test_printed_numbers_keep_their_last_digit(text, value, half_digit):
    assert printed_number(text) == pytest.approx((value, half_digit), rel=1e-15)


@pytest.mark.parametrize("text", [None, " ", "-", "–", "N/A"])
def test_absent_numbers(text):
    assert printed_number(text) is None


@pytest.mark.parametrize("text", ["fp16", "1,50", ".", "82.5.1", "three", "12 34", "--5", "nan"])
def test_other_text_is_refused_with_the_text(text):
    with pytest.raises(BadInput, match="reported value") as caught:
        printed_number(text)
    assert f'"{text}"' in str(caught.value)


@given(st.decimals(min_value=-1000, max_value=1000, places=3))
def test_any_decimal_is_read_as_python_reads_it(number):
    assert printed_number(str(number)) == (float(number), 0.0005)


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
    values = [70 + 0.1 * step for step in range(count)]
    half = T_975[count - 1] * statistics.stdev(values) * math.sqrt(1 + 1 / count) + 0.0005
    for edge, beyond in (
        (statistics.mean(values) - half, "higher"),
        (statistics.mean(values) + half, "lower"),
    ):
        outward = math.copysign(0.001, edge - statistics.mean(values))
        assert judged(values, f"{edge - outward:.3f}").verdict == "within seed spread"
        assert judged(values, f"{edge + outward:.3f}").verdict == beyond


def test_not_run_while_a_planned_seed_is_missing_but_numbers_show():
    values = [76.0, 76.2, 76.4]
    for cell in (judged([*values, None]), judged(values, planned=4, comparable=False)):
        assert cell.verdict == "not run"
        assert cell.reproduced == pytest.approx(76.2)
        assert cell.low < 76.2 < cell.high
        assert cell.n_seeds == 3
        assert "1 of the planned runs (4)" in cell.reason


def test_not_comparable_keeps_numbers_and_says_why():
    cell = judged([40.0, 40.5, 41.0], comparable=False, why_not="scale micro")
    assert cell.verdict == "not comparable"
    assert cell.delta == pytest.approx(40.5 - 76.25)
    assert cell.low < 40.5 < cell.high
    assert cell.reason == "scale micro"
    assert judged([40.0], comparable=False).reason == "the setting differs from the paper's"


def test_no_spread_is_borrowed_for_another_setting():
    alone = judged([40.0], comparable=False, prior_sd=0.84)
    assert (alone.low, alone.high, alone.borrowed) == (None, None, False)
    pair = judged([40.0, 41.0], comparable=False, prior_sd=0.84)
    assert (pair.low, pair.high, pair.borrowed) == (None, None, False)
    three = judged([40.0, 40.5, 41.0], comparable=False, prior_sd=0.84)
    half = T_975[2] * 0.5 * math.sqrt(4 / 3) + 0.005
    assert (three.low, three.high) == pytest.approx((40.5 - half, 40.5 + half))


@pytest.mark.parametrize(
    ("values", "told"), [([76.0], "1 seed "), ([75.99, 76.01], "2 seeds "), ([50, 102], "2 seeds ")]
)
def test_undetermined_below_three_seeds_without_a_spread_to_borrow(values, told):
    cell = judged([float(value) for value in values])
    assert cell.verdict == "undetermined"
    assert (cell.reproduced, cell.delta, cell.low, cell.high) == (76.0, -0.25, None, None)
    assert cell.reason == f"{told}and no published spread to borrow: an interval needs 3"
    if values != [50, 102]:  # which no spread of 0.84 gives
        assert judged(values, prior_sd=0.84).verdict == "within seed spread"


@pytest.mark.parametrize("count", [1, 4, 10])
def test_a_published_spread_is_pooled_with_ours_at_any_number_of_seeds(count):
    values = 74.0 + np.linspace(-0.9, 0.9, count) if count > 1 else np.array([74.0])
    known, estimated = (judged(values.tolist(), prior_sd=0.84, prior_degrees=k) for k in (math.inf, 9))
    assert known.borrowed and estimated.borrowed and "published spread" in known.reason
    half = 1.959963985 * 0.84 * math.sqrt(1 + 1 / count) + 0.005
    assert known.high - known.low == pytest.approx(2 * half)
    degrees, squares = count - 1 + 9, ((values - values.mean()) ** 2).sum() + 9 * 0.84**2
    half = stats.t.ppf(0.975, degrees) * math.sqrt(squares / degrees * (1 + 1 / count)) + 0.005
    assert estimated.high - estimated.low == pytest.approx(2 * half)


@pytest.mark.parametrize("values", [[24.3, 38.1, 26.3], [33.0, 33.001, 33.002]])
def test_a_published_spread_that_our_seeds_contradict_is_not_borrowed(values):
    """With it the first interval was 27.7 to 31.5, and all three seeds lay outside."""
    cell = judged(values, "40.0", prior_sd=0.84)
    own = judged(values, "40.0")
    assert (cell.low, cell.high, cell.verdict) == (own.low, own.high, own.verdict)
    assert not cell.borrowed
    assert (
        cell.reason.removesuffix(")").endswith(
            "the published spread of 0.84 is not used: our seeds vary otherwise (F test of the variances, 1%)"
        )
        or "is excluded" in cell.reason
    )
    pair = judged([24.3, 38.1], "40.0", prior_sd=0.84)
    assert (pair.verdict, pair.low) == ("undetermined", None) and "our seeds vary otherwise" in pair.reason


@pytest.mark.parametrize(("count", "degrees"), [(2, math.inf), (4, math.inf), (4, 9)])
def test_a_true_published_spread_is_refused_once_in_a_hundred_times(count, degrees):
    random = np.random.default_rng(count)
    draws = 0.84 * random.normal(size=(20_000, count))
    published = 0.84 * np.sqrt(
        random.chisquare(degrees, 20_000) / degrees if degrees < 99 else np.ones(20_000)
    )
    refused = [disagrees(row, Spread(sd, degrees)) for row, sd in zip(draws, published, strict=True)]
    assert np.mean(refused) == pytest.approx(0.01, abs=0.003)
    assert not disagrees([1.0], Spread(0.84)) and disagrees([1.0, 1.0], Spread(0.84))


@pytest.mark.parametrize("runs", [4, 10, 50])
@pytest.mark.parametrize("count", [1, 3, 5, 10])
def test_false_alarms_are_five_percent_whatever_runs_a_spread_is_estimated_from(count, runs):
    """With the normal quantile they were 14.5% for one seed and a spread from four runs."""
    random = np.random.default_rng(100 * count + runs)
    ours, printed = random.normal(size=(2000, count)), random.normal(size=2000)
    spreads = np.sqrt(random.chisquare(runs - 1, 2000) / (runs - 1))
    judgements = [
        judged(row.tolist(), f"{number:.6f}", prior_sd=sd, prior_degrees=runs - 1)
        for row, number, sd in zip(ours, printed, spreads, strict=True)
    ]
    alarms = np.array([each.verdict != "within seed spread" for each in judgements])
    assert alarms.mean() == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / 2000))
    assert all((each.p < 0.05) == alarm for each, alarm in zip(judgements, alarms, strict=True))


def test_power_with_a_published_spread_is_not_lost_at_five_seeds():
    """A rule that dropped it there made the power against a gap of three spreads fall from 77 to 55 percent."""
    random = np.random.default_rng(5)
    ours, printed = random.normal(size=(2000, 5)), random.normal(size=2000) + 3.0
    with_it, alone = (
        np.mean(
            [
                judged(row.tolist(), f"{number:.6f}", **more).verdict == "lower"
                for row, number in zip(ours, printed, strict=True)
            ]
        )
        for more in ({"prior_sd": 1.0, "prior_degrees": 49}, {})
    )
    assert with_it > 0.74 and alone < 0.62


def test_an_encoder_without_seeds_is_judged_by_the_printed_digit():
    assert judged([76.252], prior_sd=0.0).verdict == "within seed spread"
    cell = judged([76.31], prior_sd=0.0)
    assert cell.verdict == "higher"
    assert not cell.borrowed
    assert "no seed" in cell.reason
    assert judged([76.2, 76.3, 76.4], prior_sd=0.0) == judged([76.2, 76.3, 76.4])


def test_nothing_to_judge_where_the_paper_prints_nothing():
    for comparable in (True, False):
        cell = judged([75.0, 76.0, 77.0], "-", comparable=comparable)
        half = T_975[2] * math.sqrt(4 / 3)
        assert cell.verdict == ""
        assert cell.delta is None
        assert (cell.reproduced, cell.low, cell.high) == pytest.approx((76.0, 76 - half, 76 + half))


# Properties. Scores are two-decimal numbers, as harnesses print them.
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


FOREIGN = {"comparable": False}
BRANCHES = [
    # What comes first hides what comes after: each line adds one reason before the last verdict.
    ("failed", [76.0, None], {"failures": ["collapsed"], **FOREIGN}),
    ("failed", [math.nan, 76.0], FOREIGN),
    ("not run", [None, None], FOREIGN),
    ("not run", [76.0, None], FOREIGN),
    ("not run", [76.0, None], {"prior_sd": 0.84}),
    ("not comparable", [76.0], FOREIGN),
    ("not comparable", [76.25] * 3, FOREIGN),
    ("undetermined", [76.25], {}),
    ("undetermined", [76.25, 76.25], {}),
    ("within seed spread", [76.25], {"prior_sd": 0.84}),
    ("within seed spread", [76.25] * 3, {}),
    ("higher", [77.0] * 3, {}),
    ("lower", [75.0] * 3, {}),
]


@pytest.mark.parametrize(("verdict", "values", "changes"), BRANCHES)
def test_the_order_of_the_verdicts(verdict, values, changes):
    assert judged(values, **changes).verdict == verdict


# What a printed number is of how many runs

FIVE = [74.5, 74.8, 75.0, 75.2, 75.5]


def of_fifty(statistic="mean", **more):
    return {"statistic": statistic, "seeds": 50, **more}


def test_a_printed_mean_of_fifty_seeds_is_not_judged_as_one_more_draw():
    """A shift of 1.5 with five seeds of spread 0.5 once read "within seed spread"."""
    sd = statistics.stdev([74.4, 74.6, 75.0, 75.4, 75.6])
    assert sd == pytest.approx(0.5, abs=0.02)
    for shift, verdict in ((1.5, "lower"), (-1.5, "higher"), (0.5, "within seed spread")):
        cell = judged([74.4, 74.6, 75.0, 75.4, 75.6], f"{75 + shift:.2f}", printed=of_fifty())
        half = T_975[4] * sd * math.sqrt(1 / 5 + 1 / 50) + 0.005
        assert (cell.low, cell.high) == pytest.approx((75 - half, 75 + half))
        assert cell.verdict == verdict
        assert "printed is the mean of 50 runs" in cell.reason
    assert judged([74.4, 74.6, 75.0, 75.4, 75.6], "76.2").verdict == "within seed spread", (
        "one draw may lie there"
    )


@pytest.mark.parametrize(
    ("printed", "inside", "beyond"),
    [
        (of_fifty("max"), "76.0", ("74.9", "higher")),
        (of_fifty("max"), "76.0", ("79.5", "lower")),
        (of_fifty("min"), "74.0", ("75.1", "lower")),
        (of_fifty("median"), "75.1", ("76.0", "lower")),
        (of_fifty("percentile", q=95), "75.7", ("74.7", "higher")),
        (of_fifty("sd"), "0.40", ("1.60", "lower")),
    ],
)
def test_a_printed_statistic_is_judged_against_its_own_distribution(printed, inside, beyond):
    reducer = Reducer(statistic=printed["statistic"], q=printed.get("q"))
    cell = judged(FIVE, inside, printed=printed, reducer=reducer)
    assert cell.verdict == "within seed spread"
    assert f"printed is the {printed['statistic']} of 50 runs" in cell.reason
    assert judged(FIVE, beyond[0], printed=printed, reducer=reducer).verdict == beyond[1]


def test_a_maximum_of_unknown_many_runs_stays_open():
    cell = judged(FIVE, "75.6", reducer=Reducer(statistic="max"))
    assert (cell.verdict, cell.low) == ("undetermined", None)
    assert cell.reason == "the paper does not say of how many runs its max is"


def test_a_published_spread_is_not_judged_by_itself():
    """The interval of a standard deviation rests on our seeds alone, or every printed one would be within."""
    printed, reducer = of_fifty("sd", sd=0.84), Reducer(statistic="sd")
    one = judged([75.0], "0.84", printed=printed, reducer=reducer, prior_sd=0.84)
    assert (one.verdict, one.reproduced, one.low, one.borrowed) == ("undetermined", None, None, False)
    assert one.reason == "1 seed: an interval needs 3"
    near = judged([75.0, 75.005, 75.01], "0.84", printed=printed, reducer=reducer, prior_sd=0.84)
    assert near.verdict == "lower" and not near.borrowed


def reported_file(folder, line):
    path = folder / "reported.csv"
    header = "item,row,column,metric,value,source,note,statistic,q,seeds,sd"
    path.write_text(f"{header}\n{line}\n", encoding="utf-8")
    return path


def test_a_printed_spread_is_kept_and_makes_the_number_a_mean(tmp_path):
    (cell,) = read_reported(reported_file(tmp_path, "t,r,c,spearman,75.11 ± 0.84,x,,,,50,")).values()
    assert (cell.value, cell.sd, cell.seeds, cell.statistic) == ("75.11 ± 0.84", 0.84, 50, "mean")
    assert cell.number == pytest.approx((75.11, 0.005))


# A paper's verdicts together


def paper_of(values):
    """Return the result of one item: a cell per row of seeds, judged against print, 0."""
    cells = [
        {
            "row": f"r{place}",
            "column": "a",
            "metric": "m",
            "protocol": "as-described",
            **vars(judged(list(row), "0.0000")),
        }
        for place, row in enumerate(values)
    ]
    about = {"item": "made/table1", "paper": "made", "scale": "paper", "comparable": True, "kind": "table"}
    return ItemResult(**about, title="", place="", columns=(), rows=(), cells=cells)


def test_verdicts_of_a_paper_are_controlled_for_their_number():
    """Of 200 cells without a difference 5% were higher or lower; now seldom any, and true differences stay."""
    random = np.random.default_rng(7)
    before = after = 0
    for _ in range(20):
        printed = random.normal(size=(200, 1))
        result = paper_of(random.normal(size=(200, 5)) - printed)
        (together,) = controlled([result])
        p = [cell.p for cell in result.cells]
        assert [cell.p_adjusted for cell in together.cells] == stats.false_discovery_control(p).tolist()
        before += sum(cell.verdict in ("higher", "lower") for cell in result.cells)
        after += sum(cell.verdict in ("higher", "lower") for cell in together.cells)
    assert before == pytest.approx(200, abs=45) and after <= 5
    shifted = random.normal(size=(200, 10)) + 20 * (np.arange(200) < 100)[:, None]
    (together,) = controlled([paper_of(shifted)])
    found = [cell.verdict != "within seed spread" for cell in together.cells]
    assert sum(found[:100]) == 100 and sum(found[100:]) <= 0.05 * 200
    assert "among 200 cells of the paper (Benjamini-Hochberg)" in together.cells[0].reason


def test_a_verdict_says_what_it_is_if_print_is_the_best_of_ten():
    """The largest of ten normal draws lies about 1.5 spreads above their mean; nothing is asked of a printed mean."""
    values = 75 + np.linspace(-1, 1, 5)
    cell = judged(values.tolist(), "78.00", prior_sd=1.0)
    assert (cell.verdict, cell.if_best) == ("lower", "within seed spread")
    low, high = order_statistic_interval(values.tolist(), 10, 1.0, spread=Spread(1.0))
    assert low < 78.0 < high
    assert judged(values.tolist(), "78.00", prior_sd=1.0, better="lower").if_best == "lower"
    assert (
        judged(values.tolist(), "78.00", prior_sd=1.0, printed={"statistic": "mean", "seeds": 3}).if_best
        == ""
    )
    shown = (
        paper_of([values]).cells[0].model_copy(update={"verdict": "lower", "if_best": "within seed spread"})
    )
    assert shown.best_of_ten == "within seed spread, if print is the best of ten"


def test_within_says_which_difference_it_excludes():
    cell = judged([75.0, 76.0, 78.0])
    margin = max(abs(76.25 - cell.low), abs(cell.high - 76.25))
    assert f"a difference beyond {margin:.2g} is excluded" in cell.reason
    assert "excluded" not in judged([80.0, 80.1, 80.2]).reason
