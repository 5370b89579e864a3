"""Conditional replaced-token detection: the difference prediction of DiffCSE (section 3; as coded, methods 4.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.encoder.packed.linear import Linear
from replicse.objective.conditional import ConditionalTerm
from replicse.objective.edits import Edited, delete, insert, replace
from replicse.objective.generator import Generator
from replicse.objective.terms import Model, Step
from replicse.registry import terms as parameters

# The released code multiplies ids by the attention mask: padding is id 0 in every vocabulary, RoBERTa's too.
PADDING = 0


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
            batch = batch.filled(PADDING)
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
