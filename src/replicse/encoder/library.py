"""Folders of others, as the libraries that own their formats read them: `transformers` and, for adapters, `peft`.

Nothing of a folder is left out unsaid: a weight inside the encoder that its configuration has no place for is refused,
one next to it is named by the encoder's `unread`.
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
from replicse.registry.artefacts import CONFIG, TOKENIZER_CONFIG

log = logging.getLogger(__name__)
_COMPUTED = ("inv_freq", "masked_bias", "position_ids", "num_batches_tracked")
_OF_HEADS = ("pooler.", "mlp.dense.", "projector.")  # read apart where the pooling has a head


class LeftOver(UnusableWeights):
    """Weights inside an encoder that its configuration has no place for."""


def read_network(folder: Path, changes: Mapping[str, Any] = MappingProxyType({})) -> TransformersBackbone:
    """Return the encoder of a folder in fp32, on the CPU, with its masked-LM head if that is stored.

    Weights are read under the names that training code leaves (`module.`, `model.`, ...), of one file or several.
    If `changes` of its configuration make it another encoder, the weights that this one has besides are drawn.
    Code of the folder is never run; a warning names it.

    Raises:
        BadInput: the library cannot make the family, or a weight is absent.
        UnusableWeights: the weights are quantised, or one inside the encoder has no place in it.
    """
    folder = Path(folder)
    if (folder / ADAPTER).is_file():
        return _with_adapter(folder, changes)
    check_weights(folder)
    values = {**read_config(folder), **changes}
    family = values.get("model_type")
    if not isinstance(family, str):
        raise BadInput(f'{folder / CONFIG}: no "model_type"; name the family there, as "model_type": "bert"')
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
    config, made = _made(folder, family, values, with_head)
    if changes:
        check_keys("init.config", changes, type(config)())
    with refusing(f"{folder / CONFIG}: transformers cannot make the encoder"), torch.device("meta"):
        empty = made(config)
    stored = _aligned(file, stored, empty.base_model, family, bool(changes))
    options = {"add_pooling_layer": False} if "add_pooling_layer" in signature(made).parameters else {}
    with quiet_library(), refusing(f"{file}: transformers cannot read the weights"):
        network, found = made.from_pretrained(
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
            f'{file}: "{name}" has shape {tuple(shape)}, which config.json contradicts; correct either'
        )
    base = f"{network.base_model_prefix}."
    unread = _unread(file, found["unexpected_keys"], stored, network, base)
    outer = base if network is not network.base_model else ""
    absent = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    inside = [name for name in absent if name.startswith(outer)]
    if inside and not changes:
        raise BadInput(f'{file}: no weight "{inside[0]}", which an encoder of this config.json has')
    drawn = made(config).state_dict() if inside else {}
    network.load_state_dict({name: drawn[name] for name in inside}, strict=False)
    headless = len(absent) > len(inside)
    with refusing(f"{folder}: {family} of transformers cannot be read as an encoder of sentences"):
        backbone = TransformersBackbone(network.base_model if headless else network)
    backbone.code = code
    backbone.added = tuple(weight for name, weight in network.named_parameters() if name in inside)
    if isinstance(getattr(backbone.model, "pooler", None), nn.Module):
        # A stored head is read apart, and nothing else reads a pooler; SqueezeBERT calls one all the same.
        backbone.model.pooler = nn.Identity()
    backbone.unread = unread
    return backbone.train()


def list_code(folder: Path) -> tuple[str, ...]:
    """Return the classes of a folder's own code, by file: `auto_map of config.json: modeling_mine.MineModel`."""
    found = []
    for name in (CONFIG, TOKENIZER_CONFIG):
        settings = read_json(folder / name) if (folder / name).is_file() else {}
        named = settings.get("auto_map") if isinstance(settings, Mapping) else None
        classes: list[Any] = []
        for value in named.values() if isinstance(named, Mapping) else [named]:
            # Two for a tokenizer, a slow and a fast one, of which one may be null.
            classes += value if isinstance(value, list) else [value]
        names = dict.fromkeys(str(each) for each in classes if each)
        if names:
            found.append(f"auto_map of {name}: {', '.join(names)}")
    return tuple(found)


def _made(folder: Path, family: str, values: Mapping[str, Any], with_head: bool) -> tuple[Any, Any]:
    """Return the configuration and the class of an encoder; of one that also decodes, the half that encodes."""
    import transformers
    from transformers.models.auto import modeling_auto

    kind = transformers.CONFIG_MAPPING[family]
    names = (
        ("MODEL_FOR_MASKED_LM_MAPPING",)
        if with_head
        else ("MODEL_FOR_TEXT_ENCODING_MAPPING", "MODEL_MAPPING")
    )
    made = next((known[kind] for name in names if kind in (known := getattr(modeling_auto, name))), None)
    if made is None:
        raise BadInput(f"{folder}: transformers has no encoder of family {family}")
    with refusing(f"{folder / CONFIG}: transformers cannot read it"):
        return kind.from_dict(dict(values)), made[0] if isinstance(made, tuple) else made


