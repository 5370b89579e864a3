"""Searches and the settings of their runs."""

from replicse.compile.searches import get_setting
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Run

RUN = {
    "init": {"hub": "bert-base-uncased", "revision": "x"},
    "corpus": {"name": "wiki"},
    "views": [{"column": "text"}] * 2,
    "objective": [
        {"term": "infonce", "temperature": 0.1},
        {"term": "rtd", "weight": 0.005, "generator": "models/generator"},
    ],
    "selection": {"every": 0},
}


def test_a_setting_of_a_term_is_found_and_leaves_the_run_unchanged():
    """Getting a setting of a term does not change the run.

    Because of a cached property of the run, each frozen model was once counted twice, so payloads had
    duplicates.
    """
    run = Run.of(RUN, "run")
    assert get_setting(run, "terms.infonce.temperature") == 0.1
    assert get_setting(run, "optimisation.batch_size") == 64
    assert get_setting(run, "terms.mlm.weight") is None and get_setting(None, "optimisation.steps") is None
    assert [model.folder for model in frozen_models(run)] == ["models/generator"]
