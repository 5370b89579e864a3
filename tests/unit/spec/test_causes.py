"""causes.yaml: names exist, differences are computed, mistakes reported."""

import json

import pytest
from cases import cases

from replicse.errors import BadInput
from replicse.registry.registry import current
from replicse.registry.suites import VARIANTS
from replicse.spec.causes import Cause, Observation, load_causes, load_measured
from replicse.spec.papers import load_paper
from replicse.workspace import packaged

WORKFLOW = packaged("workflow")
ONE = {
    "id": "one",
    "title": "One",
    "sentence": "It happens.",
    "seen": "It was seen.",
    "fix": "Mend it.",
    "test": "replicse doctor",
    "kinds": ["trained"],
    "threads": {"a/b#1": "author", "a/b#2": "suspected"},
    "reports": [{"thread": "a/b#1", "model": "m", "quantity": "STS", "printed": 76.25, "got": [75, 76.5]}],
}


def test_every_cause_names_variants_protocols_and_suites_that_there_are():
    protocols = {protocol.id for protocol in load_paper(WORKFLOW / "papers" / "causes").protocols}
    causes = load_causes(WORKFLOW)
    assert len(causes) == 15
    for cause in causes:
        assert set(cause.checks) <= set(VARIANTS) and set(cause.protocols) <= protocols, cause.id
        assert set(cause.metrics) - {"trajectory"} <= set(current().suites), cause.id
    assert protocols == {name for cause in causes for name in cause.protocols}, (
        "each protocol realises a cause"
    )


def test_a_report_gives_differences():
    cause = Cause.of(ONE, "one")
    assert cause.deltas == (("a/b#1", -1.25), ("a/b#1", 0.25))
    assert Cause.of({**ONE, "threads": {"a/b#1": "suspected"}}, "one").deltas == ()
    assert Observation(thread="a/b#1", model="m", quantity="STS", delta=(-18,)).deltas == (-18,)


@cases
def test_a_mistake_is_named(change, problem):
    with pytest.raises(BadInput, match=problem):
        Cause.of({**ONE, **change}, "causes.yaml: one")


def test_a_cause_that_is_given_twice_is_refused(tmp_path):
    (tmp_path / "causes.yaml").write_text("".join(f"- {json.dumps(ONE)}\n" for _ in range(2)))
    with pytest.raises(BadInput, match='cause "one" is given twice'):
        load_causes(tmp_path)


def test_what_was_measured_is_read_and_its_mistakes_name_the_line(tmp_path):
    assert load_measured(tmp_path) == ()
    head = "cause,variant,encoder,kind,metric,effect,low,high,n\n"
    file = tmp_path / "causes-measured.csv"
    file.write_text(f"{head}one,mean,minilm,released,sts/avg,-1.5,,,1\n")
    (measured,) = load_measured(tmp_path)
    assert (measured.effect, measured.low, measured.n) == (-1.5, None, 1)
    file.write_text(f"{head}one,mean,,released,sts/avg,-1.5,,,1\n")
    with pytest.raises(BadInput, match=r"causes-measured\.csv:2: the document lacks the key"):
        load_measured(tmp_path)
