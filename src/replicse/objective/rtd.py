"""Conditional replaced-token detection: the difference prediction of DiffCSE (section 3; as coded, methods 4.1)."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.encoder.linear import Linear
from replicse.errors import BadInput, nearest
from replicse.objective.conditional import ConditionalTerm
from replicse.objective.edits import PLACES, Edited, delete, insert, replace
from replicse.objective.generator import Generator, checked_generator
from replicse.objective.mlm import checked_ratio
from replicse.objective.terms import Model, Step

EDITS = ("replace", "insert", "delete")
AVERAGES = ("padded", "attended", "sum")
# The released code multiplies ids by the attention mask: padding is id 0 in every vocabulary, RoBERTa's too.
PADDING = 0


class ReplacedTokenDetection(ConditionalTerm):
    """Cross-entropy of telling edited from original tokens, given the sentence's vector.

    `average` is over all positions of the padded batch, padding with label 0 (`padded`, as the released code does it:
    the discriminator runs over real padding that attention never reads), over real tokens only (`attended`), or
    not taken (`sum`, the paper's formula). `choice` and `places` say how the generator rewrites: its best or a sampled
    token, at all positions or only at masked ones; `edit: delete` needs no generator.
    """

    def __init__(
        self,
        generator: str = "",
        ratio: float = 0.3,
        choice: str = "argmax",
        places: str = "all",
        average: str = "padded",
        edit: str = "replace",
        views: Sequence[int] = (0, 1),
        condition: Sequence[int] | int | None = None,
    ) -> None:
        super().__init__("rtd", views, condition)
        for name, value, known in (
            ("edit", edit, EDITS),
            ("places", places, PLACES),
            ("average", average, AVERAGES),
        ):
            if value not in known:
                raise BadInput(f'rtd.{name} is "{value}"{nearest(value, known)}')
        self.ratio = checked_ratio(ratio, "rtd.ratio")
        self.edit_kind, self.places, self.average, self.choice = edit, places, average, choice
        self.folder = "" if edit == "delete" else checked_generator(generator, choice, "rtd")
        self.generator: Generator | None = None

    def prepare(self, model: Model) -> None:
        """Copy the untrained encoder, open the generator and draw the binary head."""
        super().prepare(model)
        self.generator = Generator(self.folder, self.choice, model) if self.folder else None
        self.head = Linear(model.encoder.config.hidden, 2)

    def forward(self, step: Step) -> Tensor:
        """Return the cross-entropy of the labels of all edited sentences."""
        edited = self.edited(step)
        batch, labels = edited.batch, edited.labels
        if self.average == "padded":
            labels = labels.new_zeros(batch.rows * batch.longest).index_copy(0, batch.padded_places, labels)
            batch = batch.filled(PADDING)
        logits = self.head(self.states(step, batch)).float()
        return F.cross_entropy(logits, labels, reduction="sum" if self.average == "sum" else "mean")

    @torch.no_grad()
    def edited(self, step: Step) -> Edited:
        """Return the edited sentences and where they were edited."""
        batch = self.originals(step)
        if self.edit_kind == "delete":
            return delete(batch, self.ratio, step.generator)
        assert self.generator is not None
        if self.edit_kind == "insert":
            return insert(batch, self.ratio, self.generator, step.model, step.generator)
        return replace(batch, self.ratio, self.places, self.generator, step.model, step.generator)
