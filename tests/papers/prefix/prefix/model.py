"""BERT with trained keys and values in front of each row."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, BertConfig, BertModel, DynamicCache


class PrefixBertConfig(BertConfig):
    """A BERT configuration with the number of trained positions of each row."""

    model_type = "prefix-bert"
    prefix_length: int = 8


class PrefixBertModel(BertModel):
    """BERT with the keys and values of each layer in `prefix`.

    The shape of `prefix` is (length, layers * 2 * hidden).
    """

    config_class = PrefixBertConfig

    def __init__(self, config: PrefixBertConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config, add_pooling_layer)
        self.prefix = nn.Embedding(config.prefix_length, config.num_hidden_layers * 2 * config.hidden_size)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **options: Any) -> Any:
        """Run BERT with the prefixes as keys and values of earlier tokens."""
        (rows, tokens), heads = input_ids.shape, self.config.num_attention_heads
        pairs = self.prefix.weight.unflatten(1, (self.config.num_hidden_layers, 2, heads, -1))
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(pairs.permute(1, 2, 3, 0, 4)):
            cache.update(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1), layer)
        seen = torch.cat([attention_mask.new_ones(rows, len(pairs)), attention_mask], dim=1).bool()
        mask = seen[:, None, None].expand(-1, 1, tokens, -1)
        positions = torch.arange(tokens, device=input_ids.device)[None]
        options = {"position_ids": positions, "past_key_values": cache, **options}
        return super().forward(input_ids, mask, **options)


def register() -> None:
    """Register the family with `transformers`."""
    AutoConfig.register("prefix-bert", PrefixBertConfig, exist_ok=True)
    AutoModel.register(PrefixBertConfig, PrefixBertModel, exist_ok=True)
