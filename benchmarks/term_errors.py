"""Rounding errors of all registered loss terms, against fp64 on the CPU.

Loss and gradients are computed on small tensors on a device.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.fresh import fresh_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.products import matrix_products
from replicse.errors import BadInput
from replicse.objective import Objective, Step
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Architecture
from replicse.registry.frozen import FrozenModel, frozen_models
from replicse.registry.runs import Run
from replicse.registry.terms import Term, TermParameters
from replicse.training.benchmark import made_up_tokenizer
from replicse.training.model import open_model
from replicse.training.precision import autocast_to

ROWS, LENGTH, VOCABULARY = 4, 16, 64
SIZES = Architecture(layers=2, hidden=32, heads=2, intermediate=64, positions=32)
SEED = 4
# The factor of fp16 losses, so that small gradients do not become 0.
SCALE = 1024.0
FP64 = "fp64"
NOT_FINITE = 1e30  # because JSON does not support infinity


@dataclass(frozen=True)
class TermErrors:
    """The errors of terms on small tensors.

    Args:
        work: a folder for a tokenizer and a frozen model.
    """

    work: Path

    def __post_init__(self) -> None:
        """Write a frozen masked LM whose choices do not depend on rounding.

        It strongly prefers one token, and the cosines that rank the rows of a list differ by at least 0.04.
        """
        made_up_tokenizer(self.work, VOCABULARY)
        torch.manual_seed(SEED)
        backbone: Any = fresh_backbone(SIZES, self.tokenizer)
        spread(backbone, 2.0)
        with torch.no_grad():
            backbone.masked_lm.bias[self._ordinary(backbone)[0]] = 100.0
        backbone.save(self.work, None, self.tokenizer)

    @property
    def tokenizer(self) -> Path:
        """Return the path of tokenizer.json."""
        return self.work / TOKENIZER

    def runs(self, name: str) -> Iterator[Run]:
        """Yield runs of a term on two views, and on three if it can use them.

        Args:
            name: the name of the term.

        Raises:
            BadInput: if the term has a required parameter without a default here.
        """
        kind: type[TermParameters] = Term.known()[name]
        values = {"term": name, **self._needed(kind)}
        try:
            term = kind(**values)
        except ValueError as error:
            raise BadInput(f"it needs other parameters ({' '.join(str(error).split())[:80]})") from None
        fresh = {"architecture": SIZES.plain(), "tokenizer": {"kind": "made up"}}
        for count in (2, 3):
            if count == 2 or set(term.vector_views(3)) != set(term.vector_views(2)):
                momentum = {"momentum": {"decay": 0.9}} if term.momentum_views(count) else {}
                yield Run.of(
                    {
                        "init": {"fresh": fresh},
                        "corpus": {"name": "made-up", "format": "labelled"},
                        "views": [{"column": str(place)} for place in range(count)],
                        "objective": [values],
                        "pooling": {"train": "cls", "test": "cls"},
                        "dropout": {"hidden": 0, "attention": 0},
                        "optimisation": {"batch_size": ROWS, "max_length": LENGTH},
                        "selection": {"every": 0},
                        **momentum,
                    },
                    name,
                )

    def has_layers(self, name: str) -> bool:
        """Return whether a term uses an encoder, a frozen model or a task head.

        Other terms only compute similarities.

        Args:
            name: the name of the term.
        """
        terms = [term for run in self.runs(name) for term in run.terms]
        return any(term.passes(2) or term.task_head() or frozen_models(term) for term in terms)

    def _needed(self, kind: type[TermParameters]) -> dict[str, Any]:
        """Return a dict of the required parameters of a term.

        Frozen models get the written model, strings the name of a task, and numbers 2.
        """
        needed: dict[str, Any] = {}
        for name, field in kind.model_fields.items():
            if FrozenModel in (field.annotation, *get_args(field.annotation)):
                several = get_origin(field.annotation) is tuple
                needed[name] = [self._frozen] if several else self._frozen
            elif field.is_required() and name != kind.key:
                needed[name] = 2 if field.annotation is int else "self-test"
        return needed

    @property
    def _frozen(self) -> dict[str, str]:
        return {"folder": str(self.work)}

    def error(self, name: str, device: torch.device, precision: str) -> float:
        """Return the larger relative error of a term's loss and gradients.

        The reference is fp64 on the CPU. Values that the training loop rounds to fp32 are rounded there too.

        Args:
            name: the name of the term.
            device: the device.
            precision: the precision, such as "bf16".
        """
        errors = []
        for run in self.runs(name):
            exact = self._measured(run, torch.device("cpu"), FP64)
            here = self._measured(run, device, precision)
            errors += [relative_error(one, other) for one, other in zip(here, exact, strict=True)]
        return max(errors)

    def _measured(self, run: Run, device: torch.device, precision: str) -> tuple[Tensor, Tensor]:
        """Return the loss, (1,), and all gradients as one vector, in fp64 on CPU."""
        torch.manual_seed(run.seed)
        kind = torch.float64 if precision == FP64 else torch.float32
        model = open_model(run, None, self.tokenizer).to(device, kind).train()
        objective = Objective(run.objective or ())
        objective.prepare(model)
        objective.to(device, kind)
        columns = [self._tokens(model.backbone, view).to(device) for view in range(len(run.views or ()))]
        draw = torch.Generator().manual_seed(run.seed)
        leaves = [
            torch.randn(ROWS, model.width, generator=draw).to(device, kind).requires_grad_() for _ in columns
        ]
        scale = SCALE if precision == "fp16" else 1.0
        poolings = [SentencePooling(params, model.backbone) for params in run.poolings(run.sources[0])]
        labels = (torch.arange(ROWS) % 2).to(device, kind)
        autocast = nullcontext() if precision == FP64 else autocast_to(precision, device)
        with matrix_products(precision):
            with autocast:
                edited = objective.edit(columns, model, draw)
                loss = objective(Step(leaves, edited, model, draw, labels, poolings))
            (loss * scale).backward()
        trained = [*leaves, *model.parameters(), *objective.parameters()]
        gradients = [one.grad.flatten().double().cpu() / scale for one in trained if one.grad is not None]
        return loss.detach().double().cpu().reshape(1), torch.cat(gradients)

    def _ordinary(self, backbone: Any) -> range:
        """Return the ids of tokens that are not special."""
        special = backbone.special
        first = 1 + max(special.pad, special.unk, special.cls, special.sep, special.mask)
        return range(first, backbone.vocabulary)

    def _tokens(self, backbone: Any, seed: int) -> TokenBatch:
        """Return rows of 4 to LENGTH tokens between the special tokens.

        There are few different tokens, so that some of them repeat.
        """
        drawn, special = np.random.default_rng(seed), backbone.special
        few: Sequence[int] = self._ordinary(backbone)[:8]
        rows = [drawn.choice(few, drawn.integers(4, LENGTH - 1)) for _ in range(ROWS)]
        return TokenBatch.from_rows([np.array([special.cls, *row, special.sep]) for row in rows])


@torch.no_grad()
def spread(backbone: Backbone, times: float = 1.0) -> None:
    """Add noise to the weights of an encoder, so that rounding matters.

    With the default initialisation, the vectors of all sentences are almost equal.

    Args:
        backbone: the encoder, changed in place.
        times: the factor of the noise. Default: 1.
    """
    for parameter in backbone.parameters():
        parameter.add_(times * torch.randn_like(parameter) / backbone.hidden**0.5)


def relative_error(values: Tensor, exact: Tensor) -> float:
    """Return the norm of the difference, divided by the norm of the reference.

    Args:
        values: the values.
        exact: the reference in fp64.

    Returns:
        The error, or NOT_FINITE if a value is not finite.
    """
    error = float((values.double() - exact).norm() / exact.norm().clamp(min=1e-30))
    return error if np.isfinite(error) else NOT_FINITE
