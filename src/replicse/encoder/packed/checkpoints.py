"""Encoders of the packed engine, loaded from `transformers` weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.layout import EMBEDDINGS, MASKED_LM, encoder_names, masked_lm_names
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.encoder.stored import load_weights, read_config, read_weights


def load_packed(folder: Path) -> PackedBackbone:
    """Load the encoder of a folder that a run or a preparation wrote.

    Args:
        folder: The encoder folder.

    Returns:
        The encoder in fp32, on the CPU, in training mode.

    Raises:
        MissingData: If a file does not exist.
        BadInput: As `make_packed`.
    """
    config = read_config(folder)
    file, stored = read_weights(folder)
    return make_packed(config, stored, file)


def make_packed(config: Mapping[str, Any], stored: Mapping[str, Tensor], place: Path) -> PackedBackbone:
    """Create an encoder from weights with the names of `transformers`.

    Dropout rates are 0.1.

    Args:
        config: The content of config.json, a dict.
        stored: A dict from the names of weights to tensors.
        place: The file or folder, for error messages.

    Returns:
        The encoder, with a masked-LM head if it is stored.

    Raises:
        BadInput: If the family or variant is not supported, or a weight is missing or has another shape.
    """
    sizes = EncoderConfig.from_huggingface(config)
    base = f"{sizes.family}."
    names = encoder_names(sizes, base if base + EMBEDDINGS["token_embeddings"][0] in stored else "")
    with torch.device("meta"):
        backbone = PackedBackbone(sizes)
        if f"{MASKED_LM[sizes.family][0]}.weight" in stored:
            backbone.new_token_head()
            names |= masked_lm_names(sizes)
    load_weights(backbone, names, stored, place)
    return backbone
