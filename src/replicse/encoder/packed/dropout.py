"""Dropout of the packed engine.

It can share dropout masks between the parts of a batch.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from replicse.encoder.batch import PartMasks, TokenBatch


def scaled_mask(values: Tensor, probability: float, masks: PartMasks | None) -> Tensor:
    """Create a scaled dropout mask on a CPU.

    Each factor is 0, or the inverse of the share of values that are kept.

    The mask uses 16 random bits per value, which is four times as fast as F.dropout. The probability is
    rounded to a multiple of 1/65536, and the scale is computed from the rounded probability.

    Args:
        values: The values to drop, of any shape.
        probability: The dropout probability, from 0 to 1.
        masks: The masks of a part of a batch, or None to create a random mask.

    Returns:
        The factors, with the shape and dtype of the values.
    """
    dropped = round(probability * 2**16)
    if dropped == 2**16:
        return torch.zeros_like(values)
    if masks is None:
        noise = _random_mask(values.shape, dropped, values.dtype)
    else:
        noise = masks.next_mask(values.shape, dropped).to(values.dtype)
    return noise.mul_(2**16 / (2**16 - dropped))


def _random_mask(shape: Sequence[int], dropped: int, dtype: torch.dtype) -> Tensor:
    """Return a random mask, 0 with probability `dropped` / 2**16, else 1."""
    mask = torch.empty(shape, dtype=dtype)
    words = torch.empty((mask.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(torch.int16)[: mask.numel()].view(shape)
    return torch.ge(bits, dropped - 2**15, out=mask)


class Dropout(nn.Module):
    """Dropout with a rate that can change between steps.

    Values are not changed if the rate is 0, or in evaluation mode.

    Args:
        probability: The dropout probability, from 0 to 1.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    @property
    def rate(self) -> float:
        """Return the dropout probability, 0 in evaluation mode."""
        return self.probability if self.training else 0.0

    def mask(self, values: Tensor, masks: PartMasks | None) -> Tensor | None:
        """Return the scaled mask of values on a CPU.

        Args:
            values: The values to drop, of any shape.
            masks: The masks of a part of a batch, or None to create a random mask.

        Returns:
            The factors as in `scaled_mask`, or None if the rate is 0.
        """
        return scaled_mask(values, self.rate, masks) if self.rate else None

    def forward(self, values: Tensor, masks: PartMasks | None = None) -> Tensor:
        """Apply dropout to the values.

        By default, each call draws a new random mask.

        Args:
            values: The values, of any shape.
            masks: The masks of a part of a batch. Default: None.
        """
        if values.device.type != "cpu":
            return F.dropout(values, self.rate)
        mask = self.mask(values, masks)
        return values if mask is None else values * mask


class HeadDropout(Dropout):
    """Drophead: dropout of entire attention heads (Zhou et al. 2020).

    Heads are dropped for each row separately.
    """

    def drop_heads(self, context: Tensor, batch: TokenBatch, heads: int) -> Tensor:
        """Drop heads of the attention output.

        The other heads of a row are scaled by `heads` over their number. If all heads of a row would be
        dropped, they are all kept; the reference code divides by zero.

        Args:
            context: The output of attention, (tokens, hidden) or (rows, hidden).
            batch: The packed tokens.
            heads: The number of attention heads.

        Returns:
            The output, with the same shape.
        """
        if not self.rate:
            return context
        kept = self._keep_heads(context.new_ones(batch.rows, heads), batch.masks)
        count = kept.sum(1, keepdim=True)
        scale = torch.where(count == 0, 1.0, kept * heads / count.clamp_min(1)).to(context.dtype)
        if len(context) != batch.rows:
            # Rows of `context` beyond the tokens are ignored.
            scale = F.pad(scale[batch.row_ids], (0, 0, 0, len(context) - len(batch.tokens)))
        return (context.unflatten(1, (heads, -1)) * scale[:, :, None]).flatten(1)

    def _keep_heads(self, ones: Tensor, masks: PartMasks | None) -> Tensor:
        """Return a (rows, heads) mask, 1 for heads that are kept and otherwise 0."""
        mask = self.mask(ones, masks) if ones.device.type == "cpu" else F.dropout(ones, self.rate)
        return ones if mask is None else (mask > 0).float()


class WholeMasks:
    """Dropout masks of a batch that is encoded in parts on a CPU.

    They are equal to the masks of the complete batch. The first part creates them for all rows, in the order
    in which the layers request them. Every part uses the same rows of the masks, also if the part is encoded
    again. A mask needs a byte per value, a thirtieth of the memory of a backward pass.

    Args:
        batch: The complete batch.
    """

    def __init__(self, batch: TokenBatch) -> None:
        self.batch = batch
        self.masks: list[Tensor] = []

    def select_rows(self, rows: Tensor) -> PartMasks:
        """Return the masks of some rows for one pass through the encoder.

        Args:
            rows: The numbers of the rows, (n,), int64.
        """
        return RowMasks(self, rows)


class RowMasks:
    """Dropout masks of some rows of a batch.

    They are in the order in which the layers request them.

    Args:
        whole: The masks of the complete batch.
        rows: The numbers of the rows, (n,), int64.
    """

    def __init__(self, whole: WholeMasks, rows: Tensor) -> None:
        lengths = whole.batch.lengths[rows]
        starts = whole.batch.offsets[:-1][rows] - lengths.cumsum(0) + lengths
        self._whole, self._rows, self._longest, self._place = whole, rows, int(lengths.max()), 0
        self._tokens = torch.arange(int(lengths.sum())) + starts.repeat_interleave(lengths)

    def next_mask(self, shape: Sequence[int], dropped: int) -> Tensor:
        """Return the part of the next mask for these rows.

        Args:
            shape: (tokens, width), (rows, width), or the shape of attention weights, (rows, heads, queries,
                keys).
            dropped: The probability to drop a value, in units of 1/65536.

        Returns:
            A tensor of bools with this shape.
        """
        batch, masks = self._whole.batch, self._whole.masks
        of_attention = len(shape) == 4
        of_tokens = not of_attention and shape[0] == len(self._tokens)
        if self._place == len(masks):
            count = len(batch.tokens) if of_tokens else batch.rows
            # Attention weights are (rows, heads, queries, keys), with one query if only position 0 is needed.
            sizes = list(shape[2:])
            for place, size in enumerate(sizes):
                if size == self._longest:
                    sizes[place] = batch.longest
            masks.append(_random_mask((count, shape[1], *sizes), dropped, torch.bool))
        mask = masks[self._place][self._tokens if of_tokens else self._rows]
        self._place += 1
        return mask[:, :, : shape[2], : shape[3]] if of_attention else mask
