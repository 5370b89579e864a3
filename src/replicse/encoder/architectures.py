"""Encoders without weights: on torch's meta device their parameters can be counted."""

import torch

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import check_known
from replicse.registry.architectures import ARCHITECTURES


def empty_backbone(name: str) -> PackedBackbone:
    """Return an encoder with its masked-LM head and without weights; BadInput for an unknown architecture."""
    check_known(name, ARCHITECTURES, f'no architecture is named "{name}"')
    with torch.device("meta"):
        backbone = PackedBackbone(EncoderConfig(**ARCHITECTURES[name]))
        backbone.new_token_head()
    return backbone
