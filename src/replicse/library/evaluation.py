"""Evaluation as a function: suites on an encoder of any kind, every distinct sentence encoded once."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from replicse.data.sets import data_folder
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.vectors import CallableVectors
from replicse.errors import BadInput, Failed
from replicse.evaluation.suites import Vectors, run_suites, suite
from replicse.library.encoders import (
    describe_precision,
    describe_reading,
    fit_postprocessing,
    name_model,
    open_requested,
    open_word_vectors,
)
from replicse.library.requests import EvaluationRequest
from replicse.provenance.record import computed, provenance
from replicse.registry.registry import current
from replicse.spec.config import use_all_plugins

# A function of sentences to vectors, or an object with `encode`, as of sentence-transformers.
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
    """Evaluate an encoder on one or more suites and return their numbers.

    Args:
        encoder: a folder of Hugging Face or sentence-transformers, an id on the hub (`name/model[@revision]`), an
            `Encoder`, a `SentenceTransformer`, or any function from a list of sentences to an array (n, width).
        suites: names such as `sts`, `sts-dev`, `transfer`, `geometry`, `spectrum`, `recall`, `mteb`.
        data: the data root or SentEval folder, or the data record of a study.
        pooling: how a folder or hub encoder is read: a name (`cls`, `mean`, ...), or a mapping with parameters such as
            a template. By default a sentence-transformers folder's own pooling, normalisation and longest row, `cls`
            for any other folder.
        max_length: tokens that a row is cut at; by default the folder's own, else 512.
        options: further options by suite, such as `{"sts": {"tasks": ["STS-B"]}}`; of `sets` your own tables,
            `{"sets": {"NAME": {"file": "/data/rated.csv", "first": ..., "second": ..., "score": ..., "range": ...}}}`.
        device: cpu, cuda, ...; the first GPU where there is one.

    Returns:
        `suites` (numbers by suite; correlations, accuracies and recalls x 100), and `failures` (metric path to reason
        of each number that is None).

    Raises:
        BadInput: an unknown suite or option, or an encoder that cannot be read; MissingData (a BadInput) where a data
            set is absent; Failed where the encoder gives every sentence one vector.
    """
    names = [suites] if isinstance(suites, str) else list(suites)
    if set(names) - current().suites.keys():
        use_all_plugins()
    for name in (*names, *(options or {})):
        suite(name, (options or {}).get(name))
    source = open_encoder(encoder, pooling, max_length, device)
    outcome = score_suites(source, names, data_folder(Path(data)), options)
    return {name: outcome[name] for name in ("suites", "failures")}


def evaluate_request(
    request: EvaluationRequest, root: Path, results: Path, device: str | None
) -> dict[str, Any]:
    """Evaluate the encoder of a request and return its scores with how they were made.

    Args:
        request: the encoder, how it is read, and its suites.
        root: the data root.
        results: the folder for the files of other libraries' suites.
        device: by default the first GPU if there is one.

    Returns:
        The reading of the encoder, `suites`, `failures`, `pairs` (cosines and gold scores by task) and `provenance`.

    Raises:
        BadInput: the encoder cannot be read, or an option is wrong; Failed if every sentence has the same vector.
    """
    start = time.monotonic()
    source: Any = (
        open_word_vectors(request.vectors, root) if request.vectors else open_requested(request, device)
    )
    vectors = fit_postprocessing(source, request.postprocess, root) if request.postprocess else source
    facts = {"folder": request.encoder, "results": str(results), "model": name_model(request, source)}
    outcome = score_suites(source, request.suite, root, request.options, facts, vectors, request.encoder)
    result = {
        "encoder": request.encoder,
        "vectors": request.vectors,
        **describe_reading(source, request),
        "postprocess": request.postprocess,
        **outcome,
    }
    return record_result(result, source, start)


def record_result(result: Mapping[str, Any], source: Any, start: float) -> dict[str, Any]:
    """Return a result with its provenance; word vectors have no device, because they use only the CPU.

    Args:
        result: what was measured.
        source: the encoder that it was measured on.
        start: seconds of `time.monotonic` at which the evaluation began.
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
    """Return the vectors of an encoder of any kind; BadInput if pooling or length is given for one that is open."""
    if isinstance(encoder, str | Path):
        return SentenceEncoder.open(encoder, pooling, max_length, device)
    if pooling or max_length is not None:
        raise BadInput("pooling and max_length are for a folder or a hub id; an open encoder has its own")
    if isinstance(encoder, SentenceEncoder):
        return encoder
    encode = getattr(encoder, "encode", encoder)
    if not callable(encode):
        raise BadInput(
            f"encoder: {type(encoder).__name__} is no folder, hub id, encoder or function of sentences"
        )
    return CallableVectors(encode)


def score_suites(
    source: Vectors,
    suites: Sequence[str],
    root: Path,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, str] | None = None,
    vectors: Vectors | None = None,
    name: str = "encoder",
) -> dict[str, Any]:
    """Return the scores of an encoder on some suites; Failed if it gives every sentence the same vector.

    `vectors` are those of the encoder after a post-processing; `facts` are for the suites whose options ask for them.
    """
    outcome = run_suites(root, vectors or source, suites, options, facts)
    if reason := getattr(source, "collapsed", str)():
        raise Failed(f"{name}: {reason}; no score of it would be more than rounding")
    return outcome
