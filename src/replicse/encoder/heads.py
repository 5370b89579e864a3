"""What a sentence vector passes through after its pooling: heads made from their parameters, saved and read back."""

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
    both_parts,
    check_finite,
    fill,
    has_weights,
    named,
    read_config,
    read_weights,
)
from replicse.errors import BadInput
from replicse.registry.artefacts import CONFIG
from replicse.registry.encoders import Head as HeadParameters
from replicse.registry.encoders import MlpHead, ProjectorHead

log = logging.getLogger(__name__)
_PROJECTOR = "projector"
_INPUTS = "sentence_head_inputs"


class SentenceHead(nn.Module):
    """A head: `settings` are the parameters it was made from; vectors of `inputs` numbers become ones of `width`."""

    settings: HeadParameters
    inputs: int
    width: int

    def of_views(self, vectors: Tensor, rows: Sequence[int]) -> Tensor:
        """Return what the head makes of the vectors of several views, one view of `rows` after the other."""
        return self(vectors)


class Mlp(SentenceHead):
    """Linear layer and tanh on the vector of position 0; freshly drawn on purpose (SimCSE, methods 1.2).

    With `standout` a unit is kept in training with the probability that the head's own weights give it, and counts
    by that probability at test time (Ba and Frey 2013); no gradient flows through the draw, as in the usual port.
    """

    settings: MlpHead

    def __init__(self, settings: MlpHead, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.settings, self.inputs, self.width = settings, hidden, hidden
        self.dense = Linear(hidden, hidden)
        draw_normal(self.dense.weight, 0.02, generator)
        nn.init.zeros_(self.dense.bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (rows, hidden) vectors in (-1, 1)."""
        before = self.dense(vectors)
        standout = self.settings.standout
        if standout is None:
            return before.tanh()
        kept = (standout.alpha * before + standout.beta).sigmoid()
        return before.tanh() * (kept.detach().bernoulli() if self.training else kept)


class Projector(SentenceHead):
    """Linear layers with batch normalisation after each and ReLU between (DiffCSE, appendix A; methods 4.1).

    In training the statistics are those of all rows given at once: all rows of all views, or of one view where the
    settings say so. The last normalisation has no weights of its own.
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
        """Return (rows, width) vectors; in training, normalised ones have mean 0 and variance 1 over the rows."""
        return self.layers(vectors)

    def of_views(self, vectors: Tensor, rows: Sequence[int]) -> Tensor:
        """Return (rows, width) vectors, each view normalised by itself where the settings say so."""
        parts = [vectors] if self.settings.statistics == "all" else vectors.split(list(rows))
        return torch.cat([self(part) for part in parts])


def make_head(
    settings: HeadParameters, hidden: int, generator: torch.Generator | None = None
) -> SentenceHead:
    """Return a freshly drawn head for vectors of a width."""
    head: SentenceHead = settings.made_by()(settings, hidden, generator)
    return head


def random_head(hidden: int, seed: int = 0) -> SentenceHead:
    """Return a head that no training has seen, the same one at every call with one seed.

    Loading a checkpoint without a pooler puts such a head on it; the reproducibility study measured alignment
    and uniformity through one, drawn again for every checkpoint (methods 1.8).
    """
    return make_head(MlpHead(kind="mlp"), hidden, torch.Generator().manual_seed(seed))


def head_config(head: SentenceHead | None) -> dict[str, Any]:
    """Return what config.json says about a head: its parameters, and the width that it takes."""
    return {} if head is None else {"sentence_head": head.settings.plain(), _INPUTS: head.inputs}


def head_weights(head: SentenceHead | None, base: str) -> dict[str, Tensor]:
    """Return a head's weights under the names of a checkpoint whose encoder's names begin with `base`.

    A dense head takes the place of the pooler, which `transformers` reads; it passes over a projector.
    """
    return {} if head is None else named(head, _names(head, base))


def _names(head: SentenceHead, base: str) -> dict[str, tuple[str, ...]]:
    if isinstance(head, Mlp):
        return both_parts("dense", f"{base}pooler.dense")
    # Weights and running statistics; a normalisation's count of batches is no part of any number.
    kept = (name for name, value in head.state_dict().items() if value.is_floating_point())
    return {name: (f"{base}{_PROJECTOR}.{name}",) for name in kept}


def stored_head(folder: Path) -> SentenceHead | None:
    """Return the head that an encoder folder holds, on the CPU; None where it holds none, as an adapter's does."""
    if not has_weights(folder):
        return None
    file, stored = read_weights(folder)
    settings = _stored_settings(folder)
    if not isinstance(settings, MlpHead):
        first = f"{_PROJECTOR}.layers.0.weight"
        place = min((name for name in stored if f".{_PROJECTOR}." in f".{name}"), default=None)
        if place is None:
            raise BadInput(f'{file}: no weight "{first}", but config.json names a {settings.kind}')
        base = place.partition(f"{_PROJECTOR}.")[0]
        inputs = read_config(folder).get(_INPUTS) or _inputs(stored.get(base + first, torch.empty(0)))
        with torch.device("meta"):
            head = make_head(settings, inputs)
        fill(head, _names(head, base), stored, file)
        check_finite(head, file)
        return head
    found = _stored_dense(stored, read_config(folder))
    if not found:
        return None
    dense = found[0]
    if others := found[1:]:
        log.info("%s: its head is %s; %s is not read", folder, dense, " and ".join(others))
    with torch.device("meta"):
        head = make_head(settings, _inputs(stored[f"{dense}.weight"]))
    fill(head, both_parts("dense", dense), stored, file)
    check_finite(head, file)
    return head


def _inputs(weight: Tensor) -> int:
    """Return the width that a stored layer takes; 1 where the weight is no matrix, which `fill` then refuses."""
    return weight.shape[1] if weight.dim() == 2 and weight.shape[1] else 1


def _stored_dense(stored: Mapping[str, Tensor], config: Mapping[str, Any]) -> list[str]:
    """Return the names of stored dense layers, the one that a training left before that of the pre-training.

    Unconverted SimCSE calls it mlp, `transformers` pooler (methods 2.1). Others' files may hold more models than the
    encoder, whose poolers are not meant.
    """
    family = config["model_type"]
    stems = ("", *(f"{part}." for part in (family, *family.split("-"))))
    usual = {outer + stem for outer in ("", "model.") for stem in stems}
    found = []
    for name in ("mlp.dense", "pooler.dense"):
        for full in (key.removesuffix(".weight") for key in stored if key.endswith(f"{name}.weight")):
            base = full.removesuffix(name)
            if base in usual or ("sentence_head" in config and base.count(".") == 1):
                found.append(full)
    return found


def _stored_settings(folder: Path) -> HeadParameters:
    """Return the parameters that config.json gives; those of a dense head where it says nothing."""
    try:
        return TypeAdapter(HeadParameters).validate_python(read_config(folder).get("sentence_head", "mlp"))
    except ValidationError as error:
        raise BadInput(f"{folder / CONFIG}: sentence_head: {error.errors()[0]['msg']}") from None
