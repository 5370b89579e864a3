"""The losses of DiffCSE (section 3, Table 3).

Each loss trains a discriminator of edited sentences that is conditioned on the vectors of the original sentences.
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

# The released code multiplies ids by the attention mask, so padding has id 0 in every vocabulary, also in RoBERTa's.
PADDING = 0

Parameters = TypeVar("Parameters", bound=parameters.ConditionalParameters)


class ConditionalTerm(Term[Parameters]):
    """A term with a conditional discriminator (methods 4.1).

    The discriminator starts as a copy of the encoder and is trained with it. The parameters specify the views to edit
    and, for each of them, the view whose vector replaces position 0. The encoder gets gradients from this term only
    through these vectors.
    """

    predicts_tokens = False

    def prepare(self, model: Model) -> None:
        """Create the discriminator as a copy of the untrained encoder.

        The copy has a masked-LM head only if the term predicts tokens.
        """
        discriminator = copy.deepcopy(model.backbone).train()
        if not self.predicts_tokens:
            discriminator.drop_token_head()
        elif not discriminator.predicts_tokens:
            discriminator.new_token_head()
        self.discriminator: Backbone = discriminator

    def originals(self, step: Step) -> TokenBatch:
        """Return the sentences to edit, view by view."""
        return TokenBatch.concatenate([step.columns[view] for view in self.params.views])

    def states(self, step: Step, edited: TokenBatch) -> Tensor:
        """Return the last hidden states of the discriminator.

        Args:
            step: The inputs of the term.
            edited: The `originals` after editing.

        Returns:
            The states, (total, hidden).
        """
        vectors = torch.cat(step.vectors_of(self.params.conditions))
        return self.discriminator(edited, ALL_TOKENS, first_vector=vectors).last

    def token_logits(self, states: Tensor) -> Tensor:
        """Compute masked-LM logits from states of the discriminator.

        Args:
            states: The states, (n, hidden).

        Returns:
            The logits, (n, vocabulary), float32.
        """
        return self.discriminator.token_logits(states).float()


class ReplacedTokenDetection(ConditionalTerm[parameters.ReplacedTokenDetectionParameters]):
    """Cross-entropy of a classifier of edited and original tokens.

    The classifier is conditioned on the vector of the sentence. `edit: delete` does not use a generator.

    The parameter `average` is:

    - "padded": the mean over the padded batch, with label 0 at padding. This is the released code, whose discriminator
      also gets the padding.
    - "attended": the mean over tokens.
    - "sum": the sum over tokens, as in the paper's formula.

    The parameters `choice` and `places` configure the generator: the most likely or a sampled token, at all positions
    or only at the positions where a mask stands.
    """

    def prepare(self, model: Model) -> None:
        """Create the discriminator, the generator and the classifier."""
        super().prepare(model)
        self.generator = None if self.params.edit == "delete" else Generator(self.params, model.backbone)
        self.head = Linear(model.backbone.hidden, 2)

    def forward(self, step: Step) -> Tensor:
        """Compute the cross-entropy of the token labels."""
        edited = self.edit_sentences(step)
        batch, labels = edited.batch, edited.labels
        if self.params.average == "padded":
            labels = labels.new_zeros(batch.rows * batch.longest).index_copy(0, batch.padded_places, labels)
            batch = batch.fill(PADDING)
        logits = self.head(self.states(step, batch)).float()
        return F.cross_entropy(logits, labels, reduction="sum" if self.params.average == "sum" else "mean")

    @torch.no_grad()
    def edit_sentences(self, step: Step) -> Edited:
        """Edit the sentences by replacement, insertion or deletion."""
        batch, ratio, backbone = self.originals(step), self.params.ratio, step.model.backbone
        if self.generator is None:
            return delete(batch, ratio, step.generator)
        if self.params.edit == "insert":
            return insert(batch, ratio, self.generator, backbone, step.generator)
        return replace(batch, self.params, self.generator, backbone, step.generator)


class ConditionalMaskedLanguageModelling(
    ConditionalTerm[parameters.ConditionalMaskedLanguageModellingParameters]
):
    """Mean cross-entropy of masked tokens, given the sentence vector."""

    predicts_tokens = True

    def forward(self, step: Step) -> Tensor:
        """Compute the mean cross-entropy of the masked tokens.

        It is 0 if no tokens are masked.
        """
        masked = masked_copy(self.originals(step), step.model.backbone, self.params.ratio, step.generator)
        states = self.states(step, masked.batch)
        if len(masked.positions) == 0:
            return states.sum() * 0
        return F.cross_entropy(self.token_logits(states[masked.positions]), masked.targets)


class CorrectiveLanguageModelling(ConditionalTerm[parameters.CorrectiveLanguageModellingParameters]):
    """Mean cross-entropy of the original tokens, given the sentence vector.

    A generator rewrites the sentence, and the discriminator predicts the original token at every position. The term is
    from COCO-LM, but without the copy mechanism, which the paper does not mention (methods 4.3).
    """

    predicts_tokens = True

    def prepare(self, model: Model) -> None:
        """Create the discriminator and the generator."""
        super().prepare(model)
        self.generator = Generator(self.params, model.backbone)

    def forward(self, step: Step) -> Tensor:
        """Compute the mean cross-entropy over all tokens."""
        batch = self.originals(step)
        with torch.no_grad():
            edited = replace(batch, self.params, self.generator, step.model.backbone, step.generator)
        return F.cross_entropy(self.token_logits(self.states(step, edited.batch)), batch.tokens)
