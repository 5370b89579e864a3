"""Means that include padding, compared with a reference model.

The states of all positions up to a given length are averaged.
"""

import micro
import numpy as np
import pytest
import torch
from one_step import rows_of
from tiny_encoders import batch_of, pad_rows, pooled_by, written

from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation import variants
from replicse.registry.poolings import pooling_of

LENGTH = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("encoder"))


def reference(folder, rows, length):
    """Return the hidden states of all layers, computed by `transformers`.

    Args:
        folder: Folder of the encoder.
        rows: List of lists of token ids.
        length: Length after padding.

    Returns:
        A list of tensors of shape (rows, length, hidden).
    """
    import transformers

    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokens, mask = pad_rows(rows, 0, length)
    with torch.no_grad():
        return model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states


@pytest.mark.parametrize("engine", ["packed", "transformers"])
@pytest.mark.parametrize("lengths", [(5, 1, 9, 3, 9), (4, 4), (20, 20), (20, 3)])
def test_the_mean_is_over_all_positions_of_the_length(folder, engine, lengths):
    batch = batch_of(lengths)
    rows = rows_of(batch)
    states = reference(folder, rows, LENGTH)
    encoder = open_backbone(folder, engine).eval()
    for name, numbers in {"mean": (-1,), "first-last": (1, -1), "last2": (-2, -1)}.items():
        pooling = pooled_by({"pooling": name, "pad_to": LENGTH}, encoder)
        expected = sum(states[number].double().sum(1) / LENGTH for number in numbers) / len(numbers)
        found = pooling(encoder, batch).detach().double()
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        plain = pooled_by(name, encoder)(encoder, batch).detach().double()
        assert torch.allclose(plain, found, atol=1e-4) == (min(lengths) == LENGTH)


def test_rows_are_joined_and_cut_with_their_padding():
    one, other = batch_of((3, 12)).fill(0, 12), batch_of((12, 12)).fill(0, 12)
    both = TokenBatch.concatenate([one, other])
    assert both.attention_mask.sum(1).tolist() == [3, 12, 12, 12] and both.longest == 12
    part = both.slice(0, 1)
    assert part.attention_mask.tolist() == [[True] * 3 + [False] * 9] and len(part.tokens) == 12


def test_at_test_time_a_longer_sentence_is_cut_and_each_vector_depends_on_its_own_row(folder):
    texts = [*micro.sentences(30), " ".join(micro.WORDS)]
    encoder = SentenceEncoder.open(folder, {"pooling": "mean", "pad_to": 12}, device="cpu")
    vectors = encoder(texts)
    rows = encoder.rows(texts)
    assert max(map(len, rows)) == 12
    expected = reference(folder, [row.tolist() for row in rows], 12)[-1].mean(1).numpy()
    np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-5)
    small = SentenceEncoder.open(folder, {"pooling": "mean", "pad_to": 12}, device="cpu")
    small.batch_tokens = 36
    assert set(map(len, small.batches(sorted(rows, key=len)))) <= {1, 2, 3}, "padding fills a batch too"
    np.testing.assert_allclose(small(texts), vectors, rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_refused(folder):
    encoder = open_backbone(folder)
    pooling = pooled_by({"pooling": "mean", "pad_to": 8}, encoder)
    with pytest.raises(BadInput, match=r"a row has 9 tokens, but pooling mean \(pad_to 8\) pads rows to 8"):
        pooling(encoder, batch_of((9, 2)))
    with pytest.raises(BadInput, match="pads rows to 25 tokens, but the encoder accepts 24"):
        pooled_by({"pooling": "mean", "pad_to": 25}, encoder)
    with pytest.raises(BadInput, match="pad_to is 8, but rows with a template are not padded"):
        pooling_of({"pooling": "mean", "pad_to": 8, "template": "It is {text}"})
    with pytest.raises(BadInput, match='unknown key "pad_to"'):
        pooling_of({"pooling": "cls", "pad_to": 8})


def test_other_readings_of_an_encoder_that_is_read_with_padding_have_none(folder, tmp_path, monkeypatch):
    """An encoder with padded means has no variants.

    The variants of an evaluation use tokens without padding, whatever pooling the encoder uses.
    """
    texts = micro.sentences(12)
    encoder = SentenceEncoder.open(folder, {"pooling": "mean", "pad_to": 16}, device="cpu")
    study = object.__new__(variants.VariantStudy)
    study.encoder, study.head, study._read = encoder, None, {}
    study.rows, study.places = encoder.rows(texts), {text: place for place, text in enumerate(texts)}
    own, plain = study.vectors(encoder.pooling)(texts), study.vectors(pooling_of("mean"))(texts)
    np.testing.assert_allclose(own, encoder(texts), rtol=1e-4, atol=1e-5)
    expected = SentenceEncoder.open(folder, "mean", device="cpu")(texts)
    np.testing.assert_allclose(plain, expected, rtol=1e-4, atol=1e-5)
