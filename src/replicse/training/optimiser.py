"""The optimiser of a run, and learning rates by part, layer and step."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from replicse.registry.procedures import AdamWParameters, ScheduleParameters
from replicse.registry.run_options import Optimisation
from replicse.training.model import SentenceModel


def adamw(groups: Sequence[dict[str, Any]], parameters: AdamWParameters) -> torch.optim.Optimizer:
    """Create torch's fused AdamW.

    It does not update parameters without a gradient.

    Args:
        groups: A list of parameter groups, each with a learning rate and a weight decay.
        parameters: Betas and epsilon.
    """
    return torch.optim.AdamW(groups, betas=parameters.betas, eps=parameters.epsilon, fused=True)


def group_by_rate(
    model: SentenceModel, terms: Iterable[nn.Parameter], options: Optimisation
) -> list[dict[str, Any]]:
    """Group the trained parameters of a model and of terms by learning rate.

    Args:
        model: The model in training.
        terms: The parameters of the terms.
        options: The learning rates, layer decay and weight decay.

    Returns:
        A list of parameter groups for a torch optimiser. `rate` is the learning rate before the schedule.
    """
    terms = list(terms)
    rates = _learning_rates(model, terms, options)
    groups = defaultdict(list)
    for parameter in (*model.trained_parameters(), *terms):
        groups[rates[parameter]].append(parameter)
    decay = options.weight_decay
    return [
        {"params": group, "lr": rate, "rate": rate, "weight_decay": decay} for rate, group in groups.items()
    ]


def _learning_rates(
    model: SentenceModel, terms: Sequence[nn.Parameter], options: Optimisation
) -> dict[nn.Parameter, float]:
    """Return the learning rate of each parameter, before the schedule."""
    default = options.learning_rate
    rates = dict.fromkeys(terms, options.rates.get("terms", default))
    heads: list[nn.Module] = [model.head, model.task_heads]
    backbones = [model.backbone]
    if model.second is not None:
        backbones.append(model.second[0])
        heads.append(model.second[1])
    for head in heads:
        rates |= dict.fromkeys(head.parameters(), options.rates.get("head", default))
    encoder_rate = options.rates.get("encoder", default)
    for backbone in backbones:
        rates |= dict.fromkeys(backbone.parameters(), encoder_rate)
        if options.layer_decay < 1:
            layers = [backbone.embedding_parameters()]
            layers += map(backbone.layer_parameters, range(backbone.layer_count))
            for distance, layer in enumerate(reversed(layers)):
                rates |= dict.fromkeys(layer, encoder_rate * options.layer_decay**distance)
    return rates


def count_updated_parameters(optimiser: torch.optim.Optimizer) -> int:
    """Count the numbers in the parameters that have been updated.

    Parameters count if they have a state in the optimiser, or all if the optimiser has no state.

    Args:
        optimiser: The optimiser of a run.
    """
    if optimiser.state:
        return sum(parameter.numel() for parameter in optimiser.state)
    return sum(parameter.numel() for group in optimiser.param_groups for parameter in group["params"])


def learning_rate_factor(step: int, steps: int, warmup: float, decay: ScheduleParameters) -> float:
    """Return the factor of the learning rate at a step.

    The factor increases linearly during warm-up and then follows the schedule.

    Args:
        step: The number of the step, from 0.
        steps: The number of steps of the run.
        warmup: The share of the steps with warm-up.
        decay: The schedule of the steps after warm-up.

    Returns:
        The factor, usually from 0 to 1.
    """
    rising = math.ceil(warmup * steps)
    return step / rising if step < rising else decay.factor(step - rising, max(1, steps - rising))
