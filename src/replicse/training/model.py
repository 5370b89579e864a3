"""The model a run trains: one or two encoders and their heads."""

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.fresh import fresh_backbone
from replicse.encoder.heads import SentenceHead, make_head, stored_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.task_heads import stored_task_heads, task_heads
from replicse.errors import BadInput
from replicse.registry.encoders import can_keep
from replicse.registry.run_options import DropoutRates, Freeze
from replicse.registry.runs import Run
from replicse.training.momentum import MomentumEncoder
from replicse.training.parts import Parts, encode_in_parts


class SentenceModel(nn.Module):
    """Turn packed views into sentence vectors with one shared encoder or two independent ones.

    With two encoders the first encodes the anchors and the second every other view (SimCSE Table 2); at test
    time the first encodes all sentences (methods 8.5).
    """

    batch_size: int
    width: int

    def __init__(self, backbone: Backbone, head: SentenceHead, two: bool, dropout: DropoutRates) -> None:
        super().__init__()
        self.backbone, self.head, self.dropout = backbone, head, dropout
        self.momentum: MomentumEncoder | None = None
        self.task_heads = nn.ModuleDict()
        # A list of modules: a backbone and a head.
        self.second: Any = None
        if two:
            self.second = nn.ModuleList([copy.deepcopy(backbone), copy.deepcopy(head)])
            self.second[0].drop_token_head()
        self.parts = Parts()
        self.pooled_rate = 0.0
        self.set_progress(0)

    def set_progress(self, progress: float) -> None:
        """Set the rates of dropout that hold at some progress of the training, from 0 to 1."""
        rates = self.dropout
        factor = rates.factor(progress)
        self.pooled_rate = rates.pooled * factor
        for backbone in (self.backbone, *([self.second[0]] if self.second else [])):
            backbone.set_dropout(rates.hidden * factor, rates.attention * factor, rates.heads * factor)

    def freeze(self, freeze: Freeze) -> None:
        """Take the gradients from embeddings and layers; BadInput where the encoder has no such layers."""
        for backbone in (self.backbone, *([self.second[0]] if self.second else [])):
            frozen = backbone.embedding_parameters() if freeze.embeddings else []
            for number in freeze.numbers(backbone.layer_count):
                frozen += backbone.layer_parameters(number)
            if freeze.encoder:
                frozen += _frozen_encoder(backbone, freeze.but)
            for parameter in frozen:
                parameter.requires_grad_(False)

    def follow(self, step: int, steps: int) -> None:
        """Let the momentum encoder, if there is one, follow the trained one before a 0-based step of so many."""
        if self.momentum is not None:
            self.momentum.follow(self.backbone, self.head, step, steps)

    def momentum_vectors(self, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
        """Return what the momentum encoder makes of a batch, (rows, width); BadInput where the run has none."""
        if self.momentum is None:
            raise BadInput(
                "a term reads the momentum encoder, but the run has none; name it in momentum_views"
            )
        return self.momentum.vectors(batch, pooling, self.head)

    def trained(self) -> list[nn.Parameter]:
        """Return the parameters that have gradients, in the order in which the norms of these are summed."""
        token_head = self.backbone.token_head_parameters()
        apart = {id(parameter) for parameter in token_head}
        encoder = [parameter for parameter in self.backbone.parameters() if id(parameter) not in apart]
        second = [] if self.second is None else self.second.parameters()
        every = [*encoder, *self.head.parameters(), *token_head, *second, *self.task_heads.parameters()]
        return [parameter for parameter in every if parameter.requires_grad]

    def vectors(
        self,
        columns: Sequence[TokenBatch],
        poolings: Sequence[SentencePooling],
        repeated: bool,
        views: Sequence[int] | None = None,
        pooled: dict[int, Tensor] | None = None,
    ) -> list[Tensor | None]:
        """Return one (rows, width) tensor per view; None for a view that is not among `views` (default: all).

        `poolings` holds one for each view. `repeated` says that the first two views hold the same text. Where they are
        read alike and their dropout masks are the same too (fixed masks, or no dropout at all), the second vector is
        the first: encoded once (methods 1.7). `pooled` is filled with the vectors by view before the head.
        """
        pooled = {} if pooled is None else pooled
        views = range(len(columns)) if views is None else views
        rates = self.dropout
        drawn = rates.drawn or getattr(self.head.settings, "standout", None)
        same_masks = rates.masks == "fixed" or not drawn
        once = repeated and same_masks and {0, 1} <= set(views) and poolings[0] is poolings[1]
        encoded = [view for view in views if not (once and view == 1)]
        if self.second is None:
            by_view = self._encode(self.backbone, self.head, columns, encoded, poolings, pooled)
        else:
            by_view = self._encode(
                self.backbone, self.head, columns, [v for v in encoded if v == 0], poolings, pooled
            )
            backbone, head = self.second
            by_view |= self._encode(backbone, head, columns, [v for v in encoded if v > 0], poolings, pooled)
        if self.pooled_rate and self.training:
            by_view = {view: F.dropout(vectors, self.pooled_rate) for view, vectors in by_view.items()}
        if once:
            by_view[1], pooled[1] = by_view[0], pooled[0]
        return [by_view.get(view) for view in range(len(columns))]

    def _encode(
        self,
        backbone: Backbone,
        head: SentenceHead,
        columns: Sequence[TokenBatch],
        views: Sequence[int],
        poolings: Sequence[SentencePooling],
        pooled: dict[int, Tensor],
    ) -> dict[int, Tensor]:
        """Return the vectors of some views; those that are read alike are encoded in one batch, or in parts of it."""
        by_view: dict[int, Tensor] = {}
        for pooling in dict.fromkeys(poolings[view] for view in views):
            alike = [view for view in views if poolings[view] is pooling]
            filled = [pooling.filled(columns[view]) for view in alike]
            vectors = self._read(backbone, pooling, filled)
            by_view |= zip(alike, vectors.split([column.rows for column in filled]), strict=True)
        pooled |= {view: vectors.float() for view, vectors in by_view.items()}
        headed = [view for view in views if poolings[view].params.head]
        if headed:
            rows = [columns[view].rows for view in headed]
            vectors = head.of_views(torch.cat([by_view[view] for view in headed]), rows)
            by_view |= zip(headed, vectors.split(rows), strict=True)
        return {view: vectors.float() for view, vectors in by_view.items()}

    def _read(self, backbone: Backbone, pooling: SentencePooling, filled: Sequence[TokenBatch]) -> Tensor:
        """Return the vectors of views that are read alike, one view after the other, before any head."""
        read, whole = partial(pooling.read, backbone), TokenBatch.concatenate(filled)
        if self.parts.whole or not self.training:
            vectors = read(whole)
        else:
            vectors = encode_in_parts(read, filled, self.parts, backbone.masks)
        return pooling.denoised(vectors, backbone, whole)


def _frozen_encoder(backbone: Backbone, words: Sequence[str]) -> list[nn.Parameter]:
    """Return the weights of an encoder but for its masked-LM head, and those that were added or have a word in a name.

    Raises BadInput for a word that no name has.
    """
    own = dict(backbone.named_parameters())
    if word := next((word for word in words if not any(word in name for name in own)), ""):
        raise BadInput(f"freeze.but: no weight of the encoder has {word} in its name; correct it")
    added = [] if words else backbone.added
    kept = {id(weight) for weight in (*backbone.token_head_parameters(), *added)}
    kept |= {id(weight) for name, weight in own.items() if any(word in name for word in words)}
    return [weight for weight in own.values() if id(weight) not in kept]


def average_weights(backbone: Backbone, head: SentenceHead | None, folders: Sequence[Path]) -> None:
    """Set the weights of an encoder and its head to their mean with those of the encoders in some folders.

    Raises BadInput for an encoder with weights of other shapes.
    """
    _set_to_mean(backbone, {folder: open_backbone(folder, backbone.engine) for folder in folders})
    if head is not None:
        _set_to_mean(head, {folder: stored_head(folder) for folder in folders})


def _set_to_mean(network: nn.Module, others: Mapping[Path, nn.Module | None]) -> None:
    states = [network.state_dict()]
    for folder, other in others.items():
        states.append({} if other is None else other.state_dict())
        if _shapes(states[-1]) != _shapes(states[0]):
            raise BadInput(
                f"{folder}: its weights have other shapes than the first run; average runs of one encoder"
            )
    # All are computed before the first changes, as two names may have one weight.
    means = {name: torch.stack([state[name] for state in states]).double().mean(dim=0) for name in states[0]}
    with torch.no_grad():
        for name, weight in states[0].items():
            weight.copy_(means[name])


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: weight.shape for name, weight in state.items()}


