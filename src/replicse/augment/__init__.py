"""Text augmentations: each turns the lines of a corpus into the lines of one more view.

An augmentation is a function `(lines, *, seed, <parameters>) -> list[str]` that returns one line per line.
One that needs more than text (a data root, an encoder) also takes `resources`, the mapping of what
`augment` was handed.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replicse.augment.eda import easy_data_augmentation
from replicse.augment.masked_lm import insertion, masked_lm
from replicse.augment.neighbours import next_sentence
from replicse.augment.synonyms import synonym
from replicse.augment.words import crop, delete_one_word, deletion, shuffle
from replicse.errors import BadInput, nearest

AUGMENTATIONS: dict[str, Callable[..., list[str]]] = {
    "crop": crop,
    "deletion": deletion,
    "delete-one-word": delete_one_word,
    "shuffle": shuffle,
    "synonym": synonym,
    "eda": easy_data_augmentation,
    "next-sentence": next_sentence,
    "masked-lm": masked_lm,
    "insertion": insertion,
}
DEFAULT_SEED = 42


def augment(lines: Sequence[str], spec: Mapping[str, Any], **resources: Any) -> list[str]:
    """Return one augmented line per line for `spec` = `{name, seed (default 42), ...parameters}`.

    The same lines, spec and resources give the same result. `root`, the data root, is the resource below
    which `file` parameters are looked up. Raises BadInput for unknown names and parameters and for bad
    values.
    """
    function = _checked(spec)
    values = {"seed": DEFAULT_SEED, **{key: value for key, value in spec.items() if key != "name"}}
    if "resources" in inspect.signature(function).parameters:
        values["resources"] = resources
    return function(lines, **values)


def _checked(spec: Mapping[str, Any]) -> Callable[..., list[str]]:
    """Return the augmentation that `spec` names; raises BadInput for an unknown, bad or missing key."""
    name = spec.get("name")
    if name not in AUGMENTATIONS:
        raise BadInput(f'augmentation "{name}" is unknown{nearest(name, AUGMENTATIONS)}')
    signature = inspect.signature(AUGMENTATIONS[name]).parameters
    known = {key: entry for key, entry in signature.items() if key not in ("lines", "resources")}
    for key in spec:
        if key != "name" and key not in known:
            raise BadInput(f'augmentation {name}: unknown parameter "{key}"{nearest(key, known)}')
    for key, entry in known.items():
        if entry.default is entry.empty and key not in spec and key != "seed":
            raise BadInput(f'augmentation {name}: parameter "{key}" is missing; add it')
    seed = spec.get("seed", DEFAULT_SEED)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadInput(f"augmentation {name}: seed is {seed!r}; expected a whole number")
    return AUGMENTATIONS[name]
