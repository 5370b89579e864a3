"""The model in training: one or two encoders with heads."""

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
from replicse.encoder.heads import SentenceHead, load_head, make_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.task_heads import collect_task_heads, load_task_heads
from replicse.errors import BadInput
from replicse.registry.encoders import can_keep
from replicse.registry.run_options import DropoutRates, Freeze
from replicse.registry.runs import Run
from replicse.training.momentum import MomentumEncoder
from replicse.training.parts import Parts, encode_in_parts


class SentenceModel(nn.Module):
    """The sentence model of a run, with one shared or two encoders.

    It encodes packed views as sentence vectors. If there are two independent encoders, the first encodes view 0 and the
    second all other views (SimCSE Table 2). At test time the first encodes all sentences (methods 8.5).

    Args:
        backbone: The encoder.
        head: The sentence head.
        two: Whether to train a second encoder and head, which start as copies.
        dropout: The dropout rates.

    Attributes:
        batch_size: The number of rows of a batch.
        width: The size of the sentence vectors.
    """

    batch_size: int
    width: int

    def __init__(self, backbone: Backbone, head: SentenceHead, two: bool, dropout: DropoutRates) -> None:
        super().__init__()
        self.backbone, self.head, self.dropout = backbone, head, dropout
        self.momentum: MomentumEncoder | None = None
        self.task_heads = nn.ModuleDict()
        # A ModuleList of a backbone and a head, or None.
        self.second: Any = None
        if two:
            self.second = nn.ModuleList([copy.deepcopy(backbone), copy.deepcopy(head)])
            self.second[0].drop_token_head()
        self.parts = Parts()
        self.pooled_rate = 0.0
        self.set_progress(0)

    def set_progress(self, progress: float) -> None:
        """Set the dropout rates for a completed share of the training.

        Args:
            progress: The share, from 0 to 1.
        """
        rates = self.dropout
        factor = rates.factor(progress)
        self.pooled_rate = rates.pooled * factor
        for backbone in self._backbones():
            backbone.set_dropout(rates.hidden * factor, rates.attention * factor, rates.heads * factor)

    def _backbones(self) -> list[Backbone]:
        return [self.backbone] if self.second is None else [self.backbone, self.second[0]]

    def freeze(self, freeze: Freeze) -> None:
        """Freeze embeddings, layers or the encoder.

        Args:
            freeze: The parameters to freeze.

        Raises:
            BadInput: If the encoder does not contain them.
        """
        for backbone in self._backbones():
            frozen = backbone.embedding_parameters() if freeze.embeddings else []
            for number in freeze.numbers(backbone.layer_count):
                frozen += backbone.layer_parameters(number)
            if freeze.encoder:
                frozen += _frozen_encoder(backbone, freeze.but)
            for parameter in frozen:
                parameter.requires_grad_(False)

    def follow(self, step: int, steps: int) -> None:
        """Update the momentum encoder, if there is one, before a step.

        Args:
            step: The number of the step, from 0.
            steps: The number of steps of the run.
        """
        if self.momentum is not None:
            self.momentum.follow(self.backbone, self.head, step, steps)

    def momentum_vectors(self, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
        """Encode a batch with the momentum encoder.

        Args:
            batch: The packed tokens.
            pooling: The pooling of the view.

        Returns:
            The vectors, (rows, width), without gradients.

        Raises:
            BadInput: If the run has no momentum encoder.
        """
        if self.momentum is None:
            raise BadInput(
                "a term uses the momentum encoder, but the run does not have a momentum encoder; add the view"
                " to momentum_views"
            )
        return self.momentum.vectors(batch, pooling, self.head)

    def trained_parameters(self) -> list[nn.Parameter]:
        """Return the list of parameters that are not frozen.

        Their order is the order in which the norms of their gradients are summed.
        """
        token_head = self.backbone.token_head_parameters()
        token_head_ids = {id(parameter) for parameter in token_head}
        parameters = [each for each in self.backbone.parameters() if id(each) not in token_head_ids]
        parameters += [*self.head.parameters(), *token_head]
        if self.second is not None:
            parameters += self.second.parameters()
        parameters += self.task_heads.parameters()
        return [parameter for parameter in parameters if parameter.requires_grad]

    def vectors(
        self,
        columns: Sequence[TokenBatch],
        poolings: Sequence[SentencePooling],
        repeated: bool,
        views: Sequence[int] | None = None,
        pooled: dict[int, Tensor] | None = None,
    ) -> list[Tensor | None]:
        """Encode views as sentence vectors.

        If the first two views are the same text with the same pooling, and their dropout masks are equal too (fixed
        masks, or no dropout), they are encoded once (methods 1.7).

        Args:
            columns: The packed tokens of each view.
            poolings: The pooling of each view.
            repeated: Whether the first two views are the same text.
            views: The numbers of the views to encode. Default: all.
            pooled: A dict that is filled with the vectors of each encoded view before the head, (rows,
                hidden).

        Returns:
            A list with a tensor for each view, (rows, width), float32, or None if the view is not in `views`.
        """
        pooled = {} if pooled is None else pooled
        views = range(len(columns)) if views is None else views
        is_random = self.dropout.drawn or getattr(self.head.settings, "standout", None)
        has_equal_masks = self.dropout.masks == "fixed" or not is_random
        once = repeated and has_equal_masks and {0, 1} <= set(views) and poolings[0] is poolings[1]
        encoded = [view for view in views if not (once and view == 1)]
        if self.second is None:
            by_view = self._encode(self.backbone, self.head, columns, encoded, poolings, pooled)
        else:
            anchors = [view for view in encoded if view == 0]
            others = [view for view in encoded if view > 0]
            by_view = self._encode(self.backbone, self.head, columns, anchors, poolings, pooled)
            second_backbone, second_head = self.second
            by_view |= self._encode(second_backbone, second_head, columns, others, poolings, pooled)
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
        """Encode some views, and views with the same pooling together."""
        by_view: dict[int, Tensor] = {}
        for pooling in dict.fromkeys(poolings[view] for view in views):
            same_pooling = [view for view in views if poolings[view] is pooling]
            filled = [pooling.fill(columns[view]) for view in same_pooling]
            vectors = self._pool(backbone, pooling, filled)
            by_view |= zip(same_pooling, vectors.split([column.rows for column in filled]), strict=True)
        pooled |= {view: vectors.float() for view, vectors in by_view.items()}
        with_head = [view for view in views if poolings[view].params.head]
        if with_head:
            rows = [columns[view].rows for view in with_head]
            vectors = head.of_views(torch.cat([by_view[view] for view in with_head]), rows)
            by_view |= zip(with_head, vectors.split(rows), strict=True)
        return {view: vectors.float() for view, vectors in by_view.items()}

    def _pool(self, backbone: Backbone, pooling: SentencePooling, filled: Sequence[TokenBatch]) -> Tensor:
        """Encode views with the same pooling as vectors before any head."""
        read, whole = partial(pooling.read, backbone), TokenBatch.concatenate(filled)
        if self.parts.whole or not self.training:
            vectors = read(whole)
        else:
            vectors = encode_in_parts(read, filled, self.parts, backbone.masks)
        return pooling.denoise(vectors, backbone, whole)


def _frozen_encoder(backbone: Backbone, words: Sequence[str]) -> list[nn.Parameter]:
    """Return the weights of an encoder that `freeze.encoder` freezes.

    These are all weights except the masked-LM head and either the weights with one of `words` in their names or, if
    there are no words, the added weights. Raises BadInput for a word that no name contains.
    """
    weights = dict(backbone.named_parameters())
    for word in words:
        if not any(word in name for name in weights):
            raise BadInput(
                f"freeze.but: the encoder does not have a weight whose name contains {word}; correct it"
            )
    trained = {id(weight) for weight in backbone.token_head_parameters()}
    if not words:
        trained |= {id(weight) for weight in backbone.added}
    for name, weight in weights.items():
        if any(word in name for word in words):
            trained.add(id(weight))
    return [weight for weight in weights.values() if id(weight) not in trained]


def average_weights(backbone: Backbone, head: SentenceHead | None, folders: Sequence[Path]) -> None:
    """Average the weights of an encoder and head with other encoders.

    Args:
        backbone: The encoder, whose weights are replaced by the mean.
        head: The head, or None to average only encoders.
        folders: A list of the folders of the other encoders.

    Raises:
        BadInput: If the weights of an encoder have other shapes.
    """
    _set_to_mean(backbone, {folder: open_backbone(folder, backbone.engine) for folder in folders})
    if head is not None:
        _set_to_mean(head, {folder: load_head(folder) for folder in folders})


def _set_to_mean(network: nn.Module, others: Mapping[Path, nn.Module | None]) -> None:
    states = [network.state_dict()]
    for folder, other in others.items():
        states.append({} if other is None else other.state_dict())
        if _shapes(states[-1]) != _shapes(states[0]):
            raise BadInput(
                f"{folder}: the weights have other shapes than the weights of the first run; average only runs of"
                " the same encoder"
            )
    # All means are computed before any weight changes, because two names can share a weight.
    means = {}
    for name in states[0]:
        weights = torch.stack([state[name] for state in states])
        means[name] = weights.double().mean(dim=0)
    with torch.no_grad():
        for name, weight in states[0].items():
            weight.copy_(means[name])


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: weight.shape for name, weight in state.items()}


