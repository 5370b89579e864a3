"""Text augmentations: each turns the lines of a corpus into the lines of one more view.

An augmentation is a function `(lines, *, seed, <parameters>) -> list[str]` that returns one line per line, or one of
tokens `(ids, special, random, *, <parameters>) -> list[int]`, which is given the `tokenizer` too where its parameters
say so; they, their ranges and its place are in `replicse.registry.augmentations`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.augment.lines import line_random
from replicse.registry.augmentations import Augmentation, augmentation_of

if TYPE_CHECKING:
    from replicse.data.store import TokenChange


def augment(
    lines: Sequence[str], spec: Augmentation | Mapping[str, Any], root: Path | str = "."
) -> list[str]:
    """Return one augmented line per line, by an augmentation of text; the same lines and spec give the same result.

    `spec` is an augmentation of the registry, or plain data of one; its `file` is looked up below the data root.
    Raises BadInput for what the registry refuses and for malformed files, MissingData for absent ones.
    """
    augmentation = augmentation_of(spec)
    values = _values(augmentation)
    if values.get("file"):
        values["file"] = Path(root) / values["file"]
    return augmentation.made_by()(lines, **values)


def token_change(spec: Augmentation | Mapping[str, Any], tokenizer: Path) -> "TokenChange | None":
    """Return what an augmentation makes of a line that a tokenizer.json has tokenised; None where it changes text."""
    augmentation = augmentation_of(spec)
    if not augmentation.of_tokens:
        return None
    values = _values(augmentation)
    seed, change = values.pop("seed"), augmentation.made_by()
    if augmentation.sees_tokenizer:
        from replicse.data.tokenizer import load_tokenizer

        values["tokenizer"] = load_tokenizer(tokenizer, None)
    return lambda row, ids, special: change(ids, special, line_random(seed, row), **values)


def _values(augmentation: Augmentation) -> dict[str, Any]:
    parameters = type(augmentation).model_fields.keys() - {"name", "backbone"}
    return {key: getattr(augmentation, key) for key in parameters}