def _aligned(
    file: Path, stored: Mapping[str, Tensor], model: Any, family: str, changed: bool
) -> dict[str, Tensor]:
    """Return weights without what training code has put before the names of the encoder.

    Raises BadInput where no encoder of the family is there, and where several are.
    """
    from transformers import CONFIG_MAPPING

    table = token_table(model)
    ours = next(name for name, value in model.named_parameters() if table is None or value is table)
    ends = [name for name in stored if name == ours or name.endswith(f".{ours}")]
    usual = {"", f"{model.base_model_prefix}."}
    outer = {name.removesuffix(ours) for name in ends}
    if not ends:
        raise BadInput(f'{file}: no weight "{ours}"; the file does not hold a {family} encoder')
    if outer & usual:
        return dict(stored)
    if len(outer) > 1:
        raise BadInput(
            f"{file}: holds several encoders ({', '.join(sorted(outer))}); save the one that is meant"
        )
    before = outer.pop().removesuffix(f"{model.base_model_prefix}.")
    other = next((part for part in before.split(".") if part in CONFIG_MAPPING), "")
    if other and not changed:
        raise BadInput(
            f'{file}: holds a {other} encoder, but "model_type" in {CONFIG} is {family}; correct it'
        )
    return {name.removeprefix(before): value for name, value in stored.items()}


def _unread(
    file: Path, names: Sequence[str], stored: Mapping[str, Tensor], network: Any, base: str
) -> tuple[str, ...]:
    """Return the weights next to the encoder that nobody reads; LeftOver for one inside it."""
    parts = {name.partition(".")[0] for name in network.base_model.state_dict()}
    left = [name for name in names if stored[name].is_floating_point() and not name.endswith(_COMPUTED)]
    inside = [name for name in left if name.removeprefix(base).partition(".")[0] in parts]
    if inside:
        more = f" and {len(inside) - 1} more" if inside[1:] else ""
        raise LeftOver(
            f'{file}: no place for "{inside[0]}"{more} in an encoder of this config.json, which would be another'
            " without; merge adapters into the weights, or correct config.json"
        )
    return tuple(name for name in left if not any(part in name for part in _OF_HEADS))


def _with_adapter(folder: Path, changes: Mapping[str, Any]) -> TransformersBackbone:
    """Return an encoder with an adapter of PEFT merged into its weights."""
    settings = folder / ADAPTER
    try:
        from peft import PeftConfig, get_peft_model, set_peft_model_state_dict
        from peft.utils import load_peft_weights
    except ImportError:
        raise BadInput(
            f"{settings}: an adapter; install peft, which reads it, or merge it into its encoder and save that"
        ) from None
    named = read_json(settings).get("base_model_name_or_path")
    if not isinstance(named, str):
        raise BadInput(f'{settings}: no "base_model_name_or_path"; name the encoder that it adapts')
    backbone = read_network(encoder_folder(_beside(folder, named)), changes)
    inner, base = "base_model.model.", f"{backbone.model.base_model_prefix}."
    with quiet_library(), refusing(f"{settings}: peft cannot merge the adapter", "merge it"):
        adapted = get_peft_model(backbone.model, PeftConfig.from_pretrained(folder))
        # An adapter of a model with a head has the encoder's name in its own.
        stored = {
            inner + name.removeprefix(inner).removeprefix(base): value
            for name, value in load_peft_weights(str(folder), device="cpu").items()
        }
        left = set_peft_model_state_dict(adapted, stored).unexpected_keys
        backbone.network = _with_model(backbone, adapted.merge_and_unload())
    if left:
        raise LeftOver(f'{settings}: "{left[0]}" has no place in its encoder; merge it and save the encoder')
    return backbone.train()


def _with_model(backbone: TransformersBackbone, model: nn.Module) -> Any:
    """Return the network of a backbone with another encoder in it."""
    if not backbone.predicts_tokens:
        return model
    setattr(backbone.network, backbone.network.base_model_prefix, model)
    return backbone.network


def _beside(folder: Path, named: str) -> str:
    """Return the encoder that an adapter names: a folder as it is seen from there, where it is one."""
    return str(folder / named) if (folder / named).is_dir() else named


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """Raise BadInput for the JSON file that a library, kept quiet in the block, cannot read and does not name."""
    for file in sorted(folder.glob("*.json")):
        with file.open("rb") as stream:
            if stream.read(len(BOM_UTF8)) == BOM_UTF8:
                raise BadInput(f"{file}: begins with a byte order mark; save it as UTF-8 without one")
    try:
        with quiet_library():
            yield
    except Exception:
        for file in sorted(folder.rglob("*.json")):
            read_json(file)
        raise


@contextmanager
def quiet_library() -> Iterator[None]:
    """Keep what the libraries print to themselves while the block runs: what matters of it is looked at here."""
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
