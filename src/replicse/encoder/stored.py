"""Encoder folders in the format of Hugging Face.

A folder contains configuration, weights and tokenizer.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from replicse.checked import excerpt
from replicse.data.tokenizer import load_tokenizer, special_tokens
from replicse.encoder.folders import READABLE, check_is_encoder
from replicse.errors import BadInput, MissingData, one_line
from replicse.files import atomic_write, below, check_fetched, check_there, not_written, read_json, write_json
from replicse.printable import some
from replicse.registry.artefacts import CONFIG, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS

# Formats of weights that are not supported, by suffix.
OTHER_FORMATS = {
    ".onnx": "ONNX",
    ".xml": "OpenVINO",
    ".h5": "TensorFlow",
    ".msgpack": "Flax",
    ".gguf": "GGUF",
}
KINDS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
# Keys of the weights in checkpoints that also contain the optimiser and counts.
STATE_DICTS = ("state_dict", "model_state_dict", "model", "module")
# Our name of a weight -> its names in a checkpoint; several if they are concatenated in one matrix.
Names = Mapping[str, tuple[str, ...]]


class UnusableWeights(BadInput):
    """Weights that would give wrong vectors without an error.

    For example, the weights are quantised or do not fit the configuration.
    """


def read_config(folder: Path) -> dict[str, Any]:
    """Load an encoder's config.json.

    Args:
        folder: The encoder folder.

    Returns:
        The content, a dict.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If it does not contain a dict.
    """
    file = Path(folder) / CONFIG
    if not file.is_file():
        check_is_encoder(Path(folder))
        check_there(file, "specify a folder with a Hugging Face encoder")
    config = read_json(file)
    if not isinstance(config, dict):
        raise BadInput(f"{file}: expected a dict; specify a folder with a Hugging Face encoder")
    return config


def weight_files(folder: Path) -> list[Path]:
    """List the files of an encoder's weights.

    Args:
        folder: The encoder folder.

    Returns:
        A list of a single file, or of an index and the parts in the index.

    Raises:
        MissingData: If there is no such file. The error names weights in another format.
    """
    places: list[Path] = []
    for name in READABLE:
        places += [folder / name, folder / f"{name}.index.json"]
    file = next((place for place in places if place.exists()), None)
    if file is None:
        raise MissingData(_describe_missing_weights(folder))
    if file.suffix != ".json":
        return [file]
    parts = {*read_json(file).get("weight_map", {}).values()}
    return [file, *[below(folder, part, f"a part that {file.name} names") for part in sorted(parts)]]


def _describe_missing_weights(folder: Path) -> str:
    """Return the error for a folder without weights in a known format."""
    files = [*folder.glob("*.*"), *folder.glob("*/*.*")]
    others = sorted(file for file in files if file.suffix in OTHER_FORMATS)
    if not others:
        return f"{folder}: the weights are missing ({' or '.join(READABLE)}, or parts with an index)"
    formats = sorted({OTHER_FORMATS[file.suffix] for file in others})
    return (
        f"{folder}: the weights are only in the format {' and '.join(formats)} ({others[0].relative_to(folder)});"
        f" save the encoder as {' or '.join(READABLE)}"
    )


def check_weights(folder: Path) -> None:
    """Raise an error if a folder has no weights that can be loaded.

    Args:
        folder: The encoder folder.

    Raises:
        MissingData: If there are no files of weights.
        UnusableWeights: If the weights are quantised according to config.json.
    """
    settings = read_config(folder).get("quantization_config")
    if settings:
        method = settings.get("quant_method", "a quantiser") if isinstance(settings, Mapping) else settings
        raise UnusableWeights(
            f"{folder / CONFIG}: the weights are quantised according to quantization_config ({method}); expected 16 to"
            " 64-bit floating point; specify the original encoder"
        )
    weight_files(folder)


def has_weights(folder: Path) -> bool:
    """Return whether a folder contains weights of an encoder.

    Args:
        folder: The encoder folder.
    """
    try:
        return bool(weight_files(folder))
    except MissingData:
        return False


def read_weights(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """Load the weights of an encoder folder.

    The prefix `module.` of DistributedDataParallel is removed.

    Args:
        folder: The encoder folder.

    Returns:
        The file of the weights, or the index if there are several files, and a dict of the tensors by name.

    Raises:
        MissingData: If a file of weights does not exist.
    """
    file, *parts = weight_files(folder)
    stored: dict[str, Tensor] = {}
    for part in parts or [file]:
        check_there(part, f"copy all parts that {file.name} lists")
        stored |= read_tensors(part)
    if stored and all(name.startswith("module.") for name in stored):
        stored = {name.removeprefix("module."): value for name, value in stored.items()}
    return file, stored


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Load the tensors of a safetensors or PyTorch file.

    If the file is a checkpoint with a `state_dict`, only the tensors of the `state_dict` are returned.

    Args:
        file: The file.

    Returns:
        A dict from names to tensors on the CPU.

    Raises:
        BadInput: If the file cannot be loaded.
        UnusableWeights: If weights are not floating-point numbers, such as the weights of a quantised
            encoder.
    """
    check_fetched(file)
    try:
        stored: Any
        if file.suffix == ".safetensors":
            stored = load_file(file)
        else:
            stored = torch.load(file, map_location="cpu", weights_only=True)
    except UnpicklingError:
        raise BadInput(
            f"{file}: cannot be loaded as tensors; it may contain a pickled module; save a state_dict with"
            " torch.save(model.state_dict(), file)"
        ) from None
    # The readers of two formats raise errors of many classes for a broken file.
    except Exception as error:
        why = one_line(error)
        raise BadInput(
            f"{file}: cannot be loaded ({why}); the file is truncated or has another format"
        ) from None
    stored = _find_state_dict(stored)
    if not isinstance(stored, Mapping):
        raise BadInput(f"{file}: contains a {type(stored).__name__}, not tensors by name; save a state_dict")
    tensors = {name: value for name, value in stored.items() if torch.is_tensor(value)}
    if stored and not tensors:  # heads without weights are an empty file
        keys = some([excerpt(name) for name in stored]) or "nothing"
        raise BadInput(
            f"{file}: expected tensors by name, but the file contains {keys}; save only the state_dict of the encoder"
        )
    for name, value in tensors.items():
        if not isinstance(name, str):
            raise BadInput(f"{file}: the key {excerpt(name)} is not the name of a weight; save a state_dict")
        # Counts, numbers of positions, and the rows of shared embeddings (model2vec) are not weights.
        is_other = value.dim() == 0 or name.endswith("_ids") or name == "mapping"
        if value.layout != torch.strided or not (value.dtype in KINDS or is_other):
            kind = f"{value.dtype if value.layout == torch.strided else value.layout}".removeprefix("torch.")
            raise UnusableWeights(
                f'{file}: "{name}" is {kind}; expected 16 to 64-bit floating point, not quantised weights'
            )
    return tensors


