import numpy as np
import pytest
import torch
from tiny_encoders import FAMILIES, PAD, batch_of, config_of, huggingface, tiny

from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN, Need
from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.encoder.packed.attention import attention
from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.dropout import Dropout
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import BadInput


@pytest.mark.parametrize(
    ("family", "activation"),
    [
        ("bert", "gelu"),
        ("bert", "gelu_new"),
        ("roberta", "gelu"),
        ("distilbert", "gelu"),
        ("distilbert", "relu"),
    ],
)
def test_all_hidden_states_and_masked_lm_logits_are_those_of_transformers(family, activation, tmp_path):
    theirs = huggingface(family, activation)
    theirs.save_pretrained(tmp_path)
    ours = open_backbone(tmp_path).eval()
    batch = batch_of()
    tokens = torch.full((batch.rows, batch.longest), PAD[family])
    tokens[batch.padded_mask] = batch.tokens
    with torch.no_grad():
        expected = theirs(
            input_ids=tokens, attention_mask=batch.padded_mask.long(), output_hidden_states=True
        )
        found = ours(batch, Need((0, 1, 2, 3)))
        logits = ours.token_logits(found.last)
    for state, reference in zip(found.states, expected.hidden_states, strict=True):
        torch.testing.assert_close(state, reference[batch.padded_mask], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits, expected.logits[batch.padded_mask], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_transformers(family, tmp_path):
    theirs = huggingface(family)
    theirs.save_pretrained(tmp_path)
    ours = open_backbone(tmp_path).eval()
    batch = batch_of()
    tokens = torch.full((batch.rows, batch.longest), PAD[family])
    tokens[batch.padded_mask] = batch.tokens
    weights = torch.randn(len(batch.tokens), 32)
    states = theirs.base_model(input_ids=tokens, attention_mask=batch.padded_mask.long()).last_hidden_state
    (states[batch.padded_mask] * weights).sum().backward()
    (ours(batch).last * weights).sum().backward()
    embeddings = theirs.get_input_embeddings().weight.grad
    torch.testing.assert_close(ours.token_embeddings.grad, embeddings, rtol=1e-4, atol=1e-4)
    name = {"distilbert": "transformer.layer.0.attention.{}_lin"}.get(
        family, "encoder.layer.0.attention.self.{}"
    )
    parts = ("q", "k", "v") if family == "distilbert" else ("query", "key", "value")
    expected = torch.cat([theirs.base_model.get_submodule(name.format(part)).weight.grad for part in parts])
    torch.testing.assert_close(ours.layers[0].query_key_value.weight.grad, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_position_0_alone_has_the_values_and_gradients_of_the_full_computation(family):
    encoder = tiny(family).eval()
    batch = batch_of()
    weights = torch.randn(batch.rows, 32)
    found = {}
    for need in (ALL_TOKENS, FIRST_TOKEN):
        encoder.zero_grad()
        hidden = encoder(batch, need)
        vectors = hidden.last if hidden.first_only else hidden.last[batch.first]
        (vectors * weights).sum().backward()
        found[need] = [vectors.detach(), *(parameter.grad for parameter in encoder.parameters())]
    assert len(found[ALL_TOKENS]) > 30
    for full, first in zip(found[ALL_TOKENS], found[FIRST_TOKEN], strict=True):
        torch.testing.assert_close(first, full, rtol=1e-5, atol=1e-5)


def test_first_vector_takes_the_place_of_the_embedding_output_at_position_0():
    encoder = tiny().eval()
    batch = batch_of()
    own = encoder(batch, Need((0, -1)))
    same = encoder(batch, Need((0, -1)), first_vector=own.states[0][batch.first])
    torch.testing.assert_close(same.states, own.states)

    vector = torch.randn(batch.rows, 32, requires_grad=True)
    replaced = encoder(batch, Need((0, -1)), first_vector=vector)
    assert torch.equal(replaced.states[0][batch.first], vector)
    others = torch.ones(len(batch.tokens), dtype=torch.bool)
    others[batch.first] = False
    assert torch.equal(replaced.states[0][others], own.states[0][others])
    edited = batch.tokens.clone()
    edited[batch.first] = 3
    again = encoder(TokenBatch(edited, batch.offsets), first_vector=vector)
    torch.testing.assert_close(again.last, replaced.last)
    replaced.last[1].sum().backward()  # a token of row 0, position 1
    assert vector.grad[0].abs().sum() > 0
    assert vector.grad[1:].abs().sum() == 0


def test_a_row_longer_than_the_position_embeddings_is_refused():
    assert tiny("roberta").config.max_length == 22
    assert tiny("bert").config.max_length == 24
    for family, longest in (("bert", 24), ("roberta", 22)):
        encoder = tiny(family)
        encoder(batch_of([longest]))
        with pytest.raises(ValueError, match=f"{longest + 1} tokens"):
            encoder(batch_of([longest + 1]))


# Dropout.


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
    # Neighbours, and the four values of one random word, are independent.
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


def test_rates_change_after_construction_at_every_place():
    encoder = tiny()
    batch = batch_of().repeat(2)
    for hidden, within in ((0.0, 0.3), (0.3, 0.0)):
        encoder.set_dropout(hidden, within)
        embedded, first, last = encoder(batch, Need((0, 1, -1))).states
        half = len(batch.tokens) // 2
        assert torch.equal(embedded[:half], embedded[half:]) == (hidden == 0)
        assert not torch.allclose(first[:half], first[half:])
        assert not torch.allclose(last[:half], last[half:])
    encoder.set_dropout(0, 0)
    last = encoder(batch).last
    torch.testing.assert_close(last[:half], last[half:])
    encoder.set_dropout(0.5, 0.5)
    encoder.eval()
    torch.testing.assert_close(encoder(batch).last, last)


def test_dropout_sits_behind_embeddings_and_within_and_behind_attention_and_behind_the_feed_forward_part(
    monkeypatch,
):
    encoder = tiny(layers=2)
    names = {id(module): name for name, module in encoder.named_modules()}
    calls, mask = [], Dropout.mask
    monkeypatch.setattr(
        Dropout,
        "mask",
        lambda drop, values: (calls.append((names[id(drop)], values.shape)), mask(drop, values))[1],
    )
    batch = batch_of()
    encoder(batch)
    hidden, weights = (len(batch.tokens), 32), (batch.rows, 4, batch.longest, batch.longest)
    expected = [("embedding_dropout", hidden)]
    for layer in ("layers.0", "layers.1"):
        expected += [(f"{layer}.attention_dropout", weights), *[(f"{layer}.hidden_dropout", hidden)] * 2]
    assert calls == expected


# Attention.


def slow_attention(query, key, value, mask):
    result = torch.zeros_like(query)
    rows, heads, length, width = query.shape
    for row in range(rows):
        seen = mask[row].nonzero().squeeze(1)
        for head in range(heads):
            for position in range(length):
                scores = key[row, head, seen] @ query[row, head, position] / width**0.5
                weights = scores.exp() / scores.exp().sum()
                result[row, head, position] = weights @ value[row, head, seen]
    return result


@pytest.mark.parametrize("grad", [False, True])
def test_attention_agrees_with_a_loop_from_the_formula(grad):
    for lengths in ((3, 4), (4, 4)):
        batch, (heads, width) = packed_rows(lengths), (3, 5)
        projected = torch.randn(sum(lengths), 3 * heads * width, dtype=torch.float64)
        query, key, value = batch.pad(projected).unflatten(2, (3, heads, width)).permute(2, 0, 3, 1, 4)
        expected = slow_attention(query, key, value, batch.padded_mask).transpose(1, 2).flatten(2)
        with torch.set_grad_enabled(grad):
            found = attention(projected, None, batch, heads, Dropout(0.0))
            first = query[:, :, 0].flatten(1)
            of_first = attention(
                projected[:, heads * width :].contiguous(), first, batch, heads, Dropout(0.0)
            )
        torch.testing.assert_close(found, batch.unpad(expected))
        torch.testing.assert_close(of_first, expected[:, 0])


def packed_rows(lengths):
    return TokenBatch.from_rows([np.arange(length) for length in lengths])


@pytest.mark.parametrize(("heads", "beyond"), [(1, 2), (3, 0)])
def test_gradients_of_packed_attention_are_those_of_finite_differences(heads, beyond):
    batch, drop = packed_rows((3, 1, 4)), Dropout(0.3)
    projected = torch.randn(8 + beyond, 3 * heads * 2, dtype=torch.float64, requires_grad=True)
    first = torch.randn(3, heads * 2, dtype=torch.float64, requires_grad=True)

    def found(projected, *first):
        torch.manual_seed(1)
        return attention(projected, *(first or [None]), batch, heads, drop)

    assert torch.autograd.gradcheck(found, (projected,))
    fewer = projected[:, 2 * heads :].detach().contiguous().requires_grad_()
    assert torch.autograd.gradcheck(found, (fewer, first))
    assert not found(projected)[8:].any()


# Configuration.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "robert"}, '"robert" is not supported; --engine'),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"num_attention_heads": 3}, "cannot be split"),
    ],
)
def test_unsupported_configurations_are_refused_by_name(change, words):
    good = config_of(
        "bert", layers=2, hidden=8, heads=2, intermediate=12, positions=20, vocabulary=30
    ).to_huggingface()
    EncoderConfig.from_huggingface(good)
    with pytest.raises(BadInput, match=words):
        EncoderConfig.from_huggingface({**good, **change})


def test_fresh_weights_are_berts():
    config = config_of("bert", layers=1, hidden=64, heads=2, intermediate=96, positions=9, vocabulary=999)
    torch.manual_seed(3)
    encoder = PackedBackbone(config)
    assert encoder.layers[0].intermediate.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert encoder.token_embeddings[1:].std().item() == pytest.approx(0.02, rel=0.05)
    assert (encoder.token_embeddings[0] == 0).all()
    assert (encoder.layers[0].output.bias == 0).all()
    torch.manual_seed(3)
    again = PackedBackbone(config)
    assert torch.equal(again.layers[0].query_key_value.weight, encoder.layers[0].query_key_value.weight)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vector_of_padding_is_not_trained(family):
    """`transformers` never trains it either: the difference loss of DiffCSE reads real padding (methods 4.1)."""
    encoder = tiny(family)
    pad = PAD[family]
    batch = TokenBatch.from_rows([np.array([7, 8, pad, pad]), np.array([9, 10, 11, 12])])
    (encoder(batch).last ** 3).sum().backward()
    moved = encoder.token_embeddings.grad.abs().sum(dim=1)
    assert moved[pad] == 0 and (moved[7:13] > 0).all()
