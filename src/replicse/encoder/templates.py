"""Templates around sentences.

They are added when a batch is encoded, so that all templates use the same token store.
"""

from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from replicse.data.tokenizer import mask_token
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch, offsets_of
from replicse.errors import BadInput


@dataclass(frozen=True)
class PlacedBatch(TokenBatch):
    """Rows with given position ids.

    Attributes:
        places: The row of each token in the table of position embeddings, (total,), int64.
    """

    places: Tensor

    @property
    def given_positions(self) -> Tensor:
        """Return the position ids of the tokens, (total,)."""
        return self.places


class Template:
    """The tokens of a template before and after the sentence.

    Both ends contain special tokens. A sentence is tokenised by itself and truncated so that it fits with the
    `length` tokens of the template. Spaces before the sentence are removed from the template.

    Args:
        text: The template, a string with `{text}` and possibly `{mask}`.
        tokenizer: The tokenizer of the encoder.
        backbone: The encoder.

    Raises:
        BadInput: If the template has `{mask}` and the tokenizer has no mask token, or no sentence fits.
    """

    def __init__(self, text: str, tokenizer: Tokenizer, backbone: Backbone) -> None:
        mask = mask_token(tokenizer, backbone.tokenizer_file.parent) if "{mask}" in text else ""
        before, after = text.replace("{mask}", mask).split("{text}")
        special = tokenizer.encode("a")
        added = special.special_tokens_mask
        self.start, self.end = added.index(0), added[::-1].index(0)
        ids_before = tokenizer.encode(before.rstrip(), add_special_tokens=False).ids
        ids_after = tokenizer.encode(after, add_special_tokens=False).ids
        self.before = special.ids[: self.start] + ids_before
        self.after = ids_after + special.ids[len(added) - self.end :]
        self.length = len(self.before) + len(self.after)
        self.most, self.first_position = (
            self.max_sentence_tokens(backbone.max_length),
            backbone.first_position,
        )
        # Counted from the start of a row if the mask is before the sentence, otherwise negative from the end.
        self.mask = 0
        if mask:
            self.mask = (*self.before, *self.after).index(tokenizer.token_to_id(mask))
            if self.mask >= len(self.before):
                self.mask -= self.length

    def max_sentence_tokens(self, longest: int) -> int:
        """Return the maximum number of tokens of a sentence in a row.

        Args:
            longest: The maximum number of tokens of the row.

        Raises:
            BadInput: If no sentence fits.
        """
        if longest <= self.length:
            raise BadInput(
                f"the template has {self.length} tokens, so sentences do not fit in {longest}; shorten the template"
            )
        return longest - self.length

    def fill(self, batch: TokenBatch) -> TokenBatch:
        """Insert tokenised sentences in the template.

        Args:
            batch: The tokenised sentences, with special tokens.

        Returns:
            A batch with the same number of rows.
        """
        lengths = (batch.lengths - self.start - self.end).clamp(max=self.most)
        sizes = lengths + self.length
        offsets = offsets_of(sizes)
        within = torch.arange(int(offsets[-1])) - offsets[:-1].repeat_interleave(sizes)
        in_sentence, length = within - len(self.before), lengths.repeat_interleave(sizes)
        first = self.length + self.start + batch.offsets[:-1].repeat_interleave(sizes)
        # Index of each token in the template's tokens followed by the sentences' tokens.
        template = torch.where(in_sentence < 0, within, within - length)
        source = torch.where((in_sentence >= 0) & (in_sentence < length), first + in_sentence, template)
        copy = None
        if batch.copy is not None:
            copy = torch.cat([self._tokens(batch.copy.device), batch.copy])[source]
        tokens = torch.cat([self._tokens(batch.tokens.device), batch.tokens])
        return TokenBatch(tokens[source.to(tokens.device, non_blocking=True)], offsets, copy=copy)

    def empty(self, filled: TokenBatch, denoise: bool | str = True) -> tuple[TokenBatch, Tensor]:
        """Return the template without a sentence.

        The tokens keep the positions that they have in filled rows.

        Args:
            filled: Rows filled into the template.
            denoise: The option `denoise` of the pooling. "from-zero" counts positions from 0 in every encoder;
                "unshifted" too, without a gap for the sentence. Default: True.

        Returns:
            A batch with one row for each distinct sentence length in `filled`, and the index of this row for
            each row of `filled`, (rows,), int64.
        """
        shifted = denoise != "unshifted"
        lengths, of_rows = ((filled.lengths - self.length) * shifted).unique(return_inverse=True)
        count, device = len(lengths), filled.tokens.device
        own = torch.arange(self.length)
        places = own + lengths[:, None] * (own >= len(self.before))
        places += self.first_position if denoise is True else 0
        return PlacedBatch(
            self._tokens(device).repeat(count),
            torch.arange(count + 1) * self.length,
            places.flatten().to(device, non_blocking=True),
        ), of_rows.to(device, non_blocking=True)

    def masks(self, batch: TokenBatch) -> Tensor:
        """Return the index of the mask of each row, (rows,).

        Args:
            batch: A filled batch or the empty template.
        """
        return batch.first + self.mask if self.mask >= 0 else batch.last + 1 + self.mask

    def _tokens(self, device: torch.device) -> Tensor:
        return torch.tensor([*self.before, *self.after]).to(device, non_blocking=True)
