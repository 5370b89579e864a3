import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from replicse.encoder.packed import linear as module
from replicse.encoder.packed.linear import Linear, linear

# Below, at and above the multiples of 64 that rows are filled up to.
ROWS = st.sampled_from([1, 2, 33, 63, 64, 65, 100, 128, 130])
needs_onednn = pytest.mark.skipif(not module._ONEDNN, reason="this torch has no oneDNN")
relaxed = settings(deadline=None, max_examples=50)


def with_gradients(function, *tensors):
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    result = function(*leaves)
    weights = torch.arange(result.numel(), dtype=result.dtype).view(result.shape).cos()
    (result * weights).sum().backward()
    return [result.detach(), *(leaf.grad for leaf in leaves)]


@pytest.fixture
def onednn(monkeypatch):
    """As on a processor of AMD."""
    monkeypatch.setattr(module, "LIBRARY", "oneDNN")


@needs_onednn
@relaxed
@given(ROWS, st.integers(1, 17), st.integers(1, 19), st.booleans())
def test_values_and_gradients_agree_with_torch(rows, inputs, outputs, biased):
    tensors = [torch.randn(rows, inputs), torch.randn(outputs, inputs)]
    tensors += [torch.randn(outputs)] if biased else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIBRARY", "oneDNN")
        ours = with_gradients(linear, *tensors)
    for mine, theirs in zip(ours, with_gradients(F.linear, *tensors), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_products_keep_the_precision_of_fp32(onednn):
    values, weight = torch.randn(256, 512), torch.randn(64, 512)
    exact = values.double() @ weight.double().T
    assert (linear(values, weight) - exact).abs().max() < 2e-4  # bf16 would be off by 0.2


@needs_onednn
def test_fp32_products_are_those_of_onednn_where_it_is_chosen(onednn):
    result = linear(torch.randn(2, 3, requires_grad=True), torch.randn(4, 3))
    assert type(result.grad_fn).__name__ == "OneDnnLinearBackward"


def test_other_kinds_of_input_take_the_ordinary_way(onednn):
    assert linear(torch.zeros(0, 3), torch.zeros(4, 3)).shape == (0, 4)
    values, weight = torch.randn(2, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    assert torch.equal(linear(values, weight), F.linear(values, weight))
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


@needs_onednn
def test_rows_are_filled_up_so_that_few_kernels_are_compiled(monkeypatch, onednn):
    seen = []
    product = module._product

    def recorded(left, right, bias=None):
        seen.append((tuple(left.shape), tuple(right.shape)))
        return product(left, right, bias)

    monkeypatch.setattr(module, "_product", recorded)
    weight = torch.randn(4, 3, requires_grad=True)
    for rows in (65, 77, 127):
        seen.clear()
        linear(torch.randn(rows, 3, requires_grad=True), weight).sum().backward()
        assert seen == [((128, 3), (4, 3)), ((128, 4), (3, 4)), ((4, 128), (3, 128))]
