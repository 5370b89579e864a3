"""The loss of ESimCSE, compared with loops and closed forms in float64.

Tests the classes of the loss, and the content of the queue.
"""

import math

import numpy as np
import pytest
import torch

from replicse.objective.terms import Step, make_term
from replicse.registry.terms import TermParameters

WIDTH, TEMPERATURE = 6, 0.05


class Keys:
    """A model whose momentum encoder returns the vectors in `given`."""

    width = WIDTH

    def __init__(self):
        self.given = None

    def momentum_vectors(self, batch, pooling):
        assert (batch, pooling) == ("first", "cls"), "the first view is queued"
        return self.given


def term_of(queue, temperature=TEMPERATURE):
    """Create the term in float64, and a model.

    Args:
        queue: Size of the queue.
        temperature: Temperature of the softmax. Default: `TEMPERATURE`.

    Returns:
        The term and the model.
    """
    term, model = make_term(
        TermParameters.of(
            {"term": "momentum-queue", "queue": queue, "temperature": temperature}, "a test"
        )
    ), Keys()  # fmt: skip
    term.prepare(model)
    return term.double(), model


def loss_of(term, model, anchors, positives, keys):
    model.given = keys
    step = Step([anchors, positives], ["first", "second"], model, torch.Generator(), None, ["cls", "cls"])
    return term(step)


def cosine(one, other):
    return np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)


def test_the_loss_is_the_loop_over_second_views_and_queue():
    """The loss should equal a loop over second views and the queue.

    The batches have size 3, the last has size 2. The queue of size 7 contains 0, 3, 6, then the newest 7
    keys. The keys have any length.
    """
    generator = torch.Generator().manual_seed(0)
    term, model = term_of(7)
    queue, lengths = [], []
    for rows in (3, 3, 3, 3, 2):
        anchors, positives, keys = torch.randn(3, rows, WIDTH, dtype=torch.float64, generator=generator)
        positives, keys = 2 * positives, 5 * keys
        losses = []
        for row, anchor in enumerate(anchors.tolist()):
            logits = [cosine(anchor, other) / 0.05 for other in [*positives.tolist(), *queue]]
            most = max(logits)
            losses.append(most + math.log(math.fsum(math.exp(x - most) for x in logits)) - logits[row])
        loss = loss_of(term, model, anchors, positives, keys)
        assert float(loss) == pytest.approx(math.fsum(losses) / rows, rel=1e-12)
        lengths.append(len(queue))
        queue = [*queue, *keys.tolist()][-7:]
        kept = term.keys[len(term.keys) - int(term.filled) :]
        assert kept.tolist() == queue, "as they are, not normalised"
    assert lengths == [0, 3, 6, 7, 7]


def test_only_first_views_are_classified_and_keys_have_no_gradient():
    basis = torch.eye(WIDTH, dtype=torch.float64)
    anchors = torch.stack([basis[0], basis[1]]).requires_grad_()
    positives = torch.stack([basis[0], basis[0]]).requires_grad_()
    term, model = term_of(2, temperature=1)
    keys = torch.stack([basis[2], basis[3]])
    loss_of(term, model, basis[4:], basis[4:], keys)
    loss = loss_of(term, model, anchors, positives, keys)
    # Logits of the first anchor are 1, 1, 0, 0, and of the second anchor 0, 0, 0, 0.
    expected = (math.log(2 * math.e + 2) - 1 + math.log(4)) / 2
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-12)
    loss.backward()
    assert anchors.grad.abs().sum() > 0 and positives.grad.abs().sum() > 0
    assert not term.keys.requires_grad
    # The other direction would give another loss, because the second views are equal.
    assert expected != pytest.approx((math.log(math.e + 1 + 2) * 2 - 1) / 2)


def test_a_batch_larger_than_the_queue_leaves_its_last_rows():
    term, model = term_of(2)
    vectors = torch.randn(3, WIDTH, dtype=torch.float64)
    loss_of(term, model, vectors, vectors, vectors)
    assert torch.equal(term.keys, vectors[1:]) and int(term.filled) == 2
