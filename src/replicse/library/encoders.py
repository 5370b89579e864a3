"""Encoders of a request: open them, post-process their vectors, and describe how sentences were read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from replicse.data.corpora import read_corpus
from replicse.encoder.baselines.fitted import FittedVectors
from replicse.encoder.baselines.word_vectors import AverageWordVectors
from replicse.encoder.huggingface import UNLIMITED
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.sentence_transformers import LibraryEncoder
from replicse.encoder.tokenizer import tokenizer_digest
from replicse.errors import BadInput
from replicse.library.requests import EncoderOptions, EvaluationRequest
from replicse.registry.encoders import WordVectors, postprocessing_of

PRECISIONS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64"}


def set_threads(count: int) -> None:
    """Compute with so many CPU threads; 0 leaves the number as it is.

    Raises:
        BadInput: the number is negative.
    """
    if count < 0:
        raise BadInput(f"--threads is {count}; expected at least 1, or no --threads for all")
    if count:
        torch.set_num_threads(count)


def open_requested(
    request: EncoderOptions, device: str | None, folder: str | None = None
) -> SentenceEncoder | LibraryEncoder:
    """Return the sentence encoder of a request, or of another folder that is read in the same way."""
    return SentenceEncoder.open(
        folder or request.encoder, request.pooling, request.max_length, device, request.engine
    )


def open_word_vectors(wanted: Mapping[str, Any], root: Path) -> AverageWordVectors:
    """Return averaged word vectors from a text file below the data root."""
    return AverageWordVectors.open(root, WordVectors.of(wanted, "vectors"))


def fit_postprocessing(vectors: Any, wanted: Mapping[str, Any], root: Path) -> FittedVectors:
    """Return vectors after a post-processing that is fitted on all sentences of a corpus, or on each target.

    Args:
        vectors: of an encoder, float32 (n, width).
        wanted: the name of the post-processing, its parameters, and `fit`: a corpus or "target".
        root: the data root that the corpus is below.
    """
    postprocess = postprocessing_of(wanted)
    corpus: Any = postprocess.fit
    columns = {} if corpus == "target" else read_corpus(root, corpus)
    sentences = [line for column in columns.values() for line in column]
    return FittedVectors(vectors, postprocess, list(dict.fromkeys(sentences)))


def describe_reading(source: Any, request: EncoderOptions) -> dict[str, Any]:
    """Return how an encoder read sentences, for the record of its scores.

    `max_length` is the number of tokens at which rows were cut, None if they were not; `unread` names the weights that
    were not read and the code that was not run.
    """
    pooling, backbone = getattr(source, "pooling", None), getattr(source, "backbone", source)
    tokenizer = getattr(source, "tokenizer", None)
    length = getattr(source, "max_length", None)
    return {
        "pooling": pooling.spelling if pooling else request.pooling,
        "max_length": None if length is None or length >= UNLIMITED else length,
        "tokenizer": tokenizer_digest(tokenizer) if tokenizer else None,
        "engine": getattr(backbone, "engine", None),
        "unread": [*getattr(backbone, "code", ()), *getattr(backbone, "unread", ())],
    }


def describe_precision(source: Any) -> str:
    """Return the precision that the vectors of an encoder were computed in; fp32 for averaged word vectors."""
    dtype = getattr(source, "dtype", torch.float32)
    return PRECISIONS.get(dtype, str(dtype).removeprefix("torch."))


def name_model(request: EvaluationRequest, source: Any) -> str:
    """Return a name of the encoder for the files of others: the end of its path or hub id, and the pooling."""
    place = Path(request.vectors["file"] if request.vectors else request.encoder)
    pooling = getattr(source, "pooling", None)
    return "-".join([*place.parts[-2:], pooling.pooling if pooling else "mean"])
