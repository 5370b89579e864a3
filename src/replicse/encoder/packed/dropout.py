"""Dropout of the packed engine, and its masks where the rows of a batch are encoded in parts."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.encoder.batch import PartMasks, TokenBatch


def scaled_mask(values: Tensor, probability: float, masks: PartMasks | None) -> Tensor:
    """Draw what dropout multiplies values on a CPU with: 0, or the inverse of the share that is kept.

    The mask comes from 16 random bits a value, four times as fast as F.dropout; the probability is thereby rounded
    to 1/65536, and the scale is that of the rounded one.
    """
    dropped = round(probability * 2**16)
    if dropped == 2**16:
        return torch.zeros_like(values)
    if masks is None:
        noise = _kept(values.shape, dropped, values.dtype)
    else:
        noise = masks.kept(values.shape, dropped).to(values.dtype)
    return noise.mul_(2**16 / (2**16 - dropped))


def _kept(shape: Sequence[int], dropped: int, dtype: torch.dtype) -> Tensor:
    """Draw 1 for each value that is kept and 0 for each that is not."""
    mask = torch.empty(shape, dtype=dtype)
    words = torch.empty((mask.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(torch.int16)[: mask.numel()].view(shape)
    return torch.ge(bits, dropped - 2**15, out=mask)


class Dropout(nn.Module):
    """Dropout whose rate may change between steps; nothing is done at rate 0 or in evaluation."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    @property
    def rate(self) -> float:
        """Return the probability that holds now: 0 in evaluation."""
        return self.probability if self.training else 0.0

    def mask(self, values: Tensor, masks: PartMasks | None) -> Tensor | None:
        """Return what values on a CPU are multiplied with; None where nothing is dropped."""
        return scaled_mask(values, self.rate, masks) if self.rate else None

    def forward(self, values: Tensor, masks: PartMasks | None = None) -> Tensor:
        """Return the values with dropout applied: by a mask of its own, or that of a part of a batch."""
        if values.device.type != "cpu":
            return F.dropout(values, self.rate)
        return values if (mask := self.mask(values, masks)) is None else values * mask


class HeadDropout(Dropout):
    """Drophead (Zhou et al. 2020): heads of attention that are dropped for an entire row."""

    def of_rows(self, context: Tensor, batch: TokenBatch, heads: int) -> Tensor:
        """Return what attention puts out, (tokens, hidden) or (rows, hidden), without the dropped heads of each row.

        Those that a row keeps are scaled by `heads` over their number. A row that would keep none keeps all of them,
        where the reference code divides by zero.
        """
        if not self.rate:
            return context
        kept = self._drawn(context.new_ones(batch.rows, heads), batch.masks)
        count = kept.sum(1, keepdim=True)
        scale = torch.where(count == 0, 1.0, kept * heads / count.clamp_min(1)).to(context.dtype)
        if len(context) != batch.rows:
            # Rows of `context` beyond the tokens are read by nobody.
            scale = F.pad(scale[batch.row_ids], (0, 0, 0, len(context) - len(batch.tokens)))
        return (context.unflatten(1, (heads, -1)) * scale[:, :, None]).flatten(1)

    def _drawn(self, ones: Tensor, masks: PartMasks | None) -> Tensor:
        """Return 1 for each head that is kept and 0 for each that is not, (rows, heads)."""
        mask = self.mask(ones, masks) if ones.device.type == "cpu" else F.dropout(ones, self.rate)
        return ones if mask is None else (mask > 0).float()


class WholeMasks:
    """The masks of a batch that is encoded in parts on a CPU: those that the whole batch would have drawn.

    The first part draws them for all rows, in the order in which the layers ask; every part takes those of its rows,
    also when it is encoded again. They are kept as a byte a value, a thirtieth of what a backward pass keeps.
    """

    def __init__(self, batch: TokenBatch) -> None:
        self.batch = batch
        self.drawn: list[Tensor] = []

    def of_rows(self, rows: Tensor) -> PartMasks:
        """Return the masks of some rows of the batch, by their numbers, for one pass through the encoder."""
        return RowMasks(self, rows)


class RowMasks:
    """The masks of some rows of a batch, one after another as the layers ask for them."""

    def __init__(self, whole: WholeMasks, rows: Tensor) -> None:
        lengths = whole.batch.lengths[rows]
        starts = whole.batch.offsets[:-1][rows] - lengths.cumsum(0) + lengths
        self._whole, self._rows, self._longest, self._place = whole, rows, int(lengths.max()), 0
        self._tokens = torch.arange(int(lengths.sum())) + starts.repeat_interleave(lengths)

    def kept(self, shape: Sequence[int], dropped: int) -> Tensor:
        """Return the rows' part of the next mask, for (tokens, width), (rows, width) or attention weights."""
        batch, drawn = self._whole.batch, self._whole.drawn
        of_attention = len(shape) == 4
        of_tokens = not of_attention and shape[0] == len(self._tokens)
        if self._place == len(drawn):
            count = len(batch.tokens) if of_tokens else batch.rows
            # Weights are (rows, heads, queries, keys); only position 0 asks where the last layer needs no other.
            queries = (batch.longest if size == self._longest else size for size in shape[2:])
            drawn.append(_kept((count, shape[1], *queries), dropped, torch.bool))
        mask = drawn[self._place][self._tokens if of_tokens else self._rows]
        self._place += 1
        return mask[:, :, : shape[2], : shape[3]] if of_attention else mask
