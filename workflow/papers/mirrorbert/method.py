"""Mirror-BERT's method (Liu et al. 2021): NT-Xent on a sentence and itself with a span of characters masked."""

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
    """NT-Xent (Chen et al. 2020): InfoNCE of both views, each vector against all others of the batch in both."""

    term: Literal["nt-xent"]
    temperature: Positive = 0.05


def nt_xent(step: "Step", parameters: NTXentParameters) -> "Tensor":
    """Return the mean cross-entropy of each of the 2B vectors against the 2B - 1 others.

    The other view of its row is the positive.
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
    """A span of characters replaced by a mask between blanks, which breaks words (Mirror-BERT, Liu et al. 2021).

    Lines of fewer than `shortest` characters, or of no more than the span has, stay as they are. `mask` is text: what a
    tokenizer makes of it is its affair.
    """

    name: Literal["span-masking"]
    characters: Count = 5
    shortest: Count = 30
    mask: Text = "[MASK]"


def span_masking(lines: Sequence[str], *, seed: int, characters: int, shortest: int, mask: str) -> list[str]:
    """Return every line with a random span of so many characters replaced by the mask, a blank on each side.

    As in the reference code the span never ends a line, and its text is masked where it first occurs, which may be
    before the place that was drawn.
    """

    def masked(line: str, random: Random) -> str:
        if len(line) <= characters or len(line) < shortest:
            return line
        start = random.randrange(len(line) - characters)
        before, after = line.split(line[start : start + characters], 1)
        return f"{before} {mask} {after}"

    return each_line(lines, seed, masked)
