"""The optimiser of a run, its learning rates by part and layer, and the numbers that it moved."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from replicse.registry.procedures import AdamWParameters
from replicse.registry.run_options import Optimisation
from replicse.training.model import SentenceModel


def adamw(groups: Sequence[dict[str, Any]], parameters: AdamWParameters) -> torch.optim.Optimizer:
    """Return torch's AdamW, in its fused kernel; parameters without a gradient are left alone."""
    return torch.optim.AdamW(groups, betas=parameters.betas, eps=parameters.epsilon, fused=True)


def rate_groups(
    model: SentenceModel, terms: Iterable[nn.Parameter], options: Optimisation
) -> list[dict[str, Any]]:
    """Return the trained parameters of a model and those of terms in groups of one learning rate, `rate`."""
    part, decay = options.rates.get, options.layer_decay
    terms, every = list(terms), options.learning_rate
    rates = dict.fromkeys(terms, part("terms", every))
    for head in (model.head, model.task_heads, *(model.second or ())[1:]):
        rates |= dict.fromkeys(head.parameters(), part("head", every))
    for backbone in (model.backbone, *(model.second or ())[:1]):
        rates |= dict.fromkeys(backbone.parameters(), part("encoder", every))
        if decay < 1:
            top = backbone.layer_count - 1
            layers = [backbone.embedding_parameters(), *map(backbone.layer_parameters, range(top + 1))]
            for below, layer in enumerate(reversed(layers)):
                rates |= dict.fromkeys(layer, part("encoder", every) * decay**below)
    groups = defaultdict(list)
    for parameter in (*model.trained(), *terms):
        groups[rates[parameter]].append(parameter)
    return [
        {"params": group, "lr": rate, "rate": rate, "weight_decay": options.weight_decay}
        for rate, group in groups.items()
    ]


def moved(optimiser: torch.optim.Optimizer) -> int:
    """Return how many numbers it has moved so far: those of all parameters that ever had a gradient."""
    every = (parameter for group in optimiser.param_groups for parameter in group["params"])
    return sum(parameter.numel() for parameter in optimiser.state or every)
