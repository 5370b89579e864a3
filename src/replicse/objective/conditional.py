"""What the terms of DiffCSE share: a discriminator that reads edited sentences next to sentence vectors."""

import copy
from typing import TypeVar

import torch
from torch import Tensor

from replicse.encoder.backbone import ALL_TOKENS, Backbone
from replicse.encoder.batch import TokenBatch
from replicse.objective.terms import Model, Step, Term
from replicse.registry.terms import ConditionalParameters

Parameters = TypeVar("Parameters", bound=ConditionalParameters)


class ConditionalTerm(Term[Parameters]):
    """A term with a discriminator: a second, trained copy of the encoder the run starts from (methods 4.1).

    The parameters name the views whose sentences are edited, and for each of them the view whose vector takes the
    place of position 0. Gradients reach the encoder through these vectors only.
    """

    predicts_tokens = False

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder, with its masked-LM head or a new one where tokens are predicted."""
        discriminator = copy.deepcopy(model.backbone).train()
        if not self.predicts_tokens:
            discriminator.drop_token_head()
        elif not discriminator.predicts_tokens:
            discriminator.new_token_head()
        self.discriminator: Backbone = discriminator

    def originals(self, step: Step) -> TokenBatch:
        """Return the sentences that are to be edited."""
        return TokenBatch.concatenate([step.columns[view] for view in self.params.views])

    def states(self, step: Step, edited: TokenBatch) -> Tensor:
        """Return the discriminator's last states, (total, hidden), of edited sentences in the order of `originals`."""
        vectors = torch.cat(step.vectors_of(self.params.conditions))
        return self.discriminator(edited, ALL_TOKENS, first_vector=vectors).last

    def token_logits(self, states: Tensor) -> Tensor:
        """Return logits over the vocabulary, (n, vocabulary), of discriminator states (n, hidden)."""
        return self.discriminator.token_logits(states).float()
