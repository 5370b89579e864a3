"""Evaluation suites: metrics, their ranges, and the facts for planning."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from typing import Any

from replicse.registry.corpora import STS_DEV_TASKS, STS_TASKS
from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS, categories
from replicse.registry.ranges import (
    ABOVE,
    CORRELATION,
    COSINE,
    COUNT,
    PERCENTAGE,
    SHARE,
    Metrics,
    Range,
    check_metrics,
    metrics_in,
)
from replicse.registry.registry import current
from replicse.registry.sets import GEOMETRY
from replicse.registry.suite_options import (
    TRANSFER_SPLITS,
    TRANSFER_TASKS,
    VARIANTS,
    HeadsOptions,
    MtebOptions,
    QueryOptions,
    RetrievalOptions,
    SetsOptions,
    StsOptions,
    SuiteOptions,
    TrainingOptions,
    TransferOptions,
    VariantsOptions,
    only_sets,
    only_variants,
)

AGGREGATIONS = ("all", "mean", "wmean")
AVERAGES = {"avg": "all", "avg-mean": "mean", "avg-wmean": "wmean"}  # of the seven tasks
RATINGS = ("0-1", "1-2", "2-3", "3-4", "4-5")
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
AS_READ, DEVELOPMENT = "as-read", "development-set"
NEIGHBOURS = 3  # ranks that a retrieval shows (SimCSE Table 8, DiffCSE Table 9)


@dataclass(frozen=True)
class Suite:
    """A suite: the module (`sentences` and `evaluate`), file and metrics.

    Suites of the same `group` share a job and a file, so that an additional suite does not re-run other groups.

    Args:
        module: The module with the functions `sentences` and `evaluate`.
        group: The name of the job and of the evaluation file.
        metrics: A dict from metric paths to ranges.
        fixed: Options that are always set. Default: empty.
        options: The class of the options. The job sets four options if they exist: `folder` (the encoder's),
            `encoder` (its digest), `model` (its name) and `results` (a folder next to the output). Default: none.
        named_by: The option whose keys replace `*` in metrics. Default: empty.
        listed: A function that returns these keys if no option has them. Default: None.
        narrowed: A function of options and metric paths; it returns the options of a job that computes only
            these metrics. Default: None, a job computes all metrics.
        selects: The metrics (by the last part of their names) that can select a run's best checkpoint. Default:
            empty.
        split: The paper's name of the dataset split. Default: empty.
        aggregations: Metrics that differ in the aggregation of subsets. Default: empty.
        averages: A dict from metrics to the metrics of which they are the mean. Default: empty.
        rising: Names of numbers that never decrease in this order within a dict. Default: empty.
        encodes: A dict from paths of counts below data/ to the number of times that their sentences are
            encoded. Default: empty.
        memory: The memory of a job at the papers' scale, in MB. Default: 4000.
        hours: The time limit of a job at the papers' scale. Default: 1.
    """

    module: str
    group: str
    metrics: Metrics
    fixed: Mapping[str, Any] = field(default_factory=dict)
    options: type[SuiteOptions] = SuiteOptions
    named_by: str = ""
    listed: Callable[[], Collection[str]] | None = None
    narrowed: Callable[[Mapping[str, Any], Iterable[str]], dict[str, Any]] | None = None
    selects: tuple[str, ...] = ()
    split: str = ""
    aggregations: tuple[str, ...] = ()
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rising: tuple[str, ...] = ()
    encodes: Mapping[str, int] = field(default_factory=dict)
    memory: int = 4000
    hours: int = 1

    def __post_init__(self) -> None:
        """Check the ranges, and the metrics that select a checkpoint."""
        check_metrics(self.metrics, self.selects)

    def name_in(self, path: str) -> str:
        """Return the part of a metric path at the `*` of the metrics.

        Args:
            path: A metric path of this suite.
        """
        return path.split("/")[1 + next(iter(self.metrics)).split("/").index("*")]


_BOUNDS = ("low", "high")
_RANKS = tuple(str(rank) for rank in range(1, NEIGHBOURS + 1))
_ON_TEST = {"splits": ("test",)}
_GEOMETRY = {**GEOMETRY, "n_sentences": COUNT}
_OF_SETS = {**GEOMETRY, "n": COUNT, "file": None, "sha256": None}


def _of_each(tasks: Iterable[str], metric: str) -> tuple[str, ...]:
    """Return the path of a metric for each task."""
    return tuple(f"{task}/{metric}" for task in tasks)


_STS_AVERAGES = {name: _of_each(STS_TASKS, metric) for name, metric in AVERAGES.items()}
_TRANSFER_AVERAGES = {
    "avg": _of_each(TRANSFER_TASKS, "accuracy"),
    "dev_avg": _of_each(TRANSFER_TASKS, "dev_accuracy"),
}
_MTEB_AVERAGES = {f"average/{name}": tasks for name, tasks in {**MTEB_TASKS, "all": MTEB_NAMES}.items()}
_sts = partial(
    Suite, "replicse.evaluation.sts", "fast", options=StsOptions, aggregations=AGGREGATIONS, rising=_BOUNDS
)
_density = partial(
    Suite,
    "replicse.evaluation.density",
    "fast",
    {**metrics_in(COSINE, RATINGS, ("mean", *QUANTILES)), **metrics_in(COUNT, RATINGS, ("n",))},
    rising=tuple(QUANTILES),
)
_retrieval = partial(
    Suite,
    "replicse.evaluation.retrieval",
    "fast",
    {
        "neighbours/*/query": None,
        **metrics_in(None, ("neighbours/*",), _RANKS, ("sentence",)),
        **metrics_in(COSINE, ("neighbours/*",), _RANKS, ("cosine",)),
    },
    named_by="queries",
)
_transfer = partial(
    Suite,
    "replicse.evaluation.transfer",
    "transfer",
    metrics_in(PERCENTAGE, (*chain(*_TRANSFER_AVERAGES.values()), *_TRANSFER_AVERAGES)),
    options=TransferOptions,
    averages=_TRANSFER_AVERAGES,
    encodes={"data/transfer/*": 1},
)


def _only_tasks(options: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return the options of MTEB with only the used tasks."""
    tasks: set[str] = set()
    for path in read:
        tasks.update(_MTEB_AVERAGES.get(path, (path,)))
    if "tasks" in options or tasks == set(MTEB_NAMES):
        return {**options}
    return {**options, "tasks": sorted(tasks)}


def _correlations(tasks: tuple[str, ...]) -> Metrics:
    return {**metrics_in(CORRELATION, tasks, (*AGGREGATIONS, *_BOUNDS)), **metrics_in(COUNT, tasks, ("n",))}


SUITES: dict[str, Suite] = {
    "sts": _sts(
        {**_correlations(STS_TASKS), **metrics_in(CORRELATION, AVERAGES)},
        {"split": "test"},
        split="test",
        averages=_STS_AVERAGES,
        encodes={"data/sts/*/test": 2},
    ),
    "sts-dev": _sts(_correlations(STS_DEV_TASKS), {"split": "dev"}, split="dev", selects=AGGREGATIONS),
    "variants": Suite(
        "replicse.evaluation.variants",
        "variants",
        {
            **metrics_in(
                CORRELATION,
                (AS_READ, *(name for name in VARIANTS if name != DEVELOPMENT)),
                (*STS_TASKS, "avg"),
            ),
            **metrics_in(CORRELATION, (DEVELOPMENT,), (*STS_DEV_TASKS, "avg")),
        },
        options=VariantsOptions,
        narrowed=only_variants,
    ),
    "geometry": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY),
    "geometry-test": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY, _ON_TEST),
    "density": _density(),
    "density-test": _density(_ON_TEST),
    # Narrow bins, for encoders whose cosines are all close to 1.
    "density-test-fine": _density({**_ON_TEST, "bins": 1000}),
    "retrieval": _retrieval(options=RetrievalOptions),
    "retrieval-stsb": _retrieval(
        {"corpus": {"format": "sts-sentences", "task": "STS-B", "split": "test"}}, QueryOptions
    ),
    "model": Suite("replicse.evaluation.model", "fast", {"parameters": COUNT}),
    "training": Suite(
        "replicse.evaluation.training",
        "fast",
        {
            **{"hours": ABOVE, "steps": COUNT, "sentences_per_second": ABOVE, "parameters": COUNT},
            **{"evaluations": COUNT, "selected_at": SHARE},
        },
        options=TrainingOptions,
    ),
    "transfer": _transfer({"setting": "test"}, split="test"),
    "transfer-dev": _transfer({"setting": "fast"}, split="dev", selects=("dev_accuracy", "dev_avg")),
    # Needs memory for chunks of corpora of millions of documents; a stopped run resumes at the next task.
    "mteb": Suite(
        "replicse.evaluation.mteb",
        "mteb",
        {**metrics_in(CORRELATION, (*MTEB_NAMES, *_MTEB_AVERAGES)), "precision": None, "*": CORRELATION},
        options=MtebOptions,
        listed=categories,
        narrowed=_only_tasks,
        averages=_MTEB_AVERAGES,
        memory=32000,
        hours=24,
    ),
    "sets": Suite(
        "replicse.evaluation.sets",
        "sets",
        {
            **metrics_in(CORRELATION, ("*",), ("spearman", "pearson"), AGGREGATIONS),
            **metrics_in(CORRELATION, ("*/spearman",), _BOUNDS),
            **metrics_in(PERCENTAGE, ("*",), ("accuracy", "dev_accuracy")),
            **{f"*/{name}": allowed for name, allowed in _OF_SETS.items()},
        },
        options=SetsOptions,
        named_by="sets",
        narrowed=only_sets,
        selects=(*AGGREGATIONS, "dev_accuracy"),
        aggregations=AGGREGATIONS,
        rising=_BOUNDS,
    ),
    "heads-dev": Suite(
        "replicse.evaluation.heads",
        "heads",
        {
            "*/accuracy": SHARE,
            "*/pearson": COSINE,
            "*/n": COUNT,
            **metrics_in(SHARE, ("*/heat",), RATINGS, RATINGS),
        },
        options=HeadsOptions,
        named_by="tasks",
        selects=("accuracy", "pearson"),
    ),
}
# Metrics without a suite: counts of datasets or of an architecture, and the checkpoints of a training.
COUNTED: Metrics = {
    **metrics_in(COUNT, ("sts",), STS_TASKS, ("test",)),
    **metrics_in(COUNT, ("sts",), STS_DEV_TASKS, ("train", "dev")),
    **{f"transfer/{task}/{split}": COUNT for task, splits in TRANSFER_SPLITS.items() for split in splits},
    "corpus/*/rows": COUNT,
    "overlap/*": PERCENTAGE,
    **metrics_in(COUNT, ("shared/*",), STS_DEV_TASKS, ("train", "dev", "test")),
    **metrics_in(COUNT, ("parameters/*",), ("encoder", "with-pooler")),
    "parameters/*/*/trained": COUNT,
}
OTHERS = {"data": COUNTED, "trajectory": {f"*/{metric}": limits for metric, limits in _GEOMETRY.items()}}


