"""Heads that predict the labels of a task from sentence vectors: made from their parameters, kept with an encoder."""

from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.checked import Checked, Id
from replicse.encoder.packed.linear import draw_normal
from replicse.encoder.stored import check_finite, read_tensors, save_tensors
from replicse.errors import BadInput, refusing
from replicse.files import read_json, write_json
from replicse.registry.encoders import ClassifierHead, SimilarityHead
from replicse.registry.encoders import TaskHead as TaskHeadParameters
from replicse.registry.terms import LabelledParameters, TermParameters

SETTINGS, WEIGHTS = "task_heads.json", "task_heads.safetensors"
RATED = 5.0  # human ratings of similarity go from 0 to 5


class TaskHeads(Checked):
    """What `task_heads.json` holds: the parameters of each head by its task."""

    heads: dict[Id, TaskHeadParameters]


class Classifier(nn.Module):
    """One linear layer on the vectors of a sentence, or of two side by side."""

    def __init__(self, settings: ClassifierHead, width: int) -> None:
        super().__init__()
        self.settings = settings
        self.linear = nn.Linear(width * settings.sentences, settings.classes)
        draw_normal(self.linear.weight, 0.02, None)
        nn.init.zeros_(self.linear.bias)

    def forward(self, *vectors: Tensor) -> Tensor:
        """Return logits, (rows, classes)."""
        return self.linear(torch.cat(vectors, dim=-1))

    def label(self, *vectors: Tensor) -> Tensor:
        """Return the likeliest class of each row, (rows,)."""
        logits = self(*vectors)
        return (logits[:, 0] > 0).long() if self.settings.classes == 1 else logits.argmax(-1)


class Similarity(nn.Module):
    """The scaled cosine of two sentence vectors; it has no weights."""

    def __init__(self, settings: SimilarityHead, width: int) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return ratings, (rows,)."""
        return RATED * scaled(F.cosine_similarity(first, second, dim=-1), self.settings.scaling)


def settings_of(head: nn.Module) -> TaskHeadParameters:
    """Return the parameters that a head was made from."""
    assert isinstance(head, Classifier | Similarity)
    return head.settings


def scaled(cosine: Tensor, scaling: str) -> Tensor:
    """Return cosines on the scale 0 to 1 (see `SimilarityHead`)."""
    match scaling:
        case "sigmoid":
            return cosine.sigmoid()
        case "steep-sigmoid":
            return (5 * cosine).sigmoid()
        case "linear":
            return (cosine + 1) / 2
        case "relu":
            return cosine.relu()
        case "absolute":
            return cosine.abs()
    raise ValueError(f"scaling {scaling} is unknown")


def make_task_head(settings: TaskHeadParameters, width: int) -> nn.Module:
    """Return a freshly drawn head for sentence vectors of a width."""
    return (
        Classifier(settings, width) if isinstance(settings, ClassifierHead) else Similarity(settings, width)
    )


def task_heads(terms: Iterable[TermParameters], width: int, kept: nn.ModuleDict) -> nn.ModuleDict:
    """Return a head for each task of some terms: the one to keep of that task, or a fresh one where there is none.

    Raises BadInput where the one to keep has other parameters.
    """
    made = nn.ModuleDict()
    for term in terms:
        settings = term.task_head()
        if not isinstance(term, LabelledParameters) or settings is None:
            continue
        task = term.task
        if task in made and settings_of(made[task]) != settings:
            raise BadInput(
                f"objective: two terms want different heads of task {task}; name one of them otherwise"
            )
        if task in kept and settings_of(kept[task]) != settings:
            raise BadInput(
                f"objective: the head to keep of task {task} is a {settings_of(kept[task]).plain()}, not a"
                f" {settings.plain()}; take init.keep_head away from the run or fix its term {term.term}"
            )
        if task not in made:
            made[task] = kept[task] if task in kept else make_task_head(settings, width)
    return made


def save_task_heads(folder: Path, heads: nn.ModuleDict) -> None:
    """Write the heads into an encoder folder; nothing where there are none."""
    if heads:
        write_json(
            folder / SETTINGS, {"heads": {task: settings_of(head).plain() for task, head in heads.items()}}
        )
        weights = {name: value.detach().cpu().clone() for name, value in heads.state_dict().items()}
        save_tensors(folder / WEIGHTS, weights)


def stored_task_heads(folder: Path, width: int) -> nn.ModuleDict:
    """Return the heads that an encoder folder holds, on the CPU; BadInput where they cannot be read."""
    file = folder / SETTINGS
    if not file.is_file():
        return nn.ModuleDict()
    settings = TaskHeads.of(read_json(file), str(file)).heads
    heads = nn.ModuleDict({task: make_task_head(each, width) for task, each in settings.items()})
    with refusing(f"{folder / WEIGHTS}: cannot be read", f"expected the heads of {SETTINGS}"):
        heads.load_state_dict(read_tensors(folder / WEIGHTS))
    check_finite(heads, folder / WEIGHTS)
    return heads
