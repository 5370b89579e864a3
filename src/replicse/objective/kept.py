"""What terms train, kept next to the encoder that it was trained with."""

from collections.abc import Iterable
from pathlib import Path

from replicse.encoder.stored import read_tensors, save_tensors
from replicse.errors import BadInput
from replicse.objective.terms import Objective, named_terms

WEIGHTS = "terms.safetensors"


def save_terms(folder: Path, objectives: Iterable[Objective]) -> None:
    """Write weights and buffers of the terms into an encoder folder; nothing where there are none."""
    weights = {
        f"{name}.{key}": value.detach().cpu().clone()
        for name, term in named_terms(objectives).items()
        for key, value in term.state_dict().items()
    }
    if weights:
        save_tensors(folder / WEIGHTS, weights)


def load_terms(folder: Path, objectives: Iterable[Objective]) -> None:
    """Give terms the weights that those of their name had in another run; BadInput where none fits."""
    file, kept = folder / WEIGHTS, 0
    stored = read_tensors(file) if file.is_file() else {}
    for name, term in named_terms(objectives).items():
        own = {
            key.removeprefix(f"{name}."): value for key, value in stored.items() if key.startswith(f"{name}.")
        }
        try:
            kept += bool(own)
            term.load_state_dict(own, strict=bool(own))
        except RuntimeError as error:
            raise BadInput(
                f"{file}: term {name} has other weights ({error}); give it its parameters of then"
            ) from None
    if not kept:
        raise BadInput(f"{folder}: no weights of a term of the run; take init.keep_terms away")
