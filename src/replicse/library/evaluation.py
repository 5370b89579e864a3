"""Evaluate an encoder of any kind; each distinct sentence is encoded once."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from replicse.data.sets import data_folder
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.vectors import QUANTISATIONS, CallableVectors, CompressedVectors
from replicse.errors import BadInput, Failed, check_known
from replicse.evaluation.suites import Context, Vectors, run_suites, suite
from replicse.library.encoders import (
    describe_precision,
    describe_reading,
    fit_postprocessing,
    identify_encoder,
    name_model,
    open_requested,
    open_word_vectors,
)
from replicse.library.requests import EvaluationRequest
from replicse.provenance.record import computed, provenance
from replicse.registry.registry import current
from replicse.spec.config import use_all_plugins

# A folder or hub id, an encoder, a function from sentences to vectors, or an object with such an `encode`.
AnyEncoder = str | Path | SentenceEncoder | Callable[[list[str]], Any]


def evaluate(
    encoder: AnyEncoder,
    suites: str | Sequence[str],
    data: str | Path,
    *,
    pooling: str | Mapping[str, Any] | None = None,
    max_length: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Evaluate an encoder on one or more suites.

    Args:
        encoder: A folder in the format of Hugging Face or sentence-transformers, a hub id
            (`name/model[@revision]`), an `Encoder`, a `SentenceTransformer`, or a function from a list of n
            sentences to an array of shape (n, width).
        suites: Names such as `sts`, `sts-dev`, `transfer`, `geometry`, `spectrum`, `recall`, `mteb`.
        data: The data root or SentEval folder, or the `data.json` of a study.
        pooling: How vectors are pooled if `encoder` is a folder or hub id: a name (`cls`, `mean`, ...), or a
            dict with parameters such as a template. Default: the pooling, normalisation and maximum length in a
            sentence-transformers folder, `cls` for any other folder.
        max_length: Tokens at which a sentence is truncated. Default: the folder's own limit, or 512 if it has
            no limit.
        options: Options by suite, such as `{"sts": {"tasks": ["STS-B"]}}`. The suite `sets` evaluates your own
            tables; its option has the same name: `{"sets": {"sets": {"NAME": {"file": "/data/rated.csv",
            "first": ..., "second": ..., "score": ..., "range": ...}}}}`.
        device: `cpu`, `cuda`, ... Default: the first GPU if there is one.

    Returns:
        A dict with `suites`, the nested numbers by suite (correlations, accuracies and recalls are x 100), and
        `failures`, a dict from the metric path of each missing number to the reason.

    Raises:
        BadInput: If a suite or option is unknown, or the encoder cannot be loaded.
        MissingData: If a dataset is missing (a kind of BadInput).
        Failed: If a folder or hub encoder gives all sentences the same vector. For other encoders, `failures`
            contains the reason.

    Examples:
        >>> scores = replicse.evaluate("princeton-nlp/unsup-simcse-bert-base-uncased", "sts", "data")
        >>> scores["suites"]["sts"]["STS-B"]["all"]  # Spearman's correlation x 100
    """
    names = [suites] if isinstance(suites, str) else list(suites)
    options = options or {}
    if set(names) - current().suites.keys():
        use_all_plugins()
    for name in (*names, *options):
        suite(name, options.get(name))
    source = open_encoder(encoder, pooling, max_length, device)
    outcome = score_suites(source, names, data_folder(Path(data)), options)
    return {"suites": outcome["suites"], "failures": outcome["failures"]}


def evaluate_request(
    request: EvaluationRequest,
    root: Path,
    results: Path,
    device: str | None,
    widths: Sequence[int] = (),
    quantisations: Sequence[str] = (),
) -> dict[str, Any]:
    """Evaluate the encoder of a request and add provenance to the scores.

    By default, neither shorter nor quantised vectors are scored.

    Args:
        request: The encoder, the options and the suites.
        root: The data root, a folder of datasets.
        results: The folder for files that other libraries write.
        device: `cpu`, `cuda`, ... Default: the first GPU if there is one.
        widths: Numbers of first dimensions of the vectors that are also scored. Default: none.
        quantisations: Quantisations that are also scored, `int8` and `binary`, at each width. Default: none.

    Returns:
        A dict with the encoder and the options, `suites`, `failures`, `pairs` (cosines and gold scores by task)
        and `provenance`; with `widths` or `quantisations`, also `widths`, a dict from each combination, such as
        "64" and "64 int8", to the suites.

    Raises:
        BadInput: If the encoder cannot be loaded or an option is wrong.
        MissingData: If a dataset is missing (a kind of BadInput).
        Failed: If the encoder gives all sentences the same vector.

    Examples:
        >>> request = EvaluationRequest(encoder="bert-base-uncased", suite=("sts",))
        >>> result = evaluate_request(request, Path("data"), Path("results"), None)
    """
    start = time.monotonic()
    source = _open_source(request, root, device)
    vectors = source
    if request.postprocess:
        vectors = fit_postprocessing(source, request.postprocess, root)
    reading = describe_reading(source, request)
    if widths and not 1 <= min(widths) <= max(widths) <= reading["width"]:
        raise BadInput(
            f"--width is {', '.join(map(str, widths))}, but should be between 1 and {reading['width']}, the width of"
            " the vectors"
        )
    for quantisation in quantisations:
        check_known(quantisation, QUANTISATIONS, f'--quantise: "{quantisation}" is not a quantisation')
    facts: Context = {
        "folder": request.encoder,
        "results": str(results),
        "model": name_model(request, source),
        # Hashing weights and code takes longer than many evaluations, and few suites use the digest.
        "encoder": partial(identify_encoder, request, reading, root),
    }
    outcome = score_suites(source, request.suite, root, request.options, facts, vectors, request.encoder)
    result = {
        "encoder": request.encoder,
        "vectors": request.vectors,
        **reading,
        "postprocess": request.postprocess,
        **outcome,
    }
    compressed = {}
    for width in dict.fromkeys((*widths, reading["width"])):
        for quantisation in ("", *quantisations):
            if quantisation or width != reading["width"]:
                other = CompressedVectors(vectors, width, quantisation)
                scores = run_suites(root, other, request.suite, request.options, facts)["suites"]
                compressed[f"{width} {quantisation}".strip()] = scores
    if compressed:
        result["widths"] = compressed
    return record_result(result, source, start)


