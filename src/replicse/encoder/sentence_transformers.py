"""Encoders that the library sentence-transformers loads, in fp32."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from replicse.checked import excerpt
from replicse.encoder.folders import MODULES
from replicse.encoder.huggingface import UNLIMITED, longest_row
from replicse.encoder.library import list_code, name_broken_json, read_network
from replicse.encoder.modules import check_modules, is_model2vec, list_modules
from replicse.encoder.proof import equal
from replicse.encoder.tokenizer import PROBE, check_length, read_tokenizer
from replicse.encoder.vectors import CallableVectors
from replicse.errors import BadInput, refusing
from replicse.files import read_json

log = logging.getLogger(__name__)
SETTINGS, KIND = "config_sentence_transformers.json", "SentenceTransformer"
# Pooling modes of the library -> our poolings.
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last-token"}
CORRECT = "correct the folder, or install the version of sentence-transformers that saved it"
_BATCH_SIZE = 32  # the library's default
_ENCODED_AT_ONCE = 100_000


@dataclass(frozen=True)
class Declared:
    """The pooling that a folder declares.

    Attributes:
        pooling: The name of our pooling, such as "mean".
        normalised: Whether vectors are scaled to length 1.
    """

    pooling: str
    normalised: bool


class LibraryEncoder(CallableVectors):
    """An encoder of sentences by sentence-transformers.

    It is used if no engine of this package computes the same vectors. Each distinct sentence is encoded once.

    Args:
        model: A `SentenceTransformer`.
        name: The name in error messages.

    Attributes:
        texts: The list of probe sentences that the model can encode.
        expected: The vectors of the probe sentences, encoded one by one, (n, width).
        alone: Whether padding changes vectors, so that the batch size is 1.
    """

    pooling = None
    engine = "sentence-transformers"
    unread: tuple[str, ...] = ()
    code: tuple[str, ...] = ()

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(self._encode_batch)
        self.model, self.name, self.device = model, name, model.device
        length = model.max_seq_length
        self.max_length = None if length is None or length >= UNLIMITED else int(length)
        self.dtype = next((each.dtype for each in model.parameters()), torch.float32)
        self.batch_size = 1
        self.texts, self.expected = self._encode_probe()
        self.alone = self._depends_on_padding()
        self.batch_size = 1 if self.alone else _BATCH_SIZE

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences, or one string, as float32 vectors.

        Args:
            sentences: A list of n sentences, or one string.

        Returns:
            The vectors, (n, width), float32, in the order of the sentences; (width,) for a string.
        """
        return self([sentences])[0] if isinstance(sentences, str) else self(sentences)

    def _encode_batch(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the library's float32 vectors, (n, width)."""
        kinds = [_kind(module) for module in self.model]
        problem = f"{self.name}: sentence-transformers cannot encode with the modules {', '.join(kinds)}"
        no_pooling = kinds[0] == "Transformer" and "Pooling" not in kinds
        blocks = []
        with refusing(problem, "a Pooling module is missing; use --pooling" if no_pooling else CORRECT):
            # The library keeps a tensor for each sentence of a call.
            for start in range(0, len(sentences), _ENCODED_AT_ONCE):
                block: np.ndarray = self.model.encode(
                    list(sentences[start : start + _ENCODED_AT_ONCE]),
                    batch_size=self.batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
                blocks.append(block.astype(np.float32, copy=False))
        return np.concatenate(blocks)

    def _encode_probe(self) -> tuple[list[str], np.ndarray]:
        """Return the probe sentences that the model can encode and their vectors.

        Raises BadInput if it cannot encode the first.
        """
        texts, vectors = [PROBE[0]], [self._encode_batch(PROBE[:1])]
        for text in PROBE[1:]:
            try:
                vectors.append(self._encode_batch([text]))
                texts.append(text)
            except BadInput:
                continue  # too short, or without any token
        return texts, np.concatenate(vectors)

    def _depends_on_padding(self) -> bool:
        """Return whether vectors change in a padded batch."""
        # They do, for example, if positions count the padding.
        self.batch_size = len(self.texts)
        try:
            return not equal(self._encode_batch(self.texts), self.expected)
        except BadInput:
            return True


def open_library_encoder(folder: Path, device: str, max_length: int | None) -> LibraryEncoder:
    """Load the encoder of a folder in fp32 with sentence-transformers.

    Args:
        folder: A folder with modules.json, or of model2vec.
        device: The device to use, such as "cpu".
        max_length: The number of tokens at which rows are truncated, limited by the positions. None for the
            value in the folder.

    Raises:
        BadInput: If it is not a sentence encoder, or sentence-transformers cannot load it or encode with it.
    """
    file = folder / SETTINGS
    stated = read_json(file) if file.is_file() else {}
    if isinstance(stated, dict) and stated.get("model_type") not in (None, KIND):
        # The library would average the tokens of a cross-encoder or a sparse encoder.
        raise BadInput(
            f'{file}: model_type is {excerpt(stated["model_type"])}; expected "{KIND}", or use --pooling'
        )
    check_modules(folder)
    first = list_modules(folder)[0]
    if first.kind == "Transformer":
        read_tokenizer(first.place)  # without one, the library would use an empty vocabulary
    with (
        refusing(f"{folder}: sentence-transformers cannot load it", _remedy(folder)),
        name_broken_json(folder),
    ):
        try:
            model = _load_model(folder, device)
        except Exception:
            _check_transformer(folder)
            raise
    _cut_rows(model, folder, max_length)
    return LibraryEncoder(model, str(folder))


def _remedy(folder: Path) -> str:
    """Return the remedy if the library cannot load a folder."""
    code: list[str] = []
    for module in list_modules(folder):
        code += list_code(module.place)
        # A module without settings has an empty folder, which many copies do not contain.
        is_empty = not module.place.is_dir() or not any(module.place.iterdir())
        if is_empty and module.kind != "Normalize":
            return f"copy the files of {module.place}"
    return f"code of the folder is not run ({', '.join(code)})" if code else CORRECT


def _check_transformer(folder: Path) -> None:
    """Raise an error if the transformer of a folder cannot be loaded.

    This error is more exact than the error of sentence-transformers.
    """
    first = list_modules(folder)[0]
    if first.kind == "Transformer":
        read_network(first.place)


def read_declared(model: Any) -> Declared | None:
    """Return the pooling that a model declares.

    Args:
        model: A `SentenceTransformer`.

    Returns:
        The pooling by our name. None if we have no such pooling or the model has further modules.
    """
    kinds = [_kind(module) for module in model]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    mode = model[1].pooling_mode
    name = POOLINGS.get(mode) if isinstance(mode, str) else None
    return Declared(name, "Normalize" in kinds) if name else None


def _load_model(folder: Path, device: str) -> Any:
    """Load the library's model with weights of any precision as fp32."""
    from sentence_transformers import SentenceTransformer

    if is_model2vec(folder) and not (folder / MODULES).is_file():
        from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

        parts = [StaticEmbedding.load(str(folder))]
        if len(list_modules(folder)) > 1:
            parts.append(Normalize())
        model = SentenceTransformer(modules=parts, device=device)
    else:
        model = SentenceTransformer(
            str(folder), device=device, trust_remote_code=False, model_kwargs={"dtype": torch.float32}
        )
    return model.float()


def _cut_rows(model: Any, folder: Path, max_length: int | None) -> None:
    """Set the maximum length of rows.

    The number of positions limits it.

    Raises:
        BadInput: If no token fits into the length, or the encoder does not cut rows (static embeddings).
    """
    stated = model.max_seq_length
    if not isinstance(stated, int | float | None):
        raise BadInput(f"{folder}: max_seq_length is {excerpt(stated)}; expected a number")
    if stated is None or math.isinf(stated):
        if max_length is None:
            return
        raise BadInput(
            f"{folder}: max_length is {max_length}, but {_kind(model[0])} does not truncate rows; remove max_length"
        )
    if max_length is not None:
        model.max_seq_length = max_length
    # The tokenizers of word embeddings have no special tokens, and no such function.
    count = getattr(model.tokenizer, "num_special_tokens_to_add", None)
    special = count() if count else 0
    check_length(int(model.max_seq_length), special, f"{folder}: ")
    for part in model.modules():
        if _kind(part) != "Transformer" or part.tokenizer is None:
            continue
        most = longest_row(part.auto_model)
        if part.max_seq_length > most:
            log.info("%s: rows are truncated at %d tokens, the limit of the encoder", folder, most)
            part.max_seq_length = most


def _kind(module: Any) -> str:
    return type(module).__name__
