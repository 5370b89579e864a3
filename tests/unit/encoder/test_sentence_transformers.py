"""Folders of sentence-transformers: all engines compute equal vectors."""

import json

import micro
import numpy as np
import pytest
from tiny_encoders import written

from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput

SENTENCES = [*micro.sentences(3), " ".join(micro.WORDS[:15])]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Create the folder of a small encoder, without modules.json."""
    return written(tmp_path_factory.mktemp("plain"), head=True)


def saved(plain, folder, mode="mean", *more, **options):
    """Save the encoder as a model of sentence-transformers.

    Args:
        plain: Folder of the encoder.
        folder: Folder to create.
        mode: Mode of the pooling. Default: "mean".
        more: Modules after the pooling.
        options: Further arguments of `SentenceTransformer`.

    Returns:
        The folder.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(plain), max_seq_length=12)
    parts = [transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode=mode), *more]
    SentenceTransformer(modules=parts, device="cpu", **options).save(str(folder))
    return folder


def module(name, *sizes):
    """Create a module of the library, to use after the pooling."""
    from sentence_transformers.sentence_transformer import modules

    return getattr(modules, name)(*sizes)


def older_length(folder):
    (folder / "sentence_bert_config.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    (folder / "sentence_roberta_config.json").write_text('{"max_seq_length": 5, "do_lower_case": true}')


def default_prompt(folder):
    file = folder / "config_sentence_transformers.json"
    settings = {"prompts": {"query": "bal kon "}, "default_prompt_name": "query"}
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))


@pytest.mark.parametrize(
    ("engine", "mode", "more", "options", "change"),
    [
        ("packed", "mean", [["Normalize"]], {}, None),
        ("packed", "cls", [], {}, None),
        ("packed", "mean", [], {}, older_length),
        ("sentence-transformers", "max", [], {}, None),
        ("sentence-transformers", ["cls", "mean"], [], {}, None),
        ("sentence-transformers", "mean", [["Dense", 32, 8], ["Normalize"]], {}, None),
        ("sentence-transformers", "mean", [], {"truncate_dim": 8}, None),
        ("sentence-transformers", "mean", [], {}, default_prompt),
    ],
)
def test_vectors_are_those_of_the_library(plain, tmp_path, engine, mode, more, options, change):
    from sentence_transformers import SentenceTransformer

    folder = saved(plain, tmp_path, mode, *(module(*named) for named in more), **options)
    if change:
        change(folder)
    expected = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    for encoder in (SentenceEncoder.open(folder), SentenceEncoder.open(folder, "own")):
        vectors = encoder.encode(SENTENCES)
        np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(encoder.encode(SENTENCES[0]), vectors[0], rtol=1e-5, atol=1e-6)
        assert getattr(encoder, "backbone", encoder).engine == engine
        assert encoder.max_length == (5 if change is older_length else 12)
    if engine != "packed":
        with pytest.raises(BadInput, match="engine packed cannot load it"):
            SentenceEncoder.open(folder, engine="packed")


def test_a_pooling_that_is_named_reads_the_transformer_alone(plain, tmp_path, caplog):
    caplog.set_level("INFO")
    folder = saved(plain, tmp_path, "mean", module("Normalize"))
    named = SentenceEncoder.open(folder, "cls", max_length=40)
    bare = SentenceEncoder.open(plain, max_length=40)
    assert "using pooling cls (--pooling), not the folder's modules.json" in caplog.text
    np.testing.assert_allclose(named(SENTENCES), bare(SENTENCES), rtol=1e-5, atol=1e-6)


def test_modules_without_a_pooling_are_refused_with_what_to_give(plain, tmp_path):
    folder = saved(plain, tmp_path, "mean", module("Normalize"))
    listed = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([listed[0], listed[2]]))
    with pytest.raises(BadInput, match="a Pooling module is missing; use --pooling"):
        SentenceEncoder.open(folder)
    for broken in ("{}", "[{}]", '[{"path": "../other"}]'):
        (folder / "modules.json").write_text(broken)
        with pytest.raises(BadInput, match=r"modules\.json"):
            SentenceEncoder.open(folder, "mean")


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("modules.json", "[", r"modules\.json: cannot parse JSON"),
        ("modules.json", "[]", "expected a list of modules with type and path"),
        (
            "config_sentence_transformers.json",
            '{"model_type": "SparseEncoder"}',
            r'transformers\.json: model_type is "SparseEncoder"; expected "SentenceTransformer"',
        ),
        ("1_Pooling/config.json", None, r"Pooling.*; copy the files of .*1_Pooling$"),
        (
            "1_Pooling/config.json",
            '{"pooling_mode": "median"}',
            r"cannot load it \(.*; correct the folder, or",
        ),
        ("model.safetensors", "cut", r"model\.safetensors: cannot be loaded .*; the file is truncated"),
        ("sentence_bert_config.json", '{"max_seq_length": "x"}', 'max_seq_length is "x"; expected a number'),
        ("1_Pooling/config.json", "{", r"1_Pooling/config\.json: cannot parse JSON"),
        ("config.json", "", r"config\.json: cannot parse JSON"),
        ("tokenizer.json", "{", r"tokenizer\.json: cannot parse JSON"),
        ("tokenizer_config.json", "[]", "cannot load the tokenizer"),
    ],
)
def test_a_broken_file_is_named(plain, tmp_path, file, text, problem):
    folder = saved(plain, tmp_path)
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_text(text)
    with pytest.raises(BadInput, match=problem):
        SentenceEncoder.open(folder)
