"""Corpora and suite that only SimCSE (Gao et al. 2021) uses.

The corpora are Quora Question Pairs and image captions; the suite is the spectrum of sentence vectors.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from replicse.errors import BadInput
from replicse.registry.corpora import OneColumn, OneFile
from replicse.registry.suites import COUNT, Range, Suite

SUITES = {
    "spectrum": Suite(
        "papers.simcse.spectrum",
        "fast",
        {"effective_rank": Range(low=1), "n_sentences": COUNT, "dimensions": COUNT},
    )
}


class Qqp(OneFile):
    """The duplicate pairs of Quora Question Pairs, from the published file."""

    format: Literal["qqp"]


def qqp(root: Path, corpus: Qqp) -> Iterator[tuple[str, str]]:
    """Yield the duplicate pairs of Quora Question Pairs.

    The file is tab-separated and has a header. Quotation marks have no special meaning.

    Args:
        root: The folder of the corpus's file.
        corpus: The corpus, with the name of the file.

    Raises:
        BadInput: If a label is not "0" or "1".
    """
    from replicse.data.sts import one_spaced, read_table

    path = root / corpus.file
    for number, (first, second, label) in read_table(path, ("question1", "question2", "is_duplicate")):
        if label not in ("0", "1"):
            raise BadInput(f'{path}:{number}: is_duplicate is "{label}"; expected 0 or 1')
        if label == "1":
            yield one_spaced(first), one_spaced(second)


class CaptionLines(OneColumn, OneFile):
    """Image captions, one caption per row."""

    format: Literal["caption-lines"]


def caption_lines(root: Path, corpus: CaptionLines) -> Iterator[tuple[str]]:
    """Yield each caption of a file with the names of the images."""
    from replicse.data.corpora import image_captions

    return ((caption,) for _, caption in image_captions(root / corpus.file))
