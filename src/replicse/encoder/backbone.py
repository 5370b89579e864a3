"""The interface of encoders: packed tokens in, hidden states out.

Two engines implement it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol

import torch
from torch import Tensor, nn

from replicse.data.tokenizer import SpecialIds, TokenizerSettings, load_tokenizer, special_ids
from replicse.encoder.batch import PartMasks, TokenBatch
from replicse.encoder.heads import SentenceHead
from replicse.errors import BadInput
from replicse.registry.encoders import Engine


@dataclass(frozen=True)
class NeededStates:
    """The hidden states to compute.

    An encoder may skip all other states.

    Attributes:
        states: numbers of hidden states. 0 is the output of the embeddings, i of layer i; negative numbers count from
            the last layer.
        tokens: whether all tokens are used or only position 0.
    """

    states: tuple[int, ...] = (-1,)
    tokens: bool = True


ALL_TOKENS = NeededStates((-1,), tokens=True)
FIRST_TOKEN = NeededStates((-1,), tokens=False)


@dataclass
class Hidden:
    """The requested hidden states, in the requested order.

    Each state is (total, hidden), or (rows, hidden) for position 0.
    """

    states: list[Tensor]

    @property
    def last(self) -> Tensor:
        """Return the last requested state."""
        return self.states[-1]


class Masks(Protocol):
    """Dropout masks of a complete batch that is encoded in parts."""

    def select_rows(self, rows: Tensor) -> PartMasks:
        """Return the masks of some rows for one pass through the encoder."""


class Backbone(nn.Module, ABC):
    """Base class of encoders, each with a masked-LM head if one was stored.

    Attributes:
        engine: the engine that computes it.
        causal: whether a token does not attend to the tokens after it.
        first_position: position id of the first token of a row.
        hidden: size of the hidden states.
        vocabulary: number of token ids.
        min_length: the number of tokens of the shortest row that the encoder accepts.
        max_length: the number of tokens of the longest row that the encoder accepts.
        layer_count: number of layers.
        tokenizer_file: the tokenizer.json that belongs to it.
        alone: whether padding changes hidden states, so that only rows of equal length are batched.
        unread: names of stored weights that are not used.
        code: classes of code in the folder, which is not run.
        added: parameters that the folder does not contain and that were initialised at random.
    """

    engine: ClassVar[Engine]
    causal: bool = False
    first_position: int = 0
    hidden: int
    vocabulary: int
    min_length: int = 1
    max_length: int
    layer_count: int
    tokenizer_file: Path
    alone: bool = False
    unread: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    added: tuple[nn.Parameter, ...] = ()

    @cached_property
    def special(self) -> SpecialIds:
        """Return the ids of the tokenizer's special tokens.

        The names of the tokens are loaded from tokenizer_config.json if it contains them.
        """
        settings = TokenizerSettings.read(self.tokenizer_file.parent)
        tokenizer = load_tokenizer(self.tokenizer_file, None)
        ids: dict[str, int | None] = {}
        for role in SpecialIds.__dataclass_fields__:
            name = getattr(settings, f"{role}_token")
            ids[role] = tokenizer.token_to_id(name) if name else None
        return SpecialIds.of(ids) or special_ids(tokenizer)

    def has_tokens_of(self, other: "Backbone") -> bool:
        """Return whether all tokens have the same ids in another encoder.

        Args:
            other: the other encoder.
        """
        vocabulary = load_tokenizer(self.tokenizer_file, None).get_vocab()
        return vocabulary == load_tokenizer(other.tokenizer_file, None).get_vocab()

    @property
    def device(self) -> torch.device:
        """Return the device of the parameters."""
        return next(self.parameters()).device

    @property
    @abstractmethod
    def input_embeddings(self) -> nn.Parameter:
        """Return the token embeddings, (vocabulary, width)."""

    @property
    @abstractmethod
    def predicts_tokens(self) -> bool:
        """Return whether it has a masked-LM head."""

    @abstractmethod
    def forward(
        self, batch: TokenBatch, need: NeededStates = ALL_TOKENS, first_vector: Tensor | None = None
    ) -> Hidden:
        """Compute hidden states.

        Args:
            batch: packed tokens.
            need: the hidden states to return.
            first_vector: vectors, (rows, hidden), that replace position 0 after the embedding layer with LayerNorm
                and dropout (DiffCSE as coded, methods 4.1).
        """

    @abstractmethod
    def set_dropout(self, hidden: float, attention: float, heads: float = 0) -> None:
        """Set the dropout rates.

        Args:
            hidden: the rate of hidden values.
            attention: the rate of attention weights.
            heads: the rate of attention heads.

        Raises:
            BadInput: if `heads` is not 0 and the engine does not support it.
        """

    def masks(self, batch: TokenBatch) -> "Masks | None":
        """Return the dropout masks of a complete batch.

        Args:
            batch: packed tokens.

        Returns:
            The masks, or None if the engine cannot share masks between parts.
        """
        return None

    @abstractmethod
    def initialise(self) -> None:
        """Initialise all weights at random."""

    @abstractmethod
    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the embedding layer with normalisation."""

    @abstractmethod
    def layer_parameters(self, number: int) -> list[nn.Parameter]:
        """Return the parameters of a layer.

        Args:
            number: the number of the layer, from 0.

        Raises:
            BadInput: if layers share parameters.
        """

    @abstractmethod
    def token_logits(self, states: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Compute masked-LM logits.

        Args:
            states: hidden states, (n, hidden).
            shortlist: the (k,) token ids to compute logits of; default: all tokens.

        Returns:
            The logits, (n, vocabulary) or (n, k).
        """

    @abstractmethod
    def token_head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the masked-LM head.

        Shared embeddings are not included.
        """

    @abstractmethod
    def new_token_head(self) -> None:
        """Initialise a masked-LM head at random.

        Raises:
            BadInput: if the family has no masked-LM head.
        """

    @abstractmethod
    def drop_token_head(self) -> None:
        """Remove the masked-LM head."""

    @abstractmethod
    def save(self, folder: Path, head: SentenceHead | None = None, tokenizer: Path | None = None) -> None:
        """Save the encoder in a folder.

        `open_backbone` and `transformers` can load the folder.

        Args:
            folder: the folder.
            head: a sentence head to save with it.
            tokenizer: a tokenizer.json; default: the encoder's file.
        """

    def check_states(
        self, batch: TokenBatch, need: NeededStates, first_vector: Tensor | None
    ) -> Sequence[int]:
        """Check the inputs of `forward` and return the numbers of the states.

        Args:
            batch: packed tokens.
            need: the hidden states to return.
            first_vector: vectors, (rows, hidden), that replace position 0, or None.

        Returns:
            The numbers of the needed states, counted from the embeddings.

        Raises:
            ValueError: if a row is too long.
            BadInput: if `first_vector` has another width, or a state does not exist.
        """
        if batch.longest > self.max_length:
            raise ValueError(f"a row of {batch.longest} tokens; the encoder takes {self.max_length}")
        if first_vector is not None and first_vector.shape[1] != self.hidden:
            raise BadInput(
                f"a sentence vector of {first_vector.shape[1]} numbers cannot take the place of a token's"
                f" {self.hidden}; let the head put out as many"
            )
        return self.state_numbers(need.states)

    def state_numbers(self, states: Sequence[int]) -> list[int]:
        """Return the numbers of hidden states counted from the embeddings.

        Args:
            states: numbers of states; negative numbers count from the last layer.

        Raises:
            BadInput: if a state does not exist.
        """
        depth = self.layer_count + 1
        for state in states:
            if not -depth <= state < depth:
                raise BadInput(
                    f"hidden state {state} is read, but the encoder has 0, its embeddings, to {depth - 1}; choose a"
                    " pooling that fits"
                )
        return [state % depth for state in states]
