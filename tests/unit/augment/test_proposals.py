"""Word pieces proposed by a masked LM.

They replace other pieces, or are inserted between pieces (DiffCSE).
"""

import micro
import numpy as np
import pytest
import torch
from papers.diffcse import insertion as insertion_module
from papers.diffcse.insertion import insertion
from tiny_encoders import tiny

from replicse.augment import augment
from replicse.augment.masked_lm import _choose_places
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput

MASK = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("encoder")
    tokenizer = micro.tokenizer_file(home)
    torch.manual_seed(0)
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    sizes = {"vocabulary": size, "hidden": 16, "layers": 1, "heads": 2, "intermediate": 32, "positions": 64}
    proposing = tiny(token_head=True, **sizes)
    with torch.no_grad():  # prefer forbidden pieces: special tokens and the original piece
        proposing.masked_lm.bias[: MASK + 1] += 50
        proposing.masked_lm.bias[load_tokenizer(tokenizer, 64).token_to_id("bal")] += 3
    proposing.save(home / "with", None, tokenizer)
    tiny(**sizes).save(home / "without", None, tokenizer)
    return home


def proposed(folder, masked, place, avoid=()):
    """Return the likeliest piece at the only mask of a row.

    Args:
        folder: Folder with the encoder in `with`.
        masked: Token ids of the row.
        place: Position of the mask.
        avoid: Ids of further pieces that must not be returned. Default: no ids.
    """
    backbone = open_backbone(folder / "with").eval()
    with torch.no_grad():
        logits = backbone.token_logits(backbone(TokenBatch.from_rows([np.array(masked)])).last)[place]
    logits[[*range(MASK + 1), *avoid]] = -torch.inf
    return int(logits.argmax())


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(one in rest for one in part)


def test_letters_are_only_inserted_and_the_same_seed_inserts_the_same(folder):
    lines = [*micro.sentences(30), "", "bal", " ".join(micro.sentences(40))]
    options = {"ratio": 0.3, "encoder": str(folder / "with")}
    found = insertion(lines, seed=42, **options)
    assert found == insertion(lines, seed=42, **options) != insertion(lines, seed=7, **options)
    assert found[-3] == "" and found[-1], "a line as long as the encoder reads still fits"
    for before, after in zip(lines[:-1], found, strict=False):
        assert is_subsequence(before.replace(" ", ""), after.replace(" ", ""))
        assert len(after) > len(before) or not before


def test_one_insertion_is_the_likeliest_piece_at_its_place(folder):
    line, seed = "bal kon mit", 3
    (found,) = insertion([line], seed=seed, ratio=0.1, encoder=str(folder / "with"))
    tokenizer = load_tokenizer(folder / "with" / "tokenizer.json", 64)
    ids = tokenizer.encode(line).ids
    (place,) = insertion_module._choose_places(len(ids) - 2, 0.1, (seed, 0)).tolist()
    row = [*ids[:place], MASK, *ids[place:]]
    row[place] = proposed(folder, row, place)
    assert found == tokenizer.decode(row, skip_special_tokens=True)


def test_one_piece_is_replaced_by_the_likeliest_other_one(folder):
    """A piece is replaced by the likeliest other piece.

    The lines have several lengths, because they are sorted by length for encoding.
    """
    lines = ["bal kon mit bal", "bal kon", *micro.sentences(10)]
    spec = {"name": "masked-lm", "ratio": 0.01, "encoder": str(folder / "with"), "seed": 3}
    found = augment(lines, spec)
    tokenizer = load_tokenizer(folder / "with" / "tokenizer.json", 64)
    for index, (line, after) in enumerate(zip(lines, found, strict=True)):
        row = np.array(tokenizer.encode(line).ids)
        (place,) = _choose_places(row, list(range(MASK + 1)), 0.01, (3, index)).tolist()
        masked = row.copy()
        masked[place] = MASK
        row[place] = proposed(folder, masked, place, avoid=[row[place]])
        assert after == tokenizer.decode(row.tolist(), skip_special_tokens=True)


@pytest.mark.parametrize(("length", "count"), [(0, 0), (1, 1), (3, 1), (10, 2), (20, 3)])
def test_the_number_is_a_share_of_the_length(length, count):
    row = np.array([2, *range(10, 10 + length), 3])
    for seed in range(30):
        places = insertion_module._choose_places(length, 0.15, (seed, 0))
        assert len(set(places)) == len(places) == count
        assert all(1 <= place <= length + count for place in places)
        chosen = _choose_places(row, [2, 3], 0.15, (seed, 0)).tolist()
        assert len(set(chosen)) == len(chosen) == count and all(1 <= place <= length for place in chosen)


def test_an_encoder_without_a_masked_lm_head_is_refused(folder):
    with pytest.raises(BadInput, match="does not have the masked-LM head"):
        augment(["bal"], {"name": "masked-lm", "ratio": 0.15, "encoder": str(folder / "without")})
