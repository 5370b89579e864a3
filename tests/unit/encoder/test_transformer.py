import numpy as np
import pytest
import torch
from cases import cases
from tiny_encoders import FAMILIES, PAD, batch_of, config_of, tiny

from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN
from replicse.encoder.batch import TokenBatch
from replicse.encoder.packed.attention import attention
from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.dropout import Dropout
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import BadInput


@pytest.mark.parametrize("family", FAMILIES)
def test_position_0_alone_has_the_values_and_gradients_of_the_full_computation(family):
    encoder = tiny(family).double().eval()
    batch = batch_of()
    weights = torch.randn(batch.rows, 32, dtype=torch.float64)
    found = {}
    for need in (ALL_TOKENS, FIRST_TOKEN):
        encoder.zero_grad()
        hidden = encoder(batch, need)
        vectors = hidden.last if len(hidden.last) == batch.rows else hidden.last[batch.first]
        (vectors * weights).sum().backward()
        found[need] = [vectors.detach(), *(parameter.grad for parameter in encoder.parameters())]
    assert len(found[ALL_TOKENS]) > 30
    for full, first in zip(found[ALL_TOKENS], found[FIRST_TOKEN], strict=True):
        torch.testing.assert_close(first, full)


def test_a_row_longer_than_the_position_embeddings_is_refused():
    for family, longest in (("bert", 24), ("roberta", 22)):
        encoder = tiny(family)
        encoder(batch_of([longest]))
        with pytest.raises(ValueError, match=f"{longest + 1} tokens"):
            encoder(batch_of([longest + 1]))


# Dropout


@pytest.mark.parametrize("probability", [0.02, 0.3])
def test_dropout_zeroes_the_right_share_and_keeps_the_mean(probability):
    torch.manual_seed(0)
    count = 2**20
    values = Dropout(probability)(torch.ones(count))
    zeros = int((values == 0).sum())
    assert abs(zeros - count * probability) < 5 * (count * probability * (1 - probability)) ** 0.5
    kept = values[values != 0]
    assert (kept == kept[0]).all()
    assert kept[0] == pytest.approx(1 / (1 - probability), rel=2e-5)
    # Neighbours are independent, and so are the four values of a random word.
    pairs = (values.view(-1, 4) == 0).double()
    correlation = torch.corrcoef(pairs.T) - torch.eye(4)
    assert correlation.abs().max() < 5 / (count / 4) ** 0.5


def test_dropout_follows_the_global_seed_and_scales_gradients_by_its_mask():
    values = torch.randn(33, 7, requires_grad=True)
    torch.manual_seed(1)
    first = Dropout(0.3)(values)
    torch.manual_seed(1)
    assert torch.equal(Dropout(0.3)(values), first)
    assert not torch.equal(Dropout(0.3)(values), first)
    first.sum().backward()
    torch.testing.assert_close(values.grad * values, first)


def test_dropout_at_rate_0_or_in_evaluation_costs_nothing():
    values = torch.randn(3)
    assert Dropout(0.0)(values) is values
    assert (Dropout(1 - 1e-7)(torch.ones(5)) == 0).all()
    assert Dropout(0.5).eval()(values) is values
    encoder = tiny()
    encoder.set_dropout(0, 0)
    state = torch.get_rng_state()
    encoder(batch_of())
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_of_each_rate_sits_behind_embeddings_attention_and_feed_forward_part(monkeypatch):
    encoder = tiny(layers=2)
    encoder.set_dropout(0.2, 0.3)
    names = {id(module): name for name, module in encoder.named_modules()}
    calls, drawn = [], Dropout.mask

    def noted(drop, values, masks):
        calls.append((names[id(drop)], drop.rate, values.shape))
        return drawn(drop, values, masks)

    monkeypatch.setattr(Dropout, "mask", noted)
    batch = batch_of()
    encoder(batch)
    hidden, weights = (len(batch.tokens), 32), (batch.rows, 4, batch.longest, batch.longest)
    expected = [("embedding_dropout", 0.2, hidden)]
    for layer in ("layers.0", "layers.1"):
        behind = (f"{layer}.hidden_dropout", 0.2, hidden)
        expected += [(f"{layer}.attention_dropout", 0.3, weights), behind, behind]
    assert calls == expected


# Attention


@pytest.mark.parametrize(("heads", "beyond"), [(1, 2), (3, 0)])
def test_gradients_of_packed_attention_are_those_of_finite_differences(heads, beyond):
    batch, drop = batch_of((3, 1, 4)), Dropout(0.3)
    projected = torch.randn(8 + beyond, 3 * heads * 2, dtype=torch.float64, requires_grad=True)
    first = torch.randn(3, heads * 2, dtype=torch.float64, requires_grad=True)

    def found(projected, *first):
        torch.manual_seed(1)
        return attention(projected, *(first or [None]), batch, heads, drop)

    assert torch.autograd.gradcheck(found, (projected,))
    fewer = projected[:, 2 * heads :].detach().contiguous().requires_grad_()
    assert torch.autograd.gradcheck(found, (fewer, first))
    assert not found(projected)[8:].any()


# Configuration


@cases
def test_unsupported_configurations_are_refused_by_name(change, words):
    good = tiny().config.to_huggingface()
    with pytest.raises(BadInput, match=words):
        EncoderConfig.from_huggingface({**good, **change})


def test_fresh_weights_are_berts():
    encoder = PackedBackbone(
        config_of(layers=1, hidden=64, heads=2, intermediate=96, positions=9, vocabulary=999)
    )
    assert encoder.layers[0].intermediate.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert encoder.token_embeddings[1:].std().item() == pytest.approx(0.02, rel=0.05)
    assert (encoder.token_embeddings[0] == 0).all()
    assert (encoder.layers[0].output.bias == 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vector_of_padding_is_not_trained(family):
    """The vector of the padding token should not be trained.

    `transformers` does not train it either, and real padding is used in the difference loss of DiffCSE
    (methods 4.1).
    """
    encoder = tiny(family)
    pad = PAD[family]
    batch = TokenBatch.from_rows([np.array([7, 8, pad, pad]), np.array([9, 10, 11, 12])])
    (encoder(batch).last ** 3).sum().backward()
    moved = encoder.token_embeddings.grad.abs().sum(dim=1)
    assert moved[pad] == 0 and (moved[7:13] > 0).all()
