"""Digests of an encoder's files and the prompt before each sentence."""

from pathlib import Path

from replicse.encoder.folders import MODULES, encoder_folder
from replicse.encoder.modules import list_modules
from replicse.encoder.sentence_transformers import SETTINGS
from replicse.encoder.stored import has_weights, weight_files
from replicse.files import read_json, sha256_of
from replicse.registry.artefacts import CONFIG, TOKENIZER, TOKENIZER_CONFIG
from replicse.registry.digests import digest

NO_PROMPT = "none"
# Files that change an encoder's vectors, in addition to weights.
SETTINGS_FILES = (CONFIG, MODULES, SETTINGS, "sentence_bert_config.json", TOKENIZER, TOKENIZER_CONFIG)


def describe_encoder(folder_or_hub_id: str, reads_modules: bool) -> dict[str, str]:
    """Return digests of an encoder's weights and settings, and the prompt.

    Args:
        folder_or_hub_id: A folder, or the id of a downloaded hub encoder.
        reads_modules: Whether the modules in the folder are used, with their prompt.

    Returns:
        A dict with `weights`, `settings` (hexadecimal strings) and `prompt`.

    Raises:
        MissingData: If the folder or a file of the encoder does not exist.

    Examples:
        >>> describe_encoder("bert-base-uncased", reads_modules=False)["prompt"]
        'none'
    """
    folder = encoder_folder(folder_or_hub_id)
    folders = dict.fromkeys([folder])
    for module in list_modules(folder):
        folders[module.place] = None
    weights: list[Path] = []
    settings: list[Path] = []
    for place in folders:
        if has_weights(place):
            weights += weight_files(place)
        for name in SETTINGS_FILES:
            if (place / name).is_file():
                settings.append(place / name)
    return {
        "weights": digest(list(map(sha256_of, weights))),
        "settings": digest(list(map(sha256_of, settings))),
        "prompt": _read_prompt(folder) if reads_modules else NO_PROMPT,
    }


def _read_prompt(folder: Path) -> str:
    """Return the default prompt of a sentence-transformers folder."""
    file = folder / SETTINGS
    if not file.is_file():
        return NO_PROMPT
    settings = read_json(file)
    prompts = settings.get("prompts") or {}
    return str(prompts.get(settings.get("default_prompt_name")) or NO_PROMPT)
