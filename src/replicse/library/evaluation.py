"""Evaluation as a function: suites on an encoder of any kind, every distinct sentence encoded once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.data.sets import data_folder
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.vectors import CallableVectors
from replicse.errors import BadInput, Failed
from replicse.evaluation.suites import Vectors, run_suites, suite
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
    source = opened(encoder, pooling, max_length, device)
    outcome = outcome_of(source, names, Path(data), options)
    return {name: outcome[name] for name in ("suites", "failures")}


def opened(
    encoder: AnyEncoder,
    pooling: str | Mapping[str, Any] | None,
    max_length: int | None,
    device: str | None,
) -> Vectors:
    """Return the vectors of an encoder of any kind; BadInput where pooling or length is given for one that is open."""
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


def outcome_of(
    source: Vectors,
    suites: Sequence[str],
    data: Path,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, str] | None = None,
    vectors: Vectors | None = None,
    name: str = "encoder",
) -> dict[str, Any]:
    """Return what `run_suites` gives of an encoder; Failed where it gives every sentence one vector.

    `vectors` are those of the encoder after a post-processing; `facts` are what a job tells the suites that ask.
    """
    outcome = run_suites(data_folder(data), vectors or source, suites, options, facts)
    if reason := getattr(source, "collapsed", str)():
        raise Failed(f"{name}: {reason}; no score of it would be more than rounding")
    return outcome
