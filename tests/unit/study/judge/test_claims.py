"""Claims: relations by hand and against slow loops, names, rounding, and every shipped claim's outcome in print."""

import math

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from made_up import write_scores
from planned import shipped_plan
from scipy import stats

from replicse.study.judge.claims import SAME_RUN, _failing, claim_rows, judge_claim, study_claims
from replicse.study.judge.readings import Reading
from replicse.study.judge.study import results_of
from replicse.study.paper.claims import Claim, Relation, contradictions, load_claims
from replicse.study.paper.expression import Expression
from replicse.study.results.values import Evaluations

ALL = {"simcse": "all", "repro": "all", "diffcse": "all"}


def study(scale="paper", papers=ALL, seeds=(0, 1, 2)):
    return shipped_plan(scale=scale, papers=papers, seeds=list(seeds))


def judged(plan):
    """Return the rows of a study's claims on the evaluations that are there."""
    results = results_of(plan, plan.items, Evaluations(plan))
    return claim_rows(plan, study_claims(plan.papers, plan.studied), results)


def claim(*relations):
    return Claim(id="id", text="A sentence.", place="Section 1", relations=relations)


def above(left, right, op=">", margin=0.0):
    return Relation(left=left, op=op, right=right, margin=margin)


def seeded(table):
    """Readings with one value per seed."""
    return lambda name: Reading(tuple(table[name]))


def printed(table):
    """Readings of printed numbers with one decimal."""
    return lambda name: Reading((table[name],), seedless=True, half_digit=0.05)


def written(folder, entries, paper="simcse"):
    file = folder / paper / "claims.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(entries))
    return file


def entry(**changed):
    relation = {"left": "table1/none/stsb-dev", "op": ">", "right": "table1/crop-10/stsb-dev"}
    return {"id": "c", "text": "t", "place": "p", "relations": [relation | changed]}


# Paired seeds

scores = st.floats(-100, 100).map(lambda value: round(value, 3))


@given(
    st.lists(st.tuples(scores, scores), min_size=3, max_size=8),
    st.sampled_from([">", "<", ">=", "<=", "within"]),
)
def test_probability_against_a_slow_loop_over_seeds(pairs, op):
    margin = 1.5
    slacks = []
    for left, right in pairs:
        if op == "within":
            slacks.append(margin - abs(left - right))
        else:
            slacks.append((left - right if op in (">", ">=") else right - left) - margin)
    table = {"a": [left for left, _ in pairs], "b": [right for _, right in pairs]}
    found = judge_claim(claim(above("a", "b", op, margin)), seeded(table))
    mean = sum(slacks) / len(slacks)
    variance = sum((slack - mean) ** 2 for slack in slacks) / (len(slacks) - 1)
    if variance < 1e-12:
        return
    expected = stats.t.cdf(mean / math.sqrt(variance / len(slacks)), len(slacks) - 1)
    assert found.probability == pytest.approx(expected, abs=1e-6)
    assert found.n_seeds == len(pairs)
    # Beside the bounds themselves, where the last bit decides.
    if expected > 0.9501:
        assert found.outcome == "supported"
    elif expected < 0.0499:
        assert found.outcome == "contradicted"
    elif 0.0501 < expected < 0.9499:
        assert found.outcome == "undetermined"


def test_a_lone_value_stands_beside_every_seed():
    readings = {"a": Reading((75.0, 75.5, 76.0)), "b": Reading((70.0,), seedless=True, half_digit=0.005)}
    found = judge_claim(claim(above("a", "b")), readings.__getitem__)
    assert (found.outcome, found.n_seeds) == ("supported", 3)
    assert found.probability == pytest.approx(stats.t.cdf(5.5 / (0.5 / math.sqrt(3)), 2))


@pytest.mark.parametrize(("spread", "outcome"), [(0.73, "undetermined"), (0.5, "supported")])
def test_a_claim_is_supported_from_a_probability_of_95_percent(spread, outcome):
    table = {"a": [1 - spread, 1.0, 1 + spread], "b": [0.0] * 3}
    assert judge_claim(claim(above("a", "b")), seeded(table)).outcome == outcome


def test_cells_of_unequal_seeds_cannot_be_paired():
    with pytest.raises(ValueError, match=r"\[2, 3\] seeds"):
        judge_claim(claim(above("a", "b")), seeded({"a": [1, 2, 3], "b": [1, 2]}))


