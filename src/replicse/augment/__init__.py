"""Text augmentations, which create a view from the lines of a corpus.

An augmentation of text is a function `(lines, *, seed, <parameters>) -> list[str]` that returns one line for each line.
An augmentation of tokens is a function `(ids, special, random, *, <parameters>) -> list[int]`, with the argument
`tokenizer` if the parameters request it. Parameters with ranges are in `replicse.registry.augmentations`.
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
    """Apply an augmentation of text to lines.

    Equal lines and parameters give equal results.

    Args:
        lines: A list of the lines of a corpus.
        spec: The augmentation, such as `{"name": "crop", "keep": 0.9}`.
        root: The data root, for an augmentation with a `file`. Default: the working directory.

    Returns:
        One augmented line for each line.

    Raises:
        BadInput: If the augmentation or the file is not valid.
        MissingData: If the file does not exist.
    """
    augmentation = augmentation_of(spec)
    values = _parameter_values(augmentation)
    if values.get("file"):
        values["file"] = Path(root) / values["file"]
    with augmentation.name_in_errors():
        changed = augmentation.made_by()(lines, **values)
        if len(changed) != len(lines) or not all(isinstance(line, str) for line in changed):
            raise ValueError(f"the result is not a list of {len(lines):,} strings, one for each line")
    return changed


def token_change(spec: Augmentation | Mapping[str, Any], tokenizer: Path) -> "TokenChange | None":
    """Return the function of an augmentation of tokens.

    Args:
        spec: The augmentation.
        tokenizer: The path of the tokenizer.json.

    Returns:
        A function from the row number, the token ids and the special-token mask of a line to the augmented
        ids. None for an augmentation of text.
    """
    augmentation = augmentation_of(spec)
    if not augmentation.of_tokens:
        return None
    values = _parameter_values(augmentation)
    seed, change = values.pop("seed"), augmentation.made_by()
    if augmentation.sees_tokenizer:
        from replicse.data.tokenizer import load_tokenizer

        values["tokenizer"] = load_tokenizer(tokenizer, None)
    return lambda row, ids, special: change(ids, special, line_random(seed, row), **values)


def _parameter_values(augmentation: Augmentation) -> dict[str, Any]:
    parameters = type(augmentation).model_fields.keys() - {"name", "backbone"}
    return {key: getattr(augmentation, key) for key in parameters}
