"""Decoders: read by their last token or the mean, trained, kept and read back; refused where nothing can be read."""

from dataclasses import replace

import micro
import numpy as np
import pytest
import torch
from tiny_encoders import write_decoder

from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.training.loop import Trainer

FAMILIES = ("Qwen2", "Llama")
SENTENCES = [*micro.sentences(6, 9), "bal"]
PROMPT = 'This sentence : "{text}" means in one word : "'


@pytest.fixture(params=FAMILIES)
def decoder(request, tmp_path):
    torch.manual_seed(0)
    folder = tmp_path / "init"
    folder.mkdir()
    return folder, write_decoder(folder, request.param, micro.sentences(100))


def slow_states(model, rows, positions=None):
    """Return the last hidden states of rows of ids, padded on the right, with mask and position ids written out."""
    longest = max(map(len, rows))
    ids, mask, places = (
        torch.tensor([[*each, *[0] * (longest - len(each))] for each in values])
        for values in (
            rows,
            [[1] * len(row) for row in rows],
            positions or [[*range(len(row))] for row in rows],
        )
    )
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=mask, position_ids=places).last_hidden_state


def test_the_last_token_and_the_mean_are_those_of_a_padded_forward(decoder):
    folder, model = decoder
    tokenizer = load_tokenizer(folder / "tokenizer.json", None)
    rows = [tokenizer.encode(sentence).ids for sentence in SENTENCES]
    assert len(set(map(len, rows))) > 3
    states = slow_states(model, rows)
    pairs = [(state, len(row)) for state, row in zip(states, rows, strict=True)]
    for pooling, expected in (
        ("last-token", [state[length - 1] for state, length in pairs]),
        ("mean", [state[:length].mean(0) for state, length in pairs]),
    ):
        found = SentenceEncoder.open(folder, pooling, device="cpu")(SENTENCES)
        np.testing.assert_allclose(found, torch.stack(expected).numpy(), rtol=1e-4, atol=1e-5)


def test_a_prompt_ends_with_the_token_that_is_read_and_can_be_denoised(decoder):
    folder, model = decoder
    tokenizer = load_tokenizer(folder / "tokenizer.json", None)
    start = [0] if isinstance(model.config.model_type, str) and model.config.model_type == "llama" else []
    before, after = (tokenizer.encode(part, add_special_tokens=False).ids for part in PROMPT.split("{text}"))
    each = [tokenizer.encode(sentence, add_special_tokens=False).ids for sentence in SENTENCES]
    each = [ids[: 64 - len(start) - len(before) - len(after)] for ids in each]
    rows = [[*start, *before, *ids, *after] for ids in each]
    plain = torch.stack(
        [state[len(row) - 1] for state, row in zip(slow_states(model, rows), rows, strict=True)]
    )
    found = SentenceEncoder.open(folder, {"pooling": "last-token", "template": PROMPT}, device="cpu")(
        SENTENCES
    )
    np.testing.assert_allclose(found, plain.numpy(), rtol=1e-4, atol=1e-5)
    own, first = [*start, *before, *after], len(start) + len(before)
    places = [[place + len(ids) * (place >= first) for place in range(len(own))] for ids in each]
    noise = slow_states(model, [own] * len(rows), places)[:, -1]
    assert (noise - noise[0]).abs().max() > 1e-3, "the positions matter"
    denoised = {"pooling": "last-token", "template": PROMPT, "denoise": True}
    found = SentenceEncoder.open(folder, denoised, device="cpu")(SENTENCES)
    np.testing.assert_allclose(found, (plain - noise).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("pooling", "told"),
    [
        ("cls", "pooling cls reads the first token, which sees no other one in this encoder"),
        ("cls-head", "a causal language model; choose last-token or mean"),
        ({"pooling": "mask", "template": "{text} is {mask}"}, "its tokenizer has no mask"),
    ],
)
def test_what_nothing_can_be_read_from_is_refused(decoder, pooling, told):
    with pytest.raises(BadInput, match=told):
        SentenceEncoder.open(decoder[0], pooling, device="cpu")
    if "Qwen2" in type(decoder[1]).__name__:  # it has no token at the start
        with pytest.raises(BadInput, match='the text "" has no token'):
            SentenceEncoder.open(decoder[0], "mean", device="cpu")(["bal", ""])


def job_on(folder, home, **changes):
    """Return a job that trains the decoder of a folder on seeded sentences."""
    from replicse.data.store import write_store

    changes = {"pooling": {"train": "last-token", "test": "last-token"}, **changes}
    job = micro.job(home, init={"folder": "x"}, **changes)
    stores = [home / "own", home / "own-other"]
    for store, seed in zip(stores, (3, 4), strict=True):
        write_store(store, micro.sentences(96, seed), folder / "tokenizer.json", 16, {"seed": seed})
    return replace(job, init=folder, tokenizer=folder / "tokenizer.json", stores=stores[:1] * 2)


@pytest.mark.parametrize(
    "pooling", ["last-token", {"pooling": "last-token", "template": PROMPT, "head": True}]
)
def test_it_is_trained_kept_and_read_back(decoder, tmp_path, pooling):
    import transformers

    folder, _ = decoder
    (tmp_path / "run").mkdir()
    job = job_on(
        folder,
        tmp_path / "run",
        pooling={"train": pooling, "test": pooling},
        optimisation={"batch_size": 16, "learning_rate": 1e-3, "steps": 10, "epochs": 2},
    )
    out = tmp_path / "out"
    Trainer(job, micro.dev_root(tmp_path / "data"), out, tmp_path / "state", torch.device("cpu")).run()
    history = micro.metrics(out)["history"]
    assert [entry["step"] for entry in history] == [5, 10]
    assert np.isfinite([entry["loss"] for entry in history]).all()
    assert not micro.equal_weights(out / "last", folder)
    vectors = SentenceEncoder.open(out / "best", pooling, device="cpu")(SENTENCES)
    if pooling == "last-token":
        network = transformers.AutoModel.from_pretrained(out / "best").eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(out / "best")
        states = slow_states(network, [tokenizer(sentence)["input_ids"] for sentence in SENTENCES])
        lengths = [len(tokenizer(sentence)["input_ids"]) for sentence in SENTENCES]
        expected = torch.stack([state[length - 1] for state, length in zip(states, lengths, strict=True)])
        np.testing.assert_allclose(vectors, expected.numpy(), rtol=1e-4, atol=1e-5)