def groups() -> dict[str, list[Suite]]:
    """Return the suites by group; a group shares an evaluation file."""
    by_group: dict[str, list[Suite]] = {}
    for suite in current().suites.values():
        by_group.setdefault(suite.group, []).append(suite)
    return by_group


def metrics_of(name: str) -> Metrics:
    """Return the metrics of a suite and their ranges; empty if it is unknown.

    Args:
        name: The name of the suite, or `data` or `trajectory`.
    """
    suite = current().suites.get(name)
    return suite.metrics if suite else OTHERS.get(name, {})


def known_paths() -> Iterator[str]:
    """Yield every metric path, with `*` for steps, queries, corpora etc."""
    for name in (*current().suites, *OTHERS):
        for path in metrics_of(name):
            yield f"{name}/{path}"


def listed_paths() -> Iterator[str]:
    """Yield the metric paths of listed names: the tasks of MTEB."""
    for name, suite in current().suites.items():
        if suite.listed:
            for path in suite.listed():
                yield f"{name}/{path}"


def _metric(path: str) -> str | None:
    """Return the matching metric of a suite, or None."""
    name, _, rest = path.partition("/")
    metrics = metrics_of(name)
    if rest in metrics:
        return rest
    suite = current().suites.get(name)
    if suite and suite.listed and rest not in suite.listed():
        return None
    for pattern in metrics:
        if pattern.count("/") == rest.count("/") and fnmatchcase(rest, pattern):
            return pattern
    return None


