"""What SimCSE (Gao et al. 2021) alone has: Quora's question pairs (Table 4), the spectrum of vectors (Figure F.1)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from replicse.errors import BadInput
from replicse.registry.corpora import OneFile
from replicse.registry.suites import COUNT, Range, Suite

SUITES = {
    "spectrum": Suite(
        "papers.simcse.spectrum",
        "fast",
        {"effective_rank": Range(low=1), "n_sentences": COUNT, "dimensions": COUNT},
    )
}


class Qqp(OneFile):
    """The duplicate pairs of Quora Question Pairs."""

    format: Literal["qqp"]


def qqp(root: Path, corpus: Qqp) -> Iterator[tuple[str, str]]:
    """Yield the duplicate pairs of Quora Question Pairs: tabs, a header, no quoting."""
    from replicse.data.sts import one_spaced, read_table

    path = root / corpus.file
    for number, (first, second, label) in read_table(path, ("question1", "question2", "is_duplicate")):
        if label not in ("0", "1"):
            raise BadInput(f'{path}:{number}: is_duplicate is "{label}"; expected 0 or 1')
        if label == "1":
            yield one_spaced(first), one_spaced(second)
