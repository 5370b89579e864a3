"""Corrective language modelling in the place of replaced-token detection (DiffCSE, Table 3)."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.errors import BadInput, nearest
from replicse.objective.conditional import ConditionalTokenPrediction
from replicse.objective.edits import PLACES, replace
from replicse.objective.generator import Generator, checked_generator
from replicse.objective.mlm import checked_ratio
from replicse.objective.terms import Model, Step


class CorrectiveLanguageModelling(ConditionalTokenPrediction):
    """Mean cross-entropy of the original token at every position of a rewritten sentence, given its vector.

    After COCO-LM, without its copy mechanism: the paper does not say whether it had one (methods 4.3).
    """

    def __init__(
        self,
        generator: str = "",
        ratio: float = 0.3,
        choice: str = "argmax",
        places: str = "all",
        views: Sequence[int] = (0, 1),
        condition: Sequence[int] | int | None = None,
    ) -> None:
        super().__init__("corrective-lm", views, condition)
        if places not in PLACES:
            raise BadInput(f'corrective-lm.places is "{places}"{nearest(places, PLACES)}')
        self.ratio, self.places, self.choice = checked_ratio(ratio, "corrective-lm.ratio"), places, choice
        self.folder = checked_generator(generator, choice, "corrective-lm")
        self.generator: Generator | None = None

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder and its masked-LM head and open the generator."""
        super().prepare(model)
        self.generator = Generator(self.folder, self.choice, model)

    def forward(self, step: Step) -> Tensor:
        """Return the mean cross-entropy over all tokens."""
        assert self.generator is not None
        batch = self.originals(step)
        with torch.no_grad():
            edited = replace(batch, self.ratio, self.places, self.generator, step.model, step.generator)
        return F.cross_entropy(self.token_logits(self.states(step, edited.batch)), batch.tokens)
