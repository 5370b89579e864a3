"""Verdicts by source: closed forms, rounding, and effects.

Also tests borrowed standard deviations, shared readings and false alarms.
"""

import math
import statistics

import numpy as np
import pytest
from recorded import DIFFCSE, UNSUP, made_record, measurements_of, seeds_of, shipped_papers
from scipy import stats

from replicse.judge.adjudication.diagnosis import diagnose
from replicse.judge.adjudication.published import published_cell
from replicse.judge.adjudication.record_diagnosis import add_record, recorded_cell
from replicse.judge.claims.judge_claims import study_claims
from replicse.judge.claims.record_claims import RecordNumbers
from replicse.judge.report.record_summary import record_summary
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.verdicts.record_cells import others_of, record_results, welch_interval
from replicse.judge.verdicts.verdict import judge
from replicse.spec.printed import Reported, Spread

FIVE = ("74.99", "76.40", "75.09", "74.98", "75.30")
METRIC = "spearman"


def five_plus(gains):
    """Return the five scores plus a gain each, as a list of strings.

    Args:
        gains: List of five numbers, or a number for all scores.
    """
    return np.char.mod("%.2f", np.array(FIVE, dtype=float) + gains).tolist()


def results_of(lines, cell=UNSUP):
    """Return the measurements of a cell.

    Args:
        lines: Lines of the record, for `made_record`.
        cell: Id of the cell. Default: `UNSUP`.

    Returns:
        Dict from (source, setting) to a measurement.
    """
    measurements = measurements_of(lines)
    others = others_of(measurements, "/".join(cell.split("/")[:2]))
    return {(each.source, each.setting): each for each in others.get(f"{cell}/{METRIC}", ())}


def test_seeds_give_the_interval_of_one_more_run_by_their_own_spread():
    found = results_of([*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("b", UNSUP, "printed", FIVE[:3])])
    for source, values in (("a", FIVE), ("b", FIVE[:3])):
        numbers = [*map(float, values)]
        half = (
            stats.t.ppf(0.975, len(numbers) - 1) * statistics.stdev(numbers) * math.sqrt(1 + 1 / len(numbers))
        )
        each = found[source, "printed"]
        mean = statistics.fmean(numbers)
        assert (each.low, each.high) == pytest.approx((mean - half - 0.005, mean + half + 0.005))
        assert not each.borrowed
    assert [each.source for each in found.values() if each.decides] == ["a"]


def test_one_run_borrows_the_spread_of_another_source_and_never_its_values():
    found = results_of([*seeds_of("a", UNSUP, "printed", FIVE), ("b", UNSUP, "printed", None, "73.47")])
    sd = statistics.stdev(map(float, FIVE))
    half = stats.t.ppf(0.975, 4) * sd * math.sqrt(2)
    one = found["b", "printed"]
    assert (one.low, one.high) == pytest.approx((73.47 - half - 0.005, 73.47 + half + 0.005))
    assert (one.borrowed, one.verdict, one.decides) == (True, "lower", False)


@pytest.mark.parametrize("lines", [
    [("b", UNSUP, "printed", None, "73.47")],
    [("b", UNSUP, "printed", 0, "73.47"), ("b", UNSUP, "printed", 1, "74.47")],
    # A standard deviation cannot be borrowed from another setting of the same source, or from two runs.
    [
        ("b", UNSUP, "printed", 0, "73.47"), *seeds_of("b", UNSUP, "four", FIVE),
        *seeds_of("c", UNSUP, "printed", FIVE[:2]),
    ],
])  # fmt: skip
def test_one_or_two_runs_are_undetermined_without_a_spread_to_borrow(lines):
    assert results_of(lines)["b", "printed"].verdict == "undetermined"


def test_the_spread_of_own_code_with_the_printed_hyperparameters_is_borrowed_last():
    own, printed = seeds_of("a", UNSUP, "own", ("74", "76", "78")), seeds_of("c", UNSUP, "printed", FIVE)
    one = ("b", UNSUP, "printed", None, "73.47")
    assert results_of([*own, one])["b", "printed"].high == pytest.approx(
        73.475 + stats.t.ppf(0.975, 2) * 2 * math.sqrt(2)
    )
    both = results_of([*own, *printed, one])["b", "printed"]
    assert both.high < 76, "the printed setting comes first"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [("76.25", "equal"), ("76.26", "equal"), ("76.27", "not equal"), ("76.3", "equal"), ("76.2549", "equal"),
     ("76.2551", "not equal"), ("76.2", "equal"), ("76.1", "not equal")],
)  # fmt: skip
def test_a_released_checkpoint_is_equal_to_both_roundings(value, verdict):
    found = results_of([("a", UNSUP, "released", None, value)])["a", "released"]
    assert (found.verdict, found.released, found.trained) == (verdict, True, False)


