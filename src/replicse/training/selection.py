"""Selection of the best checkpoint by a score on a development set."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path

from torch import nn

from replicse.data.sts import load_sts
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation.heads import load_labelled, predicted_scores
from replicse.evaluation.sts import predict, score_task
from replicse.evaluation.suites import run_suites
from replicse.registry.run_options import SelectionRule


def make_dev_score(
    root: Path, rule: SelectionRule, heads: Mapping[str, nn.Module]
) -> Callable[[SentenceEncoder], float | None]:
    """Create the function that scores an encoder for selection.

    Development datasets of STS and of labelled tasks are loaded once, and their scores have no intervals. A metric of
    another suite is evaluated by the code of the suite.

    Args:
        root: The folder of the evaluation datasets.
        rule: The selection rule, with the path of the metric, such as `sts-dev/STS-B/all` or
            `heads-dev/SST/accuracy`.
        heads: A dict from tasks to heads.

    Returns:
        A function that returns the score of an encoder, or None if the score is undefined.

    Raises:
        BadInput: If the rule is for a labelled task and specifies no development dataset.
    """
    if not rule.task and rule.suite != "sts-dev":
        return partial(_score_by_suite, root, rule)
    _, task, key = rule.metric.split("/")
    if rule.task:
        if rule.data is None:
            raise BadInput(f"selection.data is missing; specify the labelled development set of {task}")
        labelled = load_labelled(root, rule.data)

        def score_by_task(vectors: SentenceEncoder) -> float | None:
            vectors.forget()
            vectors.prepare(labelled.every)
            return predicted_scores(labelled, vectors, heads.get(task))[key]

        return score_by_task
    subsets = load_sts(root, task, "dev")

    def score_by_sts(vectors: SentenceEncoder) -> float | None:
        vectors.forget()
        vectors.prepare(sentence for subset in subsets for sentence in (*subset.first, *subset.second))
        return score_task(subsets, predict(subsets, vectors))[0][key]

    return score_by_sts


def _score_by_suite(root: Path, rule: SelectionRule, vectors: SentenceEncoder) -> float | None:
    """Return the value at the rule's metric path after evaluating the suite."""
    vectors.forget()
    numbers = run_suites(root, vectors, [rule.suite], {rule.suite: rule.options})["suites"]
    return reduce(lambda part, key: part[key], rule.metric.split("/"), numbers)
