"""Encoders of others as a study keeps them: one layout, equal vectors, and what their own library reads beside it."""

import json

import micro
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_encoders import written

from replicse.encoder.packed.transformer import PackedBackbone
from replicse.encoder.preparing import prepare_encoder
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.files import sha256_of

SENTENCES = micro.sentences(6, 3)


@pytest.fixture
def source(tmp_path):
    return written(tmp_path / "source", head=True)


def test_training_code_leaves_weights_in_many_ways_and_all_are_kept_alike(source, tmp_path):
    expected = SentenceEncoder.open(source, "cls-head")(SENTENCES)
    stored = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    stored = {f"model.{name}": value for name, value in stored.items()}
    torch.save({"state_dict": stored}, source / "pytorch_model.bin")
    prepare_encoder(source, tmp_path / "out", {"folder": "./source"})
    record = json.loads((tmp_path / "out" / "hub.json").read_text())
    assert record["folder"] == "./source"
    assert record["sha256"]["model.safetensors"] == sha256_of(tmp_path / "out" / "model.safetensors")
    encoder = SentenceEncoder.open(tmp_path / "out", "cls-head")
    assert isinstance(encoder.backbone, PackedBackbone)
    np.testing.assert_allclose(encoder(SENTENCES), expected, rtol=1e-5, atol=1e-6)
    (tmp_path / "out" / "config.json").write_text("{}")
    with pytest.raises(BadInput, match="another sha256"):
        SentenceEncoder.open(tmp_path / "out")


def test_a_model_of_sentence_transformers_keeps_its_own_reading(source, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    transformer = Transformer(str(source), max_seq_length=6)
    modules = [transformer, Pooling(32, pooling_mode="mean"), Dense(32, 8)]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save(str(tmp_path / "model"))
    prepare_encoder(tmp_path / "model", tmp_path / "out", {"repository": "org/model", "revision": "abc"})
    own = SentenceEncoder.open(tmp_path / "out", "own")
    np.testing.assert_allclose(own(SENTENCES), model.encode(SENTENCES), rtol=1e-4, atol=1e-5)
    named = SentenceEncoder.open(tmp_path / "out", "mean")
    assert named(SENTENCES).shape == (6, 32)
    with pytest.raises(BadInput, match="declares a pooling of its own; write pooling: own"):
        SentenceEncoder.open(tmp_path / "out", "cls")