@pytest.mark.parametrize(
    ("right", "op", "probability", "outcome"),
    [
        (69.0, ">", 1.0, "supported"),
        (71.0, ">", 0.0, "contradicted"),
        (70.0, ">", 0.5, "undetermined"),
        (70.0, ">=", 1.0, "supported"),
        (70.0, "within", 1.0, "supported"),
    ],
)
def test_without_spread_the_sign_decides(right, op, probability, outcome):
    found = judge_claim(claim(above("a", "b", op)), seeded({"a": [70.0] * 3, "b": [right] * 3}))
    assert (found.probability, found.outcome) == (probability, outcome)


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((70.0,), (69.0,), "one seed, where it holds"),
        ((70.0,), (71.0,), "one seed, where it fails"),
        ((70.0,), (70.0,), "one seed, where it is a tie"),
        # Student's t would call these certain: its one degree of freedom is noise.
        ((70.0, 70.5), (60.0, 60.5), "two seeds, where it holds in both: a > b ({70, 70.5} and {60, 60.5})"),
        ((70.0, 70.0), (60.0, 60.0), "two seeds, where it holds in both: a > b (70 and 60)"),
        ((70.0, 60.0), (60.0, 70.0), "two seeds, where it holds in one and fails in the other"),
    ],
)
def test_below_three_seeds_nothing_is_decided_but_shown(left, right, words):
    found = judge_claim(claim(above("a", "b")), seeded({"a": left, "b": right}))
    assert (found.outcome, found.probability, found.n_seeds) == ("undetermined", None, len(left))
    assert words in found.reason


def test_a_claim_of_many_parts_is_contradicted_only_after_holm():
    """Of ten parts without a difference one fails at 0.05 in 40% of claims; after Holm in 5%."""
    draws = np.random.default_rng(0).uniform(size=(20_000, 10))
    assert np.mean((draws <= 0.05).any(axis=1)) == pytest.approx(1 - 0.95**10, abs=0.015)
    assert np.mean([_failing(row) > 0 for row in draws]) == pytest.approx(1 - 0.995**10, abs=0.007)
    assert [_failing(row) for row in ([0.05], [0.026, 0.5], [0.025, 0.05], [0.0, 0.06], [])] == [
        1,
        0,
        2,
        1,
        0,
    ]
    table = {"a": [1.0, 1.2, 1.4], "b": [1.6, 1.7, 2.4]} | {
        f"c{place}": [0.0, 0.1, 0.3] for place in range(9)
    }
    alone = judge_claim(claim(above("a", "b")), seeded(table))
    among = judge_claim(
        claim(above("a", "b"), *(above("a", f"c{place}") for place in range(9))), seeded(table)
    )
    assert alone.outcome == "contradicted" and 0.005 < alone.probability == among.probability < 0.05
    assert among.outcome == "undetermined" and among.reason.endswith("may be chance among 10 parts (Holm)")


# Printed numbers


@pytest.mark.parametrize(
    ("left", "right", "op", "outcome"),
    [
        (82.5, 81.4, ">", "supported"),
        (81.4, 82.5, ">", "contradicted"),
        # Rounded from 86.15 at least and from below 86.15: still above.
        (86.2, 86.1, ">", "supported"),
        (86.1, 86.2, ">", "contradicted"),
        (86.2, 86.2, ">", "undetermined"),
        (86.2, 86.2, "<", "undetermined"),
        (86.2, 86.2, ">=", "supported"),
        (86.2, 86.2, "<=", "supported"),
        (86.2, 86.2, "within", "supported"),
    ],
)
def test_printed_numbers_decide_outright_unless_rounding_could_turn_them(left, right, op, outcome):
    found = judge_claim(claim(above("a", "b", op)), printed({"a": left, "b": right}))
    assert (found.outcome, found.n_seeds) == (outcome, 0)
    assert found.probability == {"supported": 1.0, "contradicted": 0.0, "undetermined": None}[outcome]
    assert ("within rounding" in found.reason) == (outcome == "undetermined")


@pytest.mark.parametrize(
    ("text", "values", "value", "half"),
    [
        ("{a} - {b}", (76.25, 72.05), 4.2, 0.1),
        ("mean({a}, {b}, {c})", (1.0, 2.0, 6.0), 3.0, 0.05),
        ("{a} - mean([{b}, {c}])", (1.0, 2.0, 6.0), -3.0, 0.1),
        ("100 * {a} / {b} - 100", (40.0, 50.0), -20.0, 100 * (40.05 / 49.95) - 80),
        ("wins([{a}, {b}, {c}, {d}], [{e}, {f}, {g}, {h}])", (3, 2, 1, 5, 2, 2, 4, 4), 50.0, 0.0),
    ],
)
def test_sides_made_of_several_cells(text, values, value, half):
    side = Expression(text)
    by_name = dict(zip("abcdefgh", values, strict=False))
    assert side(by_name) == pytest.approx(value)
    assert side.room(by_name, dict.fromkeys(by_name, 0.05)) == pytest.approx(half, rel=2e-3)


