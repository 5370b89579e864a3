"""The model a run trains: one or two encoders, their heads and the masked-LM head."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from replicse.data.tokenizer import SpecialIds, load_tokenizer, special_ids
from replicse.encoder.batch import TokenBatch
from replicse.encoder.checkpoints import Loaded, MaskedLmHead, load_encoder, save_encoder
from replicse.encoder.pooling import HEADS, need_of, pool
from replicse.encoder.transformer import ALL_TOKENS, EncoderConfig, TransformerEncoder
from replicse.errors import BadInput
from replicse.study.plan.specs import Dropout

TOKEN_TYPES = {"bert": 2, "roberta": 1, "distilbert": 0}


class SentenceModel(nn.Module):
    """Turn packed views into sentence vectors with one shared encoder or two independent ones.

    With two encoders the first encodes the anchors and the second every other view (SimCSE Table 2); at test
    time the first encodes all sentences (methods 8.5).
    """

    def __init__(
        self, loaded: Loaded, special: SpecialIds, two: bool, dropout: Dropout, head: str = "mlp"
    ) -> None:
        super().__init__()
        self.encoder = loaded.encoder
        self.encoder.set_dropout(dropout.hidden, dropout.attention)
        # The head starts at random on purpose: the pretrained next-sentence pooler did not help (methods 1.2).
        kept = isinstance(loaded.head, HEADS[head])
        self.head = loaded.head if kept else HEADS[head](self.encoder.config.hidden)
        self.masked_lm = loaded.masked_lm
        self.second = nn.ModuleList([copy.deepcopy(self.encoder), copy.deepcopy(self.head)]) if two else None
        self.special = special
        self.dropout = dropout

    def vectors(
        self,
        columns: Sequence[TokenBatch],
        pooling: str,
        repeated: bool,
        views: Sequence[int] | None = None,
    ) -> list[Tensor | None]:
        """Return one (rows, hidden) tensor per view; None for a view that is not among `views` (default: all).

        `repeated` says that the first two views hold the same text. Where the dropout masks of the two are the
        same too (fixed masks, or no dropout at all), the second vector is the first: encoded once (methods 1.7).
        """
        views = range(len(columns)) if views is None else views
        same_masks = self.dropout.masks == "fixed" or not (self.dropout.hidden or self.dropout.attention)
        once = repeated and same_masks and {0, 1} <= set(views)
        encoded = [view for view in views if not (once and view == 1)]
        if self.second is None:
            found = self._encode(self.encoder, self.head, columns, encoded, pooling)
        else:
            found = self._encode(self.encoder, self.head, columns, [v for v in encoded if v == 0], pooling)
            found |= self._encode(*self.second, columns, [v for v in encoded if v > 0], pooling)
        if once:
            found[1] = found[0]
        return [found.get(view) for view in range(len(columns))]

    @staticmethod
    def _encode(
        encoder: TransformerEncoder,
        head: nn.Module,
        columns: Sequence[TokenBatch],
        views: Sequence[int],
        pooling: str,
    ) -> dict[int, Tensor]:
        """Return the vectors of some views, all encoded in one batch."""
        if not views:
            return {}
        columns = [columns[view] for view in views]
        batch = TokenBatch.concatenate(columns)
        vectors = pool(encoder(batch, need_of(pooling)), batch, pooling, head)
        parts = vectors.float().split([column.rows for column in columns])
        return dict(zip(views, parts, strict=True))

    def token_states(self, batch: TokenBatch) -> Tensor:
        """Return the last hidden states of all packed tokens, (total, hidden)."""
        return self.encoder(batch, ALL_TOKENS).last

    def token_logits(self, states: Tensor, shortlist: Tensor | None) -> Tensor:
        """Return masked-LM logits over the vocabulary or over a shortlist of token ids."""
        assert self.masked_lm is not None
        return self.masked_lm(states, self.encoder.token_embeddings, shortlist)

    def save(self, folder: Path, tokenizer: Path, with_head: bool) -> None:
        """Write the first encoder and its masked-LM head as a Hugging Face folder; the head only if it was trained."""
        save_encoder(folder, self.encoder, self.head if with_head else None, self.masked_lm, tokenizer)


def open_model(
    init: Path, tokenizer: Path, two: bool, dropout: Dropout, head: str, keep_head: bool
) -> SentenceModel:
    """Return the model that starts from an encoder folder.

    Its head is new unless `keep_head` is set and the folder holds one of the kind that is wanted.
    """
    loaded = load_encoder(init)
    if not keep_head:
        loaded.head = None
    return SentenceModel(loaded, special_ids(load_tokenizer(tokenizer, 512)), two, dropout, head)


def fresh_model(
    architecture: Mapping[str, Any], tokenizer: Path, two: bool, dropout: Dropout, head: str
) -> SentenceModel:
    """Return a model with random weights of the given architecture, masked-LM head included."""
    loaded_tokenizer = load_tokenizer(tokenizer, 512)
    special = special_ids(loaded_tokenizer)
    family = architecture.get("family", "bert")
    try:
        config = EncoderConfig(
            vocabulary=loaded_tokenizer.get_vocab_size(),
            pad_id=special.pad,
            token_types=TOKEN_TYPES[family],
            **architecture,
        )
    except (KeyError, TypeError) as error:
        raise BadInput(f"init.fresh.architecture is {architecture}: {error}; give family and sizes") from None
    encoder = TransformerEncoder(config)
    return SentenceModel(Loaded(encoder, None, MaskedLmHead(config), config), special, two, dropout, head)


def device_for(name: str | None = None) -> torch.device:
    """Return the device asked for, else the first GPU, else the CPU."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
