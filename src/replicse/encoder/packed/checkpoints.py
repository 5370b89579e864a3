"""Encoders of the packed engine on disk: Hugging Face folders, read and written without `transformers`."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from replicse.encoder.heads import head_config, head_weights
from replicse.encoder.packed.transformer import EncoderConfig, PackedBackbone
from replicse.encoder.stored import Names, both_parts, fill, named, read_config, read_weights, write_folder
from replicse.errors import BadInput, MissingData

_EMBEDDINGS = {
    "token_embeddings": ("embeddings.word_embeddings.weight",),
    "position_embeddings": ("embeddings.position_embeddings.weight",),
    "type_embeddings": ("embeddings.token_type_embeddings.weight",),
    "embedding_norm.weight": ("embeddings.LayerNorm.weight",),
    "embedding_norm.bias": ("embeddings.LayerNorm.bias",),
}
_BERT_LAYER = {
    "query_key_value": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention_output": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "intermediate": ("intermediate.dense",),
    "output": ("output.dense",),
    "output_norm": ("output.LayerNorm",),
}
_DISTILBERT_LAYER = {
    "query_key_value": ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    "attention_output": ("attention.out_lin",),
    "attention_norm": ("sa_layer_norm",),
    "intermediate": ("ffn.lin1",),
    "output": ("ffn.lin2",),
    "output_norm": ("output_layer_norm",),
}
_LAYERS = {
    "bert": ("encoder.layer", _BERT_LAYER),
    "roberta": ("encoder.layer", _BERT_LAYER),
    "distilbert": ("transformer.layer", _DISTILBERT_LAYER),
}
# Dense layer, LayerNorm and bias of the masked-LM head.
_MASKED_LM = {
    "bert": (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias",
    ),
    "roberta": ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
}
_CLASSES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}


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
        raise BadInput(f"{folder / 'config.json'}: {error}") from None
    file, stored = read_weights(folder)
    names = _encoder_names(config, _base_prefix(file, stored, config.family))
    with torch.device("meta"):
        backbone = PackedBackbone(config)
        if f"{_MASKED_LM[config.family][0]}.weight" in stored:
            backbone.new_token_head()
            names |= _masked_lm_names(config)
    fill(backbone, names, stored, file)
    return backbone


def save_packed(folder: Path, backbone: PackedBackbone, head: nn.Module | None, tokenizer_file: Path) -> None:
    """Write a folder that this module and `transformers` load: fp32 weights, configuration and tokenizer."""
    config = backbone.config
    base = f"{config.family}."
    names = _encoder_names(config, base)
    if backbone.predicts_tokens:
        names |= _masked_lm_names(config)
    kind = "ForMaskedLM" if backbone.predicts_tokens else "Model"
    content = {
        **config.to_huggingface(),
        "architectures": [_CLASSES[config.family] + kind],
        "dtype": "float32",
        **head_config(head),
    }
    weights = {**named(backbone, names), **head_weights(head, base)}
    write_folder(folder, weights, content, tokenizer_file, config.max_length)


def _encoder_names(config: EncoderConfig, base: str) -> dict[str, tuple[str, ...]]:
    stem, modules = _LAYERS[config.family]
    names = {
        ours: tuple(base + name for name in theirs)
        for ours, theirs in _EMBEDDINGS.items()
        if config.token_types or ours != "type_embeddings"
    }
    for number in range(config.layers):
        for ours, theirs in modules.items():
            full = (f"{base}{stem}.{number}.{name}" for name in theirs)
            names |= both_parts(f"layers.{number}.{ours}", *full)
    return names


def _masked_lm_names(config: EncoderConfig) -> Names:
    dense, norm, bias = _MASKED_LM[config.family]
    return {
        **both_parts("masked_lm.dense", dense),
        **both_parts("masked_lm.norm", norm),
        "masked_lm.bias": (bias,),
    }


def _base_prefix(file: Path, stored: Mapping[str, Tensor], family: str) -> str:
    tokens = _EMBEDDINGS["token_embeddings"][0]
    for base in (f"{family}.", "", "model.", f"model.{family}."):
        if base + tokens in stored:
            return base
    raise BadInput(f'{file}: no weight "{family}.{tokens}"; the file does not hold a {family} encoder')