def _open_source(request: EvaluationRequest, root: Path, device: str | None) -> Any:
    if request.vectors:
        return open_word_vectors(request.vectors, root)
    return open_requested(request, device)


def record_result(result: Mapping[str, Any], source: Any, start: float) -> dict[str, Any]:
    """Add provenance to a result.

    Args:
        result: The scores and the description of the encoder.
        source: The encoder. Word vectors have no device because they use only the CPU.
        start: The time when the evaluation started, in seconds of `time.monotonic`.

    Returns:
        A dict with the entries of `result` and `provenance`.

    Examples:
        >>> result = record_result({"suites": scores}, encoder, start)
    """
    device = getattr(source, "device", None)
    machine = computed(device or torch.device("cpu"), describe_precision(source))
    facts = provenance(seconds=round(time.monotonic() - start, 3), **machine)
    facts["device"] = device.type if device else ""
    return {**result, "provenance": facts}


def open_encoder(
    encoder: AnyEncoder,
    pooling: str | Mapping[str, Any] | None,
    max_length: int | None,
    device: str | None,
) -> Vectors:
    """Return the vectors of an encoder of any kind.

    Args:
        encoder: An encoder of any kind, as in `evaluate`.
        pooling: How vectors are pooled if `encoder` is a folder or hub id, or None.
        max_length: Tokens at which a sentence is truncated if `encoder` is a folder or hub id, or None.
        device: `cpu`, `cuda`, ...; None for the first GPU if there is one.

    Returns:
        The encoder.

    Raises:
        BadInput: If the encoder cannot be loaded, or pooling or length are given for an encoder that is already
            open.

    Examples:
        >>> vectors = open_encoder(lambda sentences: np.ones((len(sentences), 3)), None, None, None)
    """
    if isinstance(encoder, str | Path):
        return SentenceEncoder.open(encoder, pooling, max_length, device)
    if pooling or max_length is not None:
        raise BadInput("pooling and max_length can be set for a folder or a hub id, not for an open encoder")
    if isinstance(encoder, SentenceEncoder):
        return encoder
    encode = getattr(encoder, "encode", encoder)
    if not callable(encode):
        name = type(encoder).__name__
        raise BadInput(f"encoder is of type {name}; use a folder, a hub id, an encoder or a function")
    return CallableVectors(encode)


def score_suites(
    source: Vectors,
    suites: Sequence[str],
    root: Path,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Context | None = None,
    vectors: Vectors | None = None,
    name: str = "encoder",
) -> dict[str, Any]:
    """Compute the scores of an encoder on some suites.

    Args:
        source: The encoder.
        suites: The names of the suites.
        root: The data root, a folder of datasets.
        options: A dict from suites to options. Default: the defaults of the suites.
        facts: A dict of values for suites whose options request them, such as the encoder's folder; or of
            functions that compute them.
        vectors: The encoder with post-processing, if there is one.
        name: The encoder's name in error messages. Default: "encoder".

    Returns:
        A dict with `suites`, `failures` and `pairs`, as in `run_suites`.

    Raises:
        BadInput: If a suite or an option is unknown.
        MissingData: If a dataset is missing (a kind of BadInput).
        Failed: If the encoder gives all sentences the same vector.

    Examples:
        >>> score_suites(encoder, ["geometry"], Path("data"))["suites"]["geometry"]["alignment"]
    """
    outcome = run_suites(root, vectors or source, suites, options, facts)
    if reason := getattr(source, "describe_collapse", str)():
        raise Failed(f"{name}: {reason}; the scores would be rounding errors")
    return outcome
