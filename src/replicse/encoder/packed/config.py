"""The configuration of the packed engine and the keys in config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F

from replicse.errors import BadInput
from replicse.registry.encoders import Architecture

ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": lambda values: F.gelu(values, approximate="tanh"),
    "relu": F.relu,
}

# Our name of each size -> its key in config.json.
_BERT_KEYS = {
    "vocabulary": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "positions": "max_position_embeddings",
    "token_types": "type_vocab_size",
    "layer_norm_epsilon": "layer_norm_eps",
    "activation": "hidden_act",
    "pad_id": "pad_token_id",
    "initializer_range": "initializer_range",
}
_DISTILBERT_KEYS = {
    "vocabulary": "vocab_size",
    "hidden": "dim",
    "layers": "n_layers",
    "heads": "n_heads",
    "intermediate": "hidden_dim",
    "positions": "max_position_embeddings",
    "activation": "activation",
    "pad_id": "pad_token_id",
    "initializer_range": "initializer_range",
}
CONFIG_KEYS = {"bert": _BERT_KEYS, "roberta": _BERT_KEYS, "distilbert": _DISTILBERT_KEYS}


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes and conventions of an encoder.

    Except for the token types, the defaults are those of bert-base-uncased.

    Attributes:
        family: "bert", "roberta" or "distilbert".
        vocabulary: The number of token ids.
        hidden: The size of the hidden states.
        layers: The number of layers.
        heads: The number of attention heads.
        intermediate: The width of the feed-forward networks.
        positions: The number of position embeddings.
        token_types: The number of token types. Default: 0, no token types.
        layer_norm_epsilon: The epsilon of LayerNorm. Default: 1e-12.
        activation: A key of `ACTIVATIONS`. Default: "gelu".
        pad_id: The id of the padding token. Default: 0.
        initializer_range: The standard deviation of random weights. Default: 0.02.
    """

    family: str
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    token_types: int = 0
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    pad_id: int = 0
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise BadInput(
                f'activation "{self.activation}" is not supported by the packed engine; use --engine transformers'
            )
        if self.hidden % self.heads:
            raise BadInput(f"hidden size {self.hidden} cannot be split over {self.heads} attention heads")

    @property
    def position_offset(self) -> int:
        """Return the position id of the first token of a row.

        RoBERTa starts to count after the padding id.
        """
        return self.pad_id + 1 if self.family == "roberta" else 0

    @property
    def max_length(self) -> int:
        """Return the maximum number of tokens of a row.

        The number of position embeddings limits it.
        """
        return self.positions - self.position_offset

    @staticmethod
    def fresh(architecture: Architecture, vocabulary: int, pad_id: int) -> "EncoderConfig":
        """Create the configuration of an encoder with random weights.

        Args:
            architecture: The family and the sizes.
            vocabulary: The number of token ids.
            pad_id: The id of the padding token.
        """
        sizes = architecture.model_dump(exclude_none=True, exclude={"config"})
        types = {"bert": 2, "roberta": 1, "distilbert": 0}[architecture.family]
        return EncoderConfig(vocabulary=vocabulary, pad_id=pad_id, token_types=types, **sizes)

    @staticmethod
    def from_huggingface(config: Mapping[str, Any]) -> "EncoderConfig":
        """Convert a configuration of `transformers`.

        Args:
            config: The content of config.json, a dict.

        Raises:
            BadInput: If the family or variant is not supported.
        """
        family = config["model_type"]
        if family not in CONFIG_KEYS:
            raise BadInput(
                f'model_type "{family}" is not supported by the packed engine; use --engine transformers'
            )
        if not config.get("tie_word_embeddings", True):
            raise BadInput("tie_word_embeddings is false, but only tied masked-LM heads are supported")
        values = {ours: config[key] for ours, key in CONFIG_KEYS[family].items()}
        return EncoderConfig(family=family, **values)

    def to_huggingface(self) -> dict[str, Any]:
        """Return the content of config.json."""
        sizes = {theirs: getattr(self, ours) for ours, theirs in CONFIG_KEYS[self.family].items()}
        return {"model_type": self.family, **sizes}
