"""A deep averaging network (Iyyer et al. 2015).

An MLP is applied to the mean token embedding of a row.
"""

from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class DanConfig(PretrainedConfig):
    """The sizes, named as in `transformers`; heads and positions are unused."""

    model_type = "dan"

    def __init__(
        self, vocab_size: int = 100, hidden_size: int = 32, num_hidden_layers: int = 2,
        num_attention_heads: int = 1, intermediate_size: int = 64, max_position_embeddings: int = 512,
        hidden_dropout_prob: float = 0.1, pad_token_id: int = 0, **others: Any,
    ) -> None:  # fmt: skip
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.num_hidden_layers, self.num_attention_heads = num_hidden_layers, num_attention_heads
        self.intermediate_size, self.max_position_embeddings = intermediate_size, max_position_embeddings
        self.hidden_dropout_prob = hidden_dropout_prob
        super().__init__(pad_token_id=pad_token_id, **others)


class DanModel(PreTrainedModel):
    """An MLP on the mean embedding, used as the hidden state of each token.

    Hidden state 0 is the embedding of the token.
    """

    config_class = DanConfig
    base_model_prefix = "dan"

    def __init__(self, config: DanConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        wide, narrow = config.intermediate_size, config.hidden_size
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(narrow, wide), nn.ReLU(), nn.Linear(wide, narrow))
            for _ in range(config.num_hidden_layers)
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding layer."""
        return self.embeddings

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, output_hidden_states: bool = False
    ) -> BaseModelOutput:
        """Return the hidden states.

        Args:
            input_ids: Token ids of shape (rows, tokens).
            attention_mask: 1 for tokens and 0 for padding, of the same shape.
            output_hidden_states: Whether to return all layers. Default: False.

        Returns:
            Hidden states of shape (rows, tokens, hidden).
        """
        states = [self.dropout(self.embeddings(input_ids))]
        mask = attention_mask[:, :, None].to(states[0].dtype)
        row = (states[0] * mask).sum(1) / mask.sum(1)
        for layer in self.layers:
            row = row + self.dropout(layer(row))
            states.append(row[:, None].expand_as(states[0]))
        return BaseModelOutput(states[-1], tuple(states) if output_hidden_states else None)


def register() -> None:
    """Register the family with `transformers`."""
    AutoConfig.register("dan", DanConfig, exist_ok=True)
    AutoModel.register(DanConfig, DanModel, exist_ok=True)
