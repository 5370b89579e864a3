import itertools
import json
import shutil
import sys
from types import SimpleNamespace

import micro
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoders import other_family, tiny, written

from replicse.encoder.batch import TokenBatch
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.splitting import split_rows
from replicse.encoder.tokenizer import tokenizer_digest
from replicse.errors import BadInput, MissingData
from replicse.registry.poolings import Cls, PoolingParameters

POOLINGS = [name for name in PoolingParameters.known() if name not in ("mask", "own")]
SENTENCES = [
    "bal kon mit tul.",
    "rel",
    " ".join(micro.WORDS[:15]),
    "kon rel",
    "bal  KON mit tul .",
    "bal kon mit tul.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Create an encoder whose tokenizer is uncased WordPiece."""
    return written(tmp_path_factory.mktemp("encoder"), head=True)


def counted(encoder):
    """Return a list that records the lengths of the rows in each batch."""
    seen = []
    encoder.backbone.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].lengths.tolist()))
    return seen


@pytest.mark.parametrize("pooling", POOLINGS)
def test_vectors_come_in_order_and_agree_with_encoding_one_by_one(folder, pooling):
    encoder = SentenceEncoder.open(folder, pooling)
    found = encoder(SENTENCES)
    assert found.dtype == np.float32 and found.shape == (6, 32)
    for sentence, vector in zip(SENTENCES, found, strict=True):
        batch = TokenBatch.from_rows([np.array(encoder.tokenizer.encode(sentence).ids)])
        with torch.no_grad():
            alone = encoder.read(encoder.backbone.eval(), batch)
            alone = alone if encoder.head is None else encoder.head(alone)
        np.testing.assert_allclose(vector, alone[0].numpy(), rtol=1e-4, atol=1e-5)


def test_every_distinct_token_sequence_is_encoded_once_and_sorted_by_length(folder):
    encoder = SentenceEncoder.open(folder, "cls")
    encoder.batch_tokens = 40
    seen = counted(encoder)
    vectors = encoder(SENTENCES)
    lengths = list(itertools.chain.from_iterable(seen))
    assert len(lengths) == 4
    assert lengths == sorted(lengths)
    assert np.array_equal(vectors[0], vectors[4]) and np.array_equal(vectors[0], vectors[5])
    seen.clear()
    assert np.array_equal(encoder(SENTENCES[::-1]), vectors[::-1])
    assert seen == []
    encoder.prepare(["a new one", "rel"])
    assert len(seen) == 1 and len(seen[0]) == 1


def test_forgetting_drops_vectors_but_not_tokens(folder):
    encoder = SentenceEncoder.open(folder, "cls")
    before = encoder(SENTENCES)
    with torch.no_grad():
        encoder.backbone.layers[0].output.weight.mul_(2)
    assert np.array_equal(encoder(SENTENCES), before)
    encoder.forget()
    encoder.tokenizer = None  # any use would now fail
    seen = counted(encoder)
    encoder(["rel"])
    assert list(map(len, seen)) == [1]
    assert not np.allclose(encoder(SENTENCES), before)


def test_dropout_is_off_and_the_mode_of_training_comes_back(folder):
    opened = SentenceEncoder.open(folder, "cls")
    live = SentenceEncoder(opened.backbone.train(), None, folder / "tokenizer.json", Cls(pooling="cls"))
    np.testing.assert_array_equal(live(SENTENCES), opened(SENTENCES))
    assert opened.backbone.training
    for parameter in opened.backbone.parameters():
        assert parameter.grad is None


def test_long_sentences_are_cut_at_the_length_asked_for_and_at_the_encoders(folder):
    long = " ".join(["rel"] * 50)
    for asked, cut in ((7, 7), (512, 24)):
        encoder = SentenceEncoder.open(folder, "mean", max_length=asked)
        seen = counted(encoder)
        encoder([long])
        assert seen == [[cut]]


@settings(max_examples=50)
@given(st.lists(st.integers(1, 24), min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 12))
def test_batches_hold_all_rows_and_stay_within_the_budget(lengths, budget, padded):
    rows = list(map(np.zeros, sorted(lengths)))
    batches = list(split_rows(rows, budget, padded))
    assert list(map(len, itertools.chain.from_iterable(batches))) == sorted(lengths)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(len(batch[-1]), padded) <= budget
    for batch, following in itertools.pairwise(batches):
        longest, longer = max(len(batch[-1]), padded), max(len(following[0]), padded)
        half_full = longer > longest and len(batch) * longest >= budget / 2
        assert half_full or (len(batch) + 1) * longer > budget


