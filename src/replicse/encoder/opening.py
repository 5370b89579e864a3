"""Loading of encoders by the packed engine or `transformers`.

The packed engine is used if both compute equal hidden states.
"""

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
    """Load the encoder of a folder in fp32, on the CPU, in training mode.

    If a run or a preparation wrote the folder, the same engine loads it. Other folders are loaded with
    `transformers`; the packed engine is used instead if both compute equal hidden states on a probe.

    Args:
        folder: The folder of an encoder with a transformer.
        engine: The engine to use. Default: "auto".
        tokenizer: The path of the tokenizer.json. Default: the file in the folder.
        changes: A dict of changes to the configuration, such as another `model_type`. Missing weights are
            then initialised at random. Default: no changes.

    Returns:
        The encoder.

    Raises:
        MissingData: If a file does not exist.
        BadInput: If the engine cannot load the encoder, or it differs from the record of the run.
    """
    folder = Path(folder)
    check_folder(folder)
    if changes:
        backbone: Backbone = _open_foreign(folder, "transformers", changes)
    elif is_recorded(folder):
        backbone = _open_recorded(folder, engine)
    else:
        backbone = _open_foreign(folder, engine)
    backbone.tokenizer_file = tokenizer or folder / TOKENIZER
    return backbone


def _open_recorded(folder: Path, engine: Engine) -> Backbone:
    config = read_config(folder)
    library = config.get("read_by")
    if library:
        raise BadInput(
            f"{folder}: only {library} can load this encoder, with the pooling in the folder; remove the pooling, or"
            " use another encoder"
        )
    if engine == "packed" or (engine == "auto" and config.get("model_type") in PACKED):
        from replicse.encoder.packed.checkpoints import load_packed

        backbone = load_packed(folder)
        check_finite(backbone, folder)
        return backbone
    return _open_foreign(folder, "transformers")


def _open_foreign(
    folder: Path, engine: Engine, changes: Mapping[str, Any] = MappingProxyType({})
) -> Backbone:
    from replicse.encoder.library import read_network
    from replicse.encoder.packed.checkpoints import make_packed
    from replicse.encoder.proof import differs, prove_batches

    theirs = read_network(folder, changes)
    if theirs.added:
        log.info(
            "%s: initialised %d weights of %s at random", folder, len(theirs.added), changes["model_type"]
        )
    check_finite(theirs, folder)
    rows, states = prove_batches(theirs)
    if engine == "transformers":
        return theirs
    config = theirs.network.config.to_dict()
    try:
        ours = make_packed(config, theirs.network.state_dict(), folder)
        if differs(ours.eval(), rows, states):
            raise BadInput("the hidden states differ from those of transformers")
    except BadInput as error:
        if engine == "packed":
            raise BadInput(f"{folder}: engine packed cannot be used ({error}); use engine auto") from None
        if config.get("model_type") in PACKED:
            log.info("%s: using engine transformers: %s", folder, error)
        return theirs
    ours.unread, ours.code = theirs.unread, theirs.code
    return ours.train()
