"""Encoders by their published sizes alone, without weights: on torch's meta device their parameters can be counted."""

from typing import Any

import torch

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import BadInput, nearest

# What config.json of bert-base-uncased, roberta-base and their kin says.
_BERT = {"family": "bert", "vocabulary": 30522, "positions": 512, "token_types": 2}
_ROBERTA = {"family": "roberta", "vocabulary": 50265, "positions": 514, "token_types": 1, "pad_id": 1}
_BASE = {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072}
_LARGE = {"hidden": 1024, "layers": 24, "heads": 16, "intermediate": 4096}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "bert-base": {**_BERT, **_BASE},
    "bert-large": {**_BERT, **_LARGE},
    "roberta-base": {**_ROBERTA, **_BASE},
    "roberta-large": {**_ROBERTA, **_LARGE},
    "distilbert-base": {**_BERT, **_BASE, "family": "distilbert", "layers": 6, "token_types": 0},
    "distilroberta-base": {**_ROBERTA, **_BASE, "layers": 6},
}


def empty_backbone(name: str) -> PackedBackbone:
    """Return an encoder with its masked-LM head and without weights; BadInput for an unknown architecture."""
    if name not in ARCHITECTURES:
        raise BadInput(f'no architecture is named "{name}"{nearest(name, ARCHITECTURES)}')
    with torch.device("meta"):
        backbone = PackedBackbone(EncoderConfig(**ARCHITECTURES[name]))
        backbone.new_token_head()
    return backbone
