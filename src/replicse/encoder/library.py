"""Foreign encoder folders, loaded by the libraries of their formats.

The libraries are `transformers` and, for adapters, `peft`. No weight is ignored silently: a weight inside the encoder
that does not fit the configuration is an error, and a weight next to the encoder is listed in `unread`.
"""

import logging
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from replicse.encoder.folders import ADAPTER, encoder_folder
from replicse.encoder.huggingface import TransformersBackbone, check_keys, has_masked_lm, token_table
from replicse.encoder.stored import UnusableWeights, check_weights, read_config, read_weights
from replicse.errors import BadInput, refusing
from replicse.files import read_json
from replicse.printable import some
from replicse.registry.artefacts import CONFIG, TOKENIZER_CONFIG

log = logging.getLogger(__name__)
CORRECT = "correct it, or install the version of transformers that saved it"
_COMPUTED = ("inv_freq", "masked_bias", "position_ids", "num_batches_tracked")
# Parts of the names of head weights, which are loaded separately if the pooling has a head.
_OF_HEADS = ("pooler.", "mlp.dense.", "projector.")


class LeftOver(UnusableWeights):
    """Weights inside an encoder that do not fit the configuration."""


def read_network(folder: Path, changes: Mapping[str, Any] = MappingProxyType({})) -> TransformersBackbone:
    """Load the encoder of a folder in fp32 on the CPU.

    The masked-LM head is loaded too if it is stored. Prefixes that training code adds to weights (`module.`,
    `model.`, ...) are removed. Code in the folder is never run; a warning names it.

    Args:
        folder: The folder of the encoder.
        changes: A dict of changes to the configuration. Weights that only the changed encoder has are
            initialised at random. Default: no changes.

    Returns:
        The encoder in training mode.

    Raises:
        BadInput: If `transformers` does not support the family, or a weight is missing.
        UnusableWeights: If the weights are quantised, or a weight inside the encoder does not fit.
    """
    folder = Path(folder)
    if (folder / ADAPTER).is_file():
        return _read_adapted(folder, changes)
    check_weights(folder)
    values = {**read_config(folder), **changes}
    family = values.get("model_type")
    if not isinstance(family, str):
        raise BadInput(
            f'{folder / CONFIG}: "model_type" is missing; add the family, such as "model_type": "bert"'
        )
    with_head = has_masked_lm(family, f"{folder}: ") and not values.get("is_decoder")
    code = list_code(folder)
    if code:
        log.warning(
            "%s: code of the folder is not run (%s); the %s classes of transformers are used instead, which may compute"
            " other vectors",
            folder,
            ", ".join(code),
            family,
        )
    file, stored = read_weights(folder)
    config, model_class = _choose_class(folder, family, values, with_head)
    if changes:
        check_keys("init.config", changes, type(config)())
    with (
        refusing(f"{folder / CONFIG}: transformers cannot create the encoder", CORRECT),
        torch.device("meta"),
    ):
        empty = model_class(config)
    stored = _strip_prefix(file, stored, empty.base_model, family, bool(changes))
    options = {"add_pooling_layer": False} if "add_pooling_layer" in signature(model_class).parameters else {}
    with quiet_library(), refusing(f"{file}: transformers cannot load the weights", CORRECT):
        network, found = model_class.from_pretrained(
            None,
            config=config,
            state_dict=stored,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **options,
        )
    for name, shape, _ in found["mismatched_keys"]:
        raise BadInput(
            f'{file}: "{name}" has shape {tuple(shape)}, which contradicts config.json; correct config.json or'
            " the weights"
        )
    base = f"{network.base_model_prefix}."
    unread = _list_unread(file, found["unexpected_keys"], stored, network, base)
    outer = base if network is not network.base_model else ""
    absent = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    inside = [name for name in absent if name.startswith(outer)]
    if inside and not changes:
        raise BadInput(
            f'{file}: weight "{inside[0]}" is missing, but config.json requires it; use complete weights'
        )
    initial = model_class(config).state_dict() if inside else {}
    network.load_state_dict({name: initial[name] for name in inside}, strict=False)
    headless = len(absent) > len(inside)
    with refusing(f"{folder}: {family} of transformers cannot be used as a sentence encoder"):
        backbone = TransformersBackbone(network.base_model if headless else network)
    backbone.code = code
    backbone.added = tuple(weight for name, weight in network.named_parameters() if name in inside)
    if isinstance(getattr(backbone.model, "pooler", None), nn.Module):
        # A stored head is loaded separately. SqueezeBERT calls the pooler even if it is not needed.
        backbone.model.pooler = nn.Identity()
    backbone.unread = unread
    return backbone.train()


