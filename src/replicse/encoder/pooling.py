"""Poolings from hidden states to sentence vectors.

A pooling is a function of the hidden states, the tokens and the parameters; it returns (rows, hidden)
vectors. The registry contains its name.
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

# The type of pooling functions.
Read = Callable[[Hidden, TokenBatch, "SentencePooling"], Tensor]


class SentencePooling:
    """A pooling with template or padding, for one encoder.

    Args:
        params: The parameters of the pooling.
        backbone: The encoder.
        tokenizer: The tokenizer of a template. Default: the encoder's tokenizer.

    Attributes:
        need: The hidden states that the pooling uses.
        template: The template, or None.

    Raises:
        BadInput: If the encoder or the tokenizer does not support the pooling.
    """

    def __init__(self, params: PoolingParameters, backbone: Backbone, tokenizer: Any = None) -> None:
        if backbone.causal and not params.tokens:
            raise BadInput(
                f"pooling {params.pooling} uses the first token, which does not attend to later tokens in this causal"
                " language model; use last-token or mean"
            )
        self.params, self.need = params, NeededStates(params.states, params.tokens)
        backbone.state_numbers(params.states)
        if params.padded_to > backbone.max_length:
            raise BadInput(
                f"pooling {params} pads rows to {params.padded_to} tokens, but the encoder accepts"
                f" {backbone.max_length}; use a smaller pad_to"
            )
        self._padding = backbone.special.pad if params.padded_to else 0
        self.template: Template | None = None
        if params.template:
            tokenizer = tokenizer or load_tokenizer(backbone.tokenizer_file, None)
            self.template = Template(params.template, tokenizer, backbone)
        self._read: Read = params.made_by()

    def max_sentence_tokens(self, longest: int) -> int:
        """Return the maximum number of tokens of a sentence.

        Args:
            longest: The maximum number of tokens of a row.

        Returns:
            The number of tokens, with special tokens, that fit in a row with the template.
        """
        template = self.template
        longest = min(longest, self.params.padded_to or longest)
        if template is None:
            return longest
        return template.max_sentence_tokens(longest) + template.start + template.end

    def fill(self, batch: TokenBatch) -> TokenBatch:
        """Insert tokenised sentences in the template, or pad them.

        The batch is not changed if the pooling has no template and no padding.

        Args:
            batch: The tokenised sentences, with special tokens.

        Returns:
            The rows to encode.

        Raises:
            BadInput: If a sentence is longer than the padded length.
        """
        length = self.params.padded_to
        if not length:
            return self.template.fill(batch) if self.template else batch
        if batch.longest > length:
            raise BadInput(
                f"a row has {batch.longest} tokens, but pooling {self.params} pads rows to {length}; set"
                f" optimisation.max_length of the run to at most {length}"
            )
        return batch.fill(self._padding, length)

    def read(self, backbone: Backbone, filled: TokenBatch) -> Tensor:
        """Encode and pool filled rows.

        Args:
            backbone: The encoder.
            filled: The filled rows.

        Returns:
            The vectors, (rows, hidden).
        """
        states = backbone(filled, self.need)
        with self.params.name_in_errors():
            vectors = self._read(states, filled, self)
            # A pooling can return fewer dimensions than the hidden states have.
            if vectors.ndim != 2 or len(vectors) != filled.rows:
                raise ValueError(
                    f"the vectors have shape {tuple(vectors.shape)}; expected {filled.rows} rows"
                )
        return vectors

    def denoise(self, vectors: Tensor, backbone: Backbone, filled: TokenBatch) -> Tensor:
        """Subtract the vectors of the empty template from sentence vectors.

        The vectors are not changed if the pooling does not use `denoise`.

        Args:
            vectors: The vectors of filled rows, (rows, hidden).
            backbone: The encoder.
            filled: The filled rows.

        Returns:
            The vectors, (rows, hidden).
        """
        if not self.params.denoise or not self.template:
            return vectors
        empty, of_rows = self.template.empty(filled, self.params.denoise)
        return vectors - self.read(backbone, empty)[of_rows]

    def __call__(self, backbone: Backbone, batch: TokenBatch) -> Tensor:
        """Encode tokenised sentences as vectors before any head.

        Args:
            backbone: The encoder.
            batch: The tokenised sentences, with special tokens.

        Returns:
            The vectors, (rows, hidden).
        """
        filled = self.fill(batch)
        return self.denoise(self.read(backbone, filled), backbone, filled)


def first_token(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the first token, (rows, hidden).

    Args:
        hidden: The hidden states of position 0.
        batch: The packed tokens.
        pooling: The pooling, not used.
    """
    return hidden.last


def last_token(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the last token, (rows, hidden).

    It can be a special token.

    Args:
        hidden: The hidden states of all tokens.
        batch: The packed tokens.
        pooling: The pooling, not used.
    """
    return hidden.last.index_select(0, batch.last)


def mean(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the mean over all tokens, (rows, hidden).

    If several hidden states are requested, their mean is used.

    Args:
        hidden: The hidden states of all tokens.
        batch: The packed tokens.
        pooling: The pooling, not used.
    """
    return batch.mean(torch.stack(hidden.states).mean(0) if len(hidden.states) > 1 else hidden.last)


def mask(hidden: Hidden, batch: TokenBatch, pooling: SentencePooling) -> Tensor:
    """Return the state of the mask token in the template, (rows, hidden).

    Args:
        hidden: The hidden states of all tokens.
        batch: The packed tokens, filled into the template.
        pooling: The pooling with the template.
    """
    assert pooling.template is not None
    return hidden.last.index_select(0, pooling.template.masks(batch))
