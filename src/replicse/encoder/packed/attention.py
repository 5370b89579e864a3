"""Attention of the packed engine.

It runs on packed tokens for training on a CPU, otherwise with torch's fused kernel.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from replicse.encoder.batch import TokenBatch
from replicse.encoder.packed.dropout import Dropout


def attention(
    projected: Tensor, first: Tensor | None, batch: TokenBatch, heads: int, drop: Dropout
) -> Tensor:
    """Compute softmax(query key^T / sqrt(width)) value.

    Args:
        projected: Query, key and value of each token, (n, 3 * hidden), each with heads side by side. With
            `first`, only key and value, (n, 2 * hidden). Rows after the tokens of the batch are ignored.
        first: The queries of position 0 of each row, (rows, hidden), or None to compute queries of all
            tokens.
        batch: The packed tokens.
        heads: The number of attention heads.
        drop: The dropout of attention weights.

    Returns:
        The context of each token, (n, hidden), 0 after the tokens of the batch; (rows, hidden) with `first`.
    """
    has_extra_rows = len(projected) > len(batch.tokens)
    if projected.device.type == "cpu" and (torch.is_grad_enabled() or drop.rate or has_extra_rows):
        return PackedAttention.apply(projected, first, batch, heads, drop)
    # On a CPU the fused kernel is slower than PackedAttention with dropout or a backward pass.
    parts = batch.pad(projected).unflatten(2, (3 if first is None else 2, heads, -1))
    if first is None:
        query, key, value = parts.permute(2, 0, 3, 1, 4)
    else:
        query = first.reshape(batch.rows, heads, 1, -1)
        key, value = parts.permute(2, 0, 3, 1, 4)
    mask = None if batch.attention_mask is None else batch.attention_mask[:, None, None, :]
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=drop.rate)
    context = context.transpose(1, 2).flatten(2)
    return batch.unpad(context) if first is None else context.squeeze(1)


class PackedAttention(torch.autograd.Function):
    """Attention on packed tokens with a layout by heads.

    Query, key and value are copied to the layout at once, and their gradients back.
    """

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, first: Tensor | None, batch: TokenBatch, heads: int, drop: Dropout
    ) -> Tensor:
        """Compute the context, (n, hidden), or (rows, hidden) with `first`.

        See `attention` for the arguments.
        """
        count = 3 if first is None else 2
        width = projected.shape[1] // (count * heads)
        laid = projected.view(-1, width).index_select(0, batch.head_sources(count, heads))
        parts = laid.view(count, batch.rows * heads, batch.longest, width)
        key, value = parts[-2], parts[-1]
        if first is not None and heads > 1:
            # With one query the last digit of the product depends on the memory layout of keys: keep this layout.
            key = key.transpose(1, 2).contiguous().transpose(1, 2)
        query = (parts[0] if first is None else first.reshape(-1, 1, width)) * width**-0.5
        with torch.autocast("cpu", enabled=False):
            scores = (query @ key.transpose(1, 2)).view(batch.rows, heads, -1, batch.longest)
            if batch.attention_mask is not None:
                hidden = ~batch.attention_mask[:, None, None, :]
                scores += torch.zeros(hidden.shape, dtype=scores.dtype).masked_fill_(hidden, -torch.inf)
            weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
            noise = drop.mask(weights, batch.masks)
            dropped = (weights if noise is None else weights * noise).to(value.dtype).flatten(0, 1)
            context = (dropped @ value).view(-1, width)
        ctx.save_for_backward(parts, key, query, weights, noise, dropped)
        ctx.layout = batch, heads, len(projected), first is None
        if first is not None:
            return context.view(batch.rows, -1)
        return _gather(context, batch.head_places(1, heads), len(projected), heads * width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of `projected` and `first`.

        Args:
            ctx: The context of torch, with the tensors of the forward pass.
            gradient: The gradient of the output, with its shape.

        Returns:
            The two gradients, then None for the other arguments.
        """
        parts, key, query, weights, noise, dropped = ctx.saved_tensors
        batch, heads, rows, of_all = ctx.layout
        count, groups, longest, width = parts.shape
        value = parts[-1]
        if of_all:
            packed = gradient[: len(batch.tokens)].reshape(-1, width)
            gradient = gradient.new_zeros(groups * longest, width)
            gradient.index_copy_(0, batch.head_places(1, heads), packed)
        gradient = gradient.reshape(groups, -1, width)
        laid = torch.empty_like(parts)
        torch.bmm(dropped.transpose(1, 2), gradient, out=laid[-1])
        of_weights = (gradient @ value.transpose(1, 2)).view(weights.shape).to(weights.dtype)
        if noise is not None:
            of_weights *= noise
        # Gradient of the softmax: weights * (gradient - sum of weights * gradient), computed in place.
        of_weights *= weights
        of_weights.addcmul_(weights, of_weights.sum(-1, keepdim=True), value=-1)
        of_scores = of_weights.to(key.dtype).flatten(0, 1)
        torch.bmm(of_scores.transpose(1, 2), query, out=laid[-2])
        scale = width**-0.5
        if of_all:
            torch.bmm(of_scores, key, out=laid[0]).mul_(scale)
            of_first = None
        else:
            of_first = (of_scores @ key).mul_(scale).view(batch.rows, -1)
        places = batch.head_places(count, heads)
        return _gather(laid.view(-1, width), places, rows, count * heads * width), of_first, None, None, None


def _gather(values: Tensor, places: Tensor, rows: int, width: int) -> Tensor:
    """Return rows of `values` as a (rows, width) tensor, padded with 0."""
    result = values.new_empty(rows, width)
    used = len(places) * values.shape[1] // width
    torch.index_select(values, 0, places, out=result[:used].view(-1, values.shape[1]))
    result[used:] = 0
    return result