# Missing values


def test_a_missing_value_leaves_the_claim_open_or_not_run():
    table = {
        "a": Reading((3.0, 3.1, 3.2)),
        "b": Reading((1.0,) * 3),
        "c": Reading((None, 2.0, 2.0)),
        "d": Reading(),
    }
    found = judge_claim(claim(above("a", "b"), above("a", "c"), above("a", "d")), table.__getitem__)
    assert (found.outcome, found.probability) == ("undetermined", None)
    assert found.reason == "missing: c, d"
    found = judge_claim(claim(above("a", "c"), above("d", "b")), table.__getitem__)
    assert (found.outcome, found.reason) == ("not run", "missing: c, d")
    table["d"] = Reading(failure="all cosines are equal")
    found = judge_claim(claim(above("a", "d")), table.__getitem__)
    assert (found.outcome, found.reason) == ("failed", "missing: d (all cosines are equal)")


def test_what_contradicts_a_part_contradicts_the_claim_whatever_is_missing():
    table = {"a": Reading((3.0, 3.1, 3.2)), "b": Reading((4.0, 4.0, 4.0)), "c": Reading()}
    found = judge_claim(claim(above("a", "c"), above("a", "b")), table.__getitem__)
    assert found.outcome == "contradicted"
    assert found.decided_by == ("a", "b")
    assert found.reason.startswith("1 of 2 parts fails: a > b (3.1 and 4)")


# One run on both sides


def same(values, *more):
    """Readings of which a and b are one run, c another one."""
    return {
        "a": Reading(values, runs=("encoder", "sts/avg")),
        "b": Reading(values, runs=("encoder", "sts/avg")),
        "c": Reading(*more or ((60.0, 60.1, 60.2),), runs=("other", "sts/avg")),
    }


@pytest.mark.parametrize("op", [">", ">=", "<", "<=", "within"])
def test_one_run_on_both_sides_supports_nothing(op):
    found = judge_claim(claim(above("a", "b", op, 1.0)), same((70.0, 70.4, 70.6)).__getitem__)
    assert (found.outcome, found.probability) == ("undetermined", None)
    assert found.reason.startswith(SAME_RUN)


# Our cells


# Readings of one sentence, and what of it nothing tests


def read_as(untested="", **readings):
    """Return a claim with readings, each of one relation a > NUMBER or a < NUMBER."""
    relations = {name: (Relation(left="a", op=op, right=number),) for name, (op, number) in readings.items()}
    return Claim(id="id", text="A sentence.", place="Section 1", readings=relations, untested=untested)


@pytest.mark.parametrize(
    ("points", "percent", "outcome"),
    [
        ((">", 4), (">", 9), "supported"),
        ((">", 9), ("<", 9), "supported"),
        ((">", 9), (">", 8), "contradicted"),
        ((">", 9), (">", 5), "undetermined"),
        ((">", 4), (">", 5), "supported"),
    ],
)
def test_one_reading_must_support_all_of_a_claim(points, percent, outcome):
    found = judge_claim(read_as(points=points, percent=percent), printed({"a": 5.0}))
    assert found.outcome == outcome
    assert list(found.readings) == ["points", "percent"]
    assert found.reason.startswith("in points: ") and "; in percent: " in found.reason


def test_what_nothing_tests_keeps_a_claim_from_support_but_not_from_contradiction():
    table = printed({"a": 5.0, "b": 4.0})
    partly = claim(above("a", "b")).model_copy(update={"untested": "no row has p = 0.04"})
    found = judge_claim(partly, table)
    assert (found.outcome, found.probability) == ("undetermined", None)
    assert found.reason.startswith("not tested: no row has p = 0.04; the closest of 1 part")
    turned = claim(above("b", "a")).model_copy(update={"untested": "no row has p = 0.04"})
    assert judge_claim(turned, table).outcome == "contradicted"
    nothing = Claim(id="id", text="t", place="p", untested="no loss is told")
    found = judge_claim(nothing, table)
    assert (found.outcome, found.reason) == ("not run", "not tested: no loss is told")


# Up to a number


def up_to(number, *left):
    return Relation(left=list(left), op="up to", right=number, margin=0.5)


