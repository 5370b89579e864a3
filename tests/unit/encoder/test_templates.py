"""Templates and poolings, compared with `transformers` on padded rows.

The reference model gets all ids, masks and positions explicitly.
"""

import itertools

import micro
import numpy as np
import pytest
import torch
from tiny_encoders import FAMILIES, huggingface, other_family, states_by_hand

from replicse.data.tokenizer import load_tokenizer, special_ids, train_tokenizer
from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.registry.poolings import pooling_of

PARTS = "mi ko : ", " tu {mask} ."
TEMPLATE = "{text}".join(PARTS)
BEFORE = "re {mask} : {text} tu ."  # the mask is first
MASK = {"pooling": "mask", "template": TEMPLATE}
SENTENCES = [*micro.sentences(5, 9), "bal", " ".join(["kon"] * 60), ""]


def tokenizer_in(folder):
    """Train a tokenizer on some words and punctuation; return the size."""
    lines = [*micro.sentences(200), ": . ? ' \" !"]
    tokenizer = train_tokenizer("wordpiece", lines, 130, True)
    micro.save_tokenizer(tokenizer, folder)
    return tokenizer.get_vocab_size()


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(
    params=[
        *itertools.product(FAMILIES, ["packed"]),
        *itertools.product(["roberta", "Electra", "ModernBert"], ["transformers"]),
    ],
    ids="-".join,
)
def encoder(request, tmp_path):
    """Write a small encoder.

    Returns:
        The folder, the engine, and the same model in `transformers`.
    """
    family, engine = request.param
    size = tokenizer_in(tmp_path)
    model = huggingface(family, vocabulary=size) if family in FAMILIES else other_family(family, size)
    model.save_pretrained(tmp_path)
    return tmp_path, engine, model.base_model.eval()


def by_hand(folder, template, longest):
    """Return the token ids of sentences in a template.

    Args:
        folder: Folder of the tokenizer.
        template: Template with {text} and {mask}.
        longest: Maximum number of tokens of a row; longer sentences are truncated.

    Returns:
        The rows, the number of tokens of each sentence, the ids before and after the sentence, and the mask's
            id.
    """
    tokenizer = load_tokenizer(folder / "tokenizer.json", None)
    special = special_ids(tokenizer)

    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    before, after = map(encode, template.replace("{mask}", "[MASK]").split("{text}"))
    before, after = [special.cls, *before], [*after, special.sep]
    each = list(map(encode, SENTENCES))
    each = [ids[: longest - len(before) - len(after)] for ids in each]
    return [[*before, *ids, *after] for ids in each], list(map(len, each)), before, after, special.mask


@pytest.mark.parametrize(("template", "asked"), [(TEMPLATE, 512), (BEFORE, 14)])
def test_the_mask_of_a_template_is_pooled_and_denoised_at_its_positions(encoder, template, asked):
    """A template's mask should be pooled and denoised at the right positions.

    If a row is too long, the sentence should be truncated, but not the template.
    """
    folder, engine, model = encoder
    longest = min(asked, open_backbone(folder, engine).max_length)
    rows, lengths, before, after, mask = by_hand(folder, template, longest)
    states = states_by_hand(model, rows)
    plain = np.stack([state[row.index(mask)].numpy() for state, row in zip(states, rows, strict=True)])
    pooling, options = (
        {**MASK, "template": template},
        {"max_length": asked, "device": "cpu", "engine": engine},
    )
    found = SentenceEncoder.open(folder, pooling, **options)(SENTENCES)
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=2e-5)

    own = [*before, *after]
    alone = np.arange(len(own))
    places = [alone + length * (alone >= len(before)) for length in lengths]
    noise = states_by_hand(model, [own] * len(rows), places)[:, own.index(mask)].numpy()
    assert np.abs(noise - noise[0]).max() > 1e-2, "the positions matter"
    found = SentenceEncoder.open(folder, {**pooling, "denoise": True}, **options)(SENTENCES)
    np.testing.assert_allclose(found, plain - noise, rtol=1e-4, atol=2e-5)
    with pytest.raises(BadInput, match="tokens, so sentences do not fit in"):
        SentenceEncoder.open(folder, pooling, **{**options, "max_length": len(own)})


@pytest.mark.parametrize("engine", ["packed", "transformers"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("denoise", ["from-zero", "unshifted"])
def test_the_released_code_counts_the_template_alone_from_zero(
    tmp_path, monkeypatch, family, engine, denoise
):
    """With `denoise`, positions of the template alone should begin with 0.

    The released code does so (get_delta of PromptBERT), even though sentences of RoBERTa begin at position 2.
    Compared in float64, including gradients.
    """
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    model = huggingface(family, vocabulary=tokenizer_in(tmp_path))
    model.save_pretrained(tmp_path)
    model, backbone = model.base_model.double().eval(), open_backbone(tmp_path, engine).double().eval()
    rows, lengths, before, after, mask = by_hand(tmp_path, TEMPLATE, backbone.max_length)
    own, found, expected = torch.tensor([[*before, *after]]), {}, []
    for row, length in zip(rows, lengths, strict=True):
        places = torch.arange(len(before) + len(after))[None]
        places[:, len(before) :] += length * (denoise == "from-zero")
        state = model(input_ids=torch.tensor([row])).last_hidden_state[0, row.index(mask)]
        delta = model(input_ids=own, position_ids=places).last_hidden_state[own == mask][0]
        expected.append(state - delta)
    # As in a store: without the template, and not truncated.
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json", None)
    tokens = TokenBatch.from_rows([np.array(tokenizer.encode(sentence).ids) for sentence in SENTENCES])
    for name in (denoise, True):
        pooling = SentencePooling(pooling_of({**MASK, "denoise": name}), backbone)
        found[name] = pooling(backbone, tokens)
    torch.testing.assert_close(found[denoise], torch.stack(expected), rtol=0, atol=1e-12)
    same = denoise == "from-zero" and family == "bert"
    assert (float((found[True] - found[denoise]).detach().abs().max()) < 1e-12) == same

    found[denoise].pow(2).sum().backward()
    torch.stack(expected).pow(2).sum().backward()
    theirs = model.embeddings.position_embeddings.weight
    ours = next(one for one in backbone.embedding_parameters() if one.shape == theirs.shape)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-9, atol=1e-11)


def test_a_full_stop_ends_what_has_no_end(encoder):
    folder, engine, _ = encoder
    plain = SentenceEncoder.open(folder, {**MASK, "full_stop": False}, device="cpu", engine=engine)
    stopped = SentenceEncoder.open(folder, {**MASK, "full_stop": True}, device="cpu", engine=engine)
    texts = ["bal kon", "bal kon.", "bal kon?", "bal 'kon'", 'bal "', "bal!", ""]
    ended = ["bal kon.", "bal kon.", "bal kon?", "bal 'kon'", 'bal "', "bal!.", ""]
    np.testing.assert_array_equal(stopped(texts), plain(ended))
    assert not np.allclose(plain(texts[:1]), plain(ended[:1]), atol=1e-3)


@pytest.mark.parametrize("family", ["MPNet", "DebertaV2"])
def test_a_family_that_counts_positions_by_itself_cannot_be_denoised(tmp_path, family):
    other_family(family, tokenizer_in(tmp_path)).save_pretrained(tmp_path)
    assert SentenceEncoder.open(tmp_path, MASK, device="cpu")(SENTENCES).shape == (len(SENTENCES), 16)
    denoised = SentenceEncoder.open(tmp_path, {**MASK, "denoise": True}, device="cpu")
    with pytest.raises(BadInput, match="does not accept position ids"):
        denoised(SENTENCES)
