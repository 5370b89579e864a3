"""What the tests of training share."""

import pytest
import torch


@pytest.fixture
def double(monkeypatch):
    """Vectors are float32 to all precisions of a run; here they stay what they are."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
