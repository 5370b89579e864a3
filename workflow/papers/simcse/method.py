"""What SimCSE (Gao et al. 2021) alone measures: the singular values of sentence vectors (Figure F.1)."""

from replicse.registry.suites import COUNT, Range, Suite

SUITES = {
    "spectrum": Suite(
        "papers.simcse.spectrum",
        "fast",
        {"effective_rank": Range(low=1), "n_sentences": COUNT, "dimensions": COUNT},
    )
}
