"""Diagnosis of scores, including threads with a confirmed cause."""

import argparse

import pytest

from replicse.checked import read_yaml
from replicse.cli import diagnose as verb
from replicse.judge.adjudication.diagnosis import diagnose, standing_of
from replicse.judge.adjudication.published import PublishedCell, SeedSpread
from replicse.spec.causes import Cause, Measured, load_causes
from replicse.spec.printed import Reported
from replicse.workspace import packaged

WORKFLOW = packaged("workflow")
THREADS = {cause.id: cause.threads for cause in load_causes(WORKFLOW)}
CASES = [
    case
    for case in read_yaml(WORKFLOW / "causes-check.yaml")
    if THREADS[case["cause"]][case["thread"]] == "author and reporter"
]
# The first post of these threads states no setting, only a score in the title, versions of a single side, or
# a dataset.
SILENT = ("princeton-nlp/SimCSE#4", "SeanLee97/AnglE#68", "embeddings-benchmark/mteb#240")


def made(name, **more):
    words = dict.fromkeys(("title", "sentence", "seen", "fix", "test"), name)
    return Cause.of(
        {"id": name, **words, "kinds": ["trained"], "threads": {f"a/{name}#1": "author"}, **more}, name
    )


def known(printed="76.25", path="sts/avg", kind="trained", **more):
    """Return a published cell, by default SimCSE's average."""
    return PublishedCell("", "x", path, Reported(value=printed, source="t"), kind, **more)


def ids_of(causes):
    return [cause.id for cause in causes]


@pytest.mark.parametrize("case", CASES, ids=[case["thread"] for case in CASES])
def test_a_stated_fact_lists_the_confirmed_cause_and_without_one_no_cause_is_chosen(case):
    """The confirmed cause should be listed if the first post states it.

    Only facts from the first post of a thread are used. In any case the cause should be in the list of causes
    to try.
    """
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    found = verb.diagnosed(parser.parse_intermixed_args([*case["words"], "--workflow", str(WORKFLOW)]))
    assert (case["cause"] in ids_of(found.listed)) is (case["thread"] not in SILENT)
    assert case["cause"] in ids_of(found.to_try)


@pytest.mark.parametrize(
    ("number", "cell", "standing"),
    [
        (None, known(), ""),
        (76.25, known(), "as printed"),
        (74.84, known(), "not known"),
        (78.86, known("78.87", kind="released"), "as printed"),
        (78.54, known("78.87", kind="released"), "not as printed"),
        (30.87, known("38.78", kind="untrained"), "not as printed"),
        (184.98, known("0.25", "geometry/alignment"), "out of range"),
        (174.84, known(), "out of range"),
        (184.98, known("0.25", ""), "not known"),
    ],
)
def test_where_a_number_lies_without_seeds(number, cell, standing):
    assert standing_of(number, cell) == standing


def test_where_a_number_lies_among_seeds_and_reruns():
    cell = known("76.25", seeds=(SeedSpread("fifty", 75.11, 0.84, 50),))
    numbers = {74.84: "usual", 76.25: "as printed", 77.6: "above", 56.87: "below"}
    for number, standing in numbers.items():
        assert standing_of(number, cell) == standing
    few = known(reruns={"a": 74.0, "b": 75.0, "c": 76.0})
    assert standing_of(79.0, few) == "usual" and standing_of(81.0, few) == "above"


def test_a_cause_that_an_encoder_cannot_have_is_left_out_and_says_why():
    released = made("released", kinds=["released"])
    transfer, prompted = made("transfer", metrics=["transfer"]), made("prompted", models=["prompt"])
    causes = [released, transfer, prompted, made("rest")]
    found = diagnose(75.0, known(model="unsup-simcse"), {}, causes)
    assert ids_of(found.causes) == ["rest"]
    assert found.excluded == {
        "released": "the encoder is trained",
        "transfer": "the number is of sts",
        "prompted": "the encoder is not prompt",
    }
    found = diagnose(75.0, known(), {"model": "PromptBERT"}, causes)
    assert ids_of(found.listed) == ["prompted"]
    found = diagnose(75.0, known("1", "transfer/MR/accuracy"), {}, causes)
    assert ids_of(found.listed) == ["transfer"]


def sizes_of(effects):
    return [each.effect for each in effects]


def measured(variant, effect, encoder="minilm", kind="trained"):
    """Return a measured effect on an average, by default of MiniLM."""
    return Measured(cause="one", variant=variant, encoder=encoder, kind=kind, metric="sts/avg", effect=effect)


def test_what_was_measured_is_that_of_the_stated_variant_else_of_all_of_the_suite_and_kind():
    effects = [measured("mean", -4.0), measured("cls", -2.0), measured("cls", -6.0, "other", "untrained")]
    cause = made("one", kinds=["trained", "untrained"], facts=["pooling"])
    found = diagnose(75.0, known(), {"pooling": "cls"}, [cause], effects)
    assert sizes_of(found.measured_of(cause, "cls")) == [-2.0]
    assert sizes_of(found.measured_of(cause, "max")) == [-4.0, -2.0]
    elsewhere = diagnose(35.0, known("72", "mteb/SciFact"), {}, [cause], effects)
    assert elsewhere.measured == (), "effects on similarities say nothing of a retrieval"
    found = diagnose(75.0, known(kind="untrained"), {}, [cause], effects)
    assert sizes_of(found.measured) == [-6.0]


def test_a_released_encoder_has_no_seeds_whatever_its_recipe_has():
    seeds = SeedSpread("50 seeds", 75.11, 0.84, 50)
    assert known(seeds=(seeds,)).spreads == (seeds,) and known(kind="released", seeds=(seeds,)).spreads == ()


def test_every_fact_of_the_verb_lists_a_cause_or_describes_the_encoder():
    facts = {fact for cause in load_causes(WORKFLOW) for fact in cause.facts}
    assert facts == set(verb.FACTS) - {"encoder-is", "model", "seeds"}
