"""Predict masked tokens from a sentence vector, as in InfoCSE.

After Wu et al. (2022), with a residual head.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from replicse.registry.encoders import HeadParameters
from replicse.registry.terms import Ratio, TermParameters


class ReconstructionParameters(TermParameters):
    """Predict masked tokens of view 1 from their states and a sentence vector.

    The term adds a layer. It uses the sentence vector before the head. By default, 40% of the tokens are
    masked.
    """

    implementation: ClassVar[str] = "twostage.parts:Reconstruction"
    term: Literal["reconstruction"]
    ratio: Ratio = 0.4

    def vector_views(self, count: int) -> Sequence[int]:
        """Return the first view."""
        return (0,)

    def passes(self, count: int) -> float:
        """Return one pass: the masked copy."""
        return 1


class ResidualHead(HeadParameters):
    """Add tanh of a linear layer to a vector."""

    implementation: ClassVar[str] = "twostage.parts:Residual"
    kind: Literal["residual"]
