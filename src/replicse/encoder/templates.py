"""Templates: the tokens around a sentence, put there when a batch is encoded, so that one store serves all of them."""

import torch
from tokenizers import Tokenizer
from torch import Tensor

from replicse.data.tokenizer import mask_token
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import PlacedBatch, TokenBatch, offsets_of
from replicse.errors import BadInput


class Template:
    """A text with a place for a sentence, as tokens: those before it and those after it, special ones at both ends.

    A sentence is tokenised by itself and cut to what fits with the `length` tokens of the template; blanks before its
    place are dropped. Raises BadInput where the tokenizer has no mask that the template names, or nothing fits.
    """

    def __init__(self, text: str, tokenizer: Tokenizer, backbone: Backbone) -> None:
        mask = mask_token(tokenizer, backbone.tokenizer_file.parent) if "{mask}" in text else ""
        before, after = text.replace("{mask}", mask).split("{text}")
        special = tokenizer.encode("a")
        added = special.special_tokens_mask
        self.start, self.end = added.index(0), added[::-1].index(0)
        parts = [tokenizer.encode(part, add_special_tokens=False).ids for part in (before.rstrip(), after)]
        self.before = special.ids[: self.start] + parts[0]
        self.after = parts[1] + special.ids[len(added) - self.end :]
        self.length = len(self.before) + len(self.after)
        self.most, self.first_position = self.room(backbone.max_length), backbone.first_position
        # From the start of a row where the mask comes before the sentence, else from its end, below 0.
        masks = [(*self.before, *self.after).index(tokenizer.token_to_id(mask))] if mask else []
        self.mask = next((place if place < len(self.before) else place - self.length for place in masks), 0)

    def room(self, longest: int) -> int:
        """Return how many tokens of a sentence fit into a row of so many; BadInput where none does."""
        if longest <= self.length:
            raise BadInput(
                f"the template has {self.length} tokens, and no sentence fits next to it into {longest}; shorten it"
            )
        return longest - self.length

    def filled(self, batch: TokenBatch) -> TokenBatch:
        """Return tokenised sentences in the template."""
        lengths = (batch.lengths - self.start - self.end).clamp(max=self.most)
        sizes = lengths + self.length
        offsets = offsets_of(sizes)
        within = torch.arange(int(offsets[-1])) - offsets[:-1].repeat_interleave(sizes)
        in_sentence, length = within - len(self.before), lengths.repeat_interleave(sizes)
        first = self.length + self.start + batch.offsets[:-1].repeat_interleave(sizes)
        # Where each token is read in what follows: the template's, then the sentences'.
        template = torch.where(in_sentence < 0, within, within - length)
        source = torch.where((in_sentence >= 0) & (in_sentence < length), first + in_sentence, template)
        every = torch.cat([self._tokens(batch.tokens.device), batch.tokens])
        copy = (
            None if batch.copy is None else torch.cat([self._tokens(batch.copy.device), batch.copy])[source]
        )
        return TokenBatch(every[source.to(every.device, non_blocking=True)], offsets, copy=copy)

    def empty(self, filled: TokenBatch, denoise: bool | str = True) -> tuple[TokenBatch, Tensor]:
        """Return the template alone, its tokens placed as around a sentence, for each length of one in filled rows.

        The second tensor, (rows,), is which of these is that of each row. `denoise` is that of the pooling: "from-zero"
        counts positions from 0 in every encoder, "unshifted" too, and without a sentence, once for all rows.
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
        """Return the place of the mask of each row of a filled batch, or of the template alone, (rows,)."""
        return batch.first + self.mask if self.mask >= 0 else batch.last + 1 + self.mask

    def _tokens(self, device: torch.device) -> Tensor:
        return torch.tensor([*self.before, *self.after]).to(device, non_blocking=True)
