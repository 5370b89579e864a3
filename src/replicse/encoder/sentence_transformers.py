"""Folders of sentence-transformers: that library reads them, and says how sentences become vectors."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from replicse.checked import excerpt
from replicse.encoder.library import opening
from replicse.encoder.tokenizer import PROBE
from replicse.encoder.vectors import CallableVectors
from replicse.errors import BadInput, one_line, refusing
from replicse.files import below, read_json

log = logging.getLogger(__name__)
MODULES, SETTINGS, KIND = "modules.json", "config_sentence_transformers.json", "SentenceTransformer"
# The library's name of a pooling, and ours.
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last-token"}


@dataclass(frozen=True)
class Declared:
    """How a folder says that its sentences are read: pooling, longest row, normalised vectors."""

    pooling: str
    max_length: int | None
    normalised: bool


class LibraryEncoder(CallableVectors):
    """Vectors of a model of sentence-transformers, for what no engine here computes; each distinct sentence once."""

    pooling = None
    engine = "sentence-transformers"

    def __init__(self, model: Any) -> None:
        super().__init__(partial(encoded, model))
        self.device, self.max_length = model.device, model.max_seq_length

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, width) in the order of the sentences; of one text, a vector (width,)."""
        return self([sentences])[0] if isinstance(sentences, str) else self(sentences)


def transformer_folder(folder: Path) -> Path:
    """Return where the transformer of a folder lies: by its list of modules, or in the folder itself."""
    file = folder / MODULES
    if not file.is_file():
        return folder
    listed = read_json(file)
    try:
        path = listed[0]["path"]
    except (KeyError, IndexError, TypeError):
        raise BadInput(f"{file}: no list of modules that each name a path; save the encoder again") from None
    return below(folder, path, f"the path of a module below the folder in {file}") if path else folder


def open_model(folder: Path, device: str, max_length: int | None) -> Any:
    """Return a folder's model; BadInput where it is none of sentences, or the library cannot read or encode with it."""
    from sentence_transformers import SentenceTransformer

    file = folder / SETTINGS
    stated = read_json(file) if file.is_file() else {}
    if isinstance(stated, dict) and stated.get("model_type") not in (None, KIND):
        # The library would average the tokens of what is a cross-encoder or a sparse one.
        raise BadInput(
            f'{file}: model_type is {excerpt(stated["model_type"])}; expected "{KIND}", or give --pooling'
        )
    problem = f"{folder}: sentence-transformers cannot open it"
    with refusing(problem, f"copy all that {MODULES} names"), opening(folder):
        model = SentenceTransformer(str(folder), device=device)
        if max_length is not None:
            model.max_seq_length = max_length
        kinds = [type(module).__name__ for module in model]
    try:
        encoded(model, PROBE[:1])
    except Exception as error:
        lacks = "" if "Pooling" in kinds else "; there is no Pooling among them: give --pooling"
        raise BadInput(
            f"{folder}: sentence-transformers cannot encode with its modules {', '.join(kinds)}"
            f" ({one_line(error)}){lacks}"
        ) from None
    return model


def encoded(model: Any, sentences: Sequence[str]) -> np.ndarray:
    """Return float32 vectors (n, width) of the library itself."""
    vectors: np.ndarray = model.encode(list(sentences), show_progress_bar=False, convert_to_numpy=True)
    return vectors.astype(np.float32)


def declared_by(model: Any) -> Declared | None:
    """Return how a model reads sentences, where that may be a pooling of ours; None where it is more than one."""
    first, *others = model
    kinds = [type(module).__name__ for module in others]
    if type(first).__name__ != "Transformer" or kinds not in (["Pooling"], ["Pooling", "Normalize"]):
        return None
    mode = others[0].pooling_mode
    name = POOLINGS.get(mode) if isinstance(mode, str) else None
    return Declared(name, model.max_seq_length, "Normalize" in kinds) if name else None
