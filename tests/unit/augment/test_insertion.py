"""Insertion of a masked-LM's proposals into lines."""

import micro
import numpy as np
import pytest
import torch
from tiny_encoders import tiny

from replicse.augment import augment
from replicse.augment.masked_lm import _inserted
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("encoder")
    tokenizer = micro.tokenizer_file(home)
    torch.manual_seed(0)
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    sizes = {"vocabulary": size, "hidden": 16, "layers": 1, "heads": 2, "intermediate": 32, "positions": 64}
    tiny(token_head=True, **sizes).save(home / "with", None, tokenizer)
    tiny(**sizes).save(home / "without", None, tokenizer)
    return home


def changed(folder, lines, ratio=0.3, **more):
    spec = {"name": "insertion", "ratio": ratio, "encoder": str(folder / "with"), **more}
    return augment(lines, spec)


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in part)


def test_letters_are_only_added_and_the_same_seed_adds_the_same(folder):
    lines = [*micro.sentences(30), "", "bal"]
    found = changed(folder, lines)
    assert found == changed(folder, lines) != changed(folder, lines, seed=7)
    assert found[-2] == ""
    for before, after in zip(lines, found, strict=True):
        assert is_subsequence(before.replace(" ", ""), after.replace(" ", ""))
        assert len(after) > len(before) or not before


def test_one_insertion_is_the_likeliest_piece_at_its_place(folder):
    line, seed = "bal kon mit", 3
    (found,) = changed(folder, [line], ratio=0.1, seed=seed)
    backbone = open_backbone(folder / "with").eval()
    tokenizer = load_tokenizer(folder / "with" / "tokenizer.json", 64)
    ids = tokenizer.encode(line).ids
    (place,) = _inserted(len(ids) - 2, 0.1, (seed, 0)).tolist()
    masked = [*ids[:place], 4, *ids[place:]]
    with torch.no_grad():
        states = backbone(TokenBatch.from_rows([np.array(masked)])).last
        logits = backbone.token_logits(states)[place]
    logits[:5] = -torch.inf
    masked[place] = int(logits.argmax())
    assert found == tokenizer.decode(masked, skip_special_tokens=True)


@pytest.mark.parametrize(("length", "count"), [(0, 0), (1, 1), (3, 1), (10, 2), (20, 3)])
def test_the_number_is_a_share_of_the_length(length, count):
    for seed in range(30):
        places = _inserted(length, 0.15, (seed, 0))
        assert len(set(places)) == len(places) == count
        assert all(1 <= place <= length + count for place in places)


def test_a_long_line_still_fits_the_encoder(folder):
    (found,) = changed(folder, [" ".join(micro.sentences(40))], ratio=0.5)
    assert found


def test_mistakes_are_named(folder):
    with pytest.raises(BadInput, match="no masked-LM head"):
        augment(["bal"], {"name": "insertion", "ratio": 0.15, "encoder": str(folder / "without")})
    with pytest.raises(BadInput, match="ratio is 0"):
        changed(folder, ["bal"], ratio=0)
