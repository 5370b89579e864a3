"""Encoders on disk: Hugging Face folders, read and written without `transformers`."""

import json
import pickle
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from replicse.data.tokenizer import load_tokenizer, special_ids
from replicse.encoder.linear import Linear, linear
from replicse.encoder.pooling import Head, Projector
from replicse.encoder.transformer import ACTIVATIONS, EncoderConfig, TransformerEncoder, draw_normal
from replicse.errors import BadInput, MissingData
from replicse.files import read_json, write_json, written_aside

# Our names -> those of a checkpoint, several where one matrix here holds what they hold apart.
Names = Mapping[str, tuple[str, ...]]

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
_POOLER = "pooler.dense"
# Unconverted SimCSE checkpoints call the head "mlp" (methods 2.1).
_HEADS = (_POOLER, "mlp.dense")
_PROJECTOR = "projector"
# Weights and running statistics of the projector; its count of batches is no part of any number.
_PROJECTOR_PARTS = (
    "expand.weight",
    *(f"expand_norm.{part}" for part in ("weight", "bias", "running_mean", "running_var")),
    "contract.weight",
    *(f"contract_norm.{part}" for part in ("running_mean", "running_var")),
)
_PARTS = ("weight", "bias")


class MaskedLmHead(nn.Module):
    """Dense layer, activation, LayerNorm and a decoder that is the token embeddings plus a bias."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        # RoBERTa's head ignores the configured activation.
        self.activation = ACTIVATIONS["gelu" if config.family == "roberta" else config.activation]
        self.dense = Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, config.layer_norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        draw_normal(self.dense.weight, config.initializer_range)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, token_embeddings: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Return logits (n, vocabulary) of (n, hidden) states, or only those of a shortlist of token ids."""
        states = self.norm(self.activation(self.dense(states)))
        if shortlist is None:
            return linear(states, token_embeddings, self.bias)
        return linear(states, F.embedding(shortlist, token_embeddings), self.bias[shortlist])


@dataclass
class Loaded:
    """What a folder holds: the encoder, and the heads that were stored with it."""

    encoder: TransformerEncoder
    head: Head | Projector | None
    masked_lm: MaskedLmHead | None
    config: EncoderConfig


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of an encoder's config.json; MissingData where there is none."""
    file = Path(folder) / "config.json"
    if not file.is_file():
        raise MissingData(f"{file}: no such file; name a folder with a Hugging Face encoder")
    try:
        return read_json(file)
    except json.JSONDecodeError as error:
        raise BadInput(f"{file}: not JSON ({error}); fetch the encoder again") from None


def load_encoder(folder: Path) -> Loaded:
    """Return the encoder of a Hugging Face folder: fp32, on the CPU, in training mode, dropout rates 0.1.

    Raises MissingData where a file is absent and BadInput where the family is not supported or a weight is
    missing or has another shape than config.json says.
    """
    folder = Path(folder)
    try:
        config = EncoderConfig.from_huggingface(read_config(folder))
    except MissingData:
        raise
    except BadInput as error:
        raise BadInput(f"{folder / 'config.json'}: {error}") from None
    file, stored = _read_weights(folder)
    base = _base_prefix(file, stored, config.family)
    with torch.device("meta"):
        encoder, masked_lm = TransformerEncoder(config), MaskedLmHead(config)
    _fill(encoder, _encoder_names(config, base), stored, file)
    has_masked_lm = f"{_MASKED_LM[config.family][0]}.weight" in stored
    if has_masked_lm:
        _fill(masked_lm, _masked_lm_names(config), stored, file)
    head = _stored_head(config, base, stored, file)
    return Loaded(encoder, head, masked_lm if has_masked_lm else None, config)


def save_encoder(
    folder: Path,
    encoder: TransformerEncoder,
    head: Head | Projector | None,
    masked_lm: MaskedLmHead | None,
    tokenizer_file: Path,
) -> None:
    """Write a folder that this module and `transformers` load: fp32 weights, configuration and tokenizer.

    A projector is stored below `projector.`, which `transformers` passes over, and named in config.json.
    """
    folder = Path(folder)
    config = encoder.config
    base = f"{config.family}."
    weights = _named(encoder, _encoder_names(config, base))
    if head is not None:
        weights |= _named(head, _head_names(head, base + _POOLER, base))
    if masked_lm is not None:
        weights |= _named(masked_lm, _masked_lm_names(config))
    with written_aside(folder / "model.safetensors") as temporary:
        save_file(weights, temporary, metadata={"format": "pt"})
    _save_tokenizer(folder, Path(tokenizer_file), config)
    kind = "Model" if masked_lm is None else "ForMaskedLM"
    content = {
        **config.to_huggingface(),
        "architectures": [_CLASSES[config.family] + kind],
        "dtype": "float32",
    }
    if isinstance(head, Projector):
        content["sentence_head"] = _PROJECTOR
    write_json(folder / "config.json", content)


