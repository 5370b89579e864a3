"""Encoders of other families (MPNet, ELECTRA, DeBERTa, ...) through `transformers`, imported only then."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from replicse.encoder.batch import TokenBatch
from replicse.encoder.pooling import Head
from replicse.encoder.transformer import ALL_TOKENS, Hidden, Need
from replicse.errors import BadInput


class ForeignEncoder(nn.Module):
    """An encoder of `transformers` behind the interface of TransformerEncoder; for evaluation only."""

    def __init__(self, model: nn.Module, max_length: int) -> None:
        super().__init__()
        self.model = model
        self.max_length = max_length
        self.vocabulary = model.get_input_embeddings().num_embeddings
        self.hidden = model.config.hidden_size

    def forward(self, batch: TokenBatch, need: Need = ALL_TOKENS) -> Hidden:
        """Return the hidden states that `need` names, always for all tokens."""
        tokens = batch.tokens.new_full((batch.rows * batch.longest,), self.model.config.pad_token_id or 0)
        tokens = tokens.index_copy(0, batch.padded_places, batch.tokens).view(batch.rows, -1)
        found = self.model(
            input_ids=tokens, attention_mask=batch.padded_mask.long(), output_hidden_states=True
        )
        # An encoder may treat its last state once more (a final LayerNorm) behind its list of hidden states.
        states = [*found.hidden_states[:-1], found.last_hidden_state]
        return Hidden([batch.unpad(states[number]) for number in need.states], first_only=False)


def open_foreign(folder: Path) -> tuple[ForeignEncoder, Head | None]:
    """Return the encoder of any Hugging Face folder and its stored head, where it has a dense pooler."""
    from transformers import AutoModel

    tokenizer = _auto_tokenizer(folder)
    try:
        model = AutoModel.from_pretrained(folder, dtype=torch.float32)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise BadInput(f"{folder}: transformers cannot open the encoder ({error})") from None
    limit = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
    dense = getattr(getattr(model, "pooler", None), "dense", None)
    if dense is None:
        return ForeignEncoder(model, limit), None
    head = Head(dense.in_features)
    head.dense.load_state_dict(dense.state_dict())
    return ForeignEncoder(model, limit), head


def backend_tokenizer(folder: Path) -> Tokenizer:
    """Return the fast tokenizer that `transformers` makes of a folder without a tokenizer.json."""
    tokenizer = _auto_tokenizer(folder)
    if not tokenizer.is_fast:
        raise BadInput(f"{folder}: only a slow tokenizer is there; add its tokenizer.json")
    return tokenizer.backend_tokenizer


def _auto_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise BadInput(f"{folder}: transformers cannot open the tokenizer ({error})") from None
