"""Encoder folders on disk: configuration, weights and tokenizer, as Hugging Face lays them out."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from replicse.data.tokenizer import load_tokenizer, special_ids
from replicse.errors import BadInput, MissingData
from replicse.files import check_fetched, not_written, read_json, write_json, written_aside

# Our names -> those of a checkpoint, several where one matrix here holds what they hold apart.
Names = Mapping[str, tuple[str, ...]]


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of an encoder's config.json; MissingData where there is none."""
    file = Path(folder) / "config.json"
    if not file.is_file():
        raise MissingData(
            f"{file}: no such file; name a folder with a Hugging Face encoder, or delete"
            " the folder of the run to train it again"
        )
    found = read_json(file)
    if not isinstance(found, dict):
        raise BadInput(f"{file}: no mapping; fetch the encoder again")
    return found


def read_weights(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """Return the file of weights and what it holds, under today's names of LayerNorm's parts."""
    file = folder / "model.safetensors"
    try:
        if file.is_file():
            check_fetched(file)
            stored = load_file(file)
        else:
            file = folder / "pytorch_model.bin"
            if not file.is_file():
                raise MissingData(f"{folder}: neither model.safetensors nor pytorch_model.bin is there")
            check_fetched(file)
            stored = torch.load(file, map_location="cpu", weights_only=True)
            stored = {name: value for name, value in stored.items() if torch.is_tensor(value)}
    except BadInput:
        raise
    # What the readers of two formats raise for bytes that are neither: no narrower class has all of it.
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise BadInput(f"{file}: cannot be read ({why}); fetch the encoder again") from None
    old = {".gamma": ".weight", ".beta": ".bias"}
    return file, {
        re.sub(r"\.(gamma|beta)$", lambda end: old[end.group()], name): value
        for name, value in stored.items()
    }


def both_parts(ours: str, *theirs: str) -> dict[str, tuple[str, ...]]:
    """Return the names of weight and bias of a module that has both."""
    return {f"{ours}.{part}": tuple(f"{name}.{part}" for name in theirs) for part in ("weight", "bias")}


def fill(module: nn.Module, names: Names, stored: Mapping[str, Tensor], file: Path) -> None:
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


def named(module: nn.Module, names: Names) -> dict[str, Tensor]:
    """Return a module's weights under a checkpoint's names, each with its own memory."""
    own = module.state_dict()
    return {
        name: part.detach().float().cpu().clone()
        for ours, theirs in names.items()
        for name, part in zip(theirs, own[ours].chunk(len(theirs)), strict=True)
    }


def save_tensors(file: Path, tensors: Mapping[str, Tensor], **metadata: str) -> None:
    """Write tensors as safetensors atomically; Failed where the disk does not take them."""
    with written_aside(file) as temporary:
        try:
            save_file(dict(tensors), temporary, metadata or None)
        except SafetensorError as error:
            raise not_written(file, error) from None


def write_folder(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: Mapping[str, Any],
    tokenizer_file: Path,
    max_length: int,
) -> None:
    """Write weights, config.json and a copy of the tokenizer, whose settings are made where it has none."""
    save_tensors(folder / "model.safetensors", weights, format="pt")
    with written_aside(folder / "tokenizer.json") as temporary:
        shutil.copyfile(tokenizer_file, temporary)
    settings = tokenizer_file.with_name("tokenizer_config.json")
    if settings.is_file():
        with written_aside(folder / settings.name) as temporary:
            shutil.copyfile(settings, temporary)
    else:
        write_json(folder / settings.name, _tokenizer_settings(tokenizer_file, max_length))
    write_json(folder / "config.json", config)


def _tokenizer_settings(tokenizer_file: Path, max_length: int) -> dict[str, Any]:
    tokenizer = load_tokenizer(tokenizer_file, None)
    ids = special_ids(tokenizer)
    names = {f"{role}_token": tokenizer.id_to_token(place) for role, place in vars(ids).items()}
    return {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **names}
