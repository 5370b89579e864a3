"""Tokenised stores: a column of texts as memory-mapped token ids.

A store is written once and shared by all runs that use it.
"""

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
    """Rows of token ids: row i is `tokens[offsets[i]:offsets[i + 1]]`.

    Special tokens are included. By default, the rows have no labels.

    Attributes:
        tokens: The ids of all rows, (tokens,), int32.
        offsets: The start of each row and the end of the last row, (rows + 1,), int64.
        labels: The labels of the rows, (rows,), float32, or None if the corpus has no labels.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each row, (rows,)."""
        return np.diff(self.offsets)

    def row(self, i: int) -> np.ndarray:
        """Return the token ids of a row without padding.

        Args:
            i: The number of the row, from 0.

        Returns:
            Int32 array of shape (length,).
        """
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
    """Tokenise texts into a folder that `open_store` loads.

    The same texts and tokenizer give the same bytes. Tokens are written in blocks of rows, because millions
    of rows would need gigabytes of memory. `store.json` is written last: a folder without it is not a store.

    Args:
        folder: The output folder.
        texts: A list of the texts of the rows.
        tokenizer_file: The tokenizer.json.
        max_length: The maximum number of ids per row; longer rows are truncated.
        spec: The description of the store, a dict that is saved with it.
        change: A function that returns the new ids of a row from the number, the ids, and a mask that is 1
            for special tokens. Default: no change.
        labels: A list of the labels of the rows. Default: no labels.

    Raises:
        BadInput: If there are no texts, or a text has no tokens.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(tokenizer_file, max_length)
    if not texts:
        raise BadInput(f"{folder}: the corpus is empty; check the files and filters of {dict(spec)}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    offsets = _write_tokens(folder / TOKENS, _tokenise_blocks(tokenizer, texts, change))
    arrays = {OFFSETS: offsets}
    if labels is not None:
        arrays[LABELS] = np.array(labels, dtype=np.float32)
    for name, values in arrays.items():
        with _replace_file(folder / name) as stream:
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
    """Open the memory-mapped column of a store.

    Args:
        folder: The folder of the store.

    Raises:
        MissingData: If the folder is not a store.
        BadInput: If an array has changed after it was written.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise MissingData(f"{folder / RECORD} does not exist; run the prepare stage to write the store")
    digests = read_json(folder / RECORD)["sha256"]
    for name, digest in digests.items():
        if not (folder / name).is_file() or sha256_of(folder / name) != digest:
            raise BadInput(
                f"{folder / name} is not the array in {RECORD}; delete the folder to create the store again"
            )
    arrays = {name: np.load(folder / name, mmap_mode="r") for name in digests}
    return TokenColumn(arrays[TOKENS], arrays[OFFSETS], arrays.get(LABELS))


@contextmanager
def _replace_file(path: Path) -> Iterator[BinaryIO]:
    """Write a temporary file in the block, which then replaces `path`."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        try:
            yield stream
        except OSError as error:
            raise not_written(path, error) from None


def _write_tokens(path: Path, blocks: Iterable[tuple[np.ndarray, list[int]]]) -> np.ndarray:
    """Write the tokens of all blocks in the format of np.save.

    The header contains the number of tokens, so it is written again at the end. The length of the header does not
    depend on the number.

    Returns:
        The offsets of the rows, int64 of shape (rows + 1,).
    """
    lengths, count = [np.zeros(1, dtype=np.int64)], 0
    with _replace_file(path) as stream:
        _write_header(stream, 0)
        start = stream.tell()
        for tokens, of_rows in blocks:
            stream.write(tokens.data)
            lengths.append(np.array(of_rows, dtype=np.int64))
            count += len(tokens)
        stream.seek(0)
        _write_header(stream, count)
        assert stream.tell() == start, "numpy pads headers to the same length"
    return np.cumsum(np.concatenate(lengths))


def _write_header(stream: BinaryIO, count: int) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(np.int32)),
        "fortran_order": False,
        "shape": (count,),
    }
    np.lib.format.write_array_header_1_0(stream, header)


def _tokenise_blocks(
    tokenizer: Tokenizer, texts: Sequence[str], change: TokenChange | None
) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield the concatenated ids (int32) and the row lengths of each block."""
    for start in range(0, len(texts), BATCH):
        tokens, lengths = array("i"), []
        encodings = tokenizer.encode_batch_fast(list(texts[start : start + BATCH]))
        for row, encoding in enumerate(encodings, start):
            ids: Sequence[int] = encoding.ids
            if change:
                ids = change(row, ids, encoding.special_tokens_mask)
            tokens.extend(ids)
            if not ids:
                raise BadInput(
                    f"row {row + 1}, {excerpt(texts[row])}, does not contain tokens; remove it from the corpus"
                )
            lengths.append(len(ids))
        yield np.frombuffer(tokens, dtype=np.int32), lengths
