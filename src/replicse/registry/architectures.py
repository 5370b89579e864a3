"""Sizes of encoders: of the released ones that the papers start from or generate with, and of a folder's."""

import re
from pathlib import Path
from typing import Any

from replicse.files import read_json
from replicse.registry.artefacts import CONFIG

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
# Of the same size as the base encoders, without weights or counts of their own here.
AS_BASE = ("mpnet-base", "llm-embedder")
# The smaller BERTs of Google name theirs: bert_uncased_L-4_H-256_A-4.
NAMED = re.compile(r"_l-(\d+)_h-(\d+)_")
# How the families of transformers name layers and width in config.json.
LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
WIDTHS = ("hidden_size", "dim", "n_embd", "d_model")


def size_of(hub: str) -> tuple[int, int] | None:
    """Return layers and width of a hub encoder, by the size in its name; None for no such."""
    name = hub.rpartition("/")[2].lower()
    if said := NAMED.search(name):
        return int(said[1]), int(said[2])
    near = [key for key in (*ARCHITECTURES, *AS_BASE) if key in name]
    sizes = ARCHITECTURES.get(max(near, key=len), _BASE) if near else None
    return (sizes["layers"], sizes["hidden"]) if sizes else None


def size_in(folder: Path) -> tuple[int, int] | None:
    """Return layers and width that config.json of an encoder's folder says; None where it is absent or says none."""
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else None
    said = config if isinstance(config, dict) else {}
    layers, width = (next((said[key] for key in keys if key in said), None) for keys in (LAYERS, WIDTHS))
    return (layers, width) if isinstance(layers, int) and isinstance(width, int) else None


def weight_bytes(hub: str) -> int | None:
    """Return about how many bytes the fp32 weights of a hub encoder have; None where its name holds no size."""
    size = size_of(hub)
    if size is None:
        return None
    layers, width = size
    vocabulary = 50_265 if "roberta" in hub.rpartition("/")[2].lower() else 30_522
    return 4 * (12 * layers * width**2 + (vocabulary + 512) * width)
