"""AdamW against torch's own, bit for bit, and its state."""

import torch
from torch import nn

from replicse.training.optimiser import AdamW

RATES = [1e-2, 5e-3, 1e-3, 1e-3]


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2), nn.Linear(2, 2))


def losses(net):
    torch.manual_seed(1)
    for _ in RATES:
        yield (net[:3](torch.randn(8, 5)) ** 2).mean()  # the last layer never has a gradient


def test_moved_counts_what_ever_had_a_gradient():
    net = model()
    optimiser = AdamW(net.parameters(), weight_decay=0.1)
    assert optimiser.moved == 0
    for rate, loss in zip(RATES, losses(net), strict=True):
        optimiser.zero_grad()
        loss.backward()
        optimiser.set_rate(rate)
        optimiser.step()
        assert optimiser.moved == (5 * 7 + 7) + (7 * 2 + 2)


def test_results_are_those_of_torch_bit_for_bit():
    ours, theirs = model(), model()
    reference = torch.optim.AdamW(theirs.parameters(), weight_decay=0.1, fused=True)
    for rate, loss in zip(RATES, losses(theirs), strict=True):
        reference.param_groups[0]["lr"] = rate
        reference.zero_grad()
        loss.backward()
        reference.step()
    optimiser = AdamW(ours.parameters(), weight_decay=0.1)
    for rate, loss in zip(RATES, losses(ours), strict=True):
        optimiser.zero_grad()
        loss.backward()
        optimiser.set_rate(rate)
        optimiser.step()
    assert all(
        torch.equal(one, other) for one, other in zip(ours.parameters(), theirs.parameters(), strict=True)
    )
    assert len(optimiser.state) == 4
