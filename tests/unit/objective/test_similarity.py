"""Under autocast, loss and gradients of all terms should equal fp32."""

from types import SimpleNamespace

import pytest
import torch
from papers.esimcse.losses import MomentumQueue
from papers.rankcse.losses import ListMLE

from replicse.objective import Step
from replicse.objective.similarity import cosines
from replicse.objective.terms import make_term
from replicse.registry.terms import TermParameters

ROWS, WIDTH = 16, 24
TEACHERS = [{"folder": "a/teacher"}]
SPECS = [
    {"term": "infonce"},
    {"term": "infonce", "similarity": "dot", "temperature": 1.0},
    {"term": "infonce", "hard_negative_weight": 2.0},
    {"term": "nt-xent"},
    {"term": "momentum-queue", "queue": 40},
    {"term": "listnet", "teachers": TEACHERS},
    {"term": "listmle", "teachers": TEACHERS},
    {"term": "ranking-consistency"},
]


def views(count, seed=0):
    """Return a list of views whose vectors are similar, as in training."""
    draw = torch.Generator().manual_seed(seed)
    row = torch.randn(ROWS, WIDTH, generator=draw)
    return [row + 0.5 * torch.randn(ROWS, WIDTH, generator=draw) for _ in range(count)]


def measured(spec, dtype):
    """Compute the loss of a term and the gradients.

    Args:
        spec: Parameters of the term as a dict.
        dtype: Precision of autocast, or None for no autocast.
    """
    leaves = [view.requires_grad_() for view in views(3)]
    model = SimpleNamespace(width=WIDTH, momentum_vectors=lambda *_: views(1, 9)[0])
    column = SimpleNamespace(tokens=torch.zeros(1))
    step = Step(leaves, [column, column], model, torch.Generator().manual_seed(1), poolings=[None, None])
    term = make_term(TermParameters.of(spec, "a test"))
    if "teachers" in spec:
        term.teachers = [SimpleNamespace(vectors=lambda column: views(1, 7)[0])]
    else:
        term.prepare(model)
    with torch.autocast("cpu", dtype, enabled=dtype is not None):
        # The queue is empty in the first step.
        if isinstance(term, MomentumQueue):
            term(step)
        loss = term(step)
    loss.backward()
    return loss.detach(), [leaf.grad for leaf in leaves if leaf.grad is not None]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: "-".join(map(str, spec.values())))
def test_loss_and_gradients_under_autocast_are_those_of_fp32(spec, dtype):
    (loss, gradients), (exact, references) = measured(spec, dtype), measured(spec, None)
    assert loss.dtype == torch.float32 and torch.equal(loss, exact)
    assert len(gradients) >= 2
    for gradient, reference in zip(gradients, references, strict=True):
        assert torch.equal(gradient, reference)


def test_listmle_ranks_by_cosines_that_half_precision_would_round_to_ties():
    ranked = torch.tensor([[0.90001, 0.90002, 0.90003]])
    assert len(set(ranked.bfloat16()[0].tolist())) == 1
    angles = ranked.acos()[0]
    first, second = torch.tensor([[1.0, 0.0]]), torch.stack([angles.cos(), angles.sin()], 1)
    with torch.autocast("cpu", torch.bfloat16):
        taught = cosines(first, second)
        term = ListMLE(TermParameters.of({"term": "listmle", "teachers": TEACHERS}, "a test"))
        student = torch.tensor([[3.0, 2.0, 1.0]])
        losses = {float(term.compare(student, taught, torch.Generator().manual_seed(n))) for n in range(9)}
    assert len(losses) == 1