def open_model(spec: Run, init: Path | None, tokenizer: Path) -> SentenceModel:
    """Return the model a run starts with: the encoder of a folder, or random weights where `init` is None.

    The head starts at random on purpose: the pretrained next-sentence pooler did not help (methods 1.2). One that
    was trained before goes on only where the run asks for that. Raises BadInput where it is of another kind, or where a
    released encoder has none; that a backbone of the scale was pre-trained without one is noted in the plan.
    """
    head = None
    if init is None:
        if spec.init.fresh is None:
            raise BadInput(f"{spec.run_id}: neither a folder of weights nor an architecture to start from")
        backbone = fresh_backbone(spec.init.fresh.architecture, tokenizer, spec.engine)
    else:
        family = {"model_type": spec.init.family, **(spec.init.config or {})} if spec.init.family else {}
        backbone = open_backbone(init, spec.engine, tokenizer, family)
        head = stored_head(init) if spec.init.keep_head else None
        if spec.init.average:
            average_weights(backbone, head, [Path(model.folder or "") for model in spec.init.average])
    if head is not None and can_keep(spec.head, head.settings):
        head.settings = spec.head
    elif spec.init.keep_head and spec.trains_head and (head is not None or not spec.init.run):
        raise BadInput(
            f"{init}: it has no {spec.head.kind} head to keep; take init.keep_head away from the run"
        )
    else:
        head = make_head(spec.head, backbone.hidden)
    model = SentenceModel(backbone, head, spec.encoders == "two", spec.dropout)
    model.batch_size = spec.optimisation.batch_size
    model.width = head.width if spec.trains_head else backbone.hidden
    kept = stored_task_heads(init, model.width) if init and spec.init.keep_head else nn.ModuleDict()
    model.task_heads = task_heads(spec.terms, model.width, kept)
    if spec.momentum:
        model.momentum = MomentumEncoder(spec.momentum, backbone, head)
    return model
