"""Names of the packed engine's weights in a Hugging Face folder.

This module also writes such a folder.
"""

from pathlib import Path
from typing import Any

from replicse.encoder.backbone import Backbone
from replicse.encoder.heads import SentenceHead, head_config, head_weights
from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.stored import Names, export_weights, weight_and_bias, write_folder

EMBEDDINGS: Names = {
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
MASKED_LM = {
    "bert": (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias",
    ),
    "roberta": ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
}
_CLASSES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}


def save_packed(folder: Path, backbone: Backbone, head: SentenceHead | None, tokenizer_file: Path) -> None:
    """Save weights in fp32, configuration and tokenizer in a folder.

    This engine and `transformers` can load the folder.

    Args:
        folder: The folder to create.
        backbone: The encoder.
        head: A sentence head to save with the encoder, or None.
        tokenizer_file: The tokenizer.json to copy.
    """
    config: Any = backbone.config
    base = f"{config.family}."
    names = encoder_names(config, base)
    if backbone.predicts_tokens:
        names |= masked_lm_names(config)
    kind = "ForMaskedLM" if backbone.predicts_tokens else "Model"
    content = {
        **config.to_huggingface(),
        "architectures": [_CLASSES[config.family] + kind],
        "dtype": "float32",
        **head_config(head),
    }
    weights = {**export_weights(backbone, names), **head_weights(head, base)}
    write_folder(folder, weights, content, tokenizer_file, config.max_length)


def encoder_names(config: EncoderConfig, base: str) -> dict[str, tuple[str, ...]]:
    """Return the names of the encoder's weights in a checkpoint.

    Args:
        config: The configuration of the encoder.
        base: The prefix of the names, such as "bert.".

    Returns:
        A dict from our names to their names; several names if the weights are concatenated in one matrix.
    """
    stem, modules = _LAYERS[config.family]
    names: dict[str, tuple[str, ...]] = {}
    for ours, theirs in EMBEDDINGS.items():
        if config.token_types or ours != "type_embeddings":
            names[ours] = tuple(base + name for name in theirs)
    for number in range(config.layers):
        for ours, theirs in modules.items():
            full = [f"{base}{stem}.{number}.{name}" for name in theirs]
            names |= weight_and_bias(f"layers.{number}.{ours}", *full)
    return names


def masked_lm_names(config: EncoderConfig) -> Names:
    """Return the names of the masked-LM weights in a checkpoint.

    Args:
        config: The configuration of the encoder.

    Returns:
        A dict from our names to their names.
    """
    dense, norm, bias = MASKED_LM[config.family]
    return {
        **weight_and_bias("masked_lm.dense", dense),
        **weight_and_bias("masked_lm.norm", norm),
        "masked_lm.bias": (bias,),
    }