def list_code(folder: Path) -> tuple[str, ...]:
    """List the classes of code in a folder by file.

    Args:
        folder: The folder of an encoder.

    Returns:
        Strings such as "auto_map of config.json: modeling_mine.MineModel"; empty if there is no code.
    """
    found = []
    for name in (CONFIG, TOKENIZER_CONFIG):
        settings = read_json(folder / name) if (folder / name).is_file() else {}
        named = settings.get("auto_map") if isinstance(settings, Mapping) else None
        classes: list[Any] = []
        for value in named.values() if isinstance(named, Mapping) else [named]:
            # A tokenizer has two classes, slow and fast, one of which can be null.
            classes += value if isinstance(value, list) else [value]
        names = dict.fromkeys(str(each) for each in classes if each)
        if names:
            found.append(f"auto_map of {name}: {', '.join(names)}")
    return tuple(found)


def _choose_class(folder: Path, family: str, values: Mapping[str, Any], with_head: bool) -> tuple[Any, Any]:
    """Return the configuration and the class of an encoder."""
    import transformers
    from transformers.models.auto import modeling_auto

    config_class = transformers.CONFIG_MAPPING[family]
    # The first dict has the encoder of an encoder-decoder.
    names = ["MODEL_FOR_TEXT_ENCODING_MAPPING", "MODEL_MAPPING"]
    if with_head:
        names = ["MODEL_FOR_MASKED_LM_MAPPING"]
    for name in names:
        mapping = getattr(modeling_auto, name)
        if config_class in mapping:
            model_class = mapping[config_class]
            break
    else:
        raise BadInput(
            f"{folder}: transformers does not have an encoder of family {family}; use another encoder"
        )
    if isinstance(model_class, tuple):
        model_class = model_class[0]
    with refusing(f"{folder / CONFIG}: transformers cannot load it", CORRECT):
        return config_class.from_dict(dict(values)), model_class


def _strip_prefix(
    file: Path, stored: Mapping[str, Tensor], model: Any, family: str, changed: bool
) -> dict[str, Tensor]:
    """Return weights without prefixes that training code has added.

    Raises BadInput if the file contains no encoder of the family, or several encoders.
    """
    from transformers import CONFIG_MAPPING

    table = token_table(model)
    ours = next(name for name, value in model.named_parameters() if table is None or value is table)
    ends = [name for name in stored if name == ours or name.endswith(f".{ours}")]
    usual = {"", f"{model.base_model_prefix}."}
    outer = {name.removesuffix(ours) for name in ends}
    if not ends:
        raise BadInput(
            f'{file}: weight "{ours}" of a {family} encoder is missing; the file contains {some(list(stored))}; use the'
            f' weights of this encoder, or correct "model_type" in {CONFIG}'
        )
    if outer & usual:
        return dict(stored)
    if len(outer) > 1:
        raise BadInput(
            f"{file}: contains several encoders ({', '.join(sorted(outer))}); save a single encoder in a file"
        )
    before = outer.pop().removesuffix(f"{model.base_model_prefix}.")
    other = next((part for part in before.split(".") if part in CONFIG_MAPPING), "")
    if other and not changed:
        raise BadInput(
            f'{file}: contains a {other} encoder, but "model_type" in {CONFIG} is {family}; correct it'
        )
    return {name.removeprefix(before): value for name, value in stored.items()}


