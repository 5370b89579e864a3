"""Encoders of other libraries: vectors equal the library's vectors.

Each sentence is encoded alone.
"""

import json

import foreign_encoders as foreign
import micro
import numpy as np
import pytest
import torch

from replicse.encoder import sentence_transformers
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.tokenizer import tokenizer_digest
from replicse.errors import BadInput, MissingData

# Short and long rows, so that a batch has padding.
SENTENCES = [*micro.sentences(6, 3), " ".join(micro.WORDS[:15]), "bal"]
DENSE = ("Dense", {"in_features": 32, "out_features": 8, "bias": False}, {"linear.weight": torch.eye(8, 32)})


def states_alone(model, folder, sentence, longest):
    """Return the last hidden states of a sentence, computed by `transformers`.

    Args:
        model: Model of `transformers`.
        folder: Folder of the tokenizer.
        sentence: A string.
        longest: Maximum number of tokens.

    Returns:
        A tensor of shape (tokens, width).
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = tokenizer(sentence, return_tensors="pt", truncation=True, max_length=longest)
    with torch.no_grad():
        return model(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"]).last_hidden_state[0]


def check_vectors(encoder, model, folder, read, longest=24, sentences=SENTENCES):
    """Check that the vectors are the pooled states of each sentence alone.

    A vector should not depend on other sentences of the batch.

    Args:
        encoder: The encoder to check.
        model: Model of `transformers` with the same weights.
        folder: Folder of the tokenizer.
        read: Function that pools states of shape (tokens, width).
        longest: Maximum number of tokens. Default: 24.
        sentences: List of sentences. Default: `SENTENCES`.
    """
    expected = np.stack([read(states_alone(model, folder, text, longest)).numpy() for text in sentences])
    np.testing.assert_allclose(encoder(sentences), expected, rtol=1e-4, atol=1e-5)
    encoder.clear()
    np.testing.assert_allclose(encoder(sentences[:1]), expected[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("more", [[], [DENSE]])
def test_an_encoder_that_is_stored_in_half_precision_is_computed_in_fp32(tmp_path, dtype, more):
    model = foreign.write_transformer(tmp_path, "bert", dtype)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == str(dtype).removeprefix("torch.")
    foreign.write_modules(tmp_path, more=more)
    encoder = SentenceEncoder.open(tmp_path, device="cpu")
    assert encoder.dtype == torch.float32
    assert encoder.engine == "sentence-transformers" if more else encoder.backbone.engine == "packed"
    # A Dense layer applies tanh by default.
    read = (lambda states: states.mean(0)[:8].tanh()) if more else (lambda states: states.mean(0))
    check_vectors(encoder, model, tmp_path, read)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("more", [[], [DENSE]])
def test_a_decoder_that_counts_positions_from_the_padding_reads_each_sentence_alone(tmp_path, side, more):
    model = foreign.write_transformer(tmp_path, "gpt2", padding_side=side)
    foreign.write_modules(tmp_path, "lasttoken", more)
    encoder = SentenceEncoder.open(tmp_path, device="cpu")
    if more:
        assert encoder.alone == (side == "left")
    else:
        assert encoder.backbone.engine == "transformers"
    read = (lambda states: states[-1][:8].tanh()) if more else (lambda states: states[-1])
    check_vectors(encoder, model, tmp_path, read)


@pytest.mark.parametrize(
    ("kind", "pooling", "engine"),
    [
        ("fnet", "mean", "transformers"),
        ("fnet", "max", "sentence-transformers"),
        ("canine", "mean", "transformers"),
        ("canine", "max", "sentence-transformers"),
        ("xlnet", "cls", "transformers"),
        ("gemma", "cls", "transformers"),
        ("t5", "mean", "transformers"),
    ],
)
def test_vectors_by_modules_are_those_of_each_sentence_alone(tmp_path, kind, pooling, engine):
    model = foreign.write_transformer(tmp_path, kind)
    foreign.write_modules(tmp_path, pooling)
    encoder = SentenceEncoder.open(tmp_path, device="cpu")
    assert getattr(encoder, "backbone", encoder).engine == engine
    read = {
        "mean": lambda states: states.mean(0),
        "max": lambda states: states.max(0).values,
        "cls": lambda states: states[0],
    }[pooling]
    check_vectors(encoder, model, tmp_path, read, 64)


@pytest.mark.parametrize("kind", ["gemma", "xlnet"])
def test_a_bidirectional_relative_of_decoders_is_read_at_its_first_token(tmp_path, kind):
    model = foreign.write_transformer(tmp_path, kind)
    encoder = SentenceEncoder.open(tmp_path, "cls", device="cpu")
    assert not encoder.backbone.causal
    check_vectors(encoder, model, tmp_path, lambda states: states[0])


def test_an_encoder_without_a_table_of_tokens_takes_the_rows_that_it_can(tmp_path):
    """A model without a token table encodes rows of sufficient length.

    CANINE pools characters with a stride, and has a position for each hash bucket.
    """
    model = foreign.write_transformer(tmp_path, "canine", sizes={"downsampling_rate": 4})
    encoder = SentenceEncoder.open(tmp_path, "mean", device="cpu")
    assert (encoder.backbone.min_length, encoder.max_length) == (4, 64)
    check_vectors(encoder, model, tmp_path, lambda states: states.mean(0), 64, SENTENCES[:-1])
    with pytest.raises(BadInput, match='the text "" has 2 tokens, of at least 4, for this tokenizer'):
        encoder([""])
    with pytest.raises(BadInput, match="canine does not have token embeddings"):
        _ = encoder.backbone.input_embeddings


@pytest.mark.parametrize("modules", [False, True])
def test_a_tokenizer_of_characters_is_called_as_its_library_has_it(tmp_path, modules):
    from transformers import CanineTokenizer

    sizes = {"num_hash_buckets": 128, "pad_token_id": 0, "bos_token_id": 0xE000, "eos_token_id": 0xE001}
    model = foreign.write_transformer(tmp_path, "canine", sizes=sizes)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    CanineTokenizer(model_max_length=64).save_pretrained(tmp_path)
    if modules:
        foreign.write_modules(tmp_path)
    encoder = SentenceEncoder.open(tmp_path, None if modules else "mean", device="cpu")
    check_vectors(encoder, model, tmp_path, lambda states: states.mean(0), 64)
    assert len(tokenizer_digest(encoder.tokenizer)) == 12, "the vocabulary contains surrogates"


@pytest.mark.parametrize("more", [[], [DENSE]])
def test_modules_without_a_tokenizer_are_refused(tmp_path, more):
    """The library would use an empty vocabulary, in which every word is unknown."""
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=more)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    with pytest.raises(
        MissingData, match=r"the folder has no tokenizer .*; copy the tokenizer of the encoder"
    ):
        SentenceEncoder.open(tmp_path, device="cpu")


@pytest.mark.parametrize("more", [[], [DENSE]])
@pytest.mark.parametrize("asked", [None, 512])
def test_rows_are_cut_where_positions_end(tmp_path, caplog, more, asked):
    caplog.set_level("INFO")
    model = foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=more)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 512, "do_lower_case": false}')
    encoder = SentenceEncoder.open(tmp_path, max_length=asked, device="cpu")
    assert encoder.max_length == 24 and "rows are truncated at 24 tokens" in caplog.text
    long = " ".join(micro.WORDS * 2)
    expected = states_alone(model, tmp_path, long, 24).mean(0).numpy()
    expected = np.tanh(expected[:8]) if more else expected
    np.testing.assert_allclose(encoder([long])[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("more", [[], [DENSE]])
@pytest.mark.parametrize("asked", [0, 2, -1])
def test_a_length_without_room_for_a_token_is_refused(tmp_path, more, asked):
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=more)
    with pytest.raises(
        BadInput, match=f"max_length is {asked}, but a row has 2 special tokens; use at least 3"
    ):
        SentenceEncoder.open(tmp_path, max_length=asked, device="cpu")


def test_the_library_encodes_many_sentences_in_several_calls(tmp_path, monkeypatch):
    """Compare the vectors of seven sentences in calls of at most three."""
    foreign.write_static(tmp_path / "static", torch.float32)
    texts = SENTENCES[:7]
    expected = SentenceEncoder.open(tmp_path / "static", device="cpu").encode(texts)
    encoder, sizes = SentenceEncoder.open(tmp_path / "static", device="cpu"), []
    encode = encoder.model.encode

    def count_and_encode(some, **options):
        sizes.append(len(some))
        return encode(some, **options)

    monkeypatch.setattr(sentence_transformers, "_ENCODED_AT_ONCE", 3)
    monkeypatch.setattr(encoder.model, "encode", count_and_encode)
    assert np.array_equal(encoder.encode(texts), expected)
    assert sizes == [3, 3, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("write", [foreign.write_static, foreign.write_model2vec])
def test_static_embeddings_are_means_of_their_table(tmp_path, write, dtype):
    folder = tmp_path / "static"
    tokenizer, table = write(folder, dtype)
    encoder = SentenceEncoder.open(folder, device="cpu")
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in SENTENCES]
    expected = np.stack([table[each].mean(0).numpy() for each in ids])
    if write is foreign.write_model2vec:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder(SENTENCES), expected, rtol=1e-4, atol=1e-5)
    assert encoder.max_length is None and encoder.dtype == torch.float32
    with pytest.raises(
        BadInput, match="max_length is 8, but StaticEmbedding does not truncate rows; remove max_length"
    ):
        SentenceEncoder.open(folder, max_length=8, device="cpu")
    with pytest.raises(BadInput, match="the first module is StaticEmbedding, not a transformer"):
        SentenceEncoder.open(folder, "mean", device="cpu")


def test_a_router_takes_its_default_route(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = foreign.write_router(tmp_path / "routed")
    model = SentenceTransformer(str(folder), device="cpu")
    expected = model.encode(SENTENCES, task="document")
    assert np.abs(expected - model.encode(SENTENCES, task="query")).max() > 0.1
    encoder = SentenceEncoder.open(folder, device="cpu")
    np.testing.assert_allclose(encoder(SENTENCES), expected, rtol=1e-4, atol=1e-5)


def only_onnx(folder):
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"onnx")


def only_openvino(folder):
    (folder / "model.safetensors").unlink()
    (folder / "openvino").mkdir()
    (folder / "openvino" / "openvino_model.xml").write_bytes(b"<net/>")


def in_eight_bits(folder):
    foreign.change_json(folder / "config.json", quantization_config={"quant_method": "bitsandbytes"})


def with_integers(folder):
    foreign.change_weights(
        folder, lambda weights: {name: (value * 9).to(torch.int8) for name, value in weights.items()}
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            only_onnx,
            r"only in the format ONNX \(onnx/model\.onnx\); save the encoder as model\.safetensors",
        ),
        (only_openvino, "only in the format OpenVINO"),
        (in_eight_bits, r"the weights are quantised according to quantization_config \(bitsandbytes\)"),
        (with_integers, "is int8; expected 16 to 64-bit floating point"),
    ],
)
@pytest.mark.parametrize("more", [[], [DENSE]])
def test_weights_that_no_library_here_reads_are_refused_with_the_reason(tmp_path, change, problem, more):
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=more)
    change(tmp_path)
    for pooling in (None, "mean"):
        with pytest.raises(BadInput, match=problem) as caught:
            SentenceEncoder.open(tmp_path, pooling, device="cpu")
        assert "copy all" not in str(caught.value)


@pytest.mark.parametrize("more", [[], [DENSE]])
def test_weights_without_a_place_are_refused_also_by_the_library_alone(tmp_path, more):
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=more)
    name = "encoder.layer.0.attention.self.query.lora_A"
    foreign.change_weights(tmp_path, lambda weights: {**weights, name: torch.ones(2, 2)})
    with pytest.raises(BadInput, match=r'weight "encoder\.layer\.0\.attention\.self\.query\.lora_A'):
        SentenceEncoder.open(tmp_path, device="cpu")


def named_for_the_model(folder):
    foreign.change_json(folder / "config.json", auto_map={"AutoModel": "modeling_mine.MineModel"})


def named_for_the_tokenizer(folder):
    named = {"AutoTokenizer": ["tokenization_mine.MineTokenizer", None]}
    foreign.change_json(folder / "tokenizer_config.json", auto_map=named)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (named_for_the_model, "auto_map of config.json: modeling_mine.MineModel"),
        (named_for_the_tokenizer, "auto_map of tokenizer_config.json: tokenization_mine.MineTokenizer"),
    ],
)
@pytest.mark.parametrize("more", [None, [], [DENSE]])
def test_code_of_a_folder_is_named_and_not_run(tmp_path, caplog, change, code, more):
    foreign.write_transformer(tmp_path, "bert")
    if more is not None:
        foreign.write_modules(tmp_path, more=more)
    change(tmp_path)
    for name in ("modeling_mine", "tokenization_mine"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the code of the folder ran')")
    encoder = SentenceEncoder.open(tmp_path, device="cpu")
    assert getattr(encoder, "backbone", encoder).code == (code,)
    assert f"code of the folder is not run ({code})" in caplog.text


def test_a_module_of_its_own_code_is_refused(tmp_path):
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path)
    listed = json.loads((tmp_path / "modules.json").read_text())
    listed[0]["type"] = "custom_st.Transformer"
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    (tmp_path / "custom_st.py").write_text("raise SystemExit('the code of the folder ran')")
    with pytest.raises(BadInput, match=r'"custom_st\.Transformer" is code of the folder, which is not run'):
        SentenceEncoder.open(tmp_path, device="cpu")


def test_an_activation_of_its_own_code_is_refused(tmp_path):
    """The library would use Tanh instead, with other vectors."""
    kind, config, weights = DENSE
    foreign.write_transformer(tmp_path, "bert")
    foreign.write_modules(tmp_path, more=[(kind, {**config, "activation_function": "mine.Swish"}, weights)])
    with pytest.raises(BadInput, match=r'"mine\.Swish" is code of the folder, which is not run'):
        SentenceEncoder.open(tmp_path, device="cpu")


def test_a_folder_above_an_encoder_names_the_right_one_below(tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    hub = tmp_path / "models--me--encoder"
    foreign.write_transformer(hub, "bert")
    foreign.move_below(hub, f"snapshots/{commit}")
    run = tmp_path / "run"
    for step in (500, 1000, 90):
        foreign.write_transformer(run / f"checkpoint-{step}", "bert")
    for refs in (False, True):
        if refs:
            foreign.write_transformer(hub / "snapshots" / ("f" * 40), "bert")
            (hub / "refs").mkdir()
            (hub / "refs" / "main").write_text(commit)
        with pytest.raises(MissingData, match=f"specify an encoder below it: snapshots/{commit}$"):
            SentenceEncoder.open(hub, "mean")
    with pytest.raises(MissingData, match=r"below it: checkpoint-90, checkpoint-500, checkpoint-1000$"):
        SentenceEncoder.open(run)
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        MissingData,
        match=r"config\.json: the file does not exist; specify a folder with a Hugging Face encoder",
    ):
        SentenceEncoder.open(tmp_path / "empty")
