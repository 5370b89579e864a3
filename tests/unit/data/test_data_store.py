import json
import weakref
from pathlib import Path

import numpy as np
import pytest

from replicse.data import store
from replicse.data.store import open_store, write_store
from replicse.data.tokenizer import load_tokenizer, train_tokenizer
from replicse.errors import BadInput
from replicse.files import sha256_of

TEXTS = ["the quick fox", "", "the lazy dog sleeps and sleeps and sleeps", " ", "fox"]
SPEC = {"format": "lines", "file": "x", "column": "text"}


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    train_tokenizer("wordpiece", TEXTS * 3, 60, lowercase=True).save(str(path))
    return path


@pytest.mark.parametrize("batch", [3, store.BATCH])
def test_rows_are_the_encodings(tmp_path, tokenizer_file, monkeypatch, batch):
    monkeypatch.setattr(store, "BATCH", batch)
    write_store(tmp_path, TEXTS[:2], tokenizer_file, 8, SPEC)
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC, labels=[0, 1, 2, 3, 0.5])
    column = open_store(tmp_path)
    tokenizer = load_tokenizer(tokenizer_file, 8)
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    assert [column.row(i).tolist() for i in range(len(column))] == expected
    assert np.diff(column.offsets).max() == 8 and column.row(1).tolist() == [2, 3]
    assert (column.tokens.dtype, column.offsets.dtype) == (np.int32, np.int64)
    assert isinstance(column.tokens, np.memmap) and column.labels.tolist() == [0, 1, 2, 3, 0.5]


def test_a_change_sees_the_row_its_truncated_ids_and_which_are_special(tmp_path, tokenizer_file):
    write_store(tmp_path / "plain", TEXTS, tokenizer_file, 8, SPEC)
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC, lambda row, ids, special: [row, *special, *ids])
    plain, column = open_store(tmp_path / "plain"), open_store(tmp_path)
    for row in range(5):
        ids = plain.row(row).tolist()
        special = [1, *[0] * (len(ids) - 2), 1]
        assert column.row(row).tolist() == [row, *special, *ids]


def test_the_record_says_what_is_stored(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    column = open_store(tmp_path)
    assert json.loads((tmp_path / "store.json").read_text()) == {
        "rows": 5,
        "tokens": int(np.diff(column.offsets).sum()),
        "max_length": 8,
        "sha256": {name: sha256_of(tmp_path / name) for name in ("tokens.npy", "offsets.npy")},
        "tokenizer": sha256_of(tokenizer_file),
        "spec": SPEC,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["offsets.npy", "store.json", "tokens.npy"]


def test_no_texts_are_refused(tmp_path, tokenizer_file):
    with pytest.raises(BadInput, match="the corpus is empty"):
        write_store(tmp_path, [], tokenizer_file, 8, SPEC)


@pytest.mark.parametrize(
    "change", [lambda tokens: tokens.write_bytes(tokens.read_bytes()[:-4] + b"\x09\0\0\0"), Path.unlink]
)
def test_a_changed_or_missing_array_is_found(tmp_path, tokenizer_file, change):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    change(tmp_path / "tokens.npy")
    with pytest.raises(BadInput, match=r"tokens\.npy is not the array in store\.json"):
        open_store(tmp_path)


def test_tokens_are_written_block_by_block_with_the_bytes_of_np_save(tmp_path):
    """Tokens are written in blocks, with the same bytes as np.save.

    The tokens of 5.4 million rows in memory at once needed more than the 4 GB of a job.
    """
    sizes = np.random.default_rng(0).integers(1, 9, size=(6, 4)).tolist()
    alive: list[weakref.ref] = []

    def blocks():
        for lengths in sizes:
            tokens = np.arange(sum(lengths), dtype=np.int32)
            alive.append(weakref.ref(tokens))
            yield tokens, lengths
            del tokens
            assert sum(one() is not None for one in alive) <= 1

    offsets = store._write_tokens(tmp_path / "tokens.npy", blocks())
    every = [np.arange(sum(lengths), dtype=np.int32) for lengths in sizes]
    np.save(tmp_path / "whole.npy", np.concatenate(every))
    assert (tmp_path / "tokens.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert offsets.tolist() == [0, *np.cumsum(sizes)]
