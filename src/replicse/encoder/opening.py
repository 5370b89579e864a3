"""Encoders opened from disk, each by the engine that is asked for or that its family has."""

from pathlib import Path

from replicse.encoder.backbone import Backbone
from replicse.encoder.folders import check_folder
from replicse.encoder.stored import check_finite, read_config
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import PACKED, Engine


def open_backbone(folder: Path, engine: Engine = "auto", tokenizer: Path | None = None) -> Backbone:
    """Return the encoder of a Hugging Face folder: fp32, on the CPU, in training mode.

    `tokenizer` is its tokenizer.json, if that is not in the folder. Raises MissingData where a file is absent and
    BadInput where the engine cannot read the encoder, or a run has recorded it otherwise.
    """
    folder = Path(folder)
    check_folder(folder)
    packed = read_config(folder).get("model_type") in PACKED if engine == "auto" else engine == "packed"
    if packed:
        from replicse.encoder.packed.checkpoints import load_packed

        backbone: Backbone = load_packed(folder)
    else:
        from replicse.encoder.huggingface import load_transformers

        backbone = load_transformers(folder)
    check_finite(backbone, folder)
    backbone.tokenizer_file = tokenizer or folder / TOKENIZER
    return backbone
