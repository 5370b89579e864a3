"""A transformer (BERT, RoBERTa, DistilBERT) on packed tokens.

Each layer normalises after the residual sum.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.encoder.backbone import ALL_TOKENS, Backbone, Hidden, NeededStates
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead
from replicse.encoder.packed.attention import attention
from replicse.encoder.packed.config import ACTIVATIONS, EncoderConfig
from replicse.encoder.packed.dropout import Dropout, HeadDropout, WholeMasks
from replicse.encoder.packed.layout import save_packed
from replicse.encoder.packed.linear import Linear, draw_normal, linear, missing_rows


class Layer(nn.Module):
    """A transformer layer: attention and feed-forward network.

    Both are followed by a residual sum and a LayerNorm.

    Args:
        config: The configuration of the encoder.
        hidden_dropout: The dropout probability of hidden values.
        attention_dropout: The dropout probability of attention weights.
    """

    def __init__(self, config: EncoderConfig, hidden_dropout: float, attention_dropout: float) -> None:
        super().__init__()
        hidden, epsilon = config.hidden, config.layer_norm_epsilon
        self.heads = config.heads
        self.activation = ACTIVATIONS[config.activation]
        self.query_key_value = Linear(hidden, 3 * hidden)
        self.attention_output = Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, epsilon)
        self.intermediate = Linear(hidden, config.intermediate)
        self.output = Linear(config.intermediate, hidden)
        self.output_norm = nn.LayerNorm(hidden, epsilon)
        self.hidden_dropout = Dropout(hidden_dropout)
        self.attention_dropout = Dropout(attention_dropout)
        self.head_dropout = HeadDropout(0.0)

    def forward(self, values: Tensor, batch: TokenBatch) -> Tensor:
        """Compute the layer's output for all tokens.

        Args:
            values: The output of the previous layer, (n, hidden).
            batch: The packed tokens; rows of `values` after them are ignored.

        Returns:
            The output, (n, hidden).
        """
        projected = self.query_key_value(values)
        context = attention(projected, None, batch, self.heads, self.attention_dropout)
        return self._finish(values, context, batch)

    def forward_first(self, values: Tensor, batch: TokenBatch) -> Tensor:
        """Compute the layer's output for position 0 of each row.

        Args:
            values: The output of the previous layer, (n, hidden).
            batch: The packed tokens.

        Returns:
            The output, (rows, hidden).
        """
        hidden = values.shape[1]
        weights = self.query_key_value.weight.split([hidden, 2 * hidden])
        biases = self.query_key_value.bias.split([hidden, 2 * hidden])
        first = values.index_select(0, batch.first)
        query = linear(first, weights[0], biases[0])
        projected = linear(values, weights[1], biases[1])
        context = attention(projected, query, batch, self.heads, self.attention_dropout)
        return self._finish(first, context, batch)

    def _finish(self, values: Tensor, context: Tensor, batch: TokenBatch) -> Tensor:
        context = self.head_dropout.drop_heads(context, batch, self.heads)
        values = self.attention_norm(
            values + self.hidden_dropout(self.attention_output(context), batch.masks)
        )
        transformed = self.output(self.activation(self.intermediate(values)))
        return self.output_norm(values + self.hidden_dropout(transformed, batch.masks))


class MaskedLmHead(nn.Module):
    """The masked-LM head: dense layer, activation, LayerNorm, decoder.

    The decoder consists of the token embeddings and a bias.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        # RoBERTa's head ignores the configured activation.
        self.activation = ACTIVATIONS["gelu" if config.family == "roberta" else config.activation]
        self.dense = Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, config.layer_norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        draw_normal(self.dense.weight, config.initializer_range)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, token_embeddings: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Compute the logits of hidden states.

        Args:
            states: Hidden states of the last layer, (n, hidden).
            token_embeddings: The embeddings of all tokens, (vocabulary, hidden).
            shortlist: The token ids to compute logits for, (k,), int64. Default: all tokens.

        Returns:
            The logits, (n, vocabulary) or (n, k).
        """
        states = self.norm(self.activation(self.dense(states)))
        if shortlist is None:
            return linear(states, token_embeddings, self.bias)
        return linear(states, F.embedding(shortlist, token_embeddings), self.bias[shortlist])


class PackedBackbone(Backbone):
    """The embeddings and layers of BERT, RoBERTa or DistilBERT.

    Linear layers run on packed tokens. The default rates of dropout are those of bert-base-uncased.

    Args:
        config: The configuration of the encoder.
        hidden_dropout: The dropout probability of hidden values. Default: 0.1.
        attention_dropout: The dropout probability of attention weights. Default: 0.1.
    """

    engine = "packed"

    def __init__(
        self, config: EncoderConfig, hidden_dropout: float = 0.1, attention_dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.config = config
        self.hidden, self.vocabulary = config.hidden, config.vocabulary
        self.max_length, self.layer_count = config.max_length, config.layers
        self.first_position = config.position_offset
        self.token_embeddings = nn.Parameter(torch.empty(config.vocabulary, config.hidden))
        self.position_embeddings = nn.Parameter(torch.empty(config.positions, config.hidden))
        self.type_embeddings: nn.Parameter | None = None
        if config.token_types:
            self.type_embeddings = nn.Parameter(torch.empty(config.token_types, config.hidden))
        self.embedding_norm = nn.LayerNorm(config.hidden, config.layer_norm_epsilon)
        self.embedding_dropout = Dropout(hidden_dropout)
        layers = (Layer(config, hidden_dropout, attention_dropout) for _ in range(config.layers))
        # A ModuleList is not typed as a sequence of layers.
        self.layers = cast("Sequence[Layer]", nn.ModuleList(layers))
        self.initialise()
        self.masked_lm: MaskedLmHead | None = None

    def initialise(self) -> None:
        """Initialise all weights at random, as BERT does.

        Weights are normally distributed and biases are zero. The embedding of the padding token is zero.
        """
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()
        for table in self._tables():
            draw_normal(table, self.config.initializer_range)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                draw_normal(module.weight, self.config.initializer_range)
                nn.init.zeros_(module.bias)
        with torch.no_grad():
            self.token_embeddings[self.config.pad_id].zero_()

    def _tables(self) -> list[nn.Parameter]:
        tables = [self.token_embeddings, self.position_embeddings]
        if self.type_embeddings is not None:
            tables.append(self.type_embeddings)
        return tables

    @property
    def input_embeddings(self) -> nn.Parameter:
        """Return the token embeddings, (vocabulary, hidden)."""
        return self.token_embeddings

    @property
    def predicts_tokens(self) -> bool:
        """Return whether the encoder has a masked-LM head."""
        return self.masked_lm is not None

    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the embedding layer with normalisation."""
        return [*self._tables(), *self.embedding_norm.parameters()]

    def layer_parameters(self, number: int) -> list[nn.Parameter]:
        """Return the parameters of a layer, counted from 0."""
        return list(self.layers[number].parameters())

    def token_logits(self, states: Tensor, shortlist: Tensor | None = None) -> Tensor:
        """Compute masked-LM logits, see `Backbone.token_logits`."""
        assert self.masked_lm is not None
        return self.masked_lm(states, self.token_embeddings, shortlist)

    def token_head_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the masked-LM head."""
        return [] if self.masked_lm is None else list(self.masked_lm.parameters())

    def new_token_head(self) -> None:
        """Initialise a masked-LM head at random."""
        self.masked_lm = MaskedLmHead(self.config).to(self.token_embeddings.device)

    def drop_token_head(self) -> None:
        """Remove the masked-LM head."""
        self.masked_lm = None

    def save(self, folder: Path, head: SentenceHead | None = None, tokenizer: Path | None = None) -> None:
        """Save the encoder in a folder.

        This engine and `transformers` can load the folder. The default tokenizer is the encoder's tokenizer.json.
        """
        save_packed(Path(folder), self, head, Path(tokenizer or self.tokenizer_file))

    def masks(self, batch: TokenBatch) -> WholeMasks | None:
        """Create the dropout masks of a complete batch.

        Args:
            batch: The packed tokens of the complete batch.

        Returns:
            The masks, or None on a GPU, whose attention kernel creates masks itself.
        """
        return WholeMasks(batch) if self.token_embeddings.device.type == "cpu" else None

    def set_dropout(self, hidden: float, attention: float, heads: float = 0) -> None:
        """Set the dropout rates, see `Backbone.set_dropout`.

        By default, no attention head is dropped.
        """
        self.embedding_dropout.probability = hidden
        for layer in self.layers:
            layer.hidden_dropout.probability = hidden
            layer.attention_dropout.probability = attention
            layer.head_dropout.probability = heads

    def forward(
        self, batch: TokenBatch, need: NeededStates = ALL_TOKENS, first_vector: Tensor | None = None
    ) -> Hidden:
        """Compute hidden states, see `Backbone.forward`.

        If only position 0 of the last layer is needed, the last layer computes keys and values of all tokens, and
        everything else only for position 0.
        """
        wanted = self.check_states(batch, need, first_vector)
        values = self._embed(batch)
        if first_vector is not None:
            values = values.index_copy(0, batch.first, first_vector.to(values.dtype))
        if values.device.type == "cpu" and torch.is_autocast_enabled("cpu") and batch.masks is None:
            # Rows are added once here instead of before each product. Their results are ignored.
            values = F.pad(values, (0, 0, 0, missing_rows(values)))
        depth = max(wanted)
        kept = {0: self._select(values, batch, need)} if 0 in wanted else {}
        for number, layer in enumerate(self.layers[:depth], 1):
            if number == depth and not need.tokens:
                kept[number] = layer.forward_first(values, batch)
                break
            values = layer(values, batch)
            if number in wanted:
                kept[number] = self._select(values, batch, need)
        return Hidden([kept[state] for state in wanted])

    def _embed(self, batch: TokenBatch) -> Tensor:
        # As in `transformers`, the embedding of padding is not trained. Only terms with padding use it (methods 4.1).
        values = F.embedding(batch.tokens, self.token_embeddings, padding_idx=self.config.pad_id)
        given, first = batch.given_positions, self.first_position
        positions = self.position_embeddings[first:]
        if given is not None and first:
            # Given positions include rows before the first position. The row of padding is not trained either.
            numbers = torch.arange(len(self.position_embeddings), device=batch.tokens.device)
            positions = F.embedding(numbers, self.position_embeddings, padding_idx=first - 1)
        if self.type_embeddings is not None:
            positions = positions + self.type_embeddings[0]
        values = values + F.embedding(batch.positions if given is None else given, positions)
        return self.embedding_dropout(self.embedding_norm(values), batch.masks)

    @staticmethod
    def _select(values: Tensor, batch: TokenBatch, need: NeededStates) -> Tensor:
        return values[: len(batch.tokens)] if need.tokens else values.index_select(0, batch.first)
