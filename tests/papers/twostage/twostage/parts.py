"""The network of the reconstruction term, and the residual head."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.encoder.heads import SentenceHead
from replicse.objective.mlm import masked_copy
from replicse.objective.terms import Model, Step, Term
from twostage import ReconstructionParameters, ResidualHead


class Reconstruction(Term[ReconstructionParameters]):
    """Cross-entropy at the masked tokens."""

    def prepare(self, model: Model) -> None:
        """Create the layer, and a masked-LM head if the encoder has none."""
        self.dense = nn.Linear(2 * model.backbone.hidden, model.backbone.hidden)
        if not model.backbone.predicts_tokens:
            model.backbone.new_token_head()

    def forward(self, step: Step) -> Tensor:
        """Return the mean over the masked tokens, and log the number of tokens."""
        backbone, (vectors,) = step.model.backbone, step.pooled_of((0,))
        masked = masked_copy(step.columns[0], backbone, self.params.ratio, step.generator)
        states = backbone(masked.batch).last[masked.positions]
        sentences = vectors[masked.batch.row_ids[masked.positions]]
        logits = backbone.token_logits(F.gelu(self.dense(torch.cat([sentences, states], dim=1))))
        step.scalars["masked tokens"] = torch.tensor(len(masked.positions))
        return F.cross_entropy(logits.float(), masked.targets)


class Residual(SentenceHead):
    """Compute x + tanh(W x + b)."""

    def __init__(self, settings: ResidualHead, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.settings, self.inputs, self.width = settings, hidden, hidden
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors of shape (rows, hidden)."""
        return vectors + self.dense(vectors).tanh()
