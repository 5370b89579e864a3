"""The losses of DiffCSE: a discriminator that reads edited sentences next to sentence vectors (section 3, Table 3)."""

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

# The released code multiplies ids by the attention mask: padding is id 0 in every vocabulary, RoBERTa's too.
PADDING = 0

Parameters = TypeVar("Parameters", bound=parameters.ConditionalParameters)


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


class ReplacedTokenDetection(ConditionalTerm[parameters.ReplacedTokenDetectionParameters]):
    """Cross-entropy of telling edited from original tokens, given the sentence's vector.

    `average` is over all positions of the padded batch, padding with label 0 (`padded`, as the released code does it:
    the discriminator runs over real padding that attention never reads), over real tokens only (`attended`), or
    not taken (`sum`, the paper's formula). `choice` and `places` say how the generator rewrites: its best or a sampled
    token, at all positions or only at masked ones; `edit: delete` needs no generator.
    """

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder, open the generator and draw the binary head."""
        super().prepare(model)
        self.generator = None if self.params.edit == "delete" else Generator(self.params, model.backbone)
        self.head = Linear(model.backbone.hidden, 2)

    def forward(self, step: Step) -> Tensor:
        """Return the cross-entropy of the labels of all edited sentences."""
        edited = self.edited(step)
        batch, labels = edited.batch, edited.labels
        if self.params.average == "padded":
            labels = labels.new_zeros(batch.rows * batch.longest).index_copy(0, batch.padded_places, labels)
            batch = batch.fill(PADDING)
        logits = self.head(self.states(step, batch)).float()
        return F.cross_entropy(logits, labels, reduction="sum" if self.params.average == "sum" else "mean")

    @torch.no_grad()
    def edited(self, step: Step) -> Edited:
        """Return the edited sentences and where they were edited."""
        batch, ratio, backbone = self.originals(step), self.params.ratio, step.model.backbone
        if self.generator is None:
            return delete(batch, ratio, step.generator)
        if self.params.edit == "insert":
            return insert(batch, ratio, self.generator, backbone, step.generator)
        return replace(batch, self.params, self.generator, backbone, step.generator)


class ConditionalMaskedLanguageModelling(
    ConditionalTerm[parameters.ConditionalMaskedLanguageModellingParameters]
):
    """Mean cross-entropy of masked tokens, predicted from the rest of a sentence and a sentence vector."""

    predicts_tokens = True

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over the chosen positions; 0 where none was chosen."""
        masked = masked_copy(self.originals(step), step.model.backbone, self.params.ratio, step.generator)
        states = self.states(step, masked.batch)
        if len(masked.positions) == 0:
            return states.sum() * 0
        return F.cross_entropy(self.token_logits(states[masked.positions]), masked.targets)


class CorrectiveLanguageModelling(ConditionalTerm[parameters.CorrectiveLanguageModellingParameters]):
    """Mean cross-entropy of the original token at every position of a rewritten sentence, given its vector.

    After COCO-LM, without its copy mechanism: the paper does not say whether it had one (methods 4.3).
    """

    predicts_tokens = True

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder and its masked-LM head and open the generator."""
        super().prepare(model)
        self.generator = Generator(self.params, model.backbone)

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over all tokens."""
        batch = self.originals(step)
        with torch.no_grad():
            edited = replace(batch, self.params, self.generator, step.model.backbone, step.generator)
        return F.cross_entropy(self.token_logits(self.states(step, edited.batch)), batch.tokens)
