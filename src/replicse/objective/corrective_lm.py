"""Corrective language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.objective.conditional import ConditionalTerm
from replicse.objective.edits import replace
from replicse.objective.generator import Generator
from replicse.objective.terms import Model, Step
from replicse.registry import terms as parameters


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
