"""Linear layers on packed tokens, compared with torch's layers."""

import pytest
import torch
import torch.nn.functional as F

import replicse.encoder.packed.linear as packed_linear
from replicse.encoder.packed.linear import Linear, linear


def with_gradients(function, *tensors):
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    result = function(*leaves)
    weights = torch.arange(result.numel(), dtype=result.dtype).view(result.shape).cos()
    (result * weights).sum().backward()
    return [result.detach(), *(leaf.grad for leaf in leaves)]


def test_other_precisions_take_the_ordinary_way(monkeypatch):
    monkeypatch.setattr(packed_linear, "multiplies_by_onednn", lambda: False)
    assert linear(torch.zeros(0, 3), torch.zeros(4, 3)).shape == (0, 4)
    values, weight = torch.randn(100, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    assert torch.equal(linear(values, weight), F.linear(values, weight))
    assert torch.equal(linear(values.float(), weight.float()), F.linear(values.float(), weight.float()))
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(values.float(), weight.float()).dtype == torch.bfloat16


@pytest.mark.parametrize("rows", [33, 64, 65, 130])
def test_bf16_products_are_those_of_whole_blocks_of_rows(rows, monkeypatch):
    values, weight, bias = torch.randn(rows, 16), torch.randn(8, 16), torch.randn(8)
    seen = []
    plain = F.linear
    monkeypatch.setattr(F, "linear", lambda given, *rest: seen.append(len(given)) or plain(given, *rest))
    with torch.autocast("cpu", torch.bfloat16):
        ours = with_gradients(linear, values, weight, bias)
        theirs = with_gradients(plain, values, weight, bias)
    assert seen == [rows if rows < 64 else 64 * -(-rows // 64)]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def test_no_gradient_is_computed_for_what_needs_none():
    layer = Linear(3, 4).requires_grad_(False)
    values = torch.randn(2, 3, requires_grad=True)
    layer(values).sum().backward()
    torch.testing.assert_close(values.grad, layer.weight.sum(0).expand(2, 3))
    assert layer.weight.grad is None and layer.bias.grad is None


@pytest.mark.parametrize("rows", [0, 1, 70])
def test_products_by_onednn_equal_those_of_torch_to_rounding(rows, monkeypatch):
    monkeypatch.setattr(packed_linear, "multiplies_by_onednn", lambda: True)
    values, whole, bias = torch.randn(rows, 16), torch.randn(24, 16), torch.randn(8)
    inputs, plain = [], F.linear
    monkeypatch.setattr(F, "linear", lambda given, *rest: inputs.append(given.layout) or plain(given, *rest))
    ours = with_gradients(lambda values, whole, bias: linear(values, whole[8:16], bias), values, whole, bias)
    theirs = with_gradients(lambda values, whole, bias: plain(values, whole[8:16], bias), values, whole, bias)
    assert inputs == [torch._mkldnn]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
