"""The ranking of causes: its arithmetic in closed form, and twelve threads whose cause a maintainer confirmed."""

import argparse
import math

import pytest

from replicse.checked import read_yaml
from replicse.commands import diagnose as verb
from replicse.errors import BadInput
from replicse.study.judge.diagnosis import (
    AGREES,
    DIFFERS,
    PRIOR_DEGREES,
    PRIOR_MEAN,
    PRIOR_SD,
    check_number,
    diagnose,
    effect_of,
)
from replicse.study.judge.known import Known, Spread, known_cell
from replicse.study.paper.causes import Cause, Measured, load_causes, load_measured
from replicse.study.paper.papers import load_papers
from replicse.study.paper.printed import Reported
from replicse.workspace import packaged

WORKFLOW = packaged("workflow")
CASES = [case for case in read_yaml(WORKFLOW / "causes-check.yaml") if case.get("agreed", True)]


def made(name, threads=2, got=(), **more):
    """Return a cause with so many threads, of which the first ones give numbers."""
    names = [f"a/{name}#{number}" for number in range(threads)]
    reports = [
        {"thread": thread, "model": "m", "quantity": "STS", "delta": list(delta)}
        for thread, delta in zip(names, got, strict=False)
    ]
    words = dict.fromkeys(("title", "sentence", "seen", "mend", "test"), name)
    return Cause.of(
        {"id": name, **words, "kinds": ["trained"], "threads": names, "reports": reports, **more}, name
    )


def known(printed="76.25", path="sts/avg", **more):
    return Known("", "x", path, Reported(value=printed, source="t"), "trained", **more)


def ranked(found):
    return [each.cause.id for each in found.candidates]


@pytest.mark.parametrize("case", CASES, ids=[case["thread"] for case in CASES])
def test_the_confirmed_cause_is_among_the_first_three(case):
    """Given only what the asker had written, and without the thread itself among the causes."""
    parser = argparse.ArgumentParser()
    verb.diagnose_verb(parser)
    arguments = parser.parse_intermixed_args([*case["words"], "--workflow", str(WORKFLOW)])
    facts, cell = verb.facts_of(arguments), verb.compared_with(arguments)
    causes = [cause.unaware_of(case["thread"]) for cause in load_causes(WORKFLOW)]
    found = diagnose(verb.number_of(arguments, cell), cell, facts, causes, load_measured(WORKFLOW))
    assert (case["cause"] in ranked(found)[:3]) is not case.get("missed", False)


def test_one_thread_of_the_twelve_is_missed():
    assert [case["thread"] for case in CASES if case.get("missed")] == [
        "huggingface/sentence-transformers#621"
    ]


def test_without_reports_an_effect_is_the_prior_that_all_causes_share():
    effect = effect_of([])
    assert (effect.mean, effect.scale, effect.degrees) == (PRIOR_MEAN, pytest.approx(PRIOR_SD), PRIOR_DEGREES)
    assert effect.rests == "no report"


def test_an_effect_is_the_conjugate_posterior_of_its_reports():
    values = [-1.0, -3.0, -2.0]
    effect = effect_of([[value] for value in values])
    mean, n, kappa = sum(values) / 3, 3, 1
    a, b = PRIOR_DEGREES / 2 + n / 2, PRIOR_DEGREES / 2 * PRIOR_SD**2 * kappa / (kappa + 1)
    b += sum((value - mean) ** 2 for value in values) / 2
    b += kappa * n * (mean - PRIOR_MEAN) ** 2 / (2 * (kappa + n))
    assert effect.mean == pytest.approx((kappa * PRIOR_MEAN + n * mean) / (kappa + n))
    assert effect.scale == pytest.approx(math.sqrt(b * (kappa + n + 1) / (a * (kappa + n))))
    assert effect.degrees == 2 * a


def test_a_density_is_students_t_with_the_noise_on_top():
    from scipy.stats import t

    effect = effect_of([[-4.0], [-6.0]])
    wanted = t.pdf(-2.0, effect.degrees, effect.mean, math.hypot(effect.scale, 1.5))
    assert effect.density(-2.0, 1.5) == pytest.approx(wanted)


def test_a_thread_counts_once_however_many_numbers_it_gives():
    assert effect_of([[-1.0, -3.0]]).degrees == effect_of([[-2.0]]).degrees
    assert effect_of([[-1.0, -3.0]]).mean == effect_of([[-2.0]]).mean


def test_a_cause_whose_effect_fits_goes_before_one_that_has_more_threads():
    near, far = made("near", 2, [[-3.0], [-3.2]]), made("far", 3, [[-20.0], [-22.0]])
    found = diagnose(73.25, known(), {}, [far, near])
    assert ranked(found) == ["near", "far"] and found.difference == -3.0
    assert ranked(diagnose(None, known(), {}, [far, near])) == ["far", "near"]
    assert sum(each.share for each in found.candidates) == pytest.approx(1)


