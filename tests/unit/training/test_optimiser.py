"""AdamW against torch's own, bit for bit, and its state."""

import copy

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


def test_a_restored_optimiser_goes_on_as_the_first():
    first, second = model(), model()
    optimisers = [AdamW(net.parameters(), weight_decay=0.0) for net in (first, second)]
    for number, (rate, loss) in enumerate(zip(RATES, losses(first), strict=True)):
        if number == 2:
            second.load_state_dict(first.state_dict())
            optimisers[1].load_state_dict(copy.deepcopy(optimisers[0].state_dict()))
        optimisers[0].zero_grad()
        loss.backward()
        optimisers[0].set_rate(rate)
        optimisers[0].step()
    for number, (rate, loss) in enumerate(zip(RATES, losses(second), strict=True)):
        if number >= 2:
            optimisers[1].zero_grad()
            loss.backward()
            optimisers[1].set_rate(rate)
            optimisers[1].step()
    assert all(
        torch.equal(one, other) for one, other in zip(first.parameters(), second.parameters(), strict=True)
    )
