"""Detection of encoders that give all sentences the same vector."""

import numpy as np

# The least variance of vectors as a share of their mean square. With this share, vectors differ by a millionth of their
# length, which is the rounding error of fp32 in a few layers, and scores would depend on rounding. The smallest share
# in the embedded and compact studies is 0.18, and 1e-8 for a random encoder with an untrained projector.
COLLAPSED = 1e-12


def describe_collapse(vectors: np.ndarray) -> str:
    """Return an error message if all vectors are equal except for rounding.

    Args:
        vectors: Sentence vectors, (n, width), float64.

    Returns:
        The message. It is empty if the vectors differ, if there are fewer than two, or if a value is not finite; such
        scores have errors of their own.
    """
    if len(vectors) < 2 or not np.isfinite(vectors).all():
        return ""
    spread = vectors.var(axis=0).sum() / max((vectors**2).sum(axis=1).mean(), np.finfo(float).tiny)
    if spread >= COLLAPSED:
        return ""
    return (
        f"the encoder has collapsed, the vectors of {len(vectors):,} sentences are equal (their variance is"
        f" {spread:.0e} of their mean square)"
    )
