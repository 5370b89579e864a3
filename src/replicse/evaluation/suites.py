"""Run the evaluation suites.

`replicse.registry.suites` lists their modules, options and metrics. A suite is a module with `evaluate(root,
vectors, **options)`. If the sentences are known in advance, it has a function `sentences(root, **options)` too.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from replicse.errors import BadInput, check_known
from replicse.registry.registry import current
from replicse.registry.suite_options import to_install


class Vectors(Protocol):
    """An encoder: distinct sentences are encoded only once."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the vectors of sentences, float32 of shape (n, width)."""

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, sorted by length."""

    def clear(self) -> None:
        """Remove all stored vectors."""


def suite(
    name: str, options: Mapping[str, Any] | None = None, context: Mapping[str, str] | None = None
) -> tuple[ModuleType, dict[str, Any]]:
    """Return the module of a suite and the keyword arguments.

    Args:
        name: The name of the suite.
        options: The options.
        context: Values of the job; they are used if the suite has options of these names.

    Raises:
        BadInput: If the suite is unknown, the options are wrong, or a required package is not installed.
    """
    known = current().suites
    check_known(name, known, f'suite "{name}" is unknown')
    entry = known[name]
    values = dict(options or {})
    for key, value in (context or {}).items():
        if key in entry.options.model_fields:
            values[key] = value
    parameters = entry.options.of(values, f"suite {name}")
    if problem := to_install(name, parameters):
        raise BadInput(problem)
    return resolve_name(entry.module), {**entry.fixed, **parameters.entries()}


def run_suites(
    root: Path,
    vectors: Vectors,
    names: Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    context: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Compute the numbers of some suites; every sentence is encoded once.

    Args:
        root: The data root.
        vectors: The encoder.
        names: The names of the suites.
        options: Options by suite, such as the queries of a retrieval.
        context: Values of the job, such as the encoder's folder.

    Returns:
        `suites` (numbers by suite), `failures` (reasons by metric path) and `pairs`, which has (cosines, gold
        scores) by `suite/task`.
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
    """Return the mean of scores, each rounded to two decimals.

    The official code averages printed scores (methods 2.2).

    Returns:
        The mean, or None if a score is missing.
    """
    values = [round(score, 2) for score in scores if score is not None]
    return float(np.mean(values)) if len(values) == len(scores) else None


def focused(vectors: Vectors, sentences: Iterable[str]) -> Vectors:
    """Return vectors fitted on the sentences of a task.

    They are unchanged unless they have a post-processing with this fit.
    """
    focus = getattr(vectors, "focused", None)
    return focus(sentences) if focus else vectors


def prepare_all(vectors: Vectors, groups: Iterable[Iterable[str]]) -> None:
    """Encode all sentences of several groups in one pass, sorted by length."""
    vectors.prepare(dict.fromkeys(chain.from_iterable(groups)))
