"""The scale of a real six-layer encoder: one backbone for all seeds and all names."""

import pytest
from planned import shipped_plan

from replicse.compile.cost import Cost

ITEMS = {"simcse": ["table1", "table3", "table6"], "diffcse": ["table1"], "repro": ["table4"]}


@pytest.fixture(scope="module")
def study():
    return shipped_plan(scale="minilm", papers=ITEMS, seeds=[0, 1, 2])


def test_all_seeds_and_names_start_from_one_masked_language_model(study):
    """Start each run from the same run, which starts from the released encoder.

    A backbone for each seed would hide the spread of fine-tuning, and the smaller encoders of `compact` must not
    be mixed with this one.
    """
    pretraining = {name: run for name, run in study.runs.items() if run.init.hub}
    assert len(pretraining) == 1
    ((name, run),) = pretraining.items()
    assert run.init.hub == "sentence-transformers/all-MiniLM-L6-v2" and run.init.fresh is None
    assert [term.term for term in run.objective] == ["mlm"] and run.optimisation.steps == 2500
    seeds = set()
    for each in study.runs.values():
        if each is not run:
            seeds.add(each.seed)
            assert each.init.run == name
    assert seeds == {0, 1, 2}


def test_the_cost_of_a_run_is_known_from_the_name_of_the_encoder(study):
    hours = Cost(study).hours([name for name, run in study.runs.items() if not run.init.hub][:1])
    assert 0.05 < hours.expected < 0.5
