"""The number of parameters that an optimiser updated."""

import torch
from torch import nn

from replicse.registry.procedures import AdamWParameters
from replicse.training.optimiser import adamw, count_updated_parameters


def test_what_had_a_gradient_is_counted_and_of_an_optimiser_without_state_all():
    net = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 2))  # the last layer has no gradient
    optimiser = adamw([{"params": list(net.parameters()), "lr": 0.1}], AdamWParameters(optimiser="adamw"))
    plain = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net[0](torch.ones(8, 5)).mean().backward()
        optimiser.step()
        plain.step()
    assert count_updated_parameters(optimiser) == 5 * 7 + 7
    assert count_updated_parameters(plain) == 5 * 7 + 7 + 7 * 2 + 2
