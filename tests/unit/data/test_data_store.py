import json

import numpy as np
import pytest

from replicse.data import store
from replicse.data.corpora import read_corpus
from replicse.data.store import open_store, write_store
from replicse.data.tokenizer import load_tokenizer, tokenizer_from_vocabulary, train_tokenizer
from replicse.errors import BadInput, MissingData
from replicse.files import read_json, sha256_of, write_json

TEXTS = ["the quick fox", "", "the lazy dog sleeps and sleeps and sleeps", " ", "fox"]
SPEC = {"format": "lines", "file": "x", "column": "text"}


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    train_tokenizer("wordpiece", TEXTS * 3, 60, lowercase=True).save(str(path))
    return path


def test_rows_are_the_encodings(tmp_path, tokenizer_file):
    write_store(tmp_path / "store", TEXTS, tokenizer_file, 8, SPEC)
    column = open_store(tmp_path / "store")
    tokenizer = load_tokenizer(tokenizer_file, 8)
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    assert len(column) == 5
    assert [column.row(i).tolist() for i in range(5)] == expected
    assert np.diff(column.offsets).tolist() == [len(ids) for ids in expected]
    assert np.diff(column.offsets).max() == 8
    assert column.row(1).tolist() == [2, 3]
    assert (column.tokens.dtype, column.offsets.dtype) == (np.int32, np.int64)
    assert isinstance(column.tokens, np.memmap)


def test_a_change_sees_the_row_its_truncated_ids_and_which_are_special(tmp_path, tokenizer_file):
    write_store(tmp_path / "plain", TEXTS, tokenizer_file, 8, SPEC)
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC, lambda row, ids, special: [row, *special, *ids])
    plain, column = open_store(tmp_path / "plain"), open_store(tmp_path)
    for row in range(5):
        ids = plain.row(row).tolist()
        special = [1, *[0] * (len(ids) - 2), 1]
        assert column.row(row).tolist() == [row, *special, *ids]


@pytest.mark.parametrize("i", [-1, 5])
def test_rows_outside_are_an_index_error(tmp_path, tokenizer_file, i):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    with pytest.raises(IndexError, match="5 rows"):
        open_store(tmp_path).row(i)


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


def test_batches_and_repetition_change_no_byte(tmp_path, tokenizer_file, monkeypatch):
    texts = [f"{a} {b}" for a in TEXTS for b in TEXTS]
    write_store(tmp_path / "a", texts, tokenizer_file, 16, SPEC)
    monkeypatch.setattr(store, "BATCH", 3)
    write_store(tmp_path / "b", texts, tokenizer_file, 16, SPEC)
    for name in ("tokens.npy", "offsets.npy", "store.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_arrays_are_ordinary_npy_files(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    tokens, offsets = np.load(tmp_path / "tokens.npy"), np.load(tmp_path / "offsets.npy")
    assert tokens.shape == (offsets[-1],)
    assert (tokens.dtype, offsets.dtype) == (np.int32, np.int64)


def test_a_store_can_be_written_again(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    write_store(tmp_path, TEXTS[:2], tokenizer_file, 8, SPEC)
    assert len(open_store(tmp_path)) == 2


def test_a_failed_write_leaves_no_store(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    with pytest.raises(TypeError):
        write_store(tmp_path, [*TEXTS, None], tokenizer_file, 8, SPEC)
    with pytest.raises(MissingData, match=r"store\.json: no such file; run the prepare stage"):
        open_store(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".npy", ".npy"]


def test_no_texts_are_bad_input(tmp_path, tokenizer_file):
    with pytest.raises(BadInput, match="the corpus has no rows"):
        write_store(tmp_path, [], tokenizer_file, 8, SPEC)


def test_other_rows_than_the_spec_says_of_its_corpus_are_refused(tmp_path, tokenizer_file):
    spec = {"corpus": {"name": "wiki", "rows": len(TEXTS)}}
    write_store(tmp_path, TEXTS, tokenizer_file, 8, spec)
    told = rf"{len(TEXTS) - 1} rows, but its spec expects {len(TEXTS)} of corpus wiki; delete the folder"
    with pytest.raises(BadInput, match=told):
        write_store(tmp_path, TEXTS[1:], tokenizer_file, 8, spec)
    record = read_json(tmp_path / "store.json")
    record["spec"]["corpus"]["rows"] += 1
    write_json(tmp_path / "store.json", record)
    with pytest.raises(BadInput, match=rf"{len(TEXTS)} rows, but its spec expects {len(TEXTS) + 1} of"):
        open_store(tmp_path)
    record["spec"]["corpus"]["about"] = True
    write_json(tmp_path / "store.json", record)
    assert len(open_store(tmp_path)) == len(TEXTS)


def test_a_changed_token_is_found_by_verification_only(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    tokens = np.load(tmp_path / "tokens.npy")
    tokens[2] += 1
    np.save(tmp_path / "tokens.npy", tokens)
    with pytest.raises(BadInput, match=r"broken store \(tokens\.npy has another sha256"):
        open_store(tmp_path)


def test_a_cut_array_is_bad_input(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    content = (tmp_path / "tokens.npy").read_bytes()
    (tmp_path / "tokens.npy").write_bytes(content[:-4])
    with pytest.raises(BadInput, match="broken store"):
        open_store(tmp_path)
    (tmp_path / "tokens.npy").write_bytes(b"")
    with pytest.raises(BadInput, match="broken store"):
        open_store(tmp_path)
    np.save(tmp_path / "tokens.npy", np.zeros(3, dtype=np.int32))
    with pytest.raises(BadInput, match=r"tokens\.npy has another sha256"):
        open_store(tmp_path)


def test_a_missing_array_is_missing_data(tmp_path, tokenizer_file):
    write_store(tmp_path, TEXTS, tokenizer_file, 8, SPEC)
    (tmp_path / "offsets.npy").unlink()
    with pytest.raises(MissingData, match=r"offsets\.npy: no such file"):
        open_store(tmp_path)


def test_real_text_round_trips(real_data, tmp_path):
    vocabulary = tokenizer_from_vocabulary(real_data / "models" / "bert-base-uncased-vocab" / "vocab.txt")
    vocabulary.save(str(tmp_path / "tokenizer.json"))
    spec = {"format": "lines", "file": "wiki/enwiki_sentences.txt.gz", "min_words": 8, "limit": 10000}
    texts = read_corpus(real_data, spec)["text"]
    write_store(tmp_path / "store", texts, tmp_path / "tokenizer.json", 32, spec)
    column = open_store(tmp_path / "store")
    assert len(column) == 10000
    assert np.diff(column.offsets).max() == 32 and np.diff(column.offsets).min() >= 10
    starts, ends = column.tokens[column.offsets[:-1]], column.tokens[column.offsets[1:] - 1]
    assert set(starts.tolist()) == {101} and set(ends.tolist()) == {102}
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json", 32)
    for i in range(0, 10000, 997):
        assert column.row(i).tolist() == tokenizer.encode(texts[i]).ids
