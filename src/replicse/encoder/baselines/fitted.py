"""Sentence vectors with a post-processing that is fitted on sentences.

Examples of post-processing are whitening and flow.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from replicse.errors import BadInput
from replicse.registry.encoders import Postprocessing


class FittedVectors:
    """An encoder with a post-processing that is fitted once.

    By default, the post-processing is fitted on the sentences of each task (methods 2.5).

    Args:
        base: The encoder.
        postprocess: The post-processing.
        fit_on: The sentences to fit on. Default: empty, for the sentences of each task.
    """

    def __init__(self, base: Any, postprocess: Postprocessing, fit_on: Sequence[str] = ()) -> None:
        self.base, self.postprocess, self.fit_on = base, postprocess, fit_on
        self.fitted: Any = None

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences, sorted by length.

        The sentences to fit on are encoded too.

        Args:
            sentences: The sentences that will be used.
        """
        self.base.prepare([*sentences, *self.fit_on])

    def clear(self) -> None:
        """Clear the cache of the encoder; the fit is kept."""
        self.base.clear()

    def focused(self, sentences: Iterable[str]) -> "FittedVectors":
        """Return an encoder that is fitted on the sentences of a task.

        Args:
            sentences: The sentences of the task; repeated sentences are used once.

        Returns:
            A new encoder, or this encoder if the fit does not depend on tasks.
        """
        if self.postprocess.fit != "target":
            return self
        return FittedVectors(self.base, self.postprocess, list(dict.fromkeys(sentences)))

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode and transform sentences: float32 vectors (n, d), in their order."""
        if self.fitted is None:
            if not self.fit_on:
                raise BadInput(f"{self.postprocess.name}: the list of sentences to fit on is empty")
            method = self.postprocess.made_by()
            fit_on = self.base(self.fit_on)
            with self.postprocess.name_in_errors():
                self.fitted = method.fit(fit_on, **self.postprocess.parameters)
        vectors = self.base(sentences)
        with self.postprocess.name_in_errors():
            transformed = np.asarray(self.fitted.transform(vectors), dtype=np.float32)
            if transformed.ndim != 2 or len(transformed) != len(vectors):
                raise ValueError(f"transform returned shape {transformed.shape} for {vectors.shape}")
        return transformed
