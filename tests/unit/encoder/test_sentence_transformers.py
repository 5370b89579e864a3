"""Folders of sentence-transformers, written by that library, and what of them is refused."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny_encoders import mlp, tiny

from replicse.data.tokenizer import train_tokenizer
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput

SENTENCES = ["A man is playing a guitar.", "dogs", "Two dogs run over the green grass while a man is playing"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the folder of a small encoder, without modules."""
    folder = tmp_path_factory.mktemp("plain")
    train_tokenizer("wordpiece", SENTENCES * 2, 97, lowercase=True).save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    tiny().save(folder, mlp(32), folder / "tokenizer.json")
    return folder


def saved(plain, folder, mode, normalised, length=12):
    """Return the library's own model of the encoder, saved in a folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(str(plain), max_seq_length=length)
    parts = [transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode=mode)]
    model = SentenceTransformer(modules=[*parts, *[Normalize()] * normalised], device="cpu")
    model.save(str(folder))
    return model


@pytest.mark.parametrize(("mode", "normalised"), [("mean", True), ("cls", False)])
def test_vectors_are_those_of_the_library(plain, tmp_path, mode, normalised):
    model = saved(plain, tmp_path, mode, normalised)
    encoder = SentenceEncoder.open(tmp_path)
    assert (encoder.pooling.pooling, encoder.max_length, encoder.normalised) == (mode, 12, normalised)
    vectors = encoder.encode(SENTENCES)
    np.testing.assert_allclose(vectors, model.encode(SENTENCES), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(SENTENCES[0]), vectors[0])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1) == normalised


def test_a_pooling_that_is_named_reads_the_transformer_alone(plain, mean):
    named, bare = SentenceEncoder.open(mean, "mean"), SentenceEncoder.open(plain, "mean")
    assert named.max_length == 512 and not named.normalised
    encoder = SentenceEncoder.open(plain)
    assert (encoder.pooling.pooling, encoder.max_length, encoder.normalised) == ("cls", 512, False)
    np.testing.assert_array_equal(named(SENTENCES), bare(SENTENCES))


@pytest.fixture(scope="module")
def mean(plain, tmp_path_factory):
    """The folder of a model of the library."""
    folder = tmp_path_factory.mktemp("mean")
    saved(plain, folder, "mean", True)
    return folder


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "pooling max is not computed here"),
        ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt false"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, 'default prompt "query"'),
        ("sentence_bert_config.json", {"max_seq_length": "12"}, "max_seq_length is '12'"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "do_lower_case true"),
        ("modules.json", {"path": "2_Dense", "type": "a.Dense"}, "module Dense is not computed here"),
    ],
)
def test_what_would_change_vectors_and_is_not_computed_is_refused(mean, tmp_path, name, values, message):
    shutil.copytree(mean, tmp_path, dirs_exist_ok=True)
    file = tmp_path / name
    document = json.loads(file.read_text()) if file.exists() else {}
    file.parent.mkdir(exist_ok=True)
    changed = (
        [*document, {"idx": 2, "name": "2", **values}] if name == "modules.json" else {**document, **values}
    )
    file.write_text(json.dumps(changed))
    with pytest.raises(BadInput, match=message):
        SentenceEncoder.open(tmp_path)
    assert SentenceEncoder.open(tmp_path, "mean")(SENTENCES).shape == (3, 32)
