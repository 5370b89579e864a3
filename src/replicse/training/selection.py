"""Selection of the best checkpoint: a similarity score on a development set, read once and tokenised once."""

from pathlib import Path

from replicse.data.sts import load_sts
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation.sts import AGGREGATIONS, TASKS, predict, score_task


class Selection:
    """Score an encoder by a metric path such as `sts-dev/STS-B/all`; higher is better."""

    def __init__(self, root: Path, metric: str) -> None:
        suite, _, rest = metric.partition("/")
        task, _, self.aggregation = rest.partition("/")
        if suite != "sts-dev" or task not in TASKS["dev"] or self.aggregation not in AGGREGATIONS:
            raise BadInput(
                f'selection.metric is "{metric}"; expected sts-dev/TASK/AGGREGATION, as sts-dev/STS-B/all'
            )
        self.subsets = load_sts(root, task, "dev")

    def __call__(self, vectors: SentenceEncoder) -> float | None:
        """Return the score, or None where it is undefined (a collapsed encoder)."""
        vectors.forget()
        vectors.prepare(sentence for subset in self.subsets for sentence in (*subset.first, *subset.second))
        return score_task(self.subsets, predict(self.subsets, vectors))[0][self.aggregation]
