"""The simulated GPU refuses the same tensors as a GPU, and counts waits."""

import pytest
import torch
from pretended import MixedDevices, pretended_gpu


def test_tensors_of_two_devices_are_refused_but_for_a_number():
    with pretended_gpu():
        values = torch.ones(3, device="cuda")
        assert values.device.type == "cuda" and (values * torch.tensor(2.0)).sum().item() == 6
        with pytest.raises(MixedDevices, match=r"cuda \[3\], cpu \[3\]"):
            values + torch.ones(3)
        with pytest.raises(TypeError, match="numpy"):
            values.numpy()


@pytest.mark.parametrize(
    ("reads", "waits"),
    [
        (lambda values: values.sum() * 2, 0),
        (lambda values: values.to("cuda", non_blocking=True), 0),
        (lambda values: torch.arange(4).to("cuda", non_blocking=True), 0),
        (lambda values: torch.arange(4).to("cuda"), 1),
        (lambda values: torch.tensor([1, 2], device="cuda"), 1),
        (lambda values: values.cpu(), 1),
        (lambda values: float(values.sum()), 1),
        (lambda values: values.tolist(), 1),
        (lambda values: bool(values.any()), 1),
        (lambda values: values[values > 1], 1),
        (lambda values: values.nonzero(), 1),
        (lambda values: torch.unique(values), 1),
    ],
)
def test_reads_and_blocking_copies_are_waits(reads, waits):
    with pretended_gpu() as work:
        values = torch.arange(4.0).to("cuda", non_blocking=True)
        reads(values)
        assert len(work.waits) == waits, work.waits


def test_views_launch_nothing_and_gradients_are_of_the_device():
    with pretended_gpu() as work:
        weight = torch.ones(2, 3).to("cuda", non_blocking=True).requires_grad_()
        work.kernels.clear()
        weight.view(6).t()
        assert not work.kernels
        (weight @ weight.T).sum().backward()
        assert work.kernels["aten::mm"] == 3 and weight.grad.device.type == "cuda"
