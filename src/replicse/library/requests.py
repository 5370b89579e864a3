"""Requests of evaluations as validated data; does not import torch."""

from typing import Any

from replicse.checked import Checked, Text
from replicse.registry.encoders import Engine


class EncoderOptions(Checked):
    """A folder or hub id of an encoder, and how the vectors are computed."""

    encoder: str = ""
    pooling: str | dict[str, Any] | None = None
    engine: Engine = "auto"
    max_length: int | None = None


class EvaluationRequest(EncoderOptions):
    """The suites of an encoder and their options.

    `vectors` specifies word vectors that replace the encoder.
    """

    suite: tuple[Text, ...] = ()
    options: dict[str, Any] = {}
    vectors: dict[str, Any] | None = None
    postprocess: dict[str, Any] | None = None
