"""Foreign encoders in a study: a single layout, and equal vectors.

The files of the encoder's library are copied, too.
"""

import json

import foreign_encoders as foreign
import micro
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_encoders import written

from replicse.encoder.opening import open_backbone
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
    with pytest.raises(BadInput, match="the SHA-256 differs"):
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
    with pytest.raises(BadInput, match="the folder declares a pooling; use pooling: own"):
        SentenceEncoder.open(tmp_path / "out", "cls")


@pytest.mark.parametrize("write", [foreign.write_static, foreign.write_model2vec, foreign.write_router])
def test_an_encoder_without_a_transformer_is_a_row_by_its_own_reading(tmp_path, write):
    source, out = tmp_path / "source", tmp_path / "out"
    write(source)
    expected = SentenceEncoder.open(source, device="cpu")(SENTENCES)
    prepare_encoder(source, out, {"folder": "./source"})
    np.testing.assert_array_equal(SentenceEncoder.open(out, "own", device="cpu")(SENTENCES), expected)
    with pytest.raises(BadInput, match="use pooling: own"):
        SentenceEncoder.open(out, "cls")
    only = "only sentence-transformers can load this encoder, with the pooling in the folder"
    with pytest.raises(BadInput, match=only):
        SentenceEncoder.open(out, "mean")
    with pytest.raises(BadInput, match=only):
        open_backbone(out)
    table = next(file for file in (out / "original").rglob("*.safetensors"))
    table.write_bytes(table.read_bytes() + b"0")
    with pytest.raises(BadInput, match=f"{table.name}: the SHA-256 differs from hub.json"):
        SentenceEncoder.open(out, "own")


def test_code_of_a_folder_is_no_row(tmp_path):
    """A folder with custom code is refused as a row.

    Without the code, the scores would be those of another encoder, and a table shows no warning.
    """
    foreign.write_transformer(tmp_path / "source", "bert")
    foreign.change_json(
        tmp_path / "source" / "config.json", auto_map={"AutoModel": "modeling_mine.MineModel"}
    )
    with pytest.raises(
        BadInput, match=r"not run \(auto_map of config\.json: modeling_mine\.MineModel\), so the scores"
    ):
        prepare_encoder(tmp_path / "source", tmp_path / "out", {})


def test_a_folder_above_encoders_is_no_row(tmp_path):
    foreign.write_transformer(tmp_path / "run" / "checkpoint-20", "bert")
    with pytest.raises(BadInput, match="specify an encoder below it: checkpoint-20"):
        prepare_encoder(tmp_path / "run", tmp_path / "out", {})
