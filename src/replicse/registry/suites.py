"""Evaluation suites: what each yields, where its numbers lie, and what a study has to know to run it."""

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
    metrics_in,
)
from replicse.registry.registry import current
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
)

AGGREGATIONS = ("all", "mean", "wmean")
AVERAGES = {"avg": "all", "avg-mean": "mean", "avg-wmean": "wmean"}  # of the seven tasks
RATINGS = ("0-1", "1-2", "2-3", "3-4", "4-5")
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
AS_READ, DEVELOPMENT = "as-read", "development-set"
NEIGHBOURS = 3  # ranks that a retrieval shows (SimCSE Table 8, DiffCSE Table 9)


@dataclass(frozen=True)
class Suite:
    """One suite: its module (`sentences` and `evaluate`), the file that it shares, and what it yields.

    Suites of one `group` share a job and a file, so that a suite more runs no other group again. `fixed` options are
    always given; of its `options` the job gives `folder`, that of the encoder, `results`, a folder next to what is
    written, and `model`, a name of the encoder. `named_by` is the option whose keys a `*` of the metrics stands for;
    `listed` gives what it stands for where no option does. `narrowed` gives, of options and of metric paths that are
    read, the options of a job that runs no more than these ask for.
    A run may select its best checkpoint by the metrics whose last name is in `selects`, where these are given.

    `split` is what a paper calls the data, `aggregations` are names of metrics that differ in how subsets are joined.
    `averages` are means of other metrics; of one mapping, the numbers in `rising` never fall in this order.
    `encodes` says of which counts below data/, how many times each, the sentences are encoded; `memory` in MB and
    `hours` are what a job may take at the papers' scale.
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

    def name_in(self, path: str) -> str:
        """Return what is in a metric path where the metrics have a `*`."""
        return path.split("/")[1 + next(iter(self.metrics)).split("/").index("*")]


# What several entries share.
_BOUNDS = ("low", "high")
_RANKS = tuple(str(rank) for rank in range(1, NEIGHBOURS + 1))
_ON_TEST = {"splits": ("test",)}
_GEOMETRY = {"alignment": Range(0, 4), "uniformity": Range(-8, 0), "n_positive": COUNT, "n_sentences": COUNT}
_TRANSFER_AVERAGES = {
    name: tuple(f"{task}/{metric}" for task in TRANSFER_TASKS)
    for name, metric in (("avg", "accuracy"), ("dev_avg", "dev_accuracy"))
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
    """Return the options of MTEB with the tasks that are read, alone or in an average; without them for all 56."""
    tasks = {task for path in read for task in _MTEB_AVERAGES.get(path, (path,))}
    unsaid = "tasks" in options or tasks == set(MTEB_NAMES)
    return {**options, **({} if unsaid else {"tasks": sorted(tasks)})}


def _only_variants(options: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return the options with the variants that are read; without them for all of them."""
    named = {path.partition("/")[0] for path in read}
    wanted = [name for name in VARIANTS if name in named]
    return {**options, **({"variants": wanted} if 0 < len(wanted) < len(VARIANTS) else {})}


def only_sets(options: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return the sets that are read."""
    return {
        "sets": {name: options["sets"][name] for name in sorted({path.partition("/")[0] for path in read})}
    }


def _correlations(tasks: tuple[str, ...]) -> Metrics:
    return {**metrics_in(CORRELATION, tasks, (*AGGREGATIONS, *_BOUNDS)), **metrics_in(COUNT, tasks, ("n",))}


# The suites of the package.
SUITES: dict[str, Suite] = {
    "sts": _sts(
        {**_correlations(STS_TASKS), **metrics_in(CORRELATION, AVERAGES)},
        {"split": "test"},
        split="test",
        averages={name: tuple(f"{task}/{key}" for task in STS_TASKS) for name, key in AVERAGES.items()},
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
        narrowed=_only_variants,
    ),
    "geometry": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY),
    "geometry-test": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY, _ON_TEST),
    "density": _density(),
    "density-test": _density(_ON_TEST),
    # In bins narrow enough for encoders whose cosines are all close to 1.
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
    # It holds chunks of corpora of millions of documents, and goes on task by task where it was stopped.
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
            **{"*/n": COUNT, "*/file": None, "*/sha256": None},
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
# What is no suite of an encoder: numbers counted from the data or an architecture, and the checkpoints of a training.
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
    """Return the suites by the evaluation file that they share."""
    by_group: dict[str, list[Suite]] = {}
    for suite in current().suites.values():
        by_group.setdefault(suite.group, []).append(suite)
    return by_group


def metrics_of(name: str) -> Metrics:
    """Return what is below the first part of a metric path; nothing for an unknown one."""
    suite = current().suites.get(name)
    return suite.metrics if suite else OTHERS.get(name, {})


def known_paths() -> Iterator[str]:
    """Yield every metric path there is; a `*` stands for a step, a query, a corpus, a set or a task."""
    return (f"{name}/{path}" for name in (*current().suites, *OTHERS) for path in metrics_of(name))


def listed_paths() -> Iterator[str]:
    """Yield the metric paths that a `*` stands for where a list says it: the tasks of MTEB."""
    return (
        f"{name}/{each}"
        for name, suite in current().suites.items()
        if suite.listed
        for each in suite.listed()
    )


def _metric(path: str) -> str | None:
    """Return which of the metrics of its suite a path is, as it is or by a `*`; None for none."""
    name, _, rest = path.partition("/")
    metrics = metrics_of(name)
    if rest in metrics:
        return rest
    suite = current().suites.get(name)
    listed = suite.listed if suite else None
    if listed and rest not in listed():
        return None
    patterns = (each for each in metrics if "*" in each and each.count("/") == rest.count("/"))
    return next((each for each in patterns if fnmatchcase(rest, each)), None)


def is_metric(path: str) -> bool:
    """Return whether some suite yields a metric path."""
    return _metric(path) is not None


def is_percentage(path: str) -> bool:
    """Return whether what is at a metric path is a correlation, an accuracy, a recall or an overlap x 100."""
    return range_of(path) in (CORRELATION, PERCENTAGE)


def unit_of(path: str) -> str:
    """Return the unit of a metric path: `points` (x 100), `count`, `1` for none; blank where there is no number."""
    limits = range_of(path)
    if limits is None:
        return ""
    return "points" if is_percentage(path) else "count" if limits.whole else "1"


def range_of(path: str) -> Range | None:
    """Return where the number at a metric path lies; None where a sentence is, or nothing that a suite yields."""
    metric = _metric(path)
    return metrics_of(path.partition("/")[0])[metric] if metric else None


def file_of(path: str) -> str:
    """Return the name of the evaluation file that holds a metric path: a group, `trajectory` or `counts`."""
    suite = path.partition("/")[0]
    return {"data": "counts", "trajectory": "trajectory"}.get(suite) or current().suites[suite].group
