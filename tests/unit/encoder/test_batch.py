import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoders import batch_of

from replicse.encoder.batch import TokenBatch

relaxed = settings(max_examples=25)
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=8)


def rows_of(batch):
    return [row.tolist() for row in batch.tokens.split(batch.lengths.tolist())]


@relaxed
@given(LENGTHS)
def test_index_tensors_agree_with_a_loop_over_the_rows(lengths):
    batch = batch_of(lengths)
    rows, positions, first = [], [], []
    for row, length in enumerate(lengths):
        first.append(len(rows))
        rows += [row] * length
        positions += range(length)
    assert batch.rows == len(lengths)
    assert batch.longest == max(lengths)
    assert batch.even == (len(set(lengths)) == 1)
    assert batch.row_ids.tolist() == rows
    assert batch.positions.tolist() == positions
    assert batch.first.tolist() == first
    assert batch.padded_places.tolist() == (max(lengths) * np.array(rows) + positions).tolist()
    assert batch.padded_mask.sum(1).tolist() == lengths


@relaxed
@given(LENGTHS)
def test_padding_and_packing_are_inverse(lengths):
    batch = batch_of(lengths)
    values = torch.randn(len(batch.tokens), 3)
    padded = batch.pad(values)
    assert padded.shape == (len(lengths), max(lengths), 3)
    assert (padded[~batch.padded_mask] == 0).all()
    assert torch.equal(batch.unpad(padded), values)


@relaxed
@given(LENGTHS, LENGTHS, st.data())
def test_batches_are_joined_and_cut_between_rows(left, right, data):
    one, other = batch_of(left), batch_of(right, seed=1)
    joined = TokenBatch.concatenate([one, other])
    assert rows_of(joined) == rows_of(one) + rows_of(other)
    assert rows_of(one.repeat(3)) == rows_of(one) * 3
    start = data.draw(st.integers(0, len(left) - 1))
    stop = data.draw(st.integers(start + 1, len(left)))
    assert rows_of(one.slice(start, stop)) == rows_of(one)[start:stop]


@pytest.mark.parametrize("rows", [[], [np.array([1, 2]), np.array([], dtype=np.int32)]])
def test_no_rows_and_empty_rows_are_refused(rows):
    with pytest.raises(ValueError, match="at least 1"):
        TokenBatch.from_rows(rows)