def _list_unread(
    file: Path, names: Sequence[str], stored: Mapping[str, Tensor], network: Any, base: str
) -> tuple[str, ...]:
    """Return unused weights next to the encoder; raise LeftOver for others."""
    parts = {name.partition(".")[0] for name in network.base_model.state_dict()}
    left = [name for name in names if stored[name].is_floating_point() and not name.endswith(_COMPUTED)]
    inside = [name for name in left if name.removeprefix(base).partition(".")[0] in parts]
    if inside:
        more = f" and {len(inside) - 1} more" if inside[1:] else ""
        raise LeftOver(
            f'{file}: an encoder with this config.json does not use weight "{inside[0]}"{more}, so it would compute'
            " other vectors; merge adapters into the weights, or correct config.json"
        )
    return tuple(name for name in left if not _is_of_head(name))


def _is_of_head(name: str) -> bool:
    return any(part in name for part in _OF_HEADS)


def _read_adapted(folder: Path, changes: Mapping[str, Any]) -> TransformersBackbone:
    """Load an encoder and merge an adapter of PEFT into the weights."""
    settings = folder / ADAPTER
    try:
        from peft import PeftConfig, get_peft_model, set_peft_model_state_dict
        from peft.utils import load_peft_weights
    except ImportError:
        raise BadInput(
            f"{settings}: an adapter requires peft; install it, or merge the adapter into the encoder and save that"
        ) from None
    named = read_json(settings).get("base_model_name_or_path")
    if not isinstance(named, str):
        raise BadInput(
            f'{settings}: "base_model_name_or_path" is missing; add the path of the adapted encoder'
        )
    backbone = read_network(encoder_folder(_locate_base(folder, named)), changes)
    inner, base = "base_model.model.", f"{backbone.model.base_model_prefix}."
    with quiet_library(), refusing(f"{settings}: peft cannot merge the adapter", "merge it"):
        adapted = get_peft_model(backbone.model, PeftConfig.from_pretrained(folder))
        stored = {}
        for name, value in load_peft_weights(str(folder), device="cpu").items():
            # Names of an adapter of a model with a head contain the name of the encoder.
            stored[inner + name.removeprefix(inner).removeprefix(base)] = value
        left = set_peft_model_state_dict(adapted, stored).unexpected_keys
        backbone.network = _replace_model(backbone, adapted.merge_and_unload())
    if left:
        raise LeftOver(
            f'{settings}: the encoder does not have a weight "{left[0]}"; merge the adapter and save the encoder'
        )
    return backbone.train()


def _replace_model(backbone: TransformersBackbone, model: nn.Module) -> Any:
    """Replace the encoder in the network of a backbone and return it."""
    if not backbone.predicts_tokens:
        return model
    setattr(backbone.network, backbone.network.base_model_prefix, model)
    return backbone.network


def _locate_base(folder: Path, named: str) -> str:
    """Return the folder of an adapter's base encoder, or its hub id."""
    # A path is relative to the adapter's folder.
    return str(folder / named) if (folder / named).is_dir() else named


@contextmanager
def name_broken_json(folder: Path) -> Iterator[None]:
    """Raise an error that names a broken JSON file if the block fails.

    Output of `transformers` is suppressed in the block.

    Args:
        folder: The folder whose JSON files the block loads.

    Raises:
        BadInput: If a JSON file starts with a byte order mark, or the block fails and a JSON file cannot be
            parsed.
    """
    for file in sorted(folder.glob("*.json")):
        with file.open("rb") as stream:
            if stream.read(len(BOM_UTF8)) == BOM_UTF8:
                raise BadInput(f"{file}: starts with a byte order mark; save it as UTF-8 without the mark")
    try:
        with quiet_library():
            yield
    except Exception:
        for file in sorted(folder.rglob("*.json")):
            read_json(file)
        raise


@contextmanager
def quiet_library() -> Iterator[None]:
    """Suppress output and warnings of `transformers` in a block.

    This package checks for the same problems.
    """
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)
