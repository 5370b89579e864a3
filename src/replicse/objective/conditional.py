"""What the terms of DiffCSE share: a discriminator that reads edited sentences beside sentence vectors."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from replicse.encoder.batch import TokenBatch
from replicse.encoder.checkpoints import MaskedLmHead
from replicse.encoder.transformer import ALL_TOKENS, TransformerEncoder
from replicse.errors import BadInput
from replicse.objective.terms import Model, Step, Term, checked_views


class ConditionalTerm(Term):
    """A term with a discriminator: a second, trained copy of the encoder the run starts from (methods 4.1).

    `views` are the views whose sentences are edited; `condition` names for each of them the view whose vector takes
    the place of position 0 (one number for all of them, or None: their own). Gradients reach the encoder through
    these vectors only.
    """

    def __init__(self, name: str, views: Sequence[int], condition: Sequence[int] | int | None) -> None:
        super().__init__()
        self.name, self.views = name, views
        if condition is None:
            condition = views
        elif isinstance(condition, int) or len(condition) == 1 < len(views):
            condition = [condition if isinstance(condition, int) else condition[0]] * len(views)
        if not views or len(condition) != len(views):
            raise BadInput(
                f"{name}: views {views} and condition {condition}; expected one condition per view"
            )
        self.condition = condition
        self.discriminator: TransformerEncoder | None = None

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder: the discriminator."""
        self.discriminator = copy.deepcopy(model.encoder).train()

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the views whose vectors the discriminator is given."""
        checked_views(self.views, count, f"{self.name}.views")
        return checked_views(self.condition, count, f"{self.name}.condition")

    def originals(self, step: Step) -> TokenBatch:
        """Return the sentences that are to be edited."""
        return TokenBatch.concatenate([step.columns[view] for view in self.views])

    def states(self, step: Step, edited: TokenBatch) -> Tensor:
        """Return the discriminator's last states, (total, hidden), of edited sentences in the order of `originals`."""
        assert self.discriminator is not None
        vectors = torch.cat([step.vectors[view] for view in self.condition])
        return self.discriminator(edited, ALL_TOKENS, first_vector=vectors).last


class ConditionalTokenPrediction(ConditionalTerm):
    """A conditional term that predicts tokens: it has a masked-LM head, a copy of the run's where there is one."""

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder and its masked-LM head."""
        super().prepare(model)
        head = model.masked_lm
        self.masked_lm = MaskedLmHead(model.encoder.config) if head is None else copy.deepcopy(head)
        self.masked_lm.to(model.encoder.token_embeddings.device)

    def token_logits(self, states: Tensor) -> Tensor:
        """Return logits over the vocabulary, (n, vocabulary), of discriminator states (n, hidden)."""
        assert self.discriminator is not None
        return self.masked_lm(states, self.discriminator.token_embeddings).float()
