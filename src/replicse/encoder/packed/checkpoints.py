"""Encoders of the packed engine read from Hugging Face folders, without `transformers`."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.layout import EMBEDDINGS, MASKED_LM, encoder_names, masked_lm_names
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.encoder.stored import check_layers, fill, read_config, read_weights
from replicse.errors import BadInput, MissingData
from replicse.registry.artefacts import CONFIG


def load_packed(folder: Path) -> PackedBackbone:
    """Return the encoder of a Hugging Face folder: fp32, on the CPU, in training mode, dropout rates 0.1.

    Raises MissingData where a file is absent and BadInput where the family is not supported or a weight is
    missing or has another shape than config.json says.
    """
    try:
        config = EncoderConfig.from_huggingface(read_config(folder))
    except MissingData:
        raise
    except BadInput as error:
        raise BadInput(f"{folder / CONFIG}: {error}") from None
    file, stored = read_weights(folder)
    names = encoder_names(config, _base_prefix(file, stored, config.family))
    with torch.device("meta"):
        backbone = PackedBackbone(config)
        if f"{MASKED_LM[config.family][0]}.weight" in stored:
            backbone.new_token_head()
            names |= masked_lm_names(config)
    check_layers(file, stored, {each for theirs in names.values() for each in theirs})
    fill(backbone, names, stored, file)
    return backbone


def _base_prefix(file: Path, stored: Mapping[str, Tensor], family: str) -> str:
    tokens = EMBEDDINGS["token_embeddings"][0]
    for base in (f"{family}.", "", "model.", f"model.{family}."):
        if base + tokens in stored:
            return base
    raise BadInput(f'{file}: no weight "{family}.{tokens}"; the file does not hold a {family} encoder')
