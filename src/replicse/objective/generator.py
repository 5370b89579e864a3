"""The frozen masked-LM that rewrites sentences for the terms of DiffCSE."""

import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.errors import BadInput
from replicse.objective.frozen import open_frozen
from replicse.registry.terms import Rewriting

# Tokens whose logits over the vocabulary are made at once: few enough that a CPU keeps them in its cache.
_CHUNK = 256


class Generator:
    """A masked-LM that is never trained and always runs with dropout (methods 4.1).

    In the released code it sits inside the model, so that training mode leaves its dropout on. It is no module
    here: neither the optimiser nor the resume state should know it.
    """

    def __init__(self, rewriting: Rewriting, trained: Backbone) -> None:
        if rewriting.generator is None:
            raise BadInput(f"{rewriting.term} has no generator; name a masked-LM")
        self.backbone, self.choice = open_frozen(rewriting.generator, trained).train(), rewriting.choice
        if not self.backbone.predicts_tokens:
            raise BadInput(f"{rewriting.generator.folder}: holds no masked-LM head; a generator needs one")

    @torch.no_grad()
    def __call__(self, batch: TokenBatch, positions: Tensor | None, generator: torch.Generator) -> Tensor:
        """Return the token ids it puts at packed positions of a batch; at all of them for None."""
        states = self.backbone(batch).last
        states = states if positions is None else states[positions]
        ids = [self._chosen(part, generator) for part in states.split(_CHUNK)]
        return torch.cat(ids) if ids else batch.tokens[:0]

    def _chosen(self, states: Tensor, generator: torch.Generator) -> Tensor:
        # In half precision close logits tie, and a tie would read as a replaced token.
        with torch.autocast(states.device.type, enabled=False):
            logits = self.backbone.token_logits(states.float())
        if self.choice == "argmax":
            return logits.argmax(dim=1)
        below = logits.softmax(dim=1).cumsum(dim=1)
        drawn = torch.rand(len(below), 1, generator=generator).to(below.device) * below[:, -1:]
        return torch.searchsorted(below, drawn, right=True).squeeze(1)
