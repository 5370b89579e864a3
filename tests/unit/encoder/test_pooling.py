import pytest
import torch
from tiny_encoders import batch_of, mlp, tiny

from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN, Need
from replicse.encoder.heads import random_head
from replicse.encoder.pooling import need_of, pool
from replicse.errors import BadInput
from replicse.registry.encoders import POOLINGS


def slow_pool(encoder, batch, pooling, head):
    """Pool one row at a time from all hidden states, as the definitions say."""
    vectors = []
    for row in range(batch.rows):
        states = encoder(batch.slice(row, row + 1), Need((0, 1, 2, 3))).states
        vectors.append(
            {
                "cls": states[3][0],
                "cls-head": torch.tanh(head.dense.weight @ states[3][0] + head.dense.bias),
                "random-head": torch.tanh(head.dense.weight @ states[3][0] + head.dense.bias),
                "mean": states[3].mean(0),
                "first-last": ((states[1] + states[3]) / 2).mean(0),
                "first-last-0": ((states[0] + states[3]) / 2).mean(0),
                "last2": ((states[2] + states[3]) / 2).mean(0),
            }[pooling]
        )
    return torch.stack(vectors)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("lengths", [(5, 1, 9, 3, 9), (4, 4)])
def test_each_pooling_agrees_with_its_definition(pooling, lengths):
    encoder, head, batch = tiny().eval(), mlp(32), batch_of(lengths)
    torch.nn.init.normal_(head.dense.bias)
    found = pool(encoder(batch, need_of(pooling)), batch, pooling, head)
    torch.testing.assert_close(found, slow_pool(encoder, batch, pooling, head), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_encoders_of_one_layer_can_be_pooled(pooling):
    encoder, batch = tiny(layers=1).eval(), batch_of()
    assert pool(encoder(batch, need_of(pooling)), batch, pooling, mlp(32)).shape == (batch.rows, 32)


def test_only_position_0_is_needed_for_the_cls_poolings():
    assert need_of("cls") == need_of("cls-head") == FIRST_TOKEN
    assert need_of("mean") == ALL_TOKENS


@pytest.mark.parametrize("pooling", ["cls", "cls-head"])
def test_cls_can_be_read_from_states_of_all_tokens(pooling):
    encoder, head, batch = tiny().eval(), mlp(32), batch_of()
    full = pool(encoder(batch, ALL_TOKENS), batch, pooling, head)
    torch.testing.assert_close(full, pool(encoder(batch, FIRST_TOKEN), batch, pooling, head))


def test_a_missing_head_and_an_unknown_pooling_are_refused():
    encoder, batch = tiny(), batch_of()
    with pytest.raises(ValueError, match="needs a head"):
        pool(encoder(batch, FIRST_TOKEN), batch, "cls-head", None)
    with pytest.raises(BadInput, match='did you mean "first-last"'):
        need_of("first_last")


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
