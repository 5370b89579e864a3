"""Packed token sequences and index tensors derived from their lengths."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class PartMasks(Protocol):
    """Dropout masks for some rows of a batch.

    They are in the order in which the layers request them.
    """

    def next_mask(self, shape: Sequence[int], dropped: int) -> Tensor:
        """Return the next mask, which is True for values to keep.

        Args:
            shape: The shape of the mask.
            dropped: The probability to drop a value, in units of 1/65536.

        Returns:
            A tensor of bools.
        """


@dataclass(frozen=True)
class TokenBatch:
    """Sequences of token ids without padding, one after the other.

    Index tensors are computed once for each batch, on the device of the tokens.

    Attributes:
        tokens: The token ids of all rows, (total,), int64, on any device.
        offsets: The start of each row and the end of the last row, (rows + 1,), int64. It is on the CPU,
            because reading lengths from a GPU would stall it.
        masks: Dropout masks for the layers. Default: layers create masks themselves.
        copy: A copy of the tokens on the CPU, for the same reason as the offsets. Default: no copy.

    Examples:
        >>> batch = TokenBatch.from_rows([np.array([101, 2023, 102]), np.array([101, 102])])
        >>> batch.rows, batch.longest
        (2, 3)
    """

    tokens: Tensor
    offsets: Tensor
    masks: PartMasks | None = field(default=None, kw_only=True)
    copy: Tensor | None = field(default=None, kw_only=True)

    @staticmethod
    def from_rows(rows: Sequence[np.ndarray]) -> "TokenBatch":
        """Pack arrays of token ids.

        Args:
            rows: A list of the token ids of each row, (length,), integers.

        Returns:
            The batch, on the CPU.

        Raises:
            ValueError: If there are no rows, or a row is empty.

        Examples:
            >>> batch = TokenBatch.from_rows([np.array([101, 2023, 102]), np.array([101, 102])])
        """
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        if not len(lengths) or not lengths.min():
            raise ValueError("a batch should contain at least 1 row, and every row at least 1 token")
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.concatenate(rows).astype(np.int64)
        return TokenBatch(torch.from_numpy(tokens), torch.from_numpy(offsets))

    @staticmethod
    def concatenate(batches: Sequence["TokenBatch"]) -> "TokenBatch":
        """Concatenate the rows of several batches.

        Args:
            batches: A list of batches on the same device.

        Returns:
            A batch with the rows of all batches, in their order.

        Examples:
            >>> both = TokenBatch.concatenate([first, second])
        """
        lengths = torch.cat([batch.lengths for batch in batches])
        tokens, offsets = torch.cat([batch.tokens for batch in batches]), offsets_of(lengths)
        real = [batch.real for batch in batches if isinstance(batch, FilledBatch)]
        if real:
            return FilledBatch(tokens, offsets, torch.cat(real))
        copies = [batch.copy for batch in batches if batch.copy is not None]
        if len(copies) < len(batches):
            return TokenBatch(tokens, offsets)
        return TokenBatch(tokens, offsets, copy=torch.cat(copies))

    def repeat(self, times: int) -> "TokenBatch":
        """Repeat all rows, one copy of the batch after the other.

        Args:
            times: The number of copies.

        Returns:
            A batch with `times * rows` rows.

        Examples:
            >>> batch.repeat(2).rows
            4
        """
        return TokenBatch(self.tokens.repeat(times), offsets_of(self.lengths.repeat(times)))

    def slice(self, start: int, stop: int) -> "TokenBatch":
        """Return the rows from `start` to `stop` - 1.

        Args:
            start: The number of the first row, from 0.
            stop: The number of the row after the last row.

        Returns:
            A batch with `stop - start` rows.

        Examples:
            >>> batch.slice(0, 1).rows
            1
        """
        offsets = self.offsets[start : stop + 1]
        within = slice(int(offsets[0]), int(offsets[-1]))
        copy = None if self.copy is None else self.copy[within]
        return TokenBatch(self.tokens[within], offsets - offsets[0], copy=copy)

    def to(self, device: torch.device | str) -> "TokenBatch":
        """Return the batch with the tokens on a device.

        The offsets stay on the CPU.

        Args:
            device: The device, such as "cuda".

        Returns:
            A new batch that shares the offsets.

        Examples:
            >>> batch = batch.to("cuda")
        """
        tokens = self.tokens.to(device, non_blocking=True)
        return TokenBatch(tokens, self.offsets, copy=None if tokens is self.tokens else self.on_cpu)

    @property
    def on_cpu(self) -> Tensor:
        """Return the tokens on the CPU, (total,)."""
        return self.tokens.cpu() if self.copy is None else self.copy

    @property
    def rows(self) -> int:
        """Return the number of sequences."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Tensor:
        """Return the number of tokens of each row, (rows,).

        The tensor is on the device of the offsets.
        """
        return self.offsets.diff()

    @cached_property
    def longest(self) -> int:
        """Return the length of the longest row."""
        return int(self.lengths.max())

    @cached_property
    def even(self) -> bool:
        """Return whether all rows have the same length, without padding."""
        return self.rows * self.longest == len(self.tokens)

    @cached_property
    def first(self) -> Tensor:
        """Return the index of the first token of each row, (rows,)."""
        return self._on_device(self.offsets[:-1])

    @cached_property
    def last(self) -> Tensor:
        """Return the index of the last token of each row, (rows,)."""
        return self._on_device(self.offsets[1:] - 1)

    @cached_property
    def row_ids(self) -> Tensor:
        """Return the row of each token, (total,)."""
        rows = torch.arange(self.rows)
        return self._on_device(rows.repeat_interleave(self.lengths.cpu(), output_size=len(self.tokens)))

    @cached_property
    def positions(self) -> Tensor:
        """Return the position of each token in the row, from 0, (total,)."""
        return torch.arange(len(self.tokens), device=self.tokens.device) - self.first[self.row_ids]

    @property
    def given_positions(self) -> Tensor | None:
        """Return the position ids of the tokens, (total,).

        Returns None if positions count from the start of each row.
        """
        return None

    @cached_property
    def padded_places(self) -> Tensor:
        """Return the index of each token in a padded layout, (total,).

        The layout is (rows * longest).
        """
        return self.row_ids * self.longest + self.positions

    @cached_property
    def padded_mask(self) -> Tensor:
        """Return a (rows, longest) mask that is True at tokens."""
        columns = torch.arange(self.longest, device=self.tokens.device)
        return columns < self._on_device(self.lengths)[:, None]

    def head_places(self, parts: int, heads: int) -> Tensor:
        """Return the index of each token, part and head in a layout by heads.

        The layout is (parts, rows, heads, longest).

        Args:
            parts: The number of parts, such as 3 for query, key and value.
            heads: The number of attention heads.

        Returns:
            The indices, (total * parts * heads,), int64.

        Examples:
            >>> places = batch.head_places(parts=3, heads=12)
        """
        return self._head_index("places", parts, heads)

    def head_sources(self, parts: int, heads: int) -> Tensor:
        """Return the packed index of each element of a layout by heads.

        The packed layout is (total, parts, heads). The elements are in the layout (parts, rows, heads, longest). The
        index of padding is the last token of the row.

        Args:
            parts: The number of parts, such as 3 for query, key and value.
            heads: The number of attention heads.

        Returns:
            The indices, (parts * rows * heads * longest,), int64.

        Examples:
            >>> sources = batch.head_sources(parts=3, heads=12)
        """
        return self._head_index("sources", parts, heads)

    def _head_index(self, kind: str, parts: int, heads: int) -> Tensor:
        key = kind, parts, heads
        if key not in self._head_indices:
            part = torch.arange(parts, device=self.tokens.device)
            head = torch.arange(heads, device=self.tokens.device)
            if kind == "places":
                rows, within = (self.row_ids[:, None, None], self.positions[:, None, None])
                indices = ((part[:, None] * self.rows + rows) * heads + head) * self.longest + within
            else:
                columns = torch.arange(self.longest, device=self.tokens.device)
                ends = self._on_device(self.lengths)[:, None] - 1
                tokens = self.first[:, None] + torch.minimum(columns, ends)
                indices = (tokens[:, None] * parts + part[:, None, None, None]) * heads + head[:, None]
            self._head_indices[key] = indices.flatten()
        return self._head_indices[key]

    @cached_property
    def _head_indices(self) -> dict[tuple[str, int, int], Tensor]:
        return {}

    @property
    def attention_mask(self) -> Tensor | None:
        """Return the (rows, longest) mask of the tokens to attend to.

        Returns None if there is no padding.
        """
        return None if self.even else self.padded_mask

    def fill(self, token: int, length: int | None = None) -> "TokenBatch":
        """Extend rows to the same length with a padding token.

        The padding token gets hidden states but is not attended to.

        Args:
            token: The id of the padding token.
            length: The length of all rows. Default: the length of the longest row.

        Returns:
            A batch of rows of equal length, or this batch if no row needs padding.

        Examples:
            >>> filled = batch.fill(backbone.special.pad)
        """
        if length is None and self.even:
            return self
        length = length or self.longest
        tokens = self.tokens.new_full((self.rows * length,), token)
        tokens = tokens.index_copy(0, self.row_ids * length + self.positions, self.tokens)
        columns = torch.arange(length, device=self.tokens.device)
        real = columns < self._on_device(self.lengths)[:, None]
        return FilledBatch(tokens, torch.arange(self.rows + 1) * length, real)

    def pad(self, values: Tensor) -> Tensor:
        """Convert packed values to a padded tensor.

        Args:
            values: Packed values, (total, width).

        Returns:
            The values, (rows, longest, width), with zeros at padding.

        Examples:
            >>> batch.pad(states).shape
            torch.Size([2, 3, 768])
        """
        if not self.even:
            zeros = values.new_zeros(self.rows * self.longest, values.shape[1])
            values = zeros.index_copy_(0, self.padded_places, values)
        return values.view(self.rows, self.longest, -1)

    def unpad(self, padded: Tensor) -> Tensor:
        """Convert a padded tensor to packed values.

        Args:
            padded: Values with padding, (rows, longest, width).

        Returns:
            The values without padding, (total, width).

        Examples:
            >>> packed = batch.unpad(padded)
        """
        flat = padded.reshape(self.rows * self.longest, -1)
        return flat if self.even else flat.index_select(0, self.padded_places)

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean over the tokens of each row, (rows, width).

        Args:
            values: Packed values, (total, width).

        Examples:
            >>> vectors = batch.mean(hidden.last)
        """
        return self.pad(values).sum(1) / self._on_device(self.lengths)[:, None]

    def _on_device(self, values: Tensor) -> Tensor:
        return values.to(self.tokens.device, non_blocking=True)


@dataclass(frozen=True)
class FilledBatch(TokenBatch):
    """Rows of equal length with padding at their ends.

    The batch is created immediately before encoding.

    Attributes:
        real: A mask, (rows, length), that is False at padding.
    """

    real: Tensor

    def slice(self, start: int, stop: int) -> "FilledBatch":
        """Return the rows from `start` to `stop` - 1.

        Args:
            start: The number of the first row, from 0.
            stop: The number of the row after the last row.
        """
        rows = super().slice(start, stop)
        return FilledBatch(rows.tokens, rows.offsets, self.real[start:stop])

    @property
    def attention_mask(self) -> Tensor:
        """Return the (rows, length) mask of the tokens to attend to."""
        return self.real


def offsets_of(lengths: Tensor) -> Tensor:
    """Compute the offsets of packed rows from their lengths.

    Args:
        lengths: The number of tokens of each row, (rows,).

    Returns:
        The offsets, (rows + 1,).
    """
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
