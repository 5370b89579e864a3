"""Heads that predict the labels of a task from sentence vectors.

They are saved with an encoder.
"""

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
RATED = 5.0  # the largest human rating of similarity; the smallest is 0


class TaskHeads(Checked):
    """The content of `task_heads.json`: the parameters of each head by task."""

    heads: dict[Id, TaskHeadParameters]


class Classifier(nn.Module):
    """A linear layer on the vectors of one or two sentences.

    The vectors of two sentences are concatenated.

    Args:
        settings: The parameters of the head.
        width: The size of the sentence vectors.
    """

    def __init__(self, settings: ClassifierHead, width: int) -> None:
        super().__init__()
        self.settings = settings
        self.linear = nn.Linear(width * settings.sentences, settings.classes)
        draw_normal(self.linear.weight, 0.02, None)
        nn.init.zeros_(self.linear.bias)

    def forward(self, *vectors: Tensor) -> Tensor:
        """Compute the logits of the classes.

        Args:
            *vectors: The vectors of one or two sentences, (rows, width) each.

        Returns:
            The logits, (rows, classes).
        """
        return self.linear(torch.cat(vectors, dim=-1))

    def label(self, *vectors: Tensor) -> Tensor:
        """Return the most likely class of each row.

        Args:
            *vectors: The vectors of one or two sentences, (rows, width) each.

        Returns:
            The classes, (rows,), int64.
        """
        logits = self(*vectors)
        return (logits[:, 0] > 0).long() if self.settings.classes == 1 else logits.argmax(-1)


class Similarity(nn.Module):
    """The scaled cosine of two sentence vectors, without weights."""

    def __init__(self, settings: SimilarityHead, width: int) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Compute ratings from 0 to 5.

        Args:
            first: The vectors of the first sentences, (rows, width).
            second: The vectors of the second sentences, (rows, width).

        Returns:
            The ratings, (rows,).
        """
        return RATED * scale_cosines(F.cosine_similarity(first, second, dim=-1), self.settings.scaling)


def head_settings(head: nn.Module) -> TaskHeadParameters:
    """Return the parameters of a head.

    Args:
        head: A classifier or similarity head.
    """
    assert isinstance(head, Classifier | Similarity)
    return head.settings


def scale_cosines(cosine: Tensor, scaling: str) -> Tensor:
    """Scale cosines to the range 0 to 1 (see `SimilarityHead`).

    Args:
        cosine: Cosines, of any shape.
        scaling: The name of the scaling, such as "linear".

    Raises:
        ValueError: If the scaling is unknown.
    """
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
    """Create a head with random weights.

    Args:
        settings: The parameters of the head.
        width: The size of the sentence vectors.
    """
    if isinstance(settings, ClassifierHead):
        return Classifier(settings, width)
    return Similarity(settings, width)


def collect_task_heads(terms: Iterable[TermParameters], width: int, kept: nn.ModuleDict) -> nn.ModuleDict:
    """Return a head for each task of some terms.

    If `kept` contains a head of the task, it is used; otherwise a new head is created.

    Args:
        terms: The parameters of the terms of a run.
        width: The size of the sentence vectors.
        kept: Heads to keep, by task.

    Returns:
        A dict of modules by task.

    Raises:
        BadInput: If two terms need different heads of a task, or the head to keep has other parameters.
    """
    heads = nn.ModuleDict()
    for term in terms:
        settings = term.task_head()
        if not isinstance(term, LabelledParameters) or settings is None:
            continue
        task = term.task
        if task in heads and head_settings(heads[task]) != settings:
            raise BadInput(
                f"objective: two terms require different heads of task {task}; use different task names"
            )
        if task in kept and head_settings(kept[task]) != settings:
            raise BadInput(
                f"objective: the stored head of task {task} is {head_settings(kept[task]).plain()}, not"
                f" {settings.plain()}; remove init.keep_head from the run or correct the term {term.term}"
            )
        if task not in heads:
            heads[task] = kept[task] if task in kept else make_task_head(settings, width)
    return heads


def save_task_heads(folder: Path, heads: nn.ModuleDict) -> None:
    """Save task heads in an encoder folder, if there are any.

    Args:
        folder: The encoder folder.
        heads: The heads by task.
    """
    if heads:
        settings = {task: head_settings(head).plain() for task, head in heads.items()}
        write_json(folder / SETTINGS, {"heads": settings})
        weights = {name: value.detach().cpu().clone() for name, value in heads.state_dict().items()}
        save_tensors(folder / WEIGHTS, weights)


def load_task_heads(folder: Path, width: int) -> nn.ModuleDict:
    """Load the task heads of an encoder folder on the CPU.

    Args:
        folder: The encoder folder.
        width: The size of the sentence vectors.

    Returns:
        The heads by task, empty if the folder has no heads.

    Raises:
        BadInput: If the heads cannot be loaded.
    """
    file = folder / SETTINGS
    if not file.is_file():
        return nn.ModuleDict()
    settings = TaskHeads.of(read_json(file), str(file)).heads
    heads = nn.ModuleDict({task: make_task_head(each, width) for task, each in settings.items()})
    with refusing(f"{folder / WEIGHTS}: cannot be loaded", f"expected the heads of {SETTINGS}"):
        heads.load_state_dict(read_tensors(folder / WEIGHTS))
    check_finite(heads, folder / WEIGHTS)
    return heads