def test_the_finest_reading_of_a_checkpoint_decides_and_is_a_line_of_its_own():
    measurements = measurements_of([
        ("coarse", UNSUP, "released", None, "76.3"), ("fine", UNSUP, "released", None, "76.2501"),
        *seeds_of("a", UNSUP, "printed", FIVE),
    ])  # fmt: skip
    (result,) = record_results(measurements, ["simcse/table5"])
    cells = {cell.protocol: cell for cell in result.cells if cell.encoders}
    assert cells["released"].reproduced == 76.2501
    assert cells["as-described"].n_seeds == 5


def test_a_run_without_a_stated_seed_is_still_a_draw_of_one():
    found = results_of([("a", UNSUP, "printed", None, "76.25")])["a", "printed"]
    assert (found.verdict, found.trained, found.sd) == ("undetermined", True, None)


def test_another_setting_has_no_verdict_but_an_effect_in_its_source():
    lower = ("74.10", "74.50", "74.60", "74.00", "74.20")
    found = results_of([*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("a", UNSUP, "four", lower)])
    four = found["a", "four"]
    differences = np.array(lower, dtype=float) - np.array(FIVE, dtype=float)
    interval = stats.t.interval(0.95, 4, statistics.fmean(differences), stats.sem(differences))
    assert (four.verdict, four.difference) == ("not comparable", "devices 4, batch 256")
    assert four.effect.is_paired
    assert (four.effect.mean, four.effect.low, four.effect.high) == pytest.approx(
        (statistics.fmean(differences), *interval)
    )


def test_settings_with_other_seeds_are_compared_by_welch():
    lower = ("74.10", "74.50", "74.60")
    found = results_of(
        [*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("a", UNSUP, "four", lower, first=7)]
    )
    effect = found["a", "four"].effect
    reference = stats.ttest_ind([*map(float, lower)], [*map(float, FIVE)], equal_var=False)
    assert not effect.is_paired
    assert (effect.low, effect.high) == pytest.approx(tuple(reference.confidence_interval()))
    assert welch_interval([1.0, 2.0], [1.0, 2.0, 3.0]) == (-0.5, None, None)


def test_a_setting_is_compared_only_in_its_own_source():
    found = results_of([*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("b", UNSUP, "four", FIVE)])
    assert found["b", "four"].effect is None


def test_cells_of_one_encoder_and_metric_share_their_readings():
    lines = [*seeds_of("a", UNSUP, "printed", FIVE), ("a", UNSUP, "released", None, "76.25")]
    again = "diffcse/table1/simcse-bert-base-reproduce/avg"
    assert results_of(lines, again)["a", "printed"].values == FIVE
    quoted = results_of(lines, "diffcse/table1/simcse-bert-base/avg")
    assert {setting for _, setting in quoted} == {"released"}, "the quoted row has the checkpoint alone"
    assert not results_of(lines, DIFFCSE)
    assert not results_of(lines, "simcse/table5/unsup-simcse-bert-base/STS12")


def test_a_run_is_no_reading_of_a_maximum_or_spread_over_seeds():
    lines = [("a", "promptbert/readme-sts/unsup-bert/avg", "printed", None, "78.54")]
    item = "promptbert/readme-sts"
    assert set(others_of(measurements_of(lines), item)) == {f"{item}/unsup-bert/avg/{METRIC}"}


def claim_on(lines, name):
    """Return the outcome of a claim, and the number of cells that were run.

    Only the cells of the decisive source are counted.
    """
    measurements = measurements_of(lines)
    (claim,) = [
        each for each in study_claims(measurements.study.names, shipped_papers()) if each.name == name
    ]
    numbers = RecordNumbers(measurements)
    return numbers.judge(claim), numbers.ran(claim)


def test_a_claim_is_tested_in_one_source_paired_by_seed():
    differences = [0.4, 1.0, 1.0, 2.4, 2.5]
    better = five_plus(differences)
    both = [*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("a", DIFFCSE, "printed", better)]
    outcome, _ = claim_on(both, "diffcse/sts-gain-of-2.3")
    slack = 0.05 - np.abs(np.array(differences) - 2.3)
    expected = stats.t.cdf(statistics.fmean(slack) / stats.sem(slack), 4)
    assert outcome.outcome == "contradicted"
    assert outcome.n_seeds == 5
    assert f"p = {expected:.3f}" in outcome.reason
    # Scores of two sources are never compared.
    apart = [*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("b", DIFFCSE, "printed", better)]
    outcome, ran = claim_on(apart, "diffcse/sts-gains")
    assert (outcome.outcome, ran) == ("not run", 1)


def test_a_claim_takes_the_seeds_that_all_of_its_cells_have():
    better = ("77", "78", "79", "80")
    lines = [*seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("a", DIFFCSE, "printed", better, first=2)]
    outcome, _ = claim_on(lines, "diffcse/sts-gain-of-2.3")
    assert outcome.n_seeds == 3, "seeds 2, 3 and 4"