@pytest.mark.parametrize(
    ("number", "values", "outcome"),
    [
        (20, (5.0, 19.9, 7.0), "supported"),
        (20, (5.0, 17.0, 7.0), "contradicted"),  # a bound that nothing reaches
        (14, (5.0, 14.8, 14.0), "contradicted"),  # reached, and passed
        (14, (5.0, 14.5, 14.0), "supported"),
        (-20, (-5.0, -20.2, 1.0), "supported"),
        (-20, (-5.0, -13.2, 1.0), "contradicted"),
    ],
)
def test_up_to_is_reached_and_not_passed_to_the_rounding_of_the_number(number, values, outcome):
    table = dict(zip("abc", values, strict=True))
    exact = lambda name: Reading((table[name],), seedless=True)  # noqa: E731
    found = judge_claim(claim(up_to(number, *"abc")), exact)
    assert (found.outcome, found.n_seeds) == (outcome, 0)
    reach = max(values) if number > 0 else min(values)
    assert f"a and 2 more up to {number} ± 0.5 ({reach:g})" in found.reason


# Files and names


# Every shipped claim


# Our numbers


def filled(folder, monkeypatch, scale, scores, seeds=(0, 1, 2)):
    """Return the rows of the claims where `scores(row, seed)` stands in every cell of table 3."""
    monkeypatch.chdir(folder)
    plan = study(scale, {"simcse": ["table3"], "repro": ["table5"]}, seeds)
    write_scores(plan, plan.items, lambda cell, seed: scores(cell.row.id, seed))
    return {row["claim"]: row for row in judged(plan)}


def peaked(row, seed):
    """Return a score that is best at p = 0.1, with the same noise for all rows of a seed and a little of their own."""
    printed = {"p0.01": 72.6, "p0.05": 81.1, "p0.1": 82.5, "p0.15": 81.4, "p0.2": 80.5, "p0.5": 71.0}
    return printed.get(row, 43.6) + 3 * seed + 0.01 * (sum(map(ord, row)) * seed % 7)


def test_ours_by_paired_seeds(tmp_path, monkeypatch):
    rows = filled(tmp_path, monkeypatch, "paper", peaked)
    best = rows["simcse/default-dropout-best"]
    assert (best["reported"], best["reproduction"], best["ours"]) == (
        "supported",
        "contradicted",
        "supported",
    )
    assert float(best["probability"]) > 0.95
    assert best["n_seeds"] == "3"
    assert (
        "reproduction study: 1 of 7 parts fails: simcse/table3/p0.1/stsb-dev > simcse/table3/p0.2"
        in best["reason"]
    )
    # Cells of items that the study leaves out are missing, and differences are to printed numbers.
    assert rows["simcse/one-encoder"]["ours"] == "not run"
    assert rows["repro/dropout-differences"]["ours"] == "undetermined", (
        "one of several parts fails, after Holm none"
    )


def test_another_scale_judges_orders_but_no_numbers(tmp_path, monkeypatch):
    rows = filled(tmp_path, monkeypatch, "compact", peaked)
    best = rows["simcse/default-dropout-best"]
    assert (best["ours"], best["ran"]) == ("for", "8 of 8"), "no verdict on the paper"
    assert rows["repro/dropout-range"]["ours"] == "not comparable"
    assert "every part holds a printed number or a margin" in rows["repro/dropout-range"]["reason"]
    assert rows["repro/dropout-differences"]["ours"] == "not comparable"


# Output


# Contradictions


def contradicting(tmp_path, *claims):
    """Claims by paper and id, each with the names that it contradicts, read from files."""
    by_paper = {}
    for name, others in claims:
        paper, _, key = name.partition("/")
        by_paper.setdefault(paper, []).append({**entry(), "id": key, "contradicts": others})
    return [one for paper, some in by_paper.items() for one in load_claims(written(tmp_path, some, paper))]


def test_a_contradiction_is_said_once_and_holds_for_both(tmp_path):
    claims = contradicting(tmp_path, ("simcse/a", []), ("repro/b", ["simcse/a"]), ("repro/c", ["simcse/a"]))
    expected = {"simcse/a": ("repro/b", "repro/c"), "repro/b": ("simcse/a",), "repro/c": ("simcse/a",)}
    assert contradictions(claims) == expected
    both = contradicting(tmp_path, ("simcse/a", ["repro/b"]), ("repro/b", ["simcse/a"]))
    assert contradictions(both) == {"simcse/a": ("repro/b",), "repro/b": ("simcse/a",)}
