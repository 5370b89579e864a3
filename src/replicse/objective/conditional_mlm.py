"""Conditional masked language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from replicse.objective.conditional import ConditionalTokenPrediction
from replicse.objective.mlm import checked_ratio, masked_copy
from replicse.objective.terms import Step


class ConditionalMaskedLanguageModelling(ConditionalTokenPrediction):
    """Mean cross-entropy of masked tokens, predicted from the rest of a sentence and a sentence vector."""

    def __init__(
        self, ratio: float = 0.3, views: Sequence[int] = (0, 1), condition: Sequence[int] | int | None = None
    ) -> None:
        super().__init__("conditional-mlm", views, condition)
        self.ratio = checked_ratio(ratio, "conditional-mlm.ratio")

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over the chosen positions; 0 where none was chosen."""
        masked = masked_copy(self.originals(step), step.model, self.ratio, step.generator)
        states = self.states(step, masked.batch)
        if len(masked.positions) == 0:
            return states.sum() * 0
        return F.cross_entropy(self.token_logits(states[masked.positions]), masked.targets)
