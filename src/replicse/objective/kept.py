"""Weights of loss terms, saved in the folder of their encoder."""

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from replicse.encoder.stored import read_tensors, save_tensors
from replicse.errors import BadInput
from replicse.objective.objective import Objective, named_terms

WEIGHTS = "terms.safetensors"


def save_terms(folder: Path, objectives: Iterable[Objective]) -> None:
    """Save weights and buffers of terms, if any, in an encoder folder.

    Args:
        folder: The encoder folder.
        objectives: The objectives of the run.
    """
    weights: dict[str, Tensor] = {}
    for name, term in named_terms(objectives).items():
        for key, value in term.state_dict().items():
            weights[f"{name}.{key}"] = value.detach().cpu().clone()
    if weights:
        save_tensors(folder / WEIGHTS, weights)


def load_terms(folder: Path, objectives: Iterable[Objective]) -> None:
    """Load the weights of terms by name from the folder of another run.

    Args:
        folder: The encoder folder of the other run.
        objectives: The objectives. The weights of their terms are replaced.

    Raises:
        BadInput: If the folder has no weights for any of the terms, or the weights do not fit.
    """
    file = folder / WEIGHTS
    stored = read_tensors(file) if file.is_file() else {}
    loaded = 0
    for name, term in named_terms(objectives).items():
        prefix = f"{name}."
        weights = {key.removeprefix(prefix): value for key, value in stored.items() if key.startswith(prefix)}
        try:
            term.load_state_dict(weights, strict=bool(weights))
        except RuntimeError as error:
            raise BadInput(
                f"{file}: the weights of term {name} do not fit ({error}); use the parameters it was trained with"
            ) from None
        if weights:
            loaded += 1
    if not loaded:
        raise BadInput(f"{folder}: weights for the terms of the run are missing; remove init.keep_terms")
