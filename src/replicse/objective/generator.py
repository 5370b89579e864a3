"""The frozen masked-LM that rewrites sentences for the terms of DiffCSE."""

from pathlib import Path

import torch
from torch import Tensor

from replicse.encoder.batch import TokenBatch
from replicse.encoder.checkpoints import load_encoder
from replicse.encoder.transformer import ALL_TOKENS
from replicse.errors import BadInput, nearest
from replicse.objective.terms import Model

CHOICES = ("argmax", "sample")
# Tokens whose logits over the vocabulary are made at once: few enough that a CPU keeps them in its cache.
_CHUNK = 256


class Generator:
    """A masked-LM that is never trained and always runs with dropout (methods 4.1).

    In the released code it sits inside the model, so that training mode leaves its dropout on. It is no module
    here: neither the optimiser nor the resume state should know it.
    """

    def __init__(self, folder: str, choice: str, model: Model) -> None:
        loaded = load_encoder(Path(folder))
        if loaded.masked_lm is None:
            raise BadInput(f"{folder}: holds no masked-LM head; a generator needs one")
        vocabulary = model.encoder.config.vocabulary
        if loaded.config.vocabulary != vocabulary:
            raise BadInput(
                f"{folder}: the generator has {loaded.config.vocabulary} tokens, but the encoder {vocabulary};"
                " choose a generator with the encoder's tokenizer"
            )
        device = model.encoder.token_embeddings.device
        self.encoder = loaded.encoder.to(device).requires_grad_(False).train()
        self.masked_lm = loaded.masked_lm.to(device).requires_grad_(False)
        self.choice = choice

    @torch.no_grad()
    def __call__(self, batch: TokenBatch, positions: Tensor | None, generator: torch.Generator) -> Tensor:
        """Return the token ids it puts at packed positions of a batch; at all of them for None."""
        states = self.encoder(batch, ALL_TOKENS).last
        states = states if positions is None else states[positions]
        ids = [self._chosen(part, generator) for part in states.split(_CHUNK)]
        return torch.cat(ids) if ids else batch.tokens[:0]

    def _chosen(self, states: Tensor, generator: torch.Generator) -> Tensor:
        # In half precision close logits tie, and a tie would read as a replaced token.
        with torch.autocast(states.device.type, enabled=False):
            logits = self.masked_lm(states.float(), self.encoder.token_embeddings)
        if self.choice == "argmax":
            return logits.argmax(dim=1)
        below = logits.softmax(dim=1).cumsum(dim=1)
        drawn = torch.rand(len(below), 1, generator=generator).to(below.device) * below[:, -1:]
        return torch.searchsorted(below, drawn, right=True).squeeze(1)


def checked_generator(folder: object, choice: str, where: str) -> str:
    """Return the generator's folder; BadInput where none is named or the choice is unknown."""
    if not isinstance(folder, str) or not folder:
        raise BadInput(
            f"{where}.generator is {folder!r}; expected the folder of an encoder with a masked-LM head"
        )
    if choice not in CHOICES:
        raise BadInput(f'{where}.choice is "{choice}"{nearest(choice, CHOICES)}')
    return folder
