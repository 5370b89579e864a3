"""Frozen models for loss terms.

They are loaded from a folder onto the device of the trained encoder.
"""

from pathlib import Path

import torch
from torch import Tensor

from replicse.encoder.architectures import empty_backbone
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import load_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.errors import BadInput
from replicse.registry.frozen import FrozenModel
from replicse.registry.poolings import Cls


def open_frozen(model: FrozenModel, trained: Backbone) -> Backbone:
    """Load the encoder of a frozen model, without gradients.

    If `trained` is on the meta device because only parameters are counted, the frozen model has no weights either.

    Args:
        model: the frozen model, with the folder that the plan has set.
        trained: the encoder in training; the frozen model must have the same tokens and is moved to the same device.

    Raises:
        BadInput: if the model has no folder, or the tokens differ from the tokens of `trained`.
    """
    if trained.input_embeddings.is_meta:
        return empty_backbone(model.name).requires_grad_(False)
    if not model.folder:
        raise BadInput(f"the frozen model {model.name} is a name; the plan puts a folder in its place")
    backbone = open_backbone(Path(model.folder), model.engine)
    problem = ""
    if backbone.vocabulary != trained.vocabulary:
        problem = f"{backbone.vocabulary} tokens, but the encoder {trained.vocabulary}"
    elif not backbone.has_tokens_of(trained):
        problem = "a vocabulary of other tokens than the encoder's"
    if problem:
        raise BadInput(
            f"{model.folder}: the frozen model has {problem}; choose one with the encoder's tokenizer"
        )
    return backbone.to(trained.input_embeddings.device).requires_grad_(False)


class FrozenEncoder:
    """A frozen model that encodes sentences without dropout.

    It has no gradients. It is not a torch module, so that neither the optimiser nor the resume state contains it.

    Args:
        model: the frozen model; the default pooling is "cls".
        trained: the encoder in training.

    Attributes:
        width: the size of the sentence vectors.

    Raises:
        BadInput: if the pooling needs a head and the model's folder contains no head, or as `open_frozen`.
    """

    def __init__(self, model: FrozenModel, trained: Backbone) -> None:
        params = model.pooling or Cls(pooling="cls")
        self.backbone = open_frozen(model, trained).eval()
        self.pooling = SentencePooling(params, self.backbone)
        self.head = load_head(Path(str(model.folder))) if params.head else None
        if params.head and self.head is None:
            raise BadInput(f"{model.folder}: no head for pooling {params} is stored there; choose cls")
        if self.head is not None:
            self.head.to(trained.input_embeddings.device).requires_grad_(False).eval()
        self.width = self.backbone.hidden if self.head is None else self.head.width

    @torch.no_grad()
    def vectors(self, batch: TokenBatch) -> Tensor:
        """Encode a batch as sentence vectors.

        Args:
            batch: packed tokens.

        Returns:
            The vectors, (rows, width), float32, without gradients.
        """
        vectors = self.pooling(self.backbone, batch)
        return (vectors if self.head is None else self.head(vectors)).float()
