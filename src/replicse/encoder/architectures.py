"""Encoders on torch's meta device, without weights, to count parameters."""

import torch

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import check_known
from replicse.registry.architectures import ARCHITECTURES


def empty_backbone(name: str) -> PackedBackbone:
    """Create an encoder with a masked-LM head, without weights.

    Args:
        name: The name of an architecture, such as "bert-base".

    Returns:
        The encoder on torch's meta device, to count parameters.

    Raises:
        BadInput: If the architecture is unknown.
    """
    check_known(name, ARCHITECTURES, f'architecture "{name}" does not exist')
    with torch.device("meta"):
        backbone = PackedBackbone(EncoderConfig(**ARCHITECTURES[name]))
        backbone.new_token_head()
    return backbone
