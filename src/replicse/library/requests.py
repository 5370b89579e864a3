"""What an evaluation is asked for, as plain data that is checked; no torch."""

from typing import Any

from replicse.checked import Checked, Text
from replicse.registry.encoders import Engine


class EncoderOptions(Checked):
    """An encoder folder or hub id, and how it is read."""

    encoder: str = ""
    pooling: str | dict[str, Any] | None = None
    engine: Engine = "auto"
    max_length: int | None = None


class EvaluationRequest(EncoderOptions):
    """The suites of an encoder and their options; `vectors` are word vectors in place of an encoder."""

    suite: tuple[Text, ...] = ()
    options: dict[str, Any] = {}
    vectors: dict[str, Any] | None = None
    postprocess: dict[str, Any] | None = None
