"""Sizes of encoders, by the name of a released encoder or from a folder."""

import re
from pathlib import Path
from typing import Any

from replicse.files import read_json
from replicse.registry.artefacts import CONFIG

# From config.json of bert-base-uncased, roberta-base, all-MiniLM-L6-v2 and similar encoders.
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
    "minilm-l6": {**_BERT, "hidden": 384, "layers": 6, "heads": 12, "intermediate": 1536},
}
# Encoders of the same size as BERT-base.
AS_BASE = ("mpnet-base", "llm-embedder")
# Google's smaller BERTs have their size in the name: bert_uncased_L-4_H-256_A-4.
NAMED = re.compile(r"_l-(\d+)_h-(\d+)_")
# The keys for layers and width in config.json, by family of transformers.
LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
WIDTHS = ("hidden_size", "dim", "n_embd", "d_model")


def size_of(hub: str) -> tuple[int, int] | None:
    """Return the layers and the width of a hub encoder from the name.

    Args:
        hub: The hub id, such as "bert-base-uncased".

    Returns:
        Layers and width; None if the name does not contain a known size.
    """
    name = hub.rpartition("/")[2].lower()
    if match := NAMED.search(name):
        return int(match[1]), int(match[2])
    near = [key for key in (*ARCHITECTURES, *AS_BASE) if key in name]
    if not near:
        return None
    sizes = ARCHITECTURES.get(max(near, key=len), _BASE)
    return sizes["layers"], sizes["hidden"]


def size_in(folder: Path) -> tuple[int, int] | None:
    """Return the layers and the width from config.json of a folder.

    Args:
        folder: The folder of an encoder.

    Returns:
        Layers and width; None if the file does not exist or does not contain the keys.
    """
    if not (folder / CONFIG).is_file():
        return None
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict):
        return None
    layers, width = _first_of(config, LAYERS), _first_of(config, WIDTHS)
    if not isinstance(layers, int) or not isinstance(width, int):
        return None
    return layers, width


def _first_of(config: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the value of the first existing key of a dict, or None."""
    for key in keys:
        if key in config:
            return config[key]
    return None


def weight_bytes(hub: str) -> int | None:
    """Return the approximate bytes of a hub encoder's fp32 weights.

    Args:
        hub: The hub id, such as "bert-base-uncased".

    Returns:
        Bytes; None if the name does not contain a known size.
    """
    size = size_of(hub)
    if size is None:
        return None
    layers, width = size
    vocabulary = 50_265 if "roberta" in hub.rpartition("/")[2].lower() else 30_522
    return 4 * (12 * layers * width**2 + (vocabulary + 512) * width)
