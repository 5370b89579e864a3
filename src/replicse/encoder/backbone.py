"""One interface for encoders: packed tokens in, hidden states out; two engines implement it."""

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
    """What is read from an encoder, so that nothing more is computed.

    `states` are hidden states: 0 is the embedding output, i the output of layer i; negative ones count from
    the last. `tokens` tells whether all tokens are read or only position 0.
    """

    states: tuple[int, ...] = (-1,)
    tokens: bool = True


ALL_TOKENS = NeededStates((-1,), tokens=True)
FIRST_TOKEN = NeededStates((-1,), tokens=False)


@dataclass
class Hidden:
    """The hidden states asked for, in that order: (total, hidden) each, or (rows, hidden) of position 0."""

    states: list[Tensor]

    @property
    def last(self) -> Tensor:
        """Return the last of the states asked for."""
        return self.states[-1]


class Masks(Protocol):
    """Dropout masks of a whole batch that is encoded in parts."""

    def of_rows(self, rows: Tensor) -> PartMasks:
        """Return the masks of some rows, by their numbers, for one pass through the encoder."""


class Backbone(nn.Module, ABC):
    """An encoder, with the masked-LM head that was stored with it, if any.

    `engine` reads it; if it is `causal`, a token does not see the tokens after it. `hidden` is the width of its
    states, `vocabulary` the number of token ids it knows, `min_length` and `max_length` the tokens of the shortest and
    of the longest row it takes, `first_position` the position of a row's first token, `tokenizer_file` the
    tokenizer.json it works with.
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
    # Whether padding changes what it computes, so that only rows of one length go together; weights that are not read;
    # code of the folder that is not run; parameters that are not of the folder, but drawn for the family that its
    # weights were given.
    alone: bool = False
    unread: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    added: tuple[nn.Parameter, ...] = ()

    @cached_property
    def special(self) -> SpecialIds:
        """Return the ids of its tokenizer's special tokens, by the names in tokenizer_config.json where it has them."""
        settings = TokenizerSettings.read(self.tokenizer_file.parent)
        tokenizer = load_tokenizer(self.tokenizer_file, None)
        names = {role: getattr(settings, f"{role}_token") for role in SpecialIds.__dataclass_fields__}
        ids = {role: tokenizer.token_to_id(name) if name else None for role, name in names.items()}
        return SpecialIds.of(ids) or special_ids(tokenizer)

    def has_tokens_of(self, other: "Backbone") -> bool:
        """Return whether a token has the same id for another encoder."""
        one, two = (load_tokenizer(each.tokenizer_file, None).get_vocab() for each in (self, other))
        return one == two

    @property
    def device(self) -> torch.device:
        """Return where it computes."""
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
        """Return the hidden states that `need` names.

        `first_vector` (rows, hidden) takes the place of position 0 after the embedding layer, its LayerNorm and its
        dropout (DiffCSE as coded, methods 4.1).
        """

    @abstractmethod
    def set_dropout(self, hidden: float, attention: float, heads: float = 0) -> None:
        """Change the dropout rates of the hidden values, of the attention weights, and of entire heads of attention.

        Raises BadInput where heads are to be dropped and the engine drops none.
        """

    def masks(self, batch: TokenBatch) -> "Masks | None":
        """Return the dropout masks of a whole batch, for parts of it; None where layers can only draw their own."""
        return None

    @abstractmethod
    def initialise(self) -> None:
        """Draw fresh weights."""

    @abstractmethod
    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the embedding layer, its normalisation among them."""

    @abstractmethod
    def layer_parameters(self, number: int) -> list[nn.Parameter]:
        """Return the parameters of a layer, counted from 0; BadInput where the layers share them."""

    @abstractmethod
    def token_logits(self, states: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Return masked-LM logits (n, vocabulary) of (n, hidden) states, or only those of a shortlist of token ids."""

    @abstractmethod
    def token_head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the masked-LM head alone, without the embeddings that it shares."""

    @abstractmethod
    def new_token_head(self) -> None:
        """Draw a masked-LM head; BadInput where the family has none."""

    @abstractmethod
    def drop_token_head(self) -> None:
        """Forget the masked-LM head."""

    @abstractmethod
    def save(self, folder: Path, head: SentenceHead | None = None, tokenizer: Path | None = None) -> None:
        """Write a folder that `open_backbone` and `transformers` read, the sentence head in it.

        `tokenizer` is a tokenizer.json; the encoder's own where none is given.
        """

    def checked_states(
        self, batch: TokenBatch, need: NeededStates, first_vector: Tensor | None
    ) -> Sequence[int]:
        """Return the numbers of the needed states, counted from 0; refuse rows and vectors that do not fit."""
        if batch.longest > self.max_length:
            raise ValueError(f"a row of {batch.longest} tokens; the encoder takes {self.max_length}")
        if first_vector is not None and first_vector.shape[1] != self.hidden:
            raise BadInput(
                f"a sentence vector of {first_vector.shape[1]} numbers cannot take the place of a token's"
                f" {self.hidden}; let the head put out as many"
            )
        return self.state_numbers(need.states)

    def state_numbers(self, states: Sequence[int]) -> list[int]:
        """Return the numbers of hidden states counted from 0, the embeddings; BadInput for one that is not there.

        Negative ones count from after the last layer.
        """
        depth = self.layer_count + 1
        if beyond := next((state for state in states if not -depth <= state < depth), None):
            raise BadInput(
                f"hidden state {beyond} is read, but the encoder has 0, its embeddings, to {depth - 1}; choose a"
                " pooling that fits"
            )
        return [state % depth for state in states]
