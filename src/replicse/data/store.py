"""Tokenised store: one column of text, tokenised once and memory-mapped by every run that reads it."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from tokenizers import Tokenizer

from replicse.checked import excerpt
from replicse.data.tokenizer import load_tokenizer
from replicse.errors import BadInput, MissingData
from replicse.files import atomic_write, not_written, read_json, sha256_of, write_json
from replicse.registry.artefacts import OFFSETS, TOKENS
from replicse.registry.artefacts import STORE as RECORD

TokenChange = Callable[[int, Sequence[int], Sequence[int]], Sequence[int]]
LABELS = "labels.npy"
BATCH = 4096


@dataclass(frozen=True, eq=False)
class TokenColumn:
    """Rows of token ids: row i is `tokens[offsets[i]:offsets[i + 1]]`, special tokens included.

    `tokens` is int32 of shape (tokens,), `offsets` int64 of shape (rows + 1,), `labels` float32 of shape (rows,)
    where the corpus is labelled.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each row."""
        return np.diff(self.offsets)

    def row(self, i: int) -> np.ndarray:
        """Return the token ids of row i, int32, without padding."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]


def write_store(
    folder: Path,
    texts: Sequence[str],
    tokenizer_file: Path,
    max_length: int,
    spec: Mapping[str, Any],
    change: TokenChange | None = None,
    labels: Sequence[float] | None = None,
) -> None:
    """Tokenise texts, truncated at `max_length` ids, into a folder that `open_store` reads, with the rows' labels.

    `change` makes the ids of a row out of its number, its ids, and 1 at the special ones among them.
    The same texts and tokenizer give the same bytes. Tokens are written a block of rows at a time: those of millions of
    rows need gigabytes. `store.json` is written last: a folder without it is not a store. Raises BadInput where there
    are no texts.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(tokenizer_file, max_length)
    if not texts:
        raise BadInput(f"{folder}: the corpus has no rows; check the files and filters of {dict(spec)}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    offsets = _write_tokens(folder / TOKENS, _tokenised(tokenizer, texts, change))
    arrays = {OFFSETS: offsets}
    if labels is not None:
        arrays[LABELS] = np.array(labels, dtype=np.float32)
    for name, values in arrays.items():
        with _written(folder / name) as stream:
            np.save(stream, values)
    record = {
        "rows": len(texts),
        "tokens": int(offsets[-1]),
        "max_length": max_length,
        "sha256": {name: sha256_of(folder / name) for name in (TOKENS, *arrays)},
        "tokenizer": sha256_of(tokenizer_file),
        "spec": dict(spec),
    }
    write_json(folder / RECORD, record)


def open_store(folder: Path) -> TokenColumn:
    """Return the memory-mapped column of a folder whose arrays are those that were written.

    Raises MissingData where the folder holds no store and BadInput where it is broken.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise MissingData(f"{folder / RECORD}: no such file; run the prepare stage to write the store")
    digests = read_json(folder / RECORD)["sha256"]
    for name, digest in digests.items():
        if not (folder / name).is_file() or sha256_of(folder / name) != digest:
            raise BadInput(
                f"{folder / name}: not the array that {RECORD} recorded; delete the folder to have the store made again"
            )
    arrays = {name: np.load(folder / name, mmap_mode="r") for name in digests}
    return TokenColumn(arrays[TOKENS], arrays[OFFSETS], arrays.get(LABELS))


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces the one of its name once the block has ended; a full disk is one sentence."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        try:
            yield stream
        except OSError as error:
            raise not_written(path, error) from None


def _write_tokens(path: Path, blocks: Iterable[tuple[np.ndarray, list[int]]]) -> np.ndarray:
    """Write the tokens of all blocks as np.save does, and return the offsets of the rows, int64.

    The header, which says how many tokens there are, is written again at the end: its length does not depend on that.
    """
    lengths, count = [np.zeros(1, dtype=np.int64)], 0
    with _written(path) as stream:
        _write_header(stream, 0)
        start = stream.tell()
        for tokens, of_rows in blocks:
            stream.write(tokens.data)
            lengths.append(np.array(of_rows, dtype=np.int64))
            count += len(tokens)
        stream.seek(0)
        _write_header(stream, count)
        assert stream.tell() == start, "numpy pads headers to one length"
    return np.cumsum(np.concatenate(lengths))


def _write_header(stream: BinaryIO, count: int) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(np.int32)),
        "fortran_order": False,
        "shape": (count,),
    }
    np.lib.format.write_array_header_1_0(stream, header)


def _tokenised(
    tokenizer: Tokenizer, texts: Sequence[str], change: TokenChange | None
) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield the ids of a block of texts, int32, one row after the other, and the length of each row."""
    for start in range(0, len(texts), BATCH):
        tokens, lengths = array("i"), []
        for row, encoding in enumerate(
            tokenizer.encode_batch_fast(list(texts[start : start + BATCH])), start
        ):
            ids = change(row, encoding.ids, encoding.special_tokens_mask) if change else encoding.ids
            tokens.extend(ids)
            if not ids:
                raise BadInput(
                    f"row {row + 1}, {excerpt(texts[row])}, has no token for this tokenizer; leave it out"
                )
            lengths.append(len(ids))
        yield np.frombuffer(tokens, dtype=np.int32), lengths
