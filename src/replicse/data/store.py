"""Tokenised store: one column of text, tokenised once and memory-mapped by every run that reads it."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    The same texts and tokenizer give the same bytes. `store.json` is written last: a folder without it is
    not a store. Raises BadInput where there are no texts.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(tokenizer_file, max_length)
    if not texts:
        raise BadInput(f"{folder}: the corpus has no rows; check the files and filters of {dict(spec)}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    tokens, lengths = _tokenised(tokenizer, texts, change)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    arrays = {TOKENS: tokens, OFFSETS: offsets}
    if labels is not None:
        arrays[LABELS] = np.array(labels, dtype=np.float32)
    for name, values in arrays.items():
        with atomic_write(folder / name) as temporary, temporary.open("wb") as stream:
            try:
                np.save(stream, values)
            except OSError as error:
                raise not_written(folder / name, error) from None
    record = {
        "rows": len(texts),
        "tokens": len(tokens),
        "max_length": max_length,
        "sha256": {name: sha256_of(folder / name) for name in arrays},
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


def _tokenised(
    tokenizer: Tokenizer, texts: Sequence[str], change: TokenChange | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of all texts, int32, and the length of each row, int64."""
    tokens, lengths = array("i"), np.empty(len(texts), dtype=np.int64)
    for start in range(0, len(texts), BATCH):
        for row, encoding in enumerate(
            tokenizer.encode_batch_fast(list(texts[start : start + BATCH])), start
        ):
            ids = change(row, encoding.ids, encoding.special_tokens_mask) if change else encoding.ids
            tokens.extend(ids)
            if not ids:
                raise BadInput(
                    f"row {row + 1}, {excerpt(texts[row])}, has no token for this tokenizer; leave it out"
                )
            lengths[row] = len(ids)
    return np.frombuffer(tokens, dtype=np.int32), lengths