def _both_parts(ours: str, *theirs: str) -> dict[str, tuple[str, ...]]:
    """Return the names of weight and bias of a module that has both."""
    return {f"{ours}.{part}": tuple(f"{name}.{part}" for name in theirs) for part in _PARTS}


def _stored_head(
    config: EncoderConfig, base: str, stored: Mapping[str, Tensor], file: Path
) -> Head | Projector | None:
    """Return the head that a checkpoint holds; None where it holds none."""
    dense = [prefix + kind for kind in _HEADS for prefix in (base, "") if f"{prefix + kind}.weight" in stored]
    if not dense and f"{base}{_PROJECTOR}.expand.weight" not in stored:
        return None
    with torch.device("meta"):
        head = Head(config.hidden) if dense else Projector(config.hidden)
    _fill(head, _head_names(head, dense[0] if dense else "", base), stored, file)
    return head


def _head_names(head: Head | Projector, dense: str, base: str) -> Names:
    if isinstance(head, Projector):
        return {name: (f"{base}{_PROJECTOR}.{name}",) for name in _PROJECTOR_PARTS}
    return _both_parts("dense", dense)


def _encoder_names(config: EncoderConfig, base: str) -> Names:
    stem, modules = _LAYERS[config.family]
    names = {
        ours: tuple(base + name for name in theirs)
        for ours, theirs in _EMBEDDINGS.items()
        if config.token_types or ours != "type_embeddings"
    }
    for number in range(config.layers):
        for ours, theirs in modules.items():
            full = (f"{base}{stem}.{number}.{name}" for name in theirs)
            names |= _both_parts(f"layers.{number}.{ours}", *full)
    return names


def _masked_lm_names(config: EncoderConfig) -> Names:
    dense, norm, bias = _MASKED_LM[config.family]
    return {**_both_parts("dense", dense), **_both_parts("norm", norm), "bias": (bias,)}


def _read_weights(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """Return the file of weights and what it holds, under today's names of LayerNorm's parts."""
    file = folder / "model.safetensors"
    try:
        if file.is_file():
            stored = load_file(file)
        else:
            file = folder / "pytorch_model.bin"
            if not file.is_file():
                raise MissingData(f"{folder}: neither model.safetensors nor pytorch_model.bin is there")
            stored = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise BadInput(f"{file}: cannot be read ({error}); fetch the encoder again") from None
    old = {".gamma": ".weight", ".beta": ".bias"}
    return file, {
        re.sub(r"\.(gamma|beta)$", lambda end: old[end.group()], name): value
        for name, value in stored.items()
    }


def _base_prefix(file: Path, stored: Mapping[str, Tensor], family: str) -> str:
    tokens = _EMBEDDINGS["token_embeddings"][0]
    for base in (f"{family}.", "", "model.", f"model.{family}."):
        if base + tokens in stored:
            return base
    raise BadInput(f'{file}: no weight "{family}.{tokens}"; the file does not hold a {family} encoder')


def _fill(module: nn.Module, names: Names, stored: Mapping[str, Tensor], file: Path) -> None:
    """Give a module made on the meta device its weights; torch.cat copies them out of the mapped file."""
    shapes = {name: value.shape for name, value in module.state_dict().items()}
    values = {}
    for ours, theirs in names.items():
        absent = [name for name in theirs if name not in stored]
        if absent:
            raise BadInput(f'{file}: no weight "{absent[0]}"; fetch the encoder again')
        values[ours] = torch.cat([stored[name].float() for name in theirs])
        if values[ours].shape != shapes[ours]:
            found = tuple(stored[theirs[0]].shape)
            raise BadInput(
                f'{file}: "{theirs[0]}" has shape {found}, which config.json contradicts; mend either'
            )
    module.load_state_dict(values, assign=True)


def _named(module: nn.Module, names: Names) -> dict[str, Tensor]:
    """Return a module's weights under a checkpoint's names, each with its own memory."""
    own = module.state_dict()
    return {
        name: part.detach().float().cpu().clone()
        for ours, theirs in names.items()
        for name, part in zip(theirs, own[ours].chunk(len(theirs)), strict=True)
    }


def _save_tokenizer(folder: Path, tokenizer_file: Path, config: EncoderConfig) -> None:
    with written_aside(folder / "tokenizer.json") as temporary:
        shutil.copyfile(tokenizer_file, temporary)
    settings = tokenizer_file.with_name("tokenizer_config.json")
    if settings.is_file():
        with written_aside(folder / settings.name) as temporary:
            shutil.copyfile(settings, temporary)
        return
    tokenizer = load_tokenizer(tokenizer_file, None)
    ids = special_ids(tokenizer)
    names = {f"{role}_token": tokenizer.id_to_token(getattr(ids, role)) for role in vars(ids)}
    content = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": config.max_length, **names}
    write_json(folder / "tokenizer_config.json", content)
