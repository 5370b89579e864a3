"""Decoders: pooled by the last token or the mean, trained, saved, loaded.

Decoders are refused if they cannot be pooled.
"""

from dataclasses import replace

import micro
import numpy as np
import pytest
import torch
from cases import cases
from tiny_encoders import states_by_hand, write_decoder

from replicse.data.store import write_store
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput

FAMILIES = ("Qwen2", "Llama")
SENTENCES = [*micro.sentences(6, 9), "bal"]
PROMPT = 'This sentence : {text} means in one word : "'


@pytest.fixture(params=FAMILIES)
def decoder(request, tmp_path):
    torch.manual_seed(0)
    folder = tmp_path / "init"
    folder.mkdir()
    return folder, write_decoder(folder, request.param, micro.sentences(100))


def last_states(model, rows, positions=None):
    """Return the last hidden state of the last token of each row.

    Args:
        model: Model of `transformers`.
        rows: List of lists of token ids.
        positions: Positions of the tokens of each row. Default: 0, 1, 2 and so on.

    Returns:
        An array of shape (rows, hidden).
    """
    states = states_by_hand(model, rows, positions)
    return np.stack([state[len(row) - 1] for state, row in zip(states, rows, strict=True)])


def test_a_prompt_ends_with_the_token_that_is_read_and_can_be_denoised(decoder):
    folder, model = decoder
    tokenizer = load_tokenizer(folder / "tokenizer.json", None)
    start = [0] if model.config.model_type == "llama" else []

    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    before, after = map(encode, PROMPT.split(" {text}"))
    each = list(map(encode, SENTENCES))
    each = [ids[: 64 - len(start) - len(before) - len(after)] for ids in each]
    rows = [[*start, *before, *ids, *after] for ids in each]
    plain = last_states(model, rows)
    pooling = {"pooling": "last-token", "template": PROMPT}
    found = SentenceEncoder.open(folder, pooling, device="cpu")(SENTENCES)
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-5)
    own, first = [*start, *before, *after], len(start) + len(before)
    alone = np.arange(len(own))
    places = [alone + len(ids) * (alone >= first) for ids in each]
    noise = last_states(model, [own] * len(rows), places)
    assert np.abs(noise - noise[0]).max() > 1e-3, "the positions matter"
    found = SentenceEncoder.open(folder, {**pooling, "denoise": True}, device="cpu")(SENTENCES)
    np.testing.assert_allclose(found, plain - noise, rtol=1e-4, atol=1e-5)


@cases
def test_what_nothing_can_be_read_from_is_refused(decoder, pooling, told):
    with pytest.raises(BadInput, match=told):
        SentenceEncoder.open(decoder[0], pooling, device="cpu")
    if "Qwen2" in type(decoder[1]).__name__:  # no token at the start
        with pytest.raises(BadInput, match='the text "" has 0 tokens'):
            SentenceEncoder.open(decoder[0], "mean", device="cpu")(["bal", ""])


@pytest.mark.parametrize(
    "pooling", ["last-token", {"pooling": "last-token", "template": PROMPT, "head": True}]
)
def test_it_is_trained_kept_and_read_back(decoder, tmp_path, pooling):
    import transformers

    folder, _ = decoder
    (tmp_path / "run").mkdir()
    steps = {"batch_size": 16, "learning_rate": 1e-3, "steps": 10, "epochs": 2}
    pooled = {"train": pooling, "test": pooling}
    job = micro.job(tmp_path / "run", init={"folder": "x"}, pooling=pooled, optimisation=steps)
    store = tmp_path / "store"
    write_store(store, micro.sentences(96, 3), folder / "tokenizer.json", 16, {})
    job = replace(job, init=folder, tokenizer=folder / "tokenizer.json", stores=[store] * 2)
    out = tmp_path / "out"
    micro.trainer_of(job, tmp_path, micro.dev_root(tmp_path / "data")).run()
    history = micro.metrics(out)["history"]
    assert np.isfinite([entry["loss"] for entry in history]).all()
    assert not micro.equal_weights(out / "last", folder)
    vectors = SentenceEncoder.open(out / "best", pooling, device="cpu")(SENTENCES)
    if pooling == "last-token":
        network = transformers.AutoModel.from_pretrained(out / "best").eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(out / "best")
        expected = last_states(network, [tokenizer(sentence)["input_ids"] for sentence in SENTENCES])
        np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-5)
