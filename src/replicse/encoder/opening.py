"""One room for encoders of any origin: the library reads, the packed engine takes over where it gives the same."""

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
    `transformers`, whose place the packed engine takes where its states are equal on a probe. `tokenizer` is its
    tokenizer.json, if that is not in the folder; `changes` are those of its configuration, as another `model_type`,
    whose further weights are then drawn. Raises MissingData where a file is absent and BadInput where the
    engine cannot read the encoder, or a run has recorded it otherwise.
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
    if engine == "packed" or (engine == "auto" and read_config(folder).get("model_type") in PACKED):
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
            raise BadInput("its states are others than those of transformers")
    except BadInput as error:
        if engine == "packed":
            raise BadInput(
                f"{folder}: engine packed cannot take over ({error}); leave the engine out"
            ) from None
        if config.get("model_type") in PACKED:
            log.info("%s is read by transformers: %s", folder, error)
        return theirs
    ours.unread = theirs.unread
    return ours.train()
