"""Drophead: entire heads of attention that a row loses, against a reference model of `transformers`."""

import pytest
import torch
from tiny_encoders import batch_of, huggingface, tiny

from replicse.encoder.backbone import FIRST_TOKEN
from replicse.encoder.opening import open_backbone
from replicse.encoder.packed.dropout import HeadDropout
from replicse.errors import BadInput

HEADS, LAYERS = 4, 3


def kept_heads(rows):
    """Return 0 and 1 by layer, row and head; the first row keeps one head, the second none of layer 1."""
    kept = (torch.rand(LAYERS, rows, HEADS, generator=torch.Generator().manual_seed(3)) > 0.4).float()
    kept[:, 0] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    kept[1, 1] = 0
    return kept


def of_transformers(folder, batch, kept):
    """Return the states of a reference model whose heads are scaled by a loop over rows and heads."""
    import transformers

    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()

    def hook(number):
        def scaled(module, inputs, output):
            context = output[0].clone()
            width = context.shape[-1] // HEADS
            for row, own in enumerate(kept[number].tolist()):
                own = own if sum(own) else [1.0] * HEADS
                for head, keep in enumerate(own):
                    context[row, :, head * width : (head + 1) * width] *= keep * HEADS / sum(own)
            return (context, *output[1:])

        return scaled

    for number, layer in enumerate(model.encoder.layer):
        layer.attention.self.register_forward_hook(hook(number))
    tokens = batch.pad(batch.tokens[:, None].float()).squeeze(-1).long()
    return model(input_ids=tokens, attention_mask=batch.padded_mask.long()).last_hidden_state


@pytest.mark.parametrize("first", [False, True])
def test_heads_are_dropped_by_row_and_the_kept_ones_scaled(tmp_path, tokenizer_folder, monkeypatch, first):
    batch = batch_of()
    kept = kept_heads(batch.rows)
    encoder = open_backbone(tokenizer_folder)
    encoder.train().set_dropout(0, 0, 0.5)
    drawn = iter(kept)
    monkeypatch.setattr(HeadDropout, "_drawn", lambda self, ones: next(drawn))
    expected = of_transformers(tokenizer_folder, batch, kept)
    if first:
        torch.testing.assert_close(encoder(batch, FIRST_TOKEN).last, expected[:, 0], rtol=1e-4, atol=1e-5)
    else:
        torch.testing.assert_close(encoder(batch).last, batch.unpad(expected), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory):
    import micro

    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    tiny(layers=LAYERS, vocabulary=120).save(folder, None, micro.tokenizer_file(folder))
    return folder


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.7])
def test_each_head_of_each_row_is_dropped_alike_often(rate):
    torch.manual_seed(0)
    batch = batch_of([1] * 4000)
    drop = HeadDropout(rate)
    scale = drop.of_rows(torch.ones(4000, 12), batch, HEADS).unflatten(1, (HEADS, -1))
    assert (scale == scale[:, :, :1]).all(), "a head is dropped whole"
    scale = scale[:, :, 0]
    count = (scale > 0).sum(1)
    torch.testing.assert_close(scale.sum(1), torch.full((4000,), float(HEADS)))
    none = rate**HEADS
    # A row that would lose all heads keeps them: of the others each head is dropped with the rate.
    dropped = (scale == 0).double().mean(0)
    expected = rate - none
    assert (dropped - expected).abs().max() < 5 * (expected * (1 - expected) / 4000) ** 0.5
    assert count.min() >= 1


def test_nothing_is_dropped_at_rate_0_or_in_evaluation():
    values, batch = torch.randn(9, 8), batch_of([4, 5])
    assert HeadDropout(0.0).of_rows(values, batch, 2) is values
    assert HeadDropout(0.5).eval().of_rows(values, batch, 2) is values


def test_a_model_of_transformers_refuses_it(tmp_path):
    from replicse.encoder.huggingface import TransformersBackbone

    backbone = TransformersBackbone(huggingface("bert"), 24)
    with pytest.raises(BadInput, match=r"dropout\.heads is for encoders of the packed engine"):
        backbone.set_dropout(0.1, 0.1, 0.2)
    backbone.set_dropout(0.1, 0.1)
