"""Replacement of word pieces by a masked-LM's proposals."""

import micro
import pytest
import torch
from tiny_encoders import mlp, tiny

from replicse.augment import augment
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
    tiny(**sizes).save(home / "without", mlp(16), tokenizer)
    return home


def pieces(folder, lines):
    tokenizer = load_tokenizer(folder / "with" / "tokenizer.json", 64)
    return [encoding.ids for encoding in tokenizer.encode_batch(lines)]


def test_the_share_of_pieces_is_replaced_and_the_rest_stays(folder):
    lines = micro.sentences(40)
    changed = augment(lines, {"name": "masked-lm", "ratio": 0.15, "encoder": str(folder / "with")})
    assert changed == augment(lines, {"name": "masked-lm", "ratio": 0.15, "encoder": str(folder / "with")})
    assert len(changed) == len(lines)
    assert all(before != after for before, after in zip(lines, changed, strict=True))


def test_one_piece_is_replaced_by_the_likeliest_other_one(folder):
    line = "bal kon"
    spec = {"name": "masked-lm", "ratio": 0.5, "encoder": str(folder / "with"), "seed": 3}
    (changed,) = augment([line], spec)
    (before,), (after,) = pieces(folder, [line]), pieces(folder, [changed])
    if len(before) != len(after):
        pytest.skip("the proposal joined its neighbour to other word pieces")
    (place,) = [i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    backbone = open_backbone(folder / "with").eval()
    masked = list(before)
    masked[place] = 4
    import numpy as np

    batch = TokenBatch.from_rows([np.array(masked)])
    with torch.no_grad():
        states = backbone(batch).last[place : place + 1]
        logits = backbone.token_logits(states)[0]
    ranked = [
        piece for piece in logits.argsort(descending=True).tolist() if piece > 4 and piece != before[place]
    ]
    assert after[place] == ranked[0]


def test_an_encoder_without_a_masked_lm_head_is_refused(folder):
    with pytest.raises(BadInput, match="no masked-LM head"):
        augment(["bal"], {"name": "masked-lm", "ratio": 0.15, "encoder": str(folder / "without")})
    with pytest.raises(BadInput, match="ratio is 2"):
        augment(["bal"], {"name": "masked-lm", "ratio": 2, "encoder": str(folder / "with")})
