"""Poolings, heads, engines, architectures and post-processings: what turns a sentence into a vector."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from replicse.checked import Checked, Count, Id, Positive, Text
from replicse.registry.corpora import DataFile

Pooling = Literal["cls", "cls-head", "random-head", "mean", "first-last", "first-last-0", "last2"]
POOLINGS: tuple[str, ...] = Pooling.__args__
Engine = Literal["auto", "packed", "transformers"]
Precision = Literal["fp32", "bf16", "fp16"]
Checkpoint = Literal["best", "last"]


class MlpHead(Checked):
    """SimCSE's head: a linear layer and tanh."""

    kind: Literal["mlp"]


class ProjectorHead(Checked):
    """Linear layers with batch normalisation behind each (DiffCSE appendix A).

    `width` is that of the layers between, twice the encoder's where it is not given; `output` that of the last one,
    the encoder's where it is not given; `final_norm` normalises what comes out, without weights of its own.
    """

    kind: Literal["projector"]
    layers: Annotated[Count, Field(ge=2)] = 2
    width: Count | None = None
    output: Count | None = None
    final_norm: bool = True


def _spelt_out(value: Any) -> Any:
    """Return `mlp` as {kind: mlp}."""
    return {"kind": value} if isinstance(value, str) else value


Head = Annotated[Annotated[MlpHead | ProjectorHead, Field(discriminator="kind")], BeforeValidator(_spelt_out)]


class Architecture(Checked):
    """The sizes of an encoder that is trained from random weights."""

    family: Literal["bert", "roberta", "distilbert"] = "bert"
    layers: Count
    hidden: Count
    heads: Count
    intermediate: Count
    positions: Count
    layer_norm_epsilon: Positive | None = None
    activation: Literal["gelu", "gelu_new", "relu"] | None = None


class Postprocessing(Checked):
    """Whitening or flow behind an encoder, fitted on a corpus of the scale or on each task's own sentences."""

    name: Literal["whitening", "flow"]
    fit: Id | dict[str, Any]


class WordVectors(Checked):
    """A text file of word vectors below the data root, and how sentences are split into its words (methods 2.5)."""

    file: DataFile
    lower_case: Literal["always", "never", "unknown"] = "unknown"
    strip_punctuation: Literal["always", "never", "unknown"] = "unknown"
    stop_words: tuple[Text, ...] = ()


# Layers and width of the released encoders that the papers start from or generate with.
SIZES = {
    "bert-base-uncased": (12, 768),
    "bert-large-uncased": (24, 1024),
    "roberta-base": (12, 768),
    "roberta-large": (24, 1024),
    "distilbert-base-uncased": (6, 768),
    "distilroberta-base": (6, 768),
    "bert_uncased_L-8_H-512_A-8": (8, 512),
    "bert_uncased_L-4_H-512_A-8": (4, 512),
    "bert_uncased_L-4_H-256_A-4": (4, 256),
    "bert_uncased_L-2_H-128_A-2": (2, 128),
}
