"""Conditional masked language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

import torch.nn.functional as F
from torch import Tensor

from replicse.objective.conditional import ConditionalTerm
from replicse.objective.mlm import masked_copy
from replicse.objective.terms import Step
from replicse.registry import terms as parameters


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
