"""Sentence vectors behind a post-processing that is fitted on sentences: whitening and flow."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from replicse.encoder.baselines.postprocess import Flow, Whitening
from replicse.errors import BadInput, nearest

SEED = 42
METHODS: dict[str, Callable[[np.ndarray], Whitening | Flow]] = {
    "whitening": Whitening.fit,
    "flow": lambda vectors: Flow.fit(vectors, seed=SEED),
}


class FittedVectors:
    """Vectors of an encoder, mapped by a method that is fitted once on `fit_on`.

    Where `fit_on` is None the method is fitted on the target: each task's own sentences (methods 2.5).
    """

    def __init__(self, base: Any, method: str, fit_on: Sequence[str] | None, on_target: bool = False) -> None:
        if method not in METHODS:
            raise BadInput(f'post-processing "{method}" is unknown{nearest(method, METHODS)}')
        self.base, self.method, self.fit_on = base, method, fit_on
        self.on_target = on_target or fit_on is None
        self.fitted: Whitening | Flow | None = None

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, those of the fit included, in one length-sorted pass."""
        self.base.prepare([*sentences, *(self.fit_on or ())])

    def focused(self, sentences: Iterable[str]) -> "FittedVectors":
        """Return these vectors fitted on a task's sentences; the same vectors where the fit is fixed."""
        if not self.on_target:
            return self
        return FittedVectors(self.base, self.method, list(dict.fromkeys(sentences)), on_target=True)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, d) in the order of the sentences."""
        if self.fitted is None:
            if not self.fit_on:
                raise BadInput(f"{self.method}: no sentences to fit on")
            self.fitted = METHODS[self.method](self.base(self.fit_on))
        return self.fitted.transform(self.base(sentences)).astype(np.float32)