def without_head(folder):
    tiny(vocabulary=120).save(folder, None, folder / "tokenizer.json")


def with_a_gap(folder):
    """Change an id in the folder's tokenizer to an id that is too large.

    The number of tokens is still the number of the encoder's embeddings.
    """
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    pieces = tokenizer["model"]["vocab"]
    pieces[max(pieces, key=pieces.get)] = 4000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def without_unknown(folder):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    del tokenizer["model"]["vocab"]["[UNK]"]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def without_settings(folder):
    (folder / "config.json").unlink()


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        (without_head, {"pooling": "cls-head"}, "without a head"),
        (without_unknown, {}, "the tokenizer cannot encode text .*copy the tokenizer of the encoder"),
        (
            without_settings,
            {},
            "config.json: the file does not exist; specify a folder with a Hugging Face encoder",
        ),
        (without_head, {"pooling": "means"}, "known: .*mean"),
        (
            with_a_gap,
            {},
            "/.*: the tokenizer has token ids up to 4000, but the vocabulary of the encoder has 120",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(folder, tmp_path, change, options, problem):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    change(tmp_path)
    with pytest.raises(BadInput, match=problem):
        SentenceEncoder.open(tmp_path, **{"pooling": "cls", **options})
    with pytest.raises(BadInput, match="max_length is 2, but a row has 2 special tokens; use at least 3"):
        SentenceEncoder.open(folder, "mean", max_length=2)
    with pytest.raises(BadInput, match=r"config\.json: expected a folder, not a file"):
        SentenceEncoder.open(folder / "config.json")


def test_a_vocabulary_stands_in_for_a_missing_tokenizer_json(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    (tmp_path / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)))
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").unlink()
    expected = SentenceEncoder.open(folder, "cls")(SENTENCES)
    assert np.array_equal(SentenceEncoder.open(tmp_path, "cls")(SENTENCES), expected)


def test_the_digest_of_a_tokenizer_is_of_what_it_does(folder, tmp_path):
    """The digest of a tokenizer should depend on the tokenizer's behaviour.

    Results of encoders that only differ in lower-casing once had the same digest.
    """
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    digests = [tokenizer_digest(SentenceEncoder.open(each, "cls").tokenizer) for each in (folder, tmp_path)]
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"normalizer": None}))
    digests.append(tokenizer_digest(SentenceEncoder.open(tmp_path, "cls").tokenizer))
    assert digests[0] == digests[1] != digests[2]


def test_a_hub_id_is_read_from_the_cache_of_the_hub(folder, monkeypatch):
    asked = []
    hub = SimpleNamespace(cached_encoder=lambda *named: asked.append(named) or (folder, "commit"))
    monkeypatch.setitem(sys.modules, "replicse.data.hub", hub)
    SentenceEncoder.open("some/encoder", "cls")
    SentenceEncoder.open("some/encoder@a1b2c3", "cls")
    assert asked == [("some/encoder", None), ("some/encoder", "a1b2c3")]
    with pytest.raises(MissingData, match="neither a folder nor a hub id"):
        SentenceEncoder.open("no/such/folder", "cls")


def test_other_families_go_through_transformers(folder, tmp_path):
    masked_lm = other_family("MPNet", 120)
    model = type(masked_lm.base_model)(masked_lm.config).eval()
    model.save_pretrained(tmp_path)
    shutil.copy(folder / "tokenizer.json", tmp_path)
    encoders = {name: SentenceEncoder.open(tmp_path, name) for name in ("cls-head", "first-last-0")}
    for sentence in SENTENCES:
        tokens = torch.tensor([encoders["cls-head"].tokenizer.encode(sentence).ids])
        with torch.no_grad():
            found = model(tokens, output_hidden_states=True)
        mean = (found.hidden_states[0] + found.hidden_states[2]).mean(1) / 2
        for name, expected in {"cls-head": found.pooler_output, "first-last-0": mean}.items():
            vector = encoders[name]([sentence])
            np.testing.assert_allclose(vector, expected.numpy(), rtol=1e-4, atol=1e-5)