def test_a_claim_in_another_setting_is_no_verdict_on_the_paper():
    better = five_plus(2)
    cells = ("simcse/table3/p0.1/stsb-dev", "simcse/table3/p0.0/stsb-dev", "simcse/table3/fixed-0.1/stsb-dev")
    lines = [*seeds_of("a", cells[0], "four", better)]
    for cell in cells[1:]:
        lines += seeds_of("a", cell, "four", FIVE[::-1])
    outcome, ran = claim_on(lines, "simcse/no-dropout-degrades")
    assert (outcome.outcome, ran) == ("for", 3)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_number_of_the_same_distribution_is_seldom_called_higher_or_lower(count):
    """If both labs sample the same distribution, only 5% should be alarms.

    This includes borrowed standard deviations.
    """
    generator, trials = np.random.default_rng(0), 3000
    runs = generator.normal(76.0, 0.8, (trials, 5 + count + 1)).round(2)
    alarms = 0
    for row in runs:
        printed, other, own = row[0], row[1:6], row[6:]
        borrowed = Spread(float(np.std(other, ddof=1)), 4) if count < 3 else None
        reported = Reported(value=f"{printed:.2f}", source="made up")
        found = judge(own.tolist(), reported, planned=count, comparable=True, prior=borrowed)
        alarms += found.verdict in ("higher", "lower")
    error = math.sqrt(0.05 * 0.95 / trials)
    assert 0.05 - 3 * error < alarms / trials < 0.05 + 3 * error


@pytest.mark.parametrize(
    ("gaps", "verdicts"), [((2.9,) * 4, {"lower"}), ((2.9, 0, 0, 0), {"within seed spread"})]
)
def test_verdicts_of_a_paper_are_controlled_together(gaps, verdicts):
    """All verdicts of a paper are adjusted together.

    A gap of 2.9 is outside of the interval at p = 0.03, but a single such cell among four can be chance.
    """
    tasks, printed = ("STS12", "STS13", "STS14", "STS15"), (68.40, 82.41, 74.38, 80.91)
    lines = []
    for task, number, gap in zip(tasks, printed, gaps, strict=True):
        values = [f"{number - gap + step:.2f}" for step in (-0.44, 0.0, 0.44)]
        lines += seeds_of("a", f"simcse/table5/unsup-simcse-bert-base/{task}", "printed", values)
    (alone,) = record_results(measurements_of(lines[:3]), ["simcse/table5"])
    assert [cell.verdict for cell in alone.cells if cell.p is not None] == ["lower"]
    (together,) = adjust_verdicts(record_results(measurements_of(lines), ["simcse/table5"]))
    judged = [cell for cell in together.cells if cell.p is not None]
    assert {cell.verdict for cell in judged} == verdicts
    expected = stats.false_discovery_control([cell.p for cell in judged])
    assert [cell.p_adjusted for cell in judged] == pytest.approx(list(expected))


def test_counts_by_paper_and_item():
    lines = [
        *seeds_of("a", UNSUP, "printed", FIVE),
        ("a", UNSUP, "released", None, "76.25"),
        ("a", "simcse/table5/unsup-simcse-roberta-base/avg", "four", 0, "76.0"),
        ("a", "simcse/table1/none/stsb-dev", "printed", 0, "81.0"),
    ]
    measurements = measurements_of(lines)
    results = adjust_verdicts(record_results(measurements, measurements.study.items))
    others = {result.item: others_of(measurements, result.item, result) for result in results}
    summary = record_summary(shipped_papers(), made_record(lines), results, others)
    counts = {count.name: count for count in summary.items}
    table = counts["simcse/table5"]
    assert (table.measured, table.equal, table.within, table.other_setting) == (2, 1, 1, 1)
    assert table.judged == 1, "one number has both verdicts"
    assert counts["simcse/table1"].undetermined == 1
    paper = next(count for count in summary.papers if count.name == "simcse")
    assert paper.measured == sum(count.measured for count in summary.items if count.paper == "simcse")
    assert paper.printed > table.printed


def test_a_diagnosis_has_reruns_of_others_and_effects_of_single_facts():
    lower, lowest = five_plus(-0.5), five_plus(-0.9)
    measurements = measurements_of([
        *seeds_of("a", UNSUP, "printed", FIVE), *seeds_of("a", UNSUP, "four", lower),
        *seeds_of("a", UNSUP, "four-head", lowest), ("b", UNSUP, "printed", None, "73.47"),
        ("b", UNSUP, "own", None, "70.00"),
    ])  # fmt: skip
    published = published_cell(shipped_papers(), UNSUP)
    recorded = recorded_cell(measurements, published)
    assert (recorded.printed.runs, recorded.printed.low, recorded.printed.high) == (6, 73.47, 76.40)
    assert recorded.every.low == 70.0
    effects = {tuple(sorted(each.facts)): each for each in recorded.effects}
    assert effects["batch", "devices"].effect.mean == pytest.approx(-0.5)
    # The head is compared at four devices, because all other settings are equal there.
    assert effects["pooling",].effect.mean == pytest.approx(-0.4)
    assert effects["pooling",].cell.startswith(UNSUP)
    known = add_record(published, measurements)
    assert known.reruns["b"] == 73.47
    found = diagnose(75.0, known, {"pooling": "cls-head"}, (), (), recorded)
    (fact,) = found.facts
    assert [each.source for each in found.recorded_of(fact)] == ["a"]
    assert found.standing == "usual"
