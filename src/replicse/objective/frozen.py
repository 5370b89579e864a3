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
        model: The frozen model, with the folder that the compiler has set.
        trained: The encoder in training. The frozen model needs the same tokens and is moved to the same
            device.

    Raises:
        BadInput: If the model has no folder, or its tokens differ from the tokens of `trained`.
    """
    if trained.input_embeddings.is_meta:
        return empty_backbone(model.name).requires_grad_(False)
    if not model.folder:
        raise BadInput(f"the frozen model {model.name} does not have a folder; it should be compiled first")
    backbone = open_backbone(Path(model.folder), model.engine)
    problem = ""
    if backbone.vocabulary != trained.vocabulary:
        problem = f"{backbone.vocabulary} tokens, but the encoder has {trained.vocabulary}"
    elif not backbone.has_tokens_of(trained):
        problem = "other tokens than the encoder"
    if problem:
        raise BadInput(
            f"{model.folder}: the frozen model has {problem}; use a model with the tokenizer of the encoder"
        )
    return backbone.to(trained.input_embeddings.device).requires_grad_(False)


class FrozenEncoder:
    """A frozen model that encodes sentences without dropout.

    It has no gradients. It is not a torch module, so that neither the optimiser nor the resume state contains it.

    Args:
        model: The frozen model. Its default pooling is "cls".
        trained: The encoder in training.

    Attributes:
        width: The size of the sentence vectors.

    Raises:
        BadInput: If the model has no folder, its tokens differ from the tokens of `trained`, or the pooling
            needs a head that the folder does not contain.

    Examples:
        >>> teacher = FrozenEncoder(self.params.teacher, model.backbone)
        >>> teacher.width
        768
    """

    def __init__(self, model: FrozenModel, trained: Backbone) -> None:
        params = model.pooling or Cls(pooling="cls")
        self.backbone = open_frozen(model, trained).eval()
        self.pooling = SentencePooling(params, self.backbone)
        self.head = load_head(Path(str(model.folder))) if params.head else None
        if params.head and self.head is None:
            raise BadInput(f"{model.folder}: a head for pooling {params} is not stored; use cls")
        if self.head is not None:
            self.head.to(trained.input_embeddings.device).requires_grad_(False).eval()
        self.width = self.backbone.hidden if self.head is None else self.head.width

    @torch.no_grad()
    def vectors(self, batch: TokenBatch) -> Tensor:
        """Encode a batch as sentence vectors.

        Args:
            batch: The packed tokens of a view.

        Returns:
            The vectors, (rows, width), float32, without gradients.

        Raises:
            ValueError: If a row is longer than the frozen model accepts.

        Examples:
            >>> targets = teacher.vectors(step.columns[0])
        """
        vectors = self.pooling(self.backbone, batch)
        return (vectors if self.head is None else self.head(vectors)).float()
