"""Sentence vectors after a post-processing that is fitted on sentences: whitening and flow."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from replicse.errors import BadInput
from replicse.registry.encoders import Postprocessing


class FittedVectors:
    """Vectors of an encoder, mapped by a post-processing that is fitted once on the sentences `fit_on`.

    One that is fitted on the target needs none: each task gives its own (methods 2.5).
    """

    def __init__(self, base: Any, postprocess: Postprocessing, fit_on: Sequence[str] = ()) -> None:
        self.base, self.postprocess, self.fit_on = base, postprocess, fit_on
        self.fitted: Any = None

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences now, those of the fit included, in one length-sorted pass."""
        self.base.prepare([*sentences, *self.fit_on])

    def clear(self) -> None:
        """Drop what the encoder keeps of sentences; the fit stays."""
        self.base.clear()

    def focused(self, sentences: Iterable[str]) -> "FittedVectors":
        """Return these vectors fitted on a task's sentences; the same vectors where the fit is fixed."""
        if self.postprocess.fit != "target":
            return self
        return FittedVectors(self.base, self.postprocess, list(dict.fromkeys(sentences)))

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, d) in the order of the sentences."""
        if self.fitted is None:
            if not self.fit_on:
                raise BadInput(f"{self.postprocess.name}: no sentences to fit on")
            method = self.postprocess.made_by()
            self.fitted = method.fit(self.base(self.fit_on), **self.postprocess.parameters)
        return self.fitted.transform(self.base(sentences)).astype(np.float32)
