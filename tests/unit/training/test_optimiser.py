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


def trained(net, optimiser, set_rate):
    """Make the steps of the rates; return the parameters."""
    for rate, loss in zip(RATES, losses(net), strict=True):
        optimiser.zero_grad()
        loss.backward()
        set_rate(rate)
        optimiser.step()
    return list(net.parameters())


def test_results_are_those_of_torch_bit_for_bit_and_what_had_a_gradient_is_counted():
    ours, theirs = model(), model()
    optimiser = AdamW(ours.parameters(), weight_decay=0.1)
    reference = torch.optim.AdamW(theirs.parameters(), weight_decay=0.1, fused=True)
    assert optimiser.moved == 0
    found = trained(ours, optimiser, optimiser.set_rate)
    expected = trained(theirs, reference, lambda rate: reference.param_groups[0].update(lr=rate))
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
    assert optimiser.moved == (5 * 7 + 7) + (7 * 2 + 2)
