"""Encoders with random weights.

They use the packed engine for BERT, RoBERTa and DistilBERT, and `transformers` for other families.
"""

from pathlib import Path
from typing import Any

import torch

from replicse.data.tokenizer import SpecialIds, load_tokenizer, special_ids
from replicse.encoder.backbone import Backbone
from replicse.errors import BadInput, refusing
from replicse.registry.encoders import PACKED, Architecture, Engine

# Our name of each size -> its names in the configurations of `transformers`, which vary by family.
SIZES = {
    "hidden": ("hidden_size",),
    "layers": ("num_hidden_layers",),
    "heads": ("num_attention_heads",),
    "intermediate": ("intermediate_size", "hidden_dim", "ffn_dim", "d_ff", "d_inner", "n_inner"),
    "positions": ("max_position_embeddings",),
}


def fresh_backbone(architecture: Architecture, tokenizer: Path, engine: Engine = "auto") -> Backbone:
    """Create an encoder with random weights.

    The encoder has a masked-LM head if the family has one.

    Args:
        architecture: The family and the sizes.
        tokenizer: The path of the tokenizer.json, for vocabulary size and special ids.
        engine: The engine to use. Default: "auto", the packed engine if it supports the family.

    Returns:
        The encoder in fp32 on the CPU.

    Raises:
        BadInput: If the engine does not support the family, or the family does not have one of the sizes.
    """
    family, loaded = architecture.family, load_tokenizer(tokenizer, None)
    size, special = loaded.get_vocab_size(), special_ids(loaded)
    if family in PACKED and engine != "transformers":
        from replicse.encoder.packed.config import EncoderConfig
        from replicse.encoder.packed.transformer import PackedBackbone

        if architecture.config:
            raise BadInput(
                f"architecture.config requires engine transformers, but {family} uses the packed engine; remove it"
            )
        backbone: Backbone = PackedBackbone(EncoderConfig.fresh(architecture, size, special.pad))
        backbone.new_token_head()
    elif engine == "packed":
        raise BadInput(f"engine packed supports {', '.join(PACKED)}, not {family}; use engine auto")
    else:
        backbone = _make_with_transformers(architecture, size, special)
    backbone.tokenizer_file = tokenizer
    return backbone


def _make_with_transformers(architecture: Architecture, vocabulary: int, special: SpecialIds) -> Backbone:
    """Create an encoder of a family of `transformers` with random weights."""
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

    from replicse.encoder.huggingface import TransformersBackbone, first_position, has_masked_lm
    from replicse.encoder.proof import is_causal

    family = architecture.family
    with_head = has_masked_lm(family)
    values = _config_values(architecture, AutoConfig.for_model(family), vocabulary, special)
    auto_class = AutoModelForMaskedLM if with_head else AutoModel
    with refusing(f"transformers cannot create this encoder of family {family}"):
        with torch.device("meta"):
            model = auto_class.from_config(AutoConfig.for_model(family, **values)).base_model
        # RoBERTa and related families start to count positions after the padding id.
        first = first_position(model)
        values["max_position_embeddings"] += first
        network = auto_class.from_config(AutoConfig.for_model(family, **values))
    if first not in (0, special.pad + 1):
        raise BadInput(
            f"{family} counts positions after the padding id {first - 1}, but the tokenizer pads with {special.pad};"
            " use a tokenizer of kind byte-bpe"
        )
    backbone = TransformersBackbone(network, architecture.positions)
    backbone.causal = is_causal(backbone)
    return backbone


def _config_values(
    architecture: Architecture, default: Any, vocabulary: int, special: SpecialIds
) -> dict[str, Any]:
    """Return the values of a configuration that differ from the default."""
    from replicse.encoder.huggingface import check_keys

    family, hidden = architecture.family, architecture.hidden
    if hidden % architecture.heads:
        raise BadInput(
            f"hidden size {hidden} cannot be split over {architecture.heads} attention heads; change one of them"
        )
    values: dict[str, Any] = {}
    for ours, theirs in SIZES.items():
        keys = [key for key in theirs if hasattr(default, key)]
        if not keys:
            raise BadInput(
                f"the configuration of {family} does not have a key for {ours}; use another family"
            )
        values[keys[0]] = getattr(architecture, ours)
    more = {
        "vocab_size": vocabulary,
        "num_key_value_heads": architecture.heads,
        "head_dim": hidden // architecture.heads,
        "embedding_size": min(getattr(default, "embedding_size", hidden), hidden),
        "pad_token_id": special.pad,
        "cls_token_id": special.cls,
        "sep_token_id": special.sep,
        "mask_token_id": special.mask,
        "bos_token_id": special.cls,
        "eos_token_id": special.sep,
    }
    values |= {key: value for key, value in more.items() if hasattr(default, key)}
    check_keys("architecture.config", architecture.config, default)
    return {**values, **architecture.config}
