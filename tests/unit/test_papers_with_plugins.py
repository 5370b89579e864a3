"""Papers of tests/papers that bring plug-ins along, and nothing of which the package knows."""

import math
from pathlib import Path

import pytest
import torch
from made_up import plugins_of, write_workspace
from places import ROOT

from replicse.errors import BadInput
from replicse.objective.terms import Step, make_term
from replicse.registry.plugins import IN_USE, use_plugins
from replicse.registry.terms import TermParameters
from replicse.study.plan.graph import graph_of
from replicse.study.plan.planner import load_plan

KEYS = sorted(folder.name for folder in (ROOT / "tests" / "papers").glob("*/") if plugins_of(folder))


@pytest.fixture(autouse=True)
def _nothing_in_use_after():
    yield
    use_plugins([])


@pytest.mark.parametrize("key", KEYS)
def test_each_is_planned_and_its_jobs_name_the_plugins_that_they_use(key):
    config = write_workspace(Path(), key)
    plan = load_plan(config, ROOT / "workflow")
    used = {name for job in graph_of(plan).values() for name in job.payload.get("plugin", ())}
    assert used == set(config["plugins"])
    named = {job.parts for job in graph_of(plan).values() if job.stage == "train" and "plugin" in job.payload}
    others = {(name,) for name in plan.runs} - named
    assert named or len(used) < len(IN_USE)
    for (name,) in others:
        assert not {type(term).__module__ for term in plan.runs[name].terms} & IN_USE.keys()


def test_cosent_is_the_loop_over_all_ordered_pairs():
    write_workspace(Path(), "cosent")
    use_plugins(["papers/cosent/cosent.py"])
    term = make_term(TermParameters.of({"term": "cosent", "scale": 7}, "here"))
    random = torch.Generator().manual_seed(0)
    first, second = (torch.randn(6, 5, generator=random, requires_grad=True) for _ in range(2))
    labels = torch.tensor([0.0, 5.0, 2.5, 2.5, 4.0, 1.0])
    loss = term(Step([first, second], [], None, torch.Generator(), labels))
    cosines = torch.cosine_similarity(first, second).tolist()
    total = sum(
        math.exp(7 * (cosines[j] - cosines[i])) for i in range(6) for j in range(6) if labels[i] > labels[j]
    )
    assert float(loss.detach()) == pytest.approx(math.log(1 + total), rel=1e-5)
    loss.backward()
    assert first.grad.abs().sum() > 0
    # Without an order there is nothing to learn.
    flat = Step([first, second], [], None, torch.Generator(), torch.ones(6))
    assert float(term(flat).detach()) == 0


def test_cosent_wants_labels():
    config = write_workspace(Path(), "cosent")
    file = Path("papers/cosent/recipes.yaml")
    text = file.read_text().replace("corpus: course-sts", "corpus: qqp")
    file.write_text(
        text.replace("column: first", "column: anchor").replace("column: second", "column: positive")
    )
    with pytest.raises(BadInput, match="a labelled corpus for term cosent, not qqp"):
        load_plan(config, ROOT / "workflow")
