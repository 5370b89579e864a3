"""Encoders of the packed engine, made of weights under the names that `transformers` has for them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.layout import EMBEDDINGS, MASKED_LM, encoder_names, masked_lm_names
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.encoder.stored import fill, read_config, read_weights


def load_packed(folder: Path) -> PackedBackbone:
    """Return the encoder of a folder that a run or a preparation wrote: fp32, on the CPU, in training mode.

    Raises MissingData where a file is absent, and BadInput as `packed_of` does.
    """
    config = read_config(folder)
    file, stored = read_weights(folder)
    return packed_of(config, stored, file)


def packed_of(config: Mapping[str, Any], stored: Mapping[str, Tensor], place: Path) -> PackedBackbone:
    """Return an encoder of a configuration and weights, both as `transformers` names them; dropout rates are 0.1.

    Raises BadInput where the family or a variant of it is not supported, or a weight is missing or has another shape
    than the configuration says.
    """
    sizes = EncoderConfig.from_huggingface(config)
    base = f"{sizes.family}."
    names = encoder_names(sizes, base if base + EMBEDDINGS["token_embeddings"][0] in stored else "")
    with torch.device("meta"):
        backbone = PackedBackbone(sizes)
        if f"{MASKED_LM[sizes.family][0]}.weight" in stored:
            backbone.new_token_head()
            names |= masked_lm_names(sizes)
    fill(backbone, names, stored, place)
    return backbone
