"""Run the evaluation suites.

`replicse.registry.suites` lists their modules, options and metrics. A suite is a module with `evaluate(root,
vectors, **options)`. If the sentences are known in advance, it has a function `sentences(root, **options)` too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from replicse.errors import BadInput, check_known
from replicse.registry.registry import current
from replicse.registry.suite_options import to_install

# Values of a job for the options of suites, or functions that compute them.
Context = Mapping[str, str | Callable[[], str]]


class Vectors(Protocol):
    """The interface of encoders: each distinct sentence is encoded once."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences.

        Args:
            sentences: A list of n sentences.

        Returns:
            The vectors, (n, width), float32.
        """

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, sorted by length.

        Args:
            sentences: The sentences that will be used; each distinct sentence is encoded once.
        """

    def clear(self) -> None:
        """Remove all stored vectors."""


def suite(
    name: str, options: Mapping[str, Any] | None = None, context: Context | None = None
) -> tuple[ModuleType, dict[str, Any]]:
    """Return the module of a suite and the keyword arguments.

    Args:
        name: The name of the suite.
        options: A dict of options. Default: the defaults of the suite.
        context: A dict of values of the job, which are used if the suite has options with these names.

    Returns:
        The module and a dict of keyword arguments.

    Raises:
        BadInput: If the suite is unknown, the options are wrong, or a required package is not installed.
    """
    known = current().suites
    check_known(name, known, f'suite "{name}" is unknown')
    entry = known[name]
    values = dict(options or {})
    for key, value in (context or {}).items():
        if key in entry.options.model_fields:
            values[key] = value() if callable(value) else value
    parameters = entry.options.of(values, f"suite {name}")
    if problem := to_install(name, parameters):
        raise BadInput(problem)
    return resolve_name(entry.module), {**entry.fixed, **parameters.entries()}


def run_suites(
    root: Path,
    vectors: Vectors,
    names: Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Compute the numbers of some suites; every sentence is encoded once.

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        names: A list of suites.
        options: A dict from suites to options, such as the queries of a retrieval. Default: the defaults of
            the suites.
        context: A dict of values of the job, such as the encoder's folder, or of functions that compute them.

    Returns:
        A dict with `suites` (numbers by suite), `failures` (reasons by metric path) and `pairs`, which has
        (cosines, gold scores) by `suite/task`.

    Raises:
        BadInput: If a suite is unknown, or the options are wrong.
        MissingData: If a dataset is missing.
    """
    options = options or {}
    chosen = {name: suite(name, options.get(name), context) for name in names}
    sentences: dict[str, list[str]] = {}
    for name, (module, keywords) in chosen.items():
        sentences[name] = []
        if hasattr(module, "sentences"):
            sentences[name] += module.sentences(root, **keywords)
    prepare_all(vectors, sentences.values())
    results: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, (module, keywords) in chosen.items():
        numbers = module.evaluate(root, focused(vectors, sentences[name]), **keywords)
        for path, reason in numbers.pop("failures", {}).items():
            failures[f"{name}/{path}"] = reason
        for task, sides in numbers.pop("pairs", {}).items():
            pairs[f"{name}/{task}"] = sides
        results[name] = numbers
    return {"suites": results, "failures": failures, "pairs": pairs}


def average(scores: Sequence[float | None]) -> float | None:
    """Compute the mean of scores, each rounded to two decimals.

    The official code averages printed scores (methods 2.2).

    Args:
        scores: A list of scores; None if a score is missing.

    Returns:
        The mean, or None if a score is missing.
    """
    values = [round(score, 2) for score in scores if score is not None]
    return float(np.mean(values)) if len(values) == len(scores) else None


def focused(vectors: Vectors, sentences: Iterable[str]) -> Vectors:
    """Return the encoder, fitted on the sentences of a task if necessary.

    Args:
        vectors: The encoder. Only a post-processing that is fitted on each task is fitted here.
        sentences: The sentences of the task.
    """
    focus = getattr(vectors, "focused", None)
    return focus(sentences) if focus else vectors


def prepare_all(vectors: Vectors, groups: Iterable[Iterable[str]]) -> None:
    """Encode all sentences of several groups in one pass, sorted by length.

    Args:
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        groups: The groups of sentences.
    """
    vectors.prepare(chain.from_iterable(groups))
