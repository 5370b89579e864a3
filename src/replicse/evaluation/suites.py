"""The evaluation suites at work: `replicse.registry.suites` names their modules, options and metric paths.

A suite is a module with `evaluate(root, vectors, **options)`, and with `sentences(root, **options)` where it can say
beforehand what it asks for.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from replicse.errors import BadInput, check_known
from replicse.registry.registry import current
from replicse.registry.suite_options import to_install


class Vectors(Protocol):
    """Sentence vectors: float32 (n, d) in the order asked; distinct sentences are encoded once."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the vectors of sentences."""

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, sorted by length."""

    def clear(self) -> None:
        """Drop all that is kept of sentences."""


def suite(
    name: str, options: Mapping[str, Any] | None = None, context: Mapping[str, str] | None = None
) -> tuple[ModuleType, dict[str, Any]]:
    """Return a suite's module and what it is called with; BadInput for an unknown one, bad options, no package for it.

    `context` is what a job says of itself; a suite asks for it by options of these names.
    """
    known = current().suites
    check_known(name, known, f'suite "{name}" is unknown')
    entry = known[name]
    asked = {key: each for key, each in (context or {}).items() if key in entry.options.model_fields}
    parameters = entry.options.of({**(options or {}), **asked}, f"suite {name}")
    if problem := to_install(name, parameters):
        raise BadInput(problem)
    return resolve_name(entry.module), {
        **entry.fixed,
        **{key: getattr(parameters, key) for key in parameters.model_fields_set},
    }


def run_suites(
    root: Path,
    vectors: Vectors,
    names: Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    context: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return `{"suites": {name: numbers}, "failures": {metric path: reason}}`; every sentence is encoded once.

    `pairs` holds the (cosines, gold scores) of `suite/task`, where a suite rates pairs. `options` holds further
    keyword arguments by suite, such as the queries of a retrieval, and `context` those that the job gives.
    """
    chosen = {name: suite(name, (options or {}).get(name), context) for name in names}
    asked = {
        name: list(module.sentences(root, **keywords)) if hasattr(module, "sentences") else []
        for name, (module, keywords) in chosen.items()
    }
    prepare_all(vectors, asked.values())
    results: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, (module, keywords) in chosen.items():
        numbers = module.evaluate(root, focused(vectors, asked[name]), **keywords)
        for path, reason in numbers.pop("failures", {}).items():
            failures[f"{name}/{path}"] = reason
        pairs |= {f"{name}/{task}": sides for task, sides in numbers.pop("pairs", {}).items()}
        results[name] = numbers
    return {"suites": results, "failures": failures, "pairs": pairs}


def average(scores: Sequence[float | None]) -> float | None:
    """Return the mean of scores rounded to two decimals, as the official code averages what it prints (methods 2.2).

    None where a score is missing.
    """
    values = [round(score, 2) for score in scores if score is not None]
    return float(np.mean(values)) if len(values) == len(scores) else None


def focused(vectors: Vectors, sentences: Iterable[str]) -> Vectors:
    """Return the vectors that are fitted on a task's sentences, where they are post-processed so; else the same."""
    focus = getattr(vectors, "focused", None)
    return focus(sentences) if focus else vectors


def prepare_all(vectors: Vectors, groups: Iterable[Iterable[str]]) -> None:
    """Encode the union of several groups of sentences in one length-sorted pass."""
    vectors.prepare({sentence: None for group in groups for sentence in group})
