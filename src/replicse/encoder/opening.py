"""Load an encoder with transformers; use the packed engine if its hidden states are equal."""

import logging
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from replicse.encoder.backbone import Backbone
from replicse.encoder.folders import check_folder, is_recorded
from replicse.encoder.stored import check_finite, read_config
from replicse.errors import BadInput
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import PACKED, Engine

log = logging.getLogger(__name__)


def open_backbone(
    folder: Path,
    engine: Engine = "auto",
    tokenizer: Path | None = None,
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> Backbone:
    """Return the encoder of a folder: fp32, on the CPU, in training mode.

    A folder that a run or a preparation has recorded is read by the engine that wrote it. Any other one is read by
    `transformers`; the packed engine replaces it if its hidden states are equal on a probe.

    Args:
        folder: of an encoder that has a transformer.
        engine: `auto`, or the only engine that may read it.
        tokenizer: its tokenizer.json, if that is not in the folder.
        changes: to its configuration, such as another `model_type`, whose further weights are then drawn.

    Raises:
        MissingData: a file is absent.
        BadInput: the engine cannot read the encoder, or it is not what a run has recorded.
    """
    folder = Path(folder)
    check_folder(folder)
    if changes:
        backbone: Backbone = _of_others(folder, "transformers", changes)
    else:
        backbone = _recorded(folder, engine) if is_recorded(folder) else _of_others(folder, engine)
    backbone.tokenizer_file = tokenizer or folder / TOKENIZER
    return backbone


def _recorded(folder: Path, engine: Engine) -> Backbone:
    config = read_config(folder)
    library = config.get("read_by")
    if library:
        raise BadInput(
            f"{folder}: only {library} can read this encoder, with its own pooling; leave out the pooling, or choose"
            " another encoder"
        )
    if engine == "packed" or (engine == "auto" and config.get("model_type") in PACKED):
        from replicse.encoder.packed.checkpoints import load_packed

        backbone = load_packed(folder)
        check_finite(backbone, folder)
        return backbone
    return _of_others(folder, "transformers")


def _of_others(folder: Path, engine: Engine, changes: Mapping[str, Any] = MappingProxyType({})) -> Backbone:
    from replicse.encoder.library import read_network
    from replicse.encoder.packed.checkpoints import packed_of
    from replicse.encoder.proof import differs, prove_batches

    theirs = read_network(folder, changes)
    if theirs.added:
        log.info("%s: %d weights of %s are drawn", folder, len(theirs.added), changes["model_type"])
    check_finite(theirs, folder)
    rows, states = prove_batches(theirs)
    if engine == "transformers":
        return theirs
    config = theirs.network.config.to_dict()
    try:
        ours = packed_of(config, theirs.network.state_dict(), folder)
        if differs(ours.eval(), rows, states):
            raise BadInput("its hidden states differ from those of transformers")
    except BadInput as error:
        if engine == "packed":
            raise BadInput(
                f"{folder}: engine packed cannot take over ({error}); leave the engine out"
            ) from None
        if config.get("model_type") in PACKED:
            log.info("%s is read by transformers: %s", folder, error)
        return theirs
    ours.unread, ours.code = theirs.unread, theirs.code
    return ours.train()
