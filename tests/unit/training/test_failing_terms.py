"""Errors in a loss: a single sentence, without a retry.

The sentence should name the term, the step and the file of the plug-in.
"""

import micro
import pytest

from replicse.errors import BadInput, Failed
from replicse.objective import Objective
from replicse.registry.plugins import use_plugins
from replicse.registry.terms import TermParameters

pytestmark = pytest.mark.usefixtures("one_thread")
PLUGIN = """
from typing import Literal
from replicse.registry.terms import TermParameters

class FaultyParameters(TermParameters):
    term: Literal["faulty"]

def faulty(step, parameters):
    import torch
    loss = torch.cosine_similarity(*step.vectors_of((0, 1))).mean()
    {line}
"""


@pytest.fixture(autouse=True)
def _nothing_in_use_after():
    yield
    use_plugins([])


def train(tmp_path, line, **changes):
    """Train a few steps with InfoNCE and a faulty term.

    Args:
        tmp_path: Folder of the workspace.
        line: Code of the faulty term.
        changes: Changed settings of the run.
    """
    file = tmp_path / "plugins" / "faulty.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(PLUGIN.replace("{line}", line))
    use_plugins([str(file.relative_to(tmp_path))])
    objective = [{"term": "infonce"}, {"term": "faulty", "weight": 0.5}]
    micro.trainer_of(micro.job(tmp_path, objective=objective, **changes), tmp_path).run()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "return loss[None]",
            r"ValueError: the loss is a tensor of float32 of shape \(1,\); return a scalar",
        ),
        (
            "return step.vectors[0].sum(dim=1)",
            r"ValueError: the loss is a tensor of float32 of shape \(16,\)",
        ),
        ("return loss.argmax()", r"ValueError: the loss is a tensor of int64 of shape \(\)"),
        ("return 0.5", "ValueError: the loss is 0.5; return a scalar tensor"),
        ("return None", "ValueError: the loss is None; return a scalar tensor"),
        (
            "return step.vectors_of((2,))[0].mean()",
            "a loss term uses view 2 of a run with 2 views; add a view",
        ),
        (
            "return loss if step.step < 2 else loss @ loss[None, None]",
            r"RuntimeError: .* \(plugins/faulty.py:\d+\); fix",
        ),
        (
            "step.scalars['seen'] = step.vectors[0]; return loss",
            r'ValueError: scalars\["seen"\] is \(16, 16\)',
        ),
        (
            "step.scalars['seen'] = 3; return loss",
            r'ValueError: scalars\["seen"\] is 3; expected a scalar tensor',
        ),
    ],
)
def test_a_loss_that_is_no_number_and_an_error_in_it_name_term_step_and_file(
    tmp_path, monkeypatch, line, told
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=told) as error:
        train(tmp_path, line)
    step = 3 if "step.step < 2" in line else 1
    assert "faulty" in str(error.value) and f"step {step}: " in str(error.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "return loss / 0",
            r"loss (nan|inf) of term faulty \(plugins/faulty.py\) at step 1; check term faulty ",
        ),
        (
            "return loss if step.step < 4 else loss * float('nan')",
            r"loss nan of term faulty \(plugins/faulty.py\) at step 5; lower the learning rate, or check term faulty ",
        ),
        (
            "return (loss - loss.detach()).sqrt() + loss",
            r"gradients of norm nan at step 1; check the terms and the data",
        ),
    ],
)
def test_a_loss_that_is_not_finite_names_its_term_and_blames_the_rate_only_after_an_update(
    tmp_path, monkeypatch, line, told
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Failed, match=told):
        train(tmp_path, line)


def test_a_loss_that_depends_on_no_weight_names_its_term(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use_plugins([])
    job = micro.job(tmp_path)
    trainer = micro.trainer_of(job, tmp_path)
    trainer.sources[0].objective.terms[0].forward = lambda step: step.vectors[0].sum().detach()
    with pytest.raises(
        BadInput, match="the loss of term infonce does not depend on a trained weight; compute it from"
    ):
        trainer.run()


def test_memory_that_runs_out_in_a_term_may_be_there_at_the_next_try(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MemoryError):
        train(tmp_path, "raise MemoryError")
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        train(tmp_path, 'raise RuntimeError("DefaultCPUAllocator: can\'t allocate memory")')


def test_one_view_is_refused_for_a_term_that_compares_two(tmp_path):
    """A single view is refused if a term compares two views.

    `validate` refuses it, too, because it resolves each run.
    """
    for term in ("infonce", "barlow-twins"):
        with pytest.raises(BadInput, match=f"term {term} on views 0 to 0, not on view 1"):
            micro.job(tmp_path, views=[{"column": "text"}], objective=[{"term": term}])


def test_errors_before_the_first_step_name_the_term_too():
    terms = [TermParameters.of({"term": "infonce"}, "here")] * 2
    objective = Objective(terms)

    def broken(*arguments):
        raise KeyError("nothing")

    objective.terms[1].prepare = objective.terms[1].edit = broken
    for where, call in (("prepare", objective.prepare), ("edit", objective.edit)):
        with pytest.raises(BadInput, match=f"term infonce-2, {where}: KeyError: unknown key 'nothing'"):
            call(*[None] * (3 if where == "edit" else 1))
