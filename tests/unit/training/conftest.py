"""Shared fixtures for tests of training."""

import pytest
import torch


@pytest.fixture
def double(monkeypatch):
    """Keep vectors in float64.

    By default, vectors are converted to float32 for all precisions of a run.
    """
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
