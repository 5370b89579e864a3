"""The sizes and conventions of an encoder of the packed engine, and how config.json names them."""

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

SIZES = ("vocabulary", "hidden", "layers", "heads", "intermediate", "positions")
MOST = 10**7

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
# What transformers assumes where config.json leaves a key out.
_DEFAULTS = {
    "bert": {"token_types": 2, "layer_norm_epsilon": 1e-12, "pad_id": 0},
    "roberta": {"token_types": 2, "layer_norm_epsilon": 1e-12, "pad_id": 1},
    "distilbert": {"token_types": 0, "layer_norm_epsilon": 1e-12, "pad_id": 0},
}


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes and conventions of one encoder; token types are 0 where the family has none."""

    family: str
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    token_types: int
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    pad_id: int = 0
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        types = 0 if self.family == "distilbert" else 1
        sizes = {"token_types": types, "pad_id": 0, **dict.fromkeys(SIZES, 1)}
        for name, least in sizes.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value < MOST:
                raise BadInput(f"{name} is {value!r}; expected a whole number from {least} on")
        for name in ("layer_norm_epsilon", "initializer_range"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < 1:
                raise BadInput(f"{name} is {value!r}; expected a number from 0 to 1")
        # Compared with each name: what a broken file holds may have no hash.
        if self.activation not in list(ACTIVATIONS):
            raise BadInput(f'activation "{self.activation}" is not supported; --engine transformers has it')
        if self.pad_id >= self.vocabulary:
            raise BadInput(
                f"pad_id is {self.pad_id}; expected a token of the {self.vocabulary} that the encoder knows"
            )
        if self.max_length < 1:
            raise BadInput(f"positions is {self.positions}; expected more than {self.position_offset}")
        if self.hidden % self.heads:
            raise BadInput(f"hidden size {self.hidden} cannot be split over {self.heads} attention heads")

    @property
    def position_offset(self) -> int:
        """Return the position id of a row's first token; RoBERTa's positions start after the padding id."""
        return self.pad_id + 1 if self.family == "roberta" else 0

    @property
    def max_length(self) -> int:
        """Return the number of tokens of the longest row the position embeddings allow."""
        return self.positions - self.position_offset

    @staticmethod
    def fresh(architecture: Architecture, vocabulary: int, pad_id: int) -> "EncoderConfig":
        """Return the configuration of an encoder that is to be drawn at random."""
        sizes = architecture.model_dump(exclude_none=True, exclude={"config"})
        types = {"bert": 2, "roberta": 1, "distilbert": 0}[architecture.family]
        return EncoderConfig(vocabulary=vocabulary, pad_id=pad_id, token_types=types, **sizes)

    @staticmethod
    def from_huggingface(config: Mapping[str, Any]) -> "EncoderConfig":
        """Read a config.json's content; raise BadInput for a family or a variant that is not supported."""
        family = config.get("model_type")
        if family not in list(CONFIG_KEYS):
            raise BadInput(f'model_type "{family}" is not supported; --engine transformers may have it')
        if config.get("position_embedding_type", "absolute") != "absolute":
            kind = config["position_embedding_type"]
            raise BadInput(f'position_embedding_type "{kind}" is not supported; only "absolute" is')
        if not config.get("tie_word_embeddings", True):
            raise BadInput("tie_word_embeddings is false, but only tied masked-LM heads are supported")
        keys = CONFIG_KEYS[family]
        entries = {ours: config[theirs] for ours, theirs in keys.items() if config.get(theirs) is not None}
        values = {"initializer_range": 0.02, "activation": "gelu", **_DEFAULTS[family], **entries}
        missing = [theirs for ours, theirs in keys.items() if ours not in values]
        if missing:
            raise BadInput(f'the encoder\'s config.json lacks "{missing[0]}"')
        return EncoderConfig(family=family, **values)

    def to_huggingface(self) -> dict[str, Any]:
        """Return the content of a config.json."""
        sizes = {theirs: getattr(self, ours) for ours, theirs in CONFIG_KEYS[self.family].items()}
        return {"model_type": self.family, **sizes}
