"""The method of Mirror-BERT (Liu et al. 2021).

NT-Xent on a sentence and a copy of it with a masked span of characters.
"""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Literal

from replicse.augment.lines import each_line
from replicse.checked import Count, Positive, Text
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.terms import TwoViews

if TYPE_CHECKING:
    from torch import Tensor

    from replicse.objective.terms import Step


class NTXentParameters(TwoViews):
    """NT-Xent (Chen et al. 2020).

    InfoNCE that compares each vector with all other vectors of both views.

    Args:
        temperature: the divisor of the cosines. Default: 0.05.
    """

    term: Literal["nt-xent"]
    temperature: Positive = 0.05


def nt_xent(step: "Step", parameters: NTXentParameters) -> "Tensor":
    """Compute NT-Xent, the mean cross-entropy over the vectors of both views.

    Each of the 2B vectors is compared with the 2B - 1 other vectors. The positive is the other view of the same row.

    Args:
        step: a training step, with the vectors of two views, each (B, width).
        parameters: the parameters of the term.

    Returns:
        The loss, a scalar.
    """
    import torch
    import torch.nn.functional as F

    from replicse.objective.similarity import dot_products

    first, second = step.vectors_of((0, 1))
    vectors, rows = F.normalize(torch.cat([first, second]), dim=-1), len(first)
    logits = dot_products(vectors, vectors) / parameters.temperature
    itself = torch.eye(len(vectors), dtype=torch.bool, device=logits.device)
    places = torch.arange(len(vectors), device=logits.device)
    return F.cross_entropy(logits.masked_fill(itself, -torch.inf), places.roll(rows))


class SpanMasking(AugmentationParameters):
    """Replacement of a span of characters with a mask (Mirror-BERT).

    The mask has a space on each side, so it can split words (Liu et al. 2021). Lines are not changed if they are
    shorter than `shortest` characters or not longer than the span. The default mask is the
    mask token of BERT, also for encoders with another mask token.

    Args:
        characters: the length of the span. Default: 5.
        shortest: the minimum length of a line, in characters. Default: 30.
        mask: the string to insert. The tokenizer splits it into tokens like any other string. Default: "[MASK]".
    """

    name: Literal["span-masking"]
    characters: Count = 5
    shortest: Count = 30
    mask: Text = "[MASK]"


def span_masking(lines: Sequence[str], *, seed: int, characters: int, shortest: int, mask: str) -> list[str]:
    """Replace a random span of each line with the mask, between spaces.

    Args:
        lines: the lines.
        seed: the seed of the random spans.
        characters: the length of the span.
        shortest: the minimum length of a line, in characters. Shorter lines are not changed.
        mask: the string to insert.

    Returns:
        List of the changed lines, in the same order.
    """

    def mask_span(line: str, random: Random) -> str:
        if len(line) <= characters or len(line) < shortest:
            return line
        start = random.randrange(len(line) - characters)
        before, after = line.split(line[start : start + characters], 1)
        return f"{before} {mask} {after}"

    return each_line(lines, seed, mask_span)
