"""Open the encoder of a request and describe how it encodes sentences."""

from collections.abc import Mapping
from itertools import chain
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
from replicse.files import sha256_of
from replicse.library.inputs import describe_encoder
from replicse.library.requests import EncoderOptions, EvaluationRequest
from replicse.provenance.source import package_sha256
from replicse.registry.digests import digest
from replicse.registry.encoders import WordVectors, postprocessing_of
from replicse.registry.registry import current

PRECISIONS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64"}


def set_threads(count: int) -> None:
    """Set the number of CPU threads of torch.

    Args:
        count: The number of threads; 0 keeps the current number.

    Raises:
        BadInput: If the number is negative.

    Examples:
        >>> set_threads(4)
    """
    if count < 0:
        raise BadInput(f"--threads is {count}, but should be at least 1; omit --threads to use the default")
    if count:
        torch.set_num_threads(count)


def open_requested(
    request: EncoderOptions, device: str | None, folder: str | None = None
) -> SentenceEncoder | LibraryEncoder:
    """Open the sentence encoder of a request.

    Args:
        request: The encoder and the options.
        device: `cpu`, `cuda`, ...; None for the first GPU if there is one.
        folder: A folder to open with the options of the request. Default: the request's encoder.

    Returns:
        The encoder.

    Raises:
        BadInput: If the encoder cannot be loaded.

    Examples:
        >>> encoder = open_requested(EncoderOptions(encoder="bert-base-uncased", pooling="mean"), "cpu")
    """
    return SentenceEncoder.open(
        folder or request.encoder, request.pooling, request.max_length, device, request.engine
    )


def open_word_vectors(wanted: Mapping[str, Any], root: Path) -> AverageWordVectors:
    """Load averaged word vectors from a text file below the data root.

    Args:
        wanted: A dict with the key `file`.
        root: The data root, a folder of datasets.

    Returns:
        The encoder.

    Raises:
        BadInput: If the dict or a line of the file is not valid.
        MissingData: If the file does not exist.

    Examples:
        >>> vectors = open_word_vectors({"file": "vectors/glove.txt"}, Path("data"))
    """
    return AverageWordVectors.open(root, WordVectors.of(wanted, "vectors"))


def fit_postprocessing(vectors: Any, wanted: Mapping[str, Any], root: Path) -> FittedVectors:
    """Post-process vectors with a fit on a corpus or on each task.

    Args:
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        wanted: The post-processing as a dict: `name`, parameters, and `fit`, which is a corpus or "target".
        root: The data root of the corpus.

    Returns:
        The encoder with post-processing; it is fitted when the encoder is first used.

    Raises:
        BadInput: If the dict or the corpus is not valid.
        MissingData: If a file of the corpus does not exist.

    Examples:
        >>> whitened = fit_postprocessing(encoder, {"name": "whitening", "fit": "target"}, Path("data"))
    """
    postprocess = postprocessing_of(wanted)
    corpus: Any = postprocess.fit
    columns = {} if corpus == "target" else read_corpus(root, corpus)
    sentences = dict.fromkeys(chain.from_iterable(columns.values()))
    return FittedVectors(vectors, postprocess, list(sentences))


def describe_reading(source: Any, request: EncoderOptions) -> dict[str, Any]:
    """Describe how an encoder encoded sentences, for the file of the scores.

    Args:
        source: The encoder.
        request: The options with which it was loaded.

    Returns:
        A dict with `pooling`, `max_length` (the number of tokens at which sentences were truncated, None if
        they were not), `width` (of the vectors), `tokenizer` (a digest), `engine`, and `unread` (a list of the
        weights that were not loaded and of code that was not run).

    Examples:
        >>> describe_reading(encoder, request)["max_length"]
        512
    """
    pooling, backbone = getattr(source, "pooling", None), getattr(source, "backbone", source)
    tokenizer = getattr(source, "tokenizer", None)
    length = getattr(source, "max_length", None)
    return {
        "pooling": pooling.spelling if pooling else request.pooling,
        "max_length": None if length is None or length >= UNLIMITED else length,
        "width": source(["A sentence."]).shape[1],
        "tokenizer": tokenizer_digest(tokenizer) if tokenizer else None,
        "engine": getattr(backbone, "engine", None),
        "unread": [*getattr(backbone, "code", ()), *getattr(backbone, "unread", ())],
    }


def describe_precision(source: Any) -> str:
    """Return the precision of an encoder's vectors.

    Args:
        source: The encoder.

    Returns:
        A string such as "bf16"; "fp32" for word vectors.

    Examples:
        >>> describe_precision(encoder)
        'fp32'
    """
    dtype = getattr(source, "dtype", torch.float32)
    return PRECISIONS.get(dtype, str(dtype).removeprefix("torch."))


def name_model(request: EvaluationRequest, source: Any) -> str:
    """Create the name of an encoder for files of other libraries.

    Args:
        request: The request with the folder or hub id.
        source: The encoder.

    Returns:
        The last two parts of the path, and the pooling, joined by hyphens.

    Examples:
        >>> name_model(EvaluationRequest(encoder="princeton-nlp/sup-simcse-bert-base-uncased"), encoder)
        'princeton-nlp-sup-simcse-bert-base-uncased-cls'
    """
    file = request.vectors["file"] if request.vectors else request.encoder
    pooling = getattr(source, "pooling", None)
    name = pooling.pooling if pooling else "mean"
    return "-".join([*Path(file).parts[-2:], name])


def identify_encoder(request: EvaluationRequest, reading: Mapping[str, Any], root: Path) -> str:
    """Return a digest of all that changes the vectors of an encoder.

    Args:
        request: The request with the encoder and the post-processing.
        reading: The result of `describe_reading`.
        root: The data root of word vectors.

    Returns:
        A hexadecimal string. It changes with the encoder's files and settings, and with the code.

    Examples:
        >>> identify_encoder(request, describe_reading(encoder, request), Path("data"))
        '0c5a6e1f2b3d'
    """
    if request.vectors:
        files = {"weights": sha256_of(root / request.vectors["file"])}
    else:
        files = describe_encoder(request.encoder, request.pooling in (None, "own"))
    code = [package_sha256(), *(plugin.sha256 for plugin in current().plugins.values())]
    return digest([files, reading, request.vectors, request.postprocess, code])