def is_metric(path: str) -> bool:
    """Return whether a suite computes a metric path.

    Args:
        path: A string such as "sts/STS-B/all".
    """
    return _metric(path) is not None


def is_percentage(path: str) -> bool:
    """Return whether a metric is multiplied by 100, such as a correlation.

    Args:
        path: The metric path.
    """
    return range_of(path) in (CORRELATION, PERCENTAGE)


def unit_of(path: str) -> str:
    """Return the unit of a metric.

    Args:
        path: The metric path.

    Returns:
        `points` (x 100), `count` or `1`; an empty string if the metric is not a number.
    """
    limits = range_of(path)
    if limits is None:
        return ""
    if is_percentage(path):
        return "points"
    return "count" if limits.whole else "1"


def range_of(path: str) -> Range | None:
    """Return the range of a metric.

    Args:
        path: The metric path.

    Returns:
        The range; None for sentences and unknown paths.
    """
    metric = _metric(path)
    return metrics_of(path.partition("/")[0])[metric] if metric else None


def file_of(path: str) -> str:
    """Return the name of the evaluation file with a metric path.

    Args:
        path: A metric path, or the name of a suite.

    Returns:
        A group of suites, `trajectory` or `counts`.
    """
    suite = path.partition("/")[0]
    return {"data": "counts", "trajectory": "trajectory"}.get(suite) or current().suites[suite].group
