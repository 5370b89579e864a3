"""Selection of the best checkpoint: a similarity score on a development set, read once and tokenised once."""

from pathlib import Path

from replicse.data.sts import load_sts
from replicse.encoder.sentence import SentenceEncoder
from replicse.evaluation.sts import predict, score_task


class Selection:
    """Score an encoder by a metric path that the spec has checked, such as `sts-dev/STS-B/all`; higher is better."""

    def __init__(self, root: Path, metric: str) -> None:
        _, task, self.aggregation = metric.split("/")
        self.subsets = load_sts(root, task, "dev")

    def __call__(self, vectors: SentenceEncoder) -> float | None:
        """Return the score, or None where it is undefined (a collapsed encoder)."""
        vectors.forget()
        vectors.prepare(sentence for subset in self.subsets for sentence in (*subset.first, *subset.second))
        return score_task(self.subsets, predict(self.subsets, vectors))[0][self.aggregation]
