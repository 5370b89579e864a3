"""The losses of DiffCSE (section 3, Table 3).

They contain a discriminator of edited sentences, which is conditioned on sentence vectors.
"""

import copy
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.encoder.backbone import ALL_TOKENS, Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.packed.linear import Linear
from replicse.objective.mlm import masked_copy
from replicse.objective.terms import Model, Step, Term

from . import method as parameters
from .edits import Edited, Generator, delete, insert, replace

# The released code multiplies ids by the attention mask, so padding is id 0 in every vocabulary, also RoBERTa's.
PADDING = 0

Parameters = TypeVar("Parameters", bound=parameters.ConditionalParameters)


class ConditionalTerm(Term[Parameters]):
    """A term with a conditional discriminator (methods 4.1).

    The discriminator is a trained copy of the encoder that the run starts from. The parameters name the views to edit,
    and for each the view whose vector replaces position 0. The encoder gets gradients only through these vectors.
    """

    predicts_tokens = False

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder.

        The copy has a masked-LM head only if it predicts tokens.
        """
        discriminator = copy.deepcopy(model.backbone).train()
        if not self.predicts_tokens:
            discriminator.drop_token_head()
        elif not discriminator.predicts_tokens:
            discriminator.new_token_head()
        self.discriminator: Backbone = discriminator

    def originals(self, step: Step) -> TokenBatch:
        """Return the sentences to edit."""
        return TokenBatch.concatenate([step.columns[view] for view in self.params.views])

    def states(self, step: Step, edited: TokenBatch) -> Tensor:
        """Return the last hidden states of the discriminator.

        Args:
            step: the inputs of the term.
            edited: the edited `originals`.

        Returns:
            The states, (total, hidden).
        """
        vectors = torch.cat(step.vectors_of(self.params.conditions))
        return self.discriminator(edited, ALL_TOKENS, first_vector=vectors).last

    def token_logits(self, states: Tensor) -> Tensor:
        """Compute masked-LM logits, (n, vocabulary), from discriminator states.

        Args:
            states: states of the discriminator, (n, hidden).
        """
        return self.discriminator.token_logits(states).float()


class ReplacedTokenDetection(ConditionalTerm[parameters.ReplacedTokenDetectionParameters]):
    """Cross-entropy of a classifier of edited and original tokens.

    The classifier is conditioned on the vector of the sentence.

    `average` is "padded" for the mean over the padded batch with label 0 at padding (as in the released code, whose
    discriminator is computed on padding too), "attended" for the mean over tokens, or "sum" for the sum over tokens
    (the paper's formula). `choice` and `places` configure the generator: the best or a sampled token, at all or only at
    masked positions. `edit: delete` needs no generator.
    """

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder, load the generator and create the head."""
        super().prepare(model)
        self.generator = None if self.params.edit == "delete" else Generator(self.params, model.backbone)
        self.head = Linear(model.backbone.hidden, 2)

    def forward(self, step: Step) -> Tensor:
        """Return the cross-entropy of the labels of all edited sentences."""
        edited = self.edit_sentences(step)
        batch, labels = edited.batch, edited.labels
        if self.params.average == "padded":
            labels = labels.new_zeros(batch.rows * batch.longest).index_copy(0, batch.padded_places, labels)
            batch = batch.fill(PADDING)
        logits = self.head(self.states(step, batch)).float()
        return F.cross_entropy(logits, labels, reduction="sum" if self.params.average == "sum" else "mean")

    @torch.no_grad()
    def edit_sentences(self, step: Step) -> Edited:
        """Return the edited sentences and their labels."""
        batch, ratio, backbone = self.originals(step), self.params.ratio, step.model.backbone
        if self.generator is None:
            return delete(batch, ratio, step.generator)
        if self.params.edit == "insert":
            return insert(batch, ratio, self.generator, backbone, step.generator)
        return replace(batch, self.params, self.generator, backbone, step.generator)


class ConditionalMaskedLanguageModelling(
    ConditionalTerm[parameters.ConditionalMaskedLanguageModellingParameters]
):
    """Mean cross-entropy of masked tokens, given a sentence vector.

    The tokens are predicted from the other tokens and the vector.
    """

    predicts_tokens = True

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over the chosen positions.

        The loss is 0 if no position is chosen.
        """
        masked = masked_copy(self.originals(step), step.model.backbone, self.params.ratio, step.generator)
        states = self.states(step, masked.batch)
        if len(masked.positions) == 0:
            return states.sum() * 0
        return F.cross_entropy(self.token_logits(states[masked.positions]), masked.targets)


class CorrectiveLanguageModelling(ConditionalTerm[parameters.CorrectiveLanguageModellingParameters]):
    """Mean cross-entropy of the original token at every position.

    A generator rewrites the sentence, and the vector of the sentence is given. The term is from COCO-LM, but without
    the copy mechanism, which the paper does not mention (methods 4.3).
    """

    predicts_tokens = True

    def prepare(self, model: Model) -> None:
        """Copy the encoder with a masked-LM head, and load the generator."""
        super().prepare(model)
        self.generator = Generator(self.params, model.backbone)

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over all tokens."""
        batch = self.originals(step)
        with torch.no_grad():
            edited = replace(batch, self.params, self.generator, step.model.backbone, step.generator)
        return F.cross_entropy(self.token_logits(self.states(step, edited.batch)), batch.tokens)
