"""Encoders with random weights: the packed engine makes its own families, `transformers` every other one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from replicse.data.tokenizer import SpecialIds, load_tokenizer, special_ids
from replicse.encoder.backbone import Backbone
from replicse.errors import BadInput, refusing
from replicse.registry.encoders import PACKED, Architecture, Engine

# Our name of each size -> its keys in the configurations of `transformers`, which know some by other names themselves.
SIZES = {
    "hidden": ("hidden_size",),
    "layers": ("num_hidden_layers",),
    "heads": ("num_attention_heads",),
    "intermediate": ("intermediate_size", "hidden_dim", "ffn_dim", "d_ff", "d_inner", "n_inner"),
    "positions": ("max_position_embeddings",),
}


def fresh_backbone(architecture: Architecture, tokenizer: Path, engine: Engine = "auto") -> Backbone:
    """Return an encoder with random weights of the given architecture, with a masked-LM head where it has one.

    Raises BadInput where the engine cannot make the family, or the family has no such size.
    """
    family, loaded = architecture.family, load_tokenizer(tokenizer, None)
    size, special = loaded.get_vocab_size(), special_ids(loaded)
    if family in PACKED and engine != "transformers":
        from replicse.encoder.packed.config import EncoderConfig
        from replicse.encoder.packed.transformer import PackedBackbone

        if architecture.config:
            raise BadInput(
                f"architecture.config is for engine transformers; {family} is made by the packed one"
            )
        backbone: Backbone = PackedBackbone(EncoderConfig.fresh(architecture, size, special.pad))
        backbone.new_token_head()
    elif engine == "packed":
        raise BadInput(f"engine packed has {', '.join(PACKED)}, not {family}; leave the engine out")
    else:
        backbone = _of_transformers(architecture, size, special)
    backbone.tokenizer_file = tokenizer
    return backbone


def _of_transformers(architecture: Architecture, vocabulary: int, special: SpecialIds) -> Backbone:
    """Return a random encoder of a family of `transformers`, with its masked-LM head where it has one."""
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

    from replicse.encoder.huggingface import TransformersBackbone, first_position, has_masked_lm
    from replicse.encoder.proof import is_causal

    family = architecture.family
    with_head = has_masked_lm(family)
    values = dict(_values(architecture, AutoConfig.for_model(family), vocabulary, special))
    opened = AutoModelForMaskedLM if with_head else AutoModel
    with refusing(f"transformers cannot make such an encoder of family {family}"):
        with torch.device("meta"):
            model = opened.from_config(AutoConfig.for_model(family, **values)).base_model
        # RoBERTa's kin begin to count positions after the padding id.
        first = first_position(model)
        values["max_position_embeddings"] += first
        network = opened.from_config(AutoConfig.for_model(family, **values))
    if first not in (0, special.pad + 1):
        raise BadInput(
            f"{family} counts positions after the padding id {first - 1}, but the tokenizer pads with {special.pad};"
            " name a tokenizer of kind byte-bpe"
        )
    backbone = TransformersBackbone(network, architecture.positions)
    backbone.causal = is_causal(backbone)
    return backbone


def _values(
    architecture: Architecture, usual: Any, vocabulary: int, special: SpecialIds
) -> Iterator[tuple[str, Any]]:
    """Yield keys and values of a family's configuration; `usual` is the one that it has without any."""
    from replicse.encoder.huggingface import check_keys

    family, hidden = architecture.family, architecture.hidden
    if hidden % architecture.heads:
        raise BadInput(f"hidden size {hidden} cannot be split over {architecture.heads} attention heads")
    for ours, theirs in SIZES.items():
        value, key = getattr(architecture, ours), next((key for key in theirs if hasattr(usual, key)), None)
        if key is None:
            raise BadInput(f"the configuration of {family} has no key for {ours}; choose another family")
        yield key, value
    more = {
        "vocab_size": vocabulary,
        "num_key_value_heads": architecture.heads,
        "head_dim": hidden // architecture.heads,
        "embedding_size": min(getattr(usual, "embedding_size", hidden), hidden),
        **{f"{role}_token_id": getattr(special, role) for role in ("pad", "cls", "sep", "mask")},
        "bos_token_id": special.cls,
        "eos_token_id": special.sep,
    }
    yield from ((key, value) for key, value in more.items() if hasattr(usual, key))
    check_keys("architecture.config", architecture.config, usual)
    yield from architecture.config.items()
