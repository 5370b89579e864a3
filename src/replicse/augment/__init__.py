"""Text augmentations: each turns the lines of a corpus into the lines of one more view.

An augmentation is a function `(lines, *, seed, <parameters>) -> list[str]` that returns one line per line; its
parameters, their ranges and its place stand in `replicse.registry.augmentations`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from replicse.registry.augmentations import Augmentation, augmentation_of

NO_PARAMETERS = ("name", "backbone")


def augment(
    lines: Sequence[str], spec: Augmentation | Mapping[str, Any], root: Path | str = "."
) -> list[str]:
    """Return one augmented line per line; the same lines and spec give the same result.

    `spec` is an augmentation of the registry, or plain data of one; its `file` is looked up below the data root.
    Raises BadInput for what the registry refuses and for malformed files, MissingData for absent ones.
    """
    augmentation = augmentation_of(spec)
    values = {
        key: getattr(augmentation, key) for key in type(augmentation).model_fields if key not in NO_PARAMETERS
    }
    if values.get("file"):
        values["file"] = Path(root) / values["file"]
    return resolve_name(augmentation.implementation)(lines, **values)