def _find_state_dict(stored: Any) -> Any:
    """Return the innermost dict of weights of a checkpoint."""
    if isinstance(stored, Mapping):
        for name in STATE_DICTS:
            if isinstance(stored.get(name), Mapping):
                return _find_state_dict(stored[name])
    return stored


def check_finite(module: nn.Module, place: Path) -> None:
    """Raise an error if a weight is not finite.

    Otherwise every score would be undefined.

    Args:
        module: The module to check.
        place: The file or folder, for the message.

    Raises:
        BadInput: If a weight is NaN or infinite.
    """
    for name, value in module.state_dict().items():
        if value.is_floating_point() and not value.isfinite().all():
            raise BadInput(
                f'{place}: "{name}" contains NaN or infinite values, so scores are undefined; use another'
                " checkpoint"
            )


def weight_and_bias(ours: str, *theirs: str) -> dict[str, tuple[str, ...]]:
    """Return the names of weight and bias of a module in checkpoints.

    Args:
        ours: Our name of the module.
        *theirs: The names of the module in a checkpoint, several if their weights are concatenated.

    Returns:
        A dict from our names to their names.
    """
    names: dict[str, tuple[str, ...]] = {}
    for part in ("weight", "bias"):
        names[f"{ours}.{part}"] = tuple(f"{name}.{part}" for name in theirs)
    return names


def load_weights(module: nn.Module, names: Names, stored: Mapping[str, Tensor], file: Path) -> None:
    """Load stored weights into a module on the meta device.

    Args:
        module: The module.
        names: A dict from the names of the module's weights to names of stored weights.
        stored: A dict from names to stored weights. They are copied, because the file is memory-mapped.
        file: The file, for error messages.

    Raises:
        BadInput: If a weight is missing or has another shape.
    """
    shapes = {name: value.shape for name, value in module.state_dict().items()}
    values = {}
    for ours, theirs in names.items():
        rows, *rest = shapes[ours]
        for name in theirs:
            if name not in stored:
                raise BadInput(f'{file}: weight "{name}" is missing, but config.json requires it')
            if stored[name].shape != (rows // len(theirs), *rest):
                shape = tuple(stored[name].shape)
                raise BadInput(
                    f'{file}: "{name}" has shape {shape}, which contradicts config.json; correct config.json or'
                    " the weights"
                )
        values[ours] = torch.cat([stored[name].float() for name in theirs])
    module.load_state_dict(values, assign=True)


def export_weights(module: nn.Module, names: Names) -> dict[str, Tensor]:
    """Return copies of a module's weights by their checkpoint names.

    Args:
        module: The module.
        names: A dict from the names of the module's weights to names in a checkpoint.

    Returns:
        A dict from names in a checkpoint to float32 tensors on the CPU.
    """
    weights = module.state_dict()
    exported: dict[str, Tensor] = {}
    for ours, theirs in names.items():
        for name, part in zip(theirs, weights[ours].chunk(len(theirs)), strict=True):
            exported[name] = part.detach().float().cpu().clone()
    return exported


def save_tensors(file: Path, tensors: Mapping[str, Tensor], **metadata: str) -> None:
    """Write tensors as safetensors atomically.

    Args:
        file: The file to write.
        tensors: A dict from names to tensors.
        **metadata: Strings for the header of the file.

    Raises:
        Failed: If the disk is full.
    """
    with atomic_write(file) as temporary:
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
    """Write weights, config.json and a copy of the tokenizer.

    If the tokenizer has no settings, default settings are written.

    Args:
        folder: The folder to create.
        weights: A dict from names to tensors.
        config: The content of config.json, a dict.
        tokenizer_file: The tokenizer.json to copy, with tokenizer_config.json next to it if it exists.
        max_length: The maximum number of tokens of a row in default settings.
    """
    save_tensors(folder / WEIGHTS, weights, format="pt")
    with atomic_write(folder / TOKENIZER) as temporary:
        shutil.copyfile(tokenizer_file, temporary)
    settings = tokenizer_file.with_name(TOKENIZER_CONFIG)
    if settings.is_file():
        with atomic_write(folder / settings.name) as temporary:
            shutil.copyfile(settings, temporary)
    else:
        write_json(folder / settings.name, _tokenizer_settings(tokenizer_file, max_length))
    write_json(folder / CONFIG, config)


def _tokenizer_settings(tokenizer_file: Path, max_length: int) -> dict[str, Any]:
    tokens = special_tokens(load_tokenizer(tokenizer_file, None))
    names = {f"{role}_token": name for role, name in tokens.items()}
    return {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, **names}
