import pytest
import torch
from tiny_encoders import batch_of, mlp, pooled_by, tiny

from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN, NeededStates
from replicse.encoder.heads import random_head
from replicse.errors import BadInput
from replicse.registry.poolings import PoolingParameters

POOLINGS = [name for name in PoolingParameters.known() if name not in ("mask", "own")]


def pool(encoder, batch, name, head):
    """Return the vectors of a batch, after the head if the pooling has a head."""
    pooling = pooled_by(name, encoder)
    vectors = pooling(encoder, batch)
    return head(vectors) if pooling.params.head else vectors


def slow_pool(encoder, batch, pooling, head):
    """Pool each row separately from all hidden states, by definition."""
    vectors = []
    for row in range(batch.rows):
        states = encoder(batch.slice(row, row + 1), NeededStates((0, 1, 2, 3))).states
        vectors.append(
            {
                "cls": states[3][0],
                "cls-head": torch.tanh(head.dense.weight @ states[3][0] + head.dense.bias),
                "random-head": torch.tanh(head.dense.weight @ states[3][0] + head.dense.bias),
                "mean": states[3].mean(0),
                "first-last": ((states[1] + states[3]) / 2).mean(0),
                "first-last-0": ((states[0] + states[3]) / 2).mean(0),
                "last2": ((states[2] + states[3]) / 2).mean(0),
                "last-token": states[3][-1],
            }[pooling]
        )
    return torch.stack(vectors)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("lengths", [(5, 1, 9, 3, 9), (4, 4)])
def test_each_pooling_agrees_with_its_definition(pooling, lengths):
    encoder, head, batch = tiny().eval(), mlp(32), batch_of(lengths)
    torch.nn.init.normal_(head.dense.bias)
    found = pool(encoder, batch, pooling, head)
    torch.testing.assert_close(found, slow_pool(encoder, batch, pooling, head), rtol=1e-5, atol=1e-5)


def test_only_position_0_is_needed_for_the_cls_poolings():
    needs = {name: pooled_by(name, tiny()).need for name in POOLINGS}
    assert needs["cls"] == needs["cls-head"] == FIRST_TOKEN
    assert needs["mean"] == needs["last-token"] == ALL_TOKENS


def test_a_random_head_is_the_same_at_every_call_and_no_identity():
    first, second = random_head(64), random_head(64)
    assert torch.equal(first.dense.weight, second.dense.weight)
    vectors = torch.randn(5, 64)
    assert not torch.allclose(first(vectors), vectors, atol=0.1)


def test_the_head_starts_as_simcse_says_and_follows_its_generator():
    head = mlp(128, torch.Generator().manual_seed(5))
    assert head.dense.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert (head.dense.bias == 0).all()
    assert torch.equal(head.dense.weight, mlp(128, torch.Generator().manual_seed(5)).dense.weight)
    vectors = torch.randn(3, 128)
    torch.testing.assert_close(head(vectors), torch.tanh(vectors @ head.dense.weight.T))


@pytest.mark.parametrize("state", [6, 3, -4])
def test_a_layer_that_the_encoder_lacks_is_refused_and_not_counted_round(monkeypatch, state):
    """A missing layer is refused.

    With a cyclic index, layer 6 of an encoder with two layers would be the embeddings.
    """
    encoder = tiny(layers=2)
    message = rf"uses hidden state {state}, but the encoder has states 0 \(embeddings\) to 2;"
    with pytest.raises(BadInput, match=message):
        encoder(batch_of(), NeededStates((state,)))
    monkeypatch.setattr(PoolingParameters.known()["mean"], "states", (state, -1))
    with pytest.raises(BadInput, match=message):
        pooled_by("mean", encoder)
