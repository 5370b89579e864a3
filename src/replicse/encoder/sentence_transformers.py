"""Folders of sentence-transformers: the transformer, the pooling, the length and the normalisation that they name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import below, read_json
from replicse.registry.artefacts import CONFIG, TOKENIZER_CONFIG

MODULES = "modules.json"
# What the library calls a pooling, in each of its two spellings, and what it is called here.
POOLINGS = {
    "cls": "cls",
    "pooling_mode_cls_token": "cls",
    "mean": "mean",
    "pooling_mode_mean_tokens": "mean",
    "lasttoken": "last-token",
    "pooling_mode_lasttoken": "last-token",
}


@dataclass(frozen=True)
class Modules:
    """What a folder of sentence-transformers says of its encoder; None where it says nothing."""

    transformer: Path
    pooling: str | None = None
    max_length: int | None = None
    normalised: bool = False


def read_modules(folder: Path, only_transformer: bool = False) -> Modules:
    """Return the modules of a folder, or its transformer alone; without `modules.json` it is the transformer itself.

    Raises BadInput where the file is no list of modules, or a module is one that would change vectors in a way that is
    not computed here: a Dense layer, several poolings side by side, a pooling without prompts.
    """
    file = folder / MODULES
    if not file.exists():
        return Modules(folder)
    listed = read_json(file)
    entries = listed if isinstance(listed, list) else []
    if not entries or not all(
        isinstance(each, dict) and isinstance(each.get("path"), str) for each in entries
    ):
        raise BadInput(f"{file}: no list of modules that each name a path; fetch the encoder again")
    if only_transformer:
        return Modules(_place(folder, entries[0], file))
    _check_prompts(folder / "config_sentence_transformers.json")
    places = [_place(folder, each, file) for each in entries]
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in entries]
    pooling = None
    for kind, place in zip(kinds[1:], places[1:], strict=True):
        if kind == "Pooling":
            pooling = _pooling(place / CONFIG)
        elif kind != "Normalize":
            raise BadInput(
                f"{file}: module {kind} is not computed here; expected a transformer, Pooling, Normalize"
            )
    return Modules(places[0], pooling, _max_length(places[0]), "Normalize" in kinds)


def _place(folder: Path, module: Mapping[str, Any], file: Path) -> Path:
    """Return the folder of a module; the transformer often lies in the folder itself."""
    path = module["path"]
    return below(folder, path, f"the path of a module below the folder in {file}") if path else folder


def _pooling(file: Path) -> str:
    settings = read_json(file)
    if not isinstance(settings, Mapping):
        raise BadInput(f"{file}: no settings of a pooling; fetch the encoder again")
    mode = settings.get("pooling_mode", _flags(settings))
    modes = [mode] if isinstance(mode, str) else mode
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise BadInput(f"{file}: pooling {', '.join(map(str, modes))} is not computed here; give --pooling")
    if settings.get("include_prompt") is False:
        raise BadInput(f"{file}: include_prompt false is not computed here; give --pooling")
    return POOLINGS[modes[0]]


def _flags(settings: Mapping[str, Any]) -> list[str]:
    return [name for name, value in settings.items() if name.startswith("pooling_mode_") and value is True]


def _max_length(transformer: Path) -> int | None:
    """Return how many tokens a row may have: older folders have a file for it, newer ones the tokenizer's settings."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        (TOKENIZER_CONFIG, "model_max_length"),
    ):
        file = transformer / name
        settings = read_json(file) if file.is_file() else {}
        length = settings.get(key) if isinstance(settings, Mapping) else None
        if isinstance(settings, Mapping) and settings.get("do_lower_case") and key == "max_seq_length":
            raise BadInput(
                f"{file}: do_lower_case true is not computed here; give --pooling and lower-case the text"
            )
        if length is not None and not (type(length) is int and length > 0):
            raise BadInput(f"{file}: {key} is {length!r}; expected a whole number of tokens above 0")
        if length is not None:
            return length
    return None


def _check_prompts(file: Path) -> None:
    """Raise BadInput where every sentence would get a prompt that is not added here."""
    settings = read_json(file) if file.is_file() else {}
    name = settings.get("default_prompt_name") if isinstance(settings, Mapping) else None
    if name:
        raise BadInput(
            f'{file}: default prompt "{name}" is not added here; give --pooling, and the prompt in the text'
        )
