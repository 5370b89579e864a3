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

    An encoder can skip all other states. By default, only the last layer is needed, at all tokens.

    Attributes:
        states: Numbers of hidden states: 0 for the output of the embeddings, i for the output of layer i.
            Negative numbers count from the last layer. Default: the last layer.
        tokens: Whether the states of all tokens are used, or only position 0. Default: True.
    """

    states: tuple[int, ...] = (-1,)
    tokens: bool = True


ALL_TOKENS = NeededStates((-1,), tokens=True)
FIRST_TOKEN = NeededStates((-1,), tokens=False)


@dataclass
class Hidden:
    """The requested hidden states, in the requested order.

    Attributes:
        states: A list of states, each (total, hidden), or (rows, hidden) if only position 0 was computed.

    Examples:
        >>> states = backbone(batch).last
    """

    states: list[Tensor]

    @property
    def last(self) -> Tensor:
        """Return the last requested state."""
        return self.states[-1]


class Masks(Protocol):
    """Dropout masks of a complete batch that is encoded in parts."""

    def select_rows(self, rows: Tensor) -> PartMasks:
        """Return the masks of some rows for one pass through the encoder.

        Args:
            rows: The numbers of the rows, (n,), int64, on the CPU.
        """


class Backbone(nn.Module, ABC):
    """Base class of encoders, each with a masked-LM head if one was stored.

    Attributes:
        engine: The engine that computes the encoder: "packed" or "transformers".
        causal: Whether a token does not attend to later tokens. Default: False.
        first_position: The position id of the first token of a row. Default: 0.
        hidden: The size of the hidden states.
        vocabulary: The number of token ids.
        min_length: The minimum number of tokens of a row. Default: 1.
        max_length: The maximum number of tokens of a row.
        layer_count: The number of layers.
        tokenizer_file: The tokenizer.json of the encoder.
        alone: Whether padding changes hidden states. If it does, only rows of equal length can be in a batch.
            Default: False.
        unread: The names of stored weights that are not used.
        code: The classes of code in the folder, which is not run.
        added: Parameters that are not in the folder and were initialised at random.

    Examples:
        >>> backbone = open_backbone(Path("my-encoder"))
        >>> backbone.hidden
        768
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

        The names of the tokens are loaded from tokenizer_config.json if the file contains them.
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
            other: The encoder to compare with.

        Examples:
            >>> teacher.has_tokens_of(student)
            True
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
        """Return whether the encoder has a masked-LM head."""

    @abstractmethod
    def forward(
        self, batch: TokenBatch, need: NeededStates = ALL_TOKENS, first_vector: Tensor | None = None
    ) -> Hidden:
        """Compute hidden states.

        Args:
            batch: The packed tokens, `batch.rows` sequences.
            need: The hidden states to return. Default: the last layer at all tokens.
            first_vector: Vectors, (rows, hidden), that replace the embedding of position 0, after LayerNorm
                and dropout (DiffCSE as coded, methods 4.1). Default: no replacement.

        Returns:
            The needed hidden states: (total, hidden) each, or (rows, hidden) if only position 0 is needed.

        Raises:
            ValueError: If a row is longer than `max_length`.
            BadInput: If a hidden state does not exist or `first_vector` has another width.

        Examples:
            >>> states = backbone(batch, NeededStates((-1, -2))).states
        """

    @abstractmethod
    def set_dropout(self, hidden: float, attention: float, heads: float = 0) -> None:
        """Set the dropout rates.

        Args:
            hidden: The probability to drop a hidden value, from 0 to 1.
            attention: The probability to drop an attention weight.
            heads: The probability to drop an attention head. Default: 0.

        Raises:
            BadInput: If `heads` is not 0 and the engine does not support it.

        Examples:
            >>> backbone.set_dropout(hidden=0.1, attention=0.1)
        """

    def masks(self, batch: TokenBatch) -> "Masks | None":
        """Return the dropout masks of a complete batch.

        Args:
            batch: The packed tokens of the complete batch.

        Returns:
            The masks, or None if the engine cannot share masks between parts.

        Examples:
            >>> masks = backbone.masks(batch)
        """
        return None

    @abstractmethod
    def initialise(self) -> None:
        """Initialise all weights at random.

        Examples:
            >>> backbone.initialise()
        """

    @abstractmethod
    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the list of the parameters of the embedding layer.

        The normalisation of the layer is included.

        Examples:
            >>> parameters = backbone.embedding_parameters()
        """

    @abstractmethod
    def layer_parameters(self, number: int) -> list[nn.Parameter]:
        """Return the list of the parameters of a layer.

        Args:
            number: The number of the layer, from 0.

        Raises:
            BadInput: If layers share parameters.

        Examples:
            >>> parameters = backbone.layer_parameters(0)
        """

    @abstractmethod
    def token_logits(self, states: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Compute masked-LM logits.

        Args:
            states: Hidden states of the last layer, (n, hidden).
            shortlist: The token ids to compute logits for, (k,), int64. Default: all tokens.

        Returns:
            The logits, (n, vocabulary) or (n, k).

        Raises:
            AssertionError: If the encoder has no masked-LM head.

        Examples:
            >>> logits = backbone.token_logits(backbone(batch).last)
        """

    @abstractmethod
    def token_head_parameters(self) -> list[nn.Parameter]:
        """Return the list of the parameters of the masked-LM head.

        Examples:
            >>> parameters = backbone.token_head_parameters()
        """

    @abstractmethod
    def new_token_head(self) -> None:
        """Initialise a masked-LM head at random.

        Raises:
            BadInput: If the family has no masked-LM head.

        Examples:
            >>> backbone.new_token_head()
        """

    @abstractmethod
    def drop_token_head(self) -> None:
        """Remove the masked-LM head.

        Examples:
            >>> backbone.drop_token_head()
        """

    @abstractmethod
    def save(self, folder: Path, head: SentenceHead | None = None, tokenizer: Path | None = None) -> None:
        """Save the encoder in a folder.

        `open_backbone` and `transformers` can load the folder.

        Args:
            folder: The folder to create.
            head: A sentence head to save with the encoder. Default: no head.
            tokenizer: The tokenizer.json to copy. Default: the file of the encoder.

        Raises:
            Failed: If the disk is full.

        Examples:
            >>> backbone.save(Path("copy"))
        """

    def check_states(
        self, batch: TokenBatch, need: NeededStates, first_vector: Tensor | None
    ) -> Sequence[int]:
        """Check the inputs of `forward` and return the numbers of the states.

        Args:
            batch: Packed tokens.
            need: The hidden states to return.
            first_vector: Vectors, (rows, hidden), that replace position 0, or None.

        Returns:
            The list of the needed states, counted from the embeddings.

        Raises:
            ValueError: If a row is too long.
            BadInput: If `first_vector` has another width, or a state does not exist.

        Examples:
            >>> backbone.check_states(batch, NeededStates((-1,)), None)
            [12]
        """
        if batch.longest > self.max_length:
            raise ValueError(f"a row has {batch.longest} tokens, but the encoder accepts {self.max_length}")
        if first_vector is not None and first_vector.shape[1] != self.hidden:
            raise BadInput(
                f"sentence vectors of width {first_vector.shape[1]} cannot replace token embeddings of width"
                f" {self.hidden}; use a head with this output width"
            )
        return self.state_numbers(need.states)

    def state_numbers(self, states: Sequence[int]) -> list[int]:
        """Return the numbers of hidden states counted from the embeddings.

        Args:
            states: Numbers of states. Negative numbers count from the last layer.

        Returns:
            A list of the numbers, from 0 (embeddings) to the number of layers.

        Raises:
            BadInput: If a state does not exist.

        Examples:
            >>> backbone.state_numbers([0, -1])
            [0, 12]
        """
        depth = self.layer_count + 1
        for state in states:
            if not -depth <= state < depth:
                raise BadInput(
                    f"the pooling uses hidden state {state}, but the encoder has states 0 (embeddings) to {depth - 1};"
                    " use another pooling"
                )
        return [state % depth for state in states]
