"""Shared fixtures for tests of training."""

import pytest
import torch


@pytest.fixture
def double(monkeypatch):
    """Keep vectors in double precision.

    Otherwise vectors are float32 for all precisions of a run.
    """
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
