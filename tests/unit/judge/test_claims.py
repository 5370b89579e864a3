"""Claims: probabilities, several cells, our scores and contradictions.

The probabilities are compared with slow loops.
"""

import math

import numpy as np
import pytest
import yaml
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from made_up import write_scores
from planned import shipped_plan
from scipy import stats

from replicse.judge.claims.claim_outcomes import judge_claim
from replicse.judge.claims.judge_claims import judge_claims, study_claims
from replicse.judge.report.judge_study import results_of
from replicse.judge.statistics.multiplicity import count_significant
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.readings import Reading
from replicse.spec.claims import Claim, Relation, contradictions, load_claims
from replicse.spec.expression import Expression

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
    table = dict(zip("ab", zip(*pairs, strict=True), strict=True))
    relation = Relation(left="a", op=op, right="b", margin=margin)
    judged = Claim(id="id", text="A sentence.", place="Section 1", relations=(relation,))
    found = judge_claim(judged, lambda name: Reading(table[name]))
    mean = sum(slacks) / len(slacks)
    variance = sum((slack - mean) ** 2 for slack in slacks) / (len(slacks) - 1)
    if variance < 1e-12:
        return
    expected = stats.t.cdf(mean / math.sqrt(variance / len(slacks)), len(slacks) - 1)
    assert found.probability == pytest.approx(expected, abs=1e-6)
    assert found.n_seeds == len(pairs)
    # Outcomes at the bounds are not compared, because the last bit decides there.
    if expected > 0.9501:
        assert found.outcome == "supported"
    elif expected < 0.0499:
        assert found.outcome == "contradicted"
    elif 0.0501 < expected < 0.9499:
        assert found.outcome == "undetermined"


def test_a_claim_of_many_parts_is_contradicted_only_after_holm():
    """The parts of a claim are corrected by Holm's method.

    If there is no difference, at least one of ten parts fails at 0.05 in 40% of claims, but only in 5% after
    Holm's correction.
    """
    draws = np.random.default_rng(0).uniform(size=(20_000, 10))
    assert np.mean((draws <= 0.05).any(axis=1)) == pytest.approx(1 - 0.95**10, abs=0.015)
    assert np.mean([count_significant(row) > 0 for row in draws]) == pytest.approx(1 - 0.995**10, abs=0.007)
    rows = ([0.05], [0.026, 0.5], [0.025, 0.05], [0.0, 0.06], [])
    assert list(map(count_significant, rows)) == [1, 0, 2, 1, 0]


@cases
def test_sides_made_of_several_cells(text, values, value, half):
    side = Expression(text)
    by_name = dict(zip("abcdefgh", values, strict=False))
    assert side(by_name) == pytest.approx(value)
    assert side.rounding_error(by_name, dict.fromkeys(by_name, 0.05)) == pytest.approx(half, rel=2e-3)


def peaked(row, seed):
    """Return a score with a maximum at p = 0.1.

    The rows of a seed share most of the noise.
    """
    printed = {"p0.01": 72.6, "p0.05": 81.1, "p0.1": 82.5, "p0.15": 81.4, "p0.2": 80.5, "p0.5": 71.0}
    return printed.get(row, 43.6) + 3 * seed + 0.01 * (sum(map(ord, row)) * seed % 7)


def test_ours_by_paired_seeds_and_at_another_scale_no_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {}
    for scale in ("paper", "compact"):
        plan = shipped_plan(scale=scale, papers={"simcse": ["table3"], "repro": ["table5"]}, seeds=[0, 1, 2])
        write_scores(plan, plan.items, lambda cell, seed: peaked(cell.row.id, seed))
        results = results_of(plan.items, Measurements(plan))
        claims = study_claims(plan.names, plan.studied)
        rows[scale] = {row.claim: row for row in judge_claims(plan, claims, results)}
    best, ours = (
        rows["paper"]["simcse/default-dropout-best"],
        {key: row.ours for key, row in rows["paper"].items()},
    )
    outcomes = [getattr(best, each) for each in ("reported", "reproduction", "ours", "n_seeds")]
    assert outcomes == ["supported", "contradicted", "supported", 3] and best.probability > 0.95
    said = "reproduction study: 1 of 7 parts fails: simcse/table3/p0.1/stsb-dev > simcse/table3/p0.2"
    assert said in best.reason
    # Cells of items outside the study are missing, and differences are to published numbers.
    assert ours["simcse/one-encoder"] == "not run"
    assert ours["repro/dropout-differences"] == "undetermined", "one of several parts fails, after Holm none"
    best = rows["compact"]["simcse/default-dropout-best"]
    bounded = rows["compact"]["repro/dropout-range"]
    assert (best.ours, best.cells_run) == ("for", "8 of 8"), "no verdict on the paper"
    assert bounded.ours == rows["compact"]["repro/dropout-differences"].ours == "not comparable"
    assert "every part contains a printed number or a margin" in bounded.reason


def test_a_contradiction_is_said_once_and_holds_for_both(tmp_path):
    relation = {"left": "table1/none/stsb-dev", "op": ">", "right": "table1/crop-10/stsb-dev"}

    def claims(**papers):
        for paper, told in papers.items():
            entries = [
                {"id": key, "text": "t", "place": "p", "relations": [relation], "contradicts": others}
                for key, others in told.items()
            ]
            file = tmp_path / paper / "claims.yaml"
            file.parent.mkdir(exist_ok=True)
            file.write_text(yaml.safe_dump(entries))
            yield from load_claims(file)

    several = contradictions([*claims(simcse={"a": []}, repro={"b": ["simcse/a"], "c": ["simcse/a"]})])
    assert several == {
        "simcse/a": ("repro/b", "repro/c"), "repro/b": ("simcse/a",), "repro/c": ("simcse/a",)
    }  # fmt: skip
    both = contradictions([*claims(simcse={"a": ["repro/b"]}, repro={"b": ["simcse/a"]})])
    assert both == {"simcse/a": ("repro/b",), "repro/b": ("simcse/a",)}
