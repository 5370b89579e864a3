"""Adjudication: the cells that stand for one another, and the words of an interval."""

from hypothesis import given
from hypothesis import strategies as st
from planned import WORKFLOW

from replicse.judge.adjudicate import outcome
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import load_papers


def test_cells_that_a_difference_joins_are_counterparts():
    found = {str(cell): str(other) for cell, other in counterparts(load_papers(WORKFLOW)).items()}
    assert found["repro/table4/crop-10/stsb-dev/spearman"] == "simcse/table1/crop-10/stsb-dev/spearman"
    other = found["repro/table6/unsup-simcse-bert-base/avg/spearman"]
    assert other.startswith("simcse/table5/")
    assert len(set(found.values())) == len(found), "no cell stands for two"
    assert not any(cell.startswith("repro/table7/") for cell in found), (
        "a table of differences holds no minuend"
    )


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
