"""Heads that are applied to sentence vectors after pooling.

This module also saves and loads them.
"""

import itertools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from replicse.encoder.packed.linear import Linear, draw_normal
from replicse.encoder.stored import (
    check_finite,
    export_weights,
    has_weights,
    load_weights,
    read_config,
    read_weights,
    weight_and_bias,
)
from replicse.errors import BadInput
from replicse.registry.artefacts import CONFIG
from replicse.registry.encoders import Head as HeadParameters
from replicse.registry.encoders import MlpHead, ProjectorHead

log = logging.getLogger(__name__)
_PROJECTOR = "projector"
_INPUTS = "sentence_head_inputs"


class SentenceHead(nn.Module):
    """Base class of heads.

    A head is a module from (rows, inputs) vectors to (rows, width) vectors.

    Attributes:
        settings: The parameters of the head.
        inputs: The size of the input vectors.
        width: The size of the output vectors.
    """

    settings: HeadParameters
    inputs: int
    width: int

    def of_views(self, vectors: Tensor, rows: Sequence[int]) -> Tensor:
        """Apply the head to the concatenated vectors of several views.

        Args:
            vectors: The vectors of all views, one view after the other, (total, inputs).
            rows: A list of the number of rows of each view.

        Returns:
            The vectors, (total, width).
        """
        return self(vectors)


