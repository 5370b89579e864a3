"""The evaluation suites by name, and what a metric path such as `sts-dev/STS-B/all` means."""

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from replicse.errors import BadInput, nearest

# A suite is a module with `sentences(root, **options)` and `evaluate(root, vectors, **options)`.
SUITES: dict[str, tuple[str, dict[str, Any]]] = {
    "sts": ("replicse.evaluation.sts", {"split": "test"}),
    "sts-dev": ("replicse.evaluation.sts", {"split": "dev"}),
    "geometry": ("replicse.evaluation.geometry", {}),
    "transfer": ("replicse.evaluation.transfer", {"setting": "test"}),
    "transfer-dev": ("replicse.evaluation.transfer", {"setting": "fast"}),
    "spectrum": ("replicse.evaluation.spectrum", {}),
    "density": ("replicse.evaluation.density", {}),
    "density-test": ("replicse.evaluation.density", {"splits": ("test",)}),
    "retrieval": ("replicse.evaluation.retrieval", {}),
    "retrieval-stsb": (
        "replicse.evaluation.retrieval",
        {"corpus": {"format": "sts-sentences", "task": "STS-B", "split": "test"}},
    ),
    "recall": ("replicse.evaluation.recall", {}),
    "model": ("replicse.evaluation.model", {}),
    "training": ("replicse.evaluation.training", {}),
}


class Vectors(Protocol):
    """Sentence vectors: float32 (n, d) in the order asked; distinct sentences are encoded once."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the vectors of sentences."""

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, sorted by length."""


def suite(name: str) -> tuple[ModuleType, dict[str, Any]]:
    """Return a suite's module and its fixed options; BadInput names the nearest known suite."""
    if name not in SUITES:
        raise BadInput(f'suite "{name}" is unknown{nearest(name, SUITES)}')
    module, options = SUITES[name]
    return importlib.import_module(module), options


def run_suites(
    root: Path, vectors: Vectors, names: Sequence[str], options: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return `{"suites": {name: numbers}, "failures": {metric path: reason}}`; every sentence is encoded once.

    `pairs` holds the (cosines, gold scores) of `suite/task`, where a suite rates pairs. `options` holds further
    keyword arguments by suite, such as the queries of a retrieval.
    """
    chosen = {}
    for name in names:
        module, fixed = suite(name)
        chosen[name] = module, {**fixed, **(options or {}).get(name, {})}
    asked = {name: list(_asked(module, root, given)) for name, (module, given) in chosen.items()}
    prepare_all(vectors, asked.values())
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, (module, given) in chosen.items():
        numbers = module.evaluate(root, focused(vectors, asked[name]), **given)
        for path, reason in numbers.pop("failures", {}).items():
            failures[f"{name}/{path}"] = reason
        pairs |= {f"{name}/{task}": sides for task, sides in numbers.pop("pairs", {}).items()}
        found[name] = numbers
    return {"suites": found, "failures": failures, "pairs": pairs}


def _asked(module: ModuleType, root: Path, options: Mapping[str, Any]) -> Iterable[str]:
    known = inspect.signature(module.sentences).parameters
    return module.sentences(root, **{key: value for key, value in options.items() if key in known})


def focused(vectors: Vectors, sentences: Iterable[str]) -> Vectors:
    """Return the vectors that are fitted on a task's sentences, where they are post-processed so; else the same."""
    focus = getattr(vectors, "focused", None)
    return focus(sentences) if focus else vectors


def prepare_all(vectors: Vectors, groups: Iterable[Iterable[str]]) -> None:
    """Encode the union of several groups of sentences in one length-sorted pass."""
    vectors.prepare({sentence: None for group in groups for sentence in group})
