"""Layers and width of encoders, for costs and downloads: by their configuration, or by a size in their name."""

from functools import cache
from pathlib import Path

from replicse.files import read_json
from replicse.registry.artefacts import CONFIG

# Layers and width of the released encoders that the papers start from or generate with.
SIZES = {
    "bert-base-uncased": (12, 768),
    "bert-large-uncased": (24, 1024),
    "roberta-base": (12, 768),
    "roberta-large": (24, 1024),
    "distilbert-base-uncased": (6, 768),
    "distilroberta-base": (6, 768),
    "mpnet-base": (12, 768),
    "llm-embedder": (12, 768),
    "bert_uncased_L-8_H-512_A-8": (8, 512),
    "bert_uncased_L-4_H-512_A-8": (4, 512),
    "bert_uncased_L-4_H-256_A-4": (4, 256),
    "bert_uncased_L-2_H-128_A-2": (2, 128),
}


# How the families of transformers name layers and width in config.json.
LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
WIDTHS = ("hidden_size", "dim", "n_embd", "d_model")


def size_in(folder: Path) -> tuple[int, int] | None:
    """Return layers and width that config.json of an encoder's folder says; None where it is absent or says none."""
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else None
    said = config if isinstance(config, dict) else {}
    layers, width = (next((said[key] for key in keys if key in said), None) for keys in (LAYERS, WIDTHS))
    return (layers, width) if isinstance(layers, int) and isinstance(width, int) else None


@cache
def size_of(hub: str) -> tuple[int, int] | None:
    """Return layers and width of a hub encoder, by the size in its name; None for no such."""
    name = hub.rpartition("/")[2].lower()
    near = [key for key in SIZES if key.lower() in name or key.removesuffix("-uncased") in name]
    return SIZES[max(near, key=len)] if near else None


def weight_bytes(hub: str) -> int | None:
    """Return about how many bytes the fp32 weights of a hub encoder have; None where its name holds no size."""
    size = size_of(hub)
    if size is None:
        return None
    layers, width = size
    vocabulary = 50_265 if "roberta" in hub.rpartition("/")[2].lower() else 30_522
    return 4 * (12 * layers * width**2 + (vocabulary + 512) * width)