def test_a_setting_that_is_not_the_papers_speaks_for_a_cause_and_one_that_is_against_it():
    one, other = made("one", facts=["batch"]), made("other", facts=["pooling"])
    cell = known(settings={"batch": 64, "pooling": "cls"})
    found = diagnose(75.0, cell, {"batch": 512, "pooling": "cls"}, [other, one])
    assert ranked(found) == ["one", "other"]
    assert [each.said for each in found.candidates] == [DIFFERS, AGREES]
    assert found.candidates[0].share / found.candidates[1].share == pytest.approx(DIFFERS / AGREES)
    assert diagnose(75.0, cell, {"length": 32}, [one]).candidates[0].said == 1


def test_a_cause_that_an_encoder_cannot_have_is_left_out_and_says_why():
    released = made("released", kinds=["released"])
    transfer, prompted = made("transfer", metrics=["transfer"]), made("prompted", models=["prompt"])
    found = diagnose(75.0, known(model="unsup-simcse"), {}, [released, transfer, prompted, made("rest")])
    assert ranked(found) == ["rest"]
    assert found.excluded == {
        "released": "the encoder is trained",
        "transfer": "the number is of sts",
        "prompted": "the encoder is none of prompt",
    }
    assert ranked(diagnose(75.0, known(), {"encoder-is": "released"}, [released])) == ["released"]
    assert (
        ranked(diagnose(75.0, known(), {"model": "sup-PromptBERT"}, [prompted, made("rest", 9)]))[0]
        == "prompted"
    )


def test_known_seeds_and_reruns_state_the_effect_of_another_seed():
    seeds = Spread("50 seeds", 75.11, 0.84, 50)
    cell = known(seeds=(seeds,), reruns={"a": 74.0, "b": 75.0, "c": 76.0})
    (candidate,) = diagnose(74.84, cell, {}, [made("seed-or-hardware", facts=["seed"])]).candidates
    assert candidate.effect.mean == pytest.approx(75.11 - 76.25)
    spread = math.hypot(1.0, 0.84 / math.sqrt(50))
    assert candidate.effect.scale == pytest.approx(spread), "the wider spread, about the mean of the 50"
    assert diagnose(74.84, cell, {}, []).unusual is False
    assert diagnose(56.0, cell, {}, []).unusual is True
    assert diagnose(56.0, known(), {}, []).unusual is None


def test_a_swap_of_conventions_has_either_sign():
    swap, one_way = made("swap", 2, [[-5.0]], either_way=True), made("one-way", 2, [[-5.0]])
    assert ranked(diagnose(81.25, known(), {}, [one_way, swap])) == ["swap", "one-way"]


def test_an_encoder_counts_once_however_many_variants_were_measured_on_it():
    measured = [
        Measured(
            cause="one", variant=variant, encoder=encoder, kind="trained", metric="sts/avg", effect=effect
        )
        for encoder, variant, effect in (
            ("minilm", "mean", -4.0),
            ("minilm", "cls", -2.0),
            ("compact", "cls", -6.0),
        )
    ]
    (candidate,) = diagnose(75.0, known(), {}, [made("one")], measured).candidates
    assert (
        candidate.effect == effect_of([], [[-4.0, -2.0], [-6.0]]) and candidate.effect.rests == "2 encoders"
    )
    elsewhere = Known("", "x", "mteb/SciFact", Reported(value="72", source="t"), "trained")
    (candidate,) = diagnose(35.0, elsewhere, {}, [made("one")], measured).candidates
    assert candidate.effect == effect_of([]), "effects on similarities say nothing of a retrieval"
    either = made("one", kinds=["trained", "untrained"])
    (candidate,) = diagnose(75.0, known(), {"encoder-is": "untrained"}, [either], measured).candidates
    assert candidate.effect == effect_of([]), "effects on a fine-tuned encoder say nothing of another"


def test_the_effect_in_points_says_nothing_of_alignment():
    cell = Known("", "x", "geometry/alignment", Reported(value="0.25", source="t"), "trained")
    near, far = made("near", 2, [[0.9]]), made("far", 2, [[-30.0]])
    assert {each.fit for each in diagnose(1.21, cell, {}, [near, far]).candidates} == {1.0}


@pytest.mark.parametrize(
    ("number", "problem"),
    [(174.84, "174.84 is no value of sts/avg; expected a finite number from -100 to 100"),
     (0.7484, "0.7484 is a fraction; scores are x 100 here, so write 74.84"),
     (float("nan"), "nan is no value of sts/avg")],
)  # fmt: skip
def test_a_number_outside_of_the_range_of_its_metric_is_refused(number, problem):
    with pytest.raises(BadInput, match=problem):
        check_number(number, known())


def test_the_number_part_of_the_question_of_the_thread():
    cell = known_cell(load_papers(WORKFLOW), "simcse/table5/unsup-simcse-bert-base/avg")
    found = diagnose(
        74.84, cell, {"pooling": "cls", "devices": 1}, load_causes(WORKFLOW), load_measured(WORKFLOW)
    )
    assert ranked(found)[0] == "seed-or-hardware" and found.unusual is False
    found = diagnose(56.87, cell, {"pooling": "cls-head"}, load_causes(WORKFLOW), load_measured(WORKFLOW))
    assert ranked(found)[0] == "pooler-or-head-at-test" and found.unusual is True
