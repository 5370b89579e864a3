"""Poolings from hidden states to one vector a sentence; each is a function of them, the tokens and the pooling.

A function returns (rows, hidden) from the states that its entry in the registry names.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.backbone import Backbone, Hidden, NeededStates
from replicse.encoder.batch import TokenBatch
from replicse.encoder.templates import Template
from replicse.errors import BadInput
from replicse.registry.poolings import PoolingParameters

# Reads vectors from hidden states of a batch.
Read = Callable[[Hidden, TokenBatch, "SentencePooling"], Tensor]


class SentencePooling:
    """A pooling of one kind of encoder, made from its parameters: `need` is what it reads of the hidden states.

    Raises BadInput where the encoder, or its tokenizer, has nothing of that kind.
    """

    def __init__(self, params: PoolingParameters, backbone: Backbone, tokenizer: Any = None) -> None:
        if backbone.causal and not params.tokens:
            raise BadInput(
                f"pooling {params.pooling} reads the first token, which sees no other one in this encoder, a causal"
                " language model; choose last-token or mean"
            )
        self.params, self.need = params, NeededStates(params.states, params.tokens)
        backbone.state_numbers(params.states)
        if params.padded_to > backbone.max_length:
            raise BadInput(
                f"pooling {params} pads rows to {params.padded_to} tokens, but the encoder takes"
                f" {backbone.max_length}; give a smaller pad_to"
            )
        self._padding = backbone.special.pad if params.padded_to else 0
        self.template: Template | None = None
        if params.template:
            tokenizer = tokenizer or load_tokenizer(backbone.tokenizer_file, None)
            self.template = Template(params.template, tokenizer, backbone)
        self._read: Read = params.made_by()

    def sentence_tokens(self, longest: int) -> int:
        """Return how many tokens of a sentence, its special ones included, make no more than `longest` in all."""
        template = self.template
        longest = min(longest, self.params.padded_to or longest)
        return template.room(longest) + template.start + template.end if template else longest

    def filled(self, batch: TokenBatch) -> TokenBatch:
        """Return the tokenised texts as the encoder is given them: padded or in the template, if the pooling says so.

        Raises BadInput where a text is longer than what it is padded to.
        """
        length = self.params.padded_to
        if not length:
            return self.template.filled(batch) if self.template else batch
        if batch.longest > length:
            raise BadInput(
                f"a row of {batch.longest} tokens, but pooling {self.params} pads rows to {length}; give the run an"
                f" optimisation.max_length of {length} at most"
            )
        return batch.filled(self._padding, length)

    def read(self, backbone: Backbone, filled: TokenBatch) -> Tensor:
        """Return a vector of each row as the encoder has it, (rows, hidden)."""
        return self._read(backbone(filled, self.need), filled, self)

    def denoised(self, vectors: Tensor, backbone: Backbone, filled: TokenBatch) -> Tensor:
        """Return vectors of filled rows without that of the template alone, where the pooling subtracts it."""
        if not self.params.denoise or not self.template:
            return vectors
        empty, of_rows = self.template.empty(filled, self.params.denoise)
        return vectors - self.read(backbone, empty)[of_rows]

    def __call__(self, backbone: Backbone, batch: TokenBatch) -> Tensor:
        """Return a vector of each tokenised text, (rows, hidden), before any head."""
        filled = self.filled(batch)
        return self.denoised(self.read(backbone, filled), backbone, filled)


def first_token(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the first token."""
    return hidden.last


def last_token(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the last token, a special one where the tokenizer ends texts with it."""
    return hidden.last.index_select(0, batch.last)


def mean(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the mean over all tokens of the mean of the states."""
    return batch.mean(torch.stack(hidden.states).mean(0) if len(hidden.states) > 1 else hidden.last)


def mask(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the template's mask."""
    assert pooling.template is not None
    return hidden.last.index_select(0, pooling.template.masks(batch))
