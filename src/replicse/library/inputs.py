"""What was evaluated: digests of an encoder's files, and the prompt before each sentence."""

from pathlib import Path

from replicse.encoder.folders import MODULES, encoder_folder
from replicse.encoder.modules import list_modules
from replicse.encoder.sentence_transformers import SETTINGS
from replicse.encoder.stored import has_weights, weight_files
from replicse.files import read_json, sha256_of
from replicse.registry.artefacts import CONFIG
from replicse.registry.digests import digest

NO_PROMPT = "none"
# Files of an encoder that change its vectors, next to weights and tokenizer.
SETTINGS_FILES = (CONFIG, MODULES, SETTINGS, "sentence_bert_config.json")


def describe_encoder(folder_or_hub_id: str, reads_modules: bool) -> dict[str, str]:
    """Return digests of the weights and settings of an encoder, and its prompt.

    Args:
        folder_or_hub_id: a folder, or an id on the hub that was downloaded.
        reads_modules: whether the folder's own modules are read, with their prompt.
    """
    folder = encoder_folder(folder_or_hub_id)
    places = list(dict.fromkeys([folder, *(module.place for module in list_modules(folder))]))
    weights = [file for place in places if has_weights(place) for file in weight_files(place)]
    settings = [place / name for place in places for name in SETTINGS_FILES if (place / name).is_file()]
    return {
        "weights": digest([sha256_of(file) for file in weights]),
        "settings": digest([sha256_of(file) for file in settings]),
        "prompt": _read_prompt(folder) if reads_modules else NO_PROMPT,
    }


def _read_prompt(folder: Path) -> str:
    """Return the prompt that sentence-transformers puts before each sentence by default."""
    file = folder / SETTINGS
    stated = read_json(file) if file.is_file() else {}
    name = stated.get("default_prompt_name")
    return str((stated.get("prompts") or {}).get(name) or NO_PROMPT)