def open_model(spec: Run, init: Path | None, tokenizer: Path) -> SentenceModel:
    """Create the model that a run starts with.

    By default the head is initialised at random, because the pre-trained next-sentence pooler did not help (methods
    1.2). A trained head is kept only if the run requests it.

    Args:
        spec: The run.
        init: The folder of an encoder, or None for random weights.
        tokenizer: The tokenizer.json.

    Raises:
        BadInput: If there is neither a folder nor an architecture, or the head to keep is missing or of
            another kind.
    """
    backbone, stored = _open_encoder(spec, init, tokenizer)
    head = _choose_head(spec, init, backbone, stored)
    model = SentenceModel(backbone, head, spec.encoders == "two", spec.dropout)
    model.batch_size = spec.optimisation.batch_size
    model.width = head.width if spec.trains_head else backbone.hidden
    kept = load_task_heads(init, model.width) if init and spec.init.keep_head else nn.ModuleDict()
    model.task_heads = collect_task_heads(spec.terms, model.width, kept)
    if spec.momentum:
        model.momentum = MomentumEncoder(spec.momentum, backbone, head)
    return model


def _open_encoder(spec: Run, init: Path | None, tokenizer: Path) -> tuple[Backbone, SentenceHead | None]:
    """Return the initial encoder of a run, and the stored head to keep."""
    if init is None:
        if spec.init.fresh is None:
            raise BadInput(
                f"{spec.run_id}: init has neither a folder of weights nor an architecture; add one"
            )
        return fresh_backbone(spec.init.fresh.architecture, tokenizer, spec.engine), None
    family = {"model_type": spec.init.family, **(spec.init.config or {})} if spec.init.family else {}
    backbone = open_backbone(init, spec.engine, tokenizer, family)
    head = load_head(init) if spec.init.keep_head else None
    if spec.init.average:
        average_weights(backbone, head, [Path(model.folder or "") for model in spec.init.average])
    return backbone, head


def _choose_head(
    spec: Run, init: Path | None, backbone: Backbone, stored: SentenceHead | None
) -> SentenceHead:
    """Return the stored head if it can be kept, otherwise a new head.

    Raises BadInput if the run requires a stored head and there is no suitable one. A backbone of the scale might have
    been pre-trained without a head; the plan notes it.
    """
    if stored is not None and can_keep(spec.head, stored.settings):
        stored.settings = spec.head
        return stored
    if spec.init.keep_head and spec.trains_head and (stored is not None or not spec.init.run):
        raise BadInput(
            f"{init}: the {spec.head.kind} head to keep does not exist; remove init.keep_head from the run"
        )
    return make_head(spec.head, backbone.hidden)
