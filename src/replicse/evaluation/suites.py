"""The evaluation suites by name, and what a metric path such as `sts-dev/STS-B/all` means."""

import importlib
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
    "transfer": ("replicse.evaluation.transfer", {}),
    "spectrum": ("replicse.evaluation.spectrum", {}),
    "density": ("replicse.evaluation.density", {}),
    "retrieval": ("replicse.evaluation.retrieval", {}),
}


class Vectors(Protocol):
    """Sentence vectors: float32 (n, d) in the order asked; distinct sentences are encoded once."""

    def __call__(self, sentences: Sequence[str]) -> np.ndarray: ...

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, sorted by length."""


def suite(name: str) -> tuple[ModuleType, dict[str, Any]]:
    """Return a suite's module and its fixed options; BadInput names the nearest known suite."""
    if name not in SUITES:
        raise BadInput(f'suite "{name}" is unknown{nearest(name, SUITES)}')
    module, options = SUITES[name]
    return importlib.import_module(module), options


def run_suites(root: Path, vectors: Vectors, names: Sequence[str]) -> dict[str, Any]:
    """Return `{"suites": {name: numbers}, "failures": {metric path: reason}}`; every sentence is encoded once."""
    chosen = {name: suite(name) for name in names}
    prepare_all(vectors, (module.sentences(root, **options) for module, options in chosen.values()))
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name, (module, options) in chosen.items():
        numbers = module.evaluate(root, vectors, **options)
        for path, reason in numbers.pop("failures", {}).items():
            failures[f"{name}/{path}"] = reason
        found[name] = numbers
    return {"suites": found, "failures": failures}


def prepare_all(vectors: Vectors, groups: Iterable[Iterable[str]]) -> None:
    """Encode the union of several groups of sentences in one length-sorted pass."""
    vectors.prepare({sentence: None for group in groups for sentence in group})
