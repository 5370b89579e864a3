"""Drophead drops attention heads by row; compared with a reference model."""

import pytest
import torch
from tiny_encoders import batch_of, padded, written

from replicse.encoder.backbone import FIRST_TOKEN
from replicse.encoder.opening import open_backbone
from replicse.encoder.packed.dropout import HeadDropout

HEADS, LAYERS = 4, 3


def kept_heads(rows):
    """Return a tensor of 0 and 1 of shape (layers, rows, heads).

    The first row keeps a single head, the second row no head of layer 1.
    """
    kept = (torch.rand(LAYERS, rows, HEADS, generator=torch.Generator().manual_seed(3)) > 0.4).float()
    kept[:, 0] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    kept[1, 1] = 0
    return kept


def of_transformers(folder, batch, kept):
    """Return the hidden states of a reference model.

    A slow loop over rows and heads scales the heads of BERT of `transformers`.

    Args:
        folder: Folder of the encoder.
        batch: Packed batch of tokens.
        kept: Tensor of shape (layers, rows, heads) from `kept_heads`.
    """
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
    return model(**padded(batch)).last_hidden_state


@pytest.mark.parametrize("first", [False, True])
def test_heads_are_dropped_by_row_and_the_kept_ones_scaled(tmp_path, monkeypatch, first):
    folder = written(tmp_path)
    batch = batch_of()
    kept = kept_heads(batch.rows)
    encoder = open_backbone(folder)
    encoder.train().set_dropout(0, 0, 0.5)
    drawn = iter(kept)
    monkeypatch.setattr(HeadDropout, "_keep_heads", lambda *_: next(drawn))
    expected = of_transformers(folder, batch, kept)
    if first:
        torch.testing.assert_close(encoder(batch, FIRST_TOKEN).last, expected[:, 0], rtol=1e-4, atol=1e-5)
    else:
        torch.testing.assert_close(encoder(batch).last, batch.unpad(expected), rtol=1e-4, atol=1e-5)