class Mlp(SentenceHead):
    """Linear layer and tanh with random weights (SimCSE, methods 1.2).

    Args:
        settings: The parameters of the head.
        hidden: The size of the input and output vectors.
        generator: The source of random weights. Default: torch's default generator.
    """

    settings: MlpHead

    def __init__(self, settings: MlpHead, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.settings, self.inputs, self.width = settings, hidden, hidden
        self.dense = Linear(hidden, hidden)
        draw_normal(self.dense.weight, 0.02, generator)
        nn.init.zeros_(self.dense.bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """Apply the head.

        Args:
            vectors: Pooled vectors, (rows, hidden).

        Returns:
            Vectors, (rows, hidden), with values in (-1, 1).
        """
        before = self.dense(vectors)
        standout = self.settings.standout
        if standout is None:
            return before.tanh()
        kept = (standout.alpha * before + standout.beta).sigmoid()
        return before.tanh() * (kept.detach().bernoulli() if self.training else kept)


class Projector(SentenceHead):
    """Linear layers with batch normalisation (DiffCSE, methods 4.1).

    Each layer is followed by batch normalisation, with ReLU between layers (DiffCSE, appendix A). In training, batch
    statistics are over the rows of all views, or of each view if the settings request it. The last normalisation has no
    weights.

    Args:
        settings: The parameters of the head.
        hidden: The size of the input vectors.
        generator: The source of random weights. Default: torch's default generator.
    """

    settings: ProjectorHead

    def __init__(
        self, settings: ProjectorHead, hidden: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.settings, self.inputs, self.width = settings, hidden, settings.output or hidden
        between = settings.width or 2 * hidden
        widths = [hidden, *[between] * (settings.layers - 1), self.width]
        linears = [Linear(*pair, bias=False) for pair in itertools.pairwise(widths)]
        for linear in linears:
            draw_normal(linear.weight, 0.02, generator)
        parts: list[nn.Module] = []
        for linear in linears[:-1]:
            parts += [linear, nn.BatchNorm1d(between), nn.ReLU()]
        last = [nn.BatchNorm1d(self.width, affine=False)] if settings.final_norm else []
        self.layers = nn.Sequential(*parts, linears[-1], *last)

    def forward(self, vectors: Tensor) -> Tensor:
        """Apply the head.

        In training, normalised vectors have mean 0 and variance 1 over the rows.

        Args:
            vectors: Pooled vectors, (rows, hidden).

        Returns:
            Vectors, (rows, width).
        """
        return self.layers(vectors)

    def of_views(self, vectors: Tensor, rows: Sequence[int]) -> Tensor:
        """Apply the head to the concatenated vectors of several views.

        Vectors are normalised for each view separately if the settings request it.

        Args:
            vectors: Vectors of all views, one view after the other, (total, inputs).
            rows: The number of rows of each view.

        Returns:
            The vectors, (total, width).
        """
        parts = [vectors] if self.settings.statistics == "all" else vectors.split(list(rows))
        return torch.cat([self(part) for part in parts])


def make_head(
    settings: HeadParameters, hidden: int, generator: torch.Generator | None = None
) -> SentenceHead:
    """Create a head with random weights.

    Args:
        settings: The parameters of the head.
        hidden: The size of the input vectors.
        generator: The source of random weights. Default: torch's default generator.

    Returns:
        The head on torch's default device.
    """
    head: SentenceHead = settings.made_by()(settings, hidden, generator)
    return head


def random_head(hidden: int, seed: int = 0) -> SentenceHead:
    """Create an untrained head from a seed.

    Loading a checkpoint without a pooler creates such a head. The reproducibility study measured alignment
    and uniformity with an untrained head, initialised again for every checkpoint (methods 1.8).

    Args:
        hidden: The size of the vectors.
        seed: The seed of the weights. Default: 0.
    """
    return make_head(MlpHead(kind="mlp"), hidden, torch.Generator().manual_seed(seed))


def head_config(head: SentenceHead | None) -> dict[str, Any]:
    """Return the entries of config.json for a head.

    Args:
        head: The head, or None.

    Returns:
        A dict with the parameters and the size of the inputs, empty if there is no head.
    """
    return {} if head is None else {"sentence_head": head.settings.plain(), _INPUTS: head.inputs}


def head_weights(head: SentenceHead | None, base: str) -> dict[str, Tensor]:
    """Return the weights of a head by their names in a checkpoint.

    A dense head is stored as the pooler, which `transformers` loads. It ignores a projector.

    Args:
        head: The head, or None.
        base: The prefix of the encoder's weights in the checkpoint.

    Returns:
        A dict from names to float32 tensors on the CPU, empty if there is no head.
    """
    return {} if head is None else export_weights(head, _checkpoint_names(head, base))


def _checkpoint_names(head: SentenceHead, base: str) -> dict[str, tuple[str, ...]]:
    if isinstance(head, Mlp):
        return weight_and_bias("dense", f"{base}pooler.dense")
    # Weights and running statistics, but not a normalisation's count of batches, which is never used.
    names = [name for name, value in head.state_dict().items() if value.is_floating_point()]
    return {name: (f"{base}{_PROJECTOR}.{name}",) for name in names}


def load_head(folder: Path) -> SentenceHead | None:
    """Load the head of an encoder folder on the CPU.

    Args:
        folder: The encoder folder.

    Returns:
        The head, or None if the folder contains no head, such as the folder of an adapter.

    Raises:
        BadInput: If config.json names a head without stored weights.
    """
    if not has_weights(folder):
        return None
    file, stored = read_weights(folder)
    settings = _read_settings(folder)
    if isinstance(settings, MlpHead):
        names = _find_dense(stored, read_config(folder))
        if not names:
            return None
        dense, *others = names
        if others:
            log.info("%s: using head %s; ignoring %s", folder, dense, " and ".join(others))
        with torch.device("meta"):
            head = make_head(settings, _input_size(stored[f"{dense}.weight"]))
        load_weights(head, weight_and_bias("dense", dense), stored, file)
    else:
        first = f"{_PROJECTOR}.layers.0.weight"
        projector_names = [name for name in stored if f".{_PROJECTOR}." in f".{name}"]
        if not projector_names:
            raise BadInput(
                f'{file}: weight "{first}" is missing, but sentence_head in config.json is {settings.kind};'
                " correct config.json, or copy the head from the same checkpoint"
            )
        base = min(projector_names).partition(f"{_PROJECTOR}.")[0]
        inputs = read_config(folder).get(_INPUTS) or _input_size(stored.get(base + first, torch.empty(0)))
        with torch.device("meta"):
            head = make_head(settings, inputs)
        load_weights(head, _checkpoint_names(head, base), stored, file)
    check_finite(head, file)
    return head


def head_of_pooling(folder: Path, kind: bool | str, hidden: int, seed: int = 0) -> SentenceHead:
    """Return the head that a pooling uses.

    Args:
        folder: The encoder folder.
        kind: "random" for an untrained head, True for the stored head.
        hidden: The size of the hidden states.
        seed: The seed of an untrained head. Default: 0.

    Raises:
        BadInput: If the folder contains no head, or the head has another input size.
    """
    if kind == "random":
        return random_head(hidden, seed)
    head = load_head(folder)
    if head is None:
        raise BadInput(
            f"{folder}: the encoder is stored without a head (pooler.dense); use a pooling without a head, such as cls"
        )
    if head.inputs != hidden:
        raise BadInput(
            f"{folder}: the input size of the head is {head.inputs}, but the hidden size of the encoder is {hidden};"
            " copy head and encoder from the same checkpoint"
        )
    return head


def _input_size(weight: Tensor) -> int:
    """Return the input size of a stored layer, or 1 if it is not a matrix."""
    # `load_weights` refuses other shapes.
    return weight.shape[1] if weight.dim() == 2 and weight.shape[1] else 1


def _find_dense(stored: Mapping[str, Tensor], config: Mapping[str, Any]) -> list[str]:
    """Return the names of stored dense layers, the trained layer first.

    The layer from pre-training is second. Unconverted SimCSE calls a layer mlp, and `transformers` calls it pooler
    (methods 2.1). Foreign files can contain other models, whose poolers are ignored.
    """
    family = config["model_type"]
    bases = set()
    for stem in ("", f"{family}.", *[f"{part}." for part in family.split("-")]):
        bases |= {stem, f"model.{stem}"}
    found = []
    for name in ("mlp.dense", "pooler.dense"):
        for key in stored:
            full = key.removesuffix(".weight")
            if not key.endswith(f"{name}.weight"):
                continue
            base = full.removesuffix(name)
            if base in bases or ("sentence_head" in config and base.count(".") == 1):
                found.append(full)
    return found


def _read_settings(folder: Path) -> HeadParameters:
    """Return the parameters of the head in config.json; default: a dense head."""
    try:
        return TypeAdapter(HeadParameters).validate_python(read_config(folder).get("sentence_head", "mlp"))
    except ValidationError as error:
        raise BadInput(f"{folder / CONFIG}: sentence_head: {error.errors()[0]['msg']}") from None
