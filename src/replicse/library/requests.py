"""Requests of evaluations as validated data; does not import torch."""

from typing import Any

from replicse.checked import Checked, Text
from replicse.registry.encoders import Engine


class EncoderOptions(Checked):
    """A folder or hub id of an encoder, and how the vectors are computed.

    Attributes:
        encoder: The folder or hub id.
        pooling: The name or dict of a pooling. Default: set by the folder.
        engine: `auto`, `packed` or `transformers`. Default: `auto`.
        max_length: Tokens at which a sentence is truncated. Default: set by the folder.
    """

    encoder: str = ""
    pooling: str | dict[str, Any] | None = None
    engine: Engine = "auto"
    max_length: int | None = None


class EvaluationRequest(EncoderOptions):
    """The suites of an encoder and their options.

    By default, the vectors are those of the encoder, without post-processing.

    Attributes:
        suite: The names of the suites.
        options: A dict from suites to options.
        vectors: The word vectors that replace the encoder. Default: None.
        postprocess: The post-processing of the vectors. Default: None.
    """

    suite: tuple[Text, ...] = ()
    options: dict[str, Any] = {}
    vectors: dict[str, Any] | None = None
    postprocess: dict[str, Any] | None = None
