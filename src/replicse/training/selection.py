"""Selection of the best checkpoint: a score on a development set, read once and tokenised once; higher is better."""

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


def selection_of(
    root: Path, rule: SelectionRule, heads: Mapping[str, nn.Module]
) -> Callable[[SentenceEncoder], float | None]:
    """Return what scores an encoder by a metric path that the spec has checked; None where the score is undefined.

    The path is one of a similarity set, such as `sts-dev/STS-B/all`, of a labelled task, `heads-dev/SST/accuracy`, or
    of any other suite, which its own code evaluates. The first two are read once, without their intervals.
    """
    if not rule.task and rule.suite != "sts-dev":
        return partial(_suite_score, root, rule)
    _, task, key = rule.metric.split("/")
    if rule.task:
        if rule.data is None:
            raise BadInput(f"selection.data is not given; name the labelled development set of {task}")
        labelled = load_labelled(root, rule.data)

        def task_score(vectors: SentenceEncoder) -> float | None:
            vectors.forget()
            vectors.prepare(labelled.every)
            return predicted_scores(labelled, vectors, heads.get(task))[key]

        return task_score
    subsets = load_sts(root, task, "dev")

    def sts_score(vectors: SentenceEncoder) -> float | None:
        vectors.forget()
        vectors.prepare(sentence for subset in subsets for sentence in (*subset.first, *subset.second))
        return score_task(subsets, predict(subsets, vectors))[0][key]

    return sts_score


def _suite_score(root: Path, rule: SelectionRule, vectors: SentenceEncoder) -> float | None:
    """Return the number at the rule's metric path, as the suite itself evaluates an encoder."""
    vectors.forget()
    numbers = run_suites(root, vectors, [rule.suite], {rule.suite: rule.options})["suites"]
    return reduce(lambda part, key: part[key], rule.metric.split("/"), numbers)
