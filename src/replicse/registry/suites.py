"""Evaluation suites: the group whose file they share, their options, and the metric paths they yield."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Id, Text, UserMessage
from replicse.errors import nearest
from replicse.registry.corpora import STS_DEV_TASKS, STS_TASKS, Corpus, Labelled, StsName
from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS

TransferName = Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
TRANSFER_TASKS: tuple[str, ...] = get_args(TransferName)
# What SentEval cross-validates has one split; TREC and MRPC have no development set.
TRANSFER_SPLITS = {
    **dict.fromkeys(("MR", "CR", "SUBJ", "MPQA"), ("all",)),
    "SST2": ("train", "dev", "test"),
    **dict.fromkeys(("TREC", "MRPC"), ("train", "test")),
}
AGGREGATIONS = ("all", "mean", "wmean")
NEIGHBOURS = 3  # ranks that a retrieval shows (SimCSE Table 8, DiffCSE Table 9)
# The groups: one evaluation file each, so that one suite more runs no other group again.
Group = Literal["fast", "transfer", "mteb", "heads"]
GROUPS: tuple[str, ...] = get_args(Group)


class NoOptions(Checked):
    """A suite that takes no options."""


class StsOptions(Checked):
    """The similarity tasks to run; all of the split where none are named."""

    tasks: Annotated[tuple[StsName, ...], Field(min_length=1)] | None = None


class TransferOptions(Checked):
    """The transfer tasks to run; all seven where none are named."""

    tasks: Annotated[tuple[TransferName, ...], Field(min_length=1)] | None = None


class QueryOptions(Checked):
    """Queries by name, for a suite that has a corpus of its own."""

    queries: Annotated[dict[Id, Text], Field(min_length=1)]


class RetrievalOptions(QueryOptions):
    """Queries by name, and the corpus that is searched."""

    corpus: Corpus


def _of_mteb(name: str) -> str:
    if name not in MTEB_NAMES:
        raise UserMessage(f'"{name}" is none of the 56 data sets of MTEB{nearest(name, MTEB_NAMES)}')
    return name


class MtebOptions(Checked):
    """The data sets of MTEB to run, all 56 where none are named, and where their data are.

    `hub`: each at the commit that the library pins; `local`: those that stand in the SentEval layout of the data root;
    `miniature`: each is stood in for by the miniature of its category, made of the data root. `results` is the folder
    of the library's own result files, `model` the name that they give the encoder.
    """

    tasks: Annotated[tuple[Annotated[str, AfterValidator(_of_mteb)], ...], Field(min_length=1)] | None = None
    data: Literal["hub", "local", "miniature"] = "hub"
    results: str = ""
    model: str = ""


class TrainingOptions(Checked):
    """The folder of the checkpoint whose run is asked; blank where the encoder is no checkpoint."""

    folder: str = ""


class HeadsOptions(Checked):
    """The labelled sets by task, and the folder that holds the heads of the encoder, which the job names."""

    tasks: Annotated[dict[Id, Labelled], Field(min_length=1)]
    folder: str = ""


def _names(*parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return all paths of one name out of each of several tuples."""
    names: tuple[str, ...] = ("",)
    for part in parts:
        names = tuple(f"{before}/{name}" if before else name for before in names for name in part)
    return names


AVERAGES = {"avg": "all", "avg-mean": "mean", "avg-wmean": "wmean"}  # of the seven tasks
_SCORES = (*AGGREGATIONS, "n", "low", "high")
RATINGS = ("0-1", "1-2", "2-3", "3-4", "4-5")
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
CUTOFFS = {"at1": 1, "at5": 5, "at10": 10}


# Of one mapping of an evaluation, the first is never above the second, and so on.
RISING = (("low", "high"), tuple(CUTOFFS), tuple(QUANTILES))


@dataclass(frozen=True)
class Range:
    """Where a metric lies; `whole` is that of a count."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    def __str__(self) -> str:
        """Return it as an error says it."""
        what = "a whole number" if self.whole else "a finite number"
        bounds = [f"from {self.low:g}"] * math.isfinite(self.low) + [f"to {self.high:g}"] * math.isfinite(
            self.high
        )
        return " ".join([what, *bounds])

    def holds(self, value: Any) -> bool:
        """Return whether a value is such a number; rounding may lift one a millionth beyond a bound."""
        if type(value) not in (int, float) or abs(value) > LARGEST:
            return False
        return self.low - 1e-6 <= value <= self.high + 1e-6 and not (self.whole and value != int(value))


LARGEST = 1e300  # JSON knows numbers that are no float
ANY, ABOVE, COUNT = Range(), Range(low=0), Range(low=0, whole=True)
PERCENTAGE, CORRELATION, COSINE, SHARE = Range(0, 100), Range(-100, 100), Range(-1, 1), Range(0, 1)
# Metrics that lie elsewhere than the others of their suite.
RANGES = {
    **dict.fromkeys(("n", "corpus", "n_positive", "n_sentences", "dimensions", "steps", "parameters"), COUNT),
    "alignment": Range(0, 4),
    "uniformity": Range(-8, 0),
    "effective_rank": Range(low=1),
    "pearson": COSINE,
}


@dataclass(frozen=True)
class Suite:
    """One suite: its module (`sentences` and `evaluate`), fixed options, and what it yields.

    `metrics` are paths below the suite's name; a `*` in one of them stands for a name that options or a scale give.
    `named_by` is the option whose keys the `*` stands for. `development` says that a run may select its best
    checkpoint by it. `range` is where its numbers lie, but for those that RANGES names.
    """

    module: str
    group: str
    metrics: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    options: type[Checked] = NoOptions
    development: bool = False
    named_by: str = ""
    range: Range = ANY

    def name_in(self, path: str) -> str:
        """Return what stands in a metric path where the metrics have a `*`."""
        return path.split("/")[1 + self.metrics[0].split("/").index("*")]


_TRANSFER = (*_names(TRANSFER_TASKS, ("accuracy", "dev_accuracy")), "avg", "dev_avg")
_RANKS = tuple(str(rank) for rank in range(1, NEIGHBOURS + 1))
_RETRIEVED = ("neighbours/*/query", *_names(("neighbours/*",), _RANKS, ("sentence", "cosine")))
_DENSITY = _names(RATINGS, ("n", "mean", *QUANTILES))
_GEOMETRY = ("alignment", "uniformity", "n_positive", "n_sentences")
_MTEB = (*MTEB_NAMES, *_names(("average",), (*MTEB_TASKS, "all")))
TASK_METRICS = ("accuracy", "pearson")
_PREDICTED = _names(("*",), (*TASK_METRICS, "n"))
_HEAT = _names(("*/heat",), RATINGS, RATINGS)
_STSB_TEST = {"format": "sts-sentences", "task": "STS-B", "split": "test"}

# The registry.
SUITES: dict[str, Suite] = {
    "sts": Suite(
        "replicse.evaluation.sts",
        "fast",
        (*_names(STS_TASKS, _SCORES), *AVERAGES),
        {"split": "test"},
        StsOptions,
        range=CORRELATION,
    ),
    "sts-dev": Suite(
        "replicse.evaluation.sts",
        "fast",
        _names(STS_DEV_TASKS, _SCORES),
        {"split": "dev"},
        StsOptions,
        development=True,
        range=CORRELATION,
    ),
    "geometry": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY),
    "geometry-test": Suite("replicse.evaluation.geometry", "fast", _GEOMETRY, {"splits": ("test",)}),
    "spectrum": Suite(
        "replicse.evaluation.spectrum", "fast", ("effective_rank", "n_sentences", "dimensions")
    ),
    "density": Suite("replicse.evaluation.density", "fast", _DENSITY, range=COSINE),
    "density-test": Suite(
        "replicse.evaluation.density", "fast", _DENSITY, {"splits": ("test",)}, range=COSINE
    ),
    # In bins narrow enough for encoders whose cosines are all close to 1.
    "density-test-fine": Suite(
        "replicse.evaluation.density",
        "fast",
        _DENSITY,
        {"splits": ("test",), "bins": 1000},
        range=COSINE,
    ),
    "retrieval": Suite(
        "replicse.evaluation.retrieval",
        "fast",
        _RETRIEVED,
        options=RetrievalOptions,
        named_by="queries",
        range=COSINE,
    ),
    "retrieval-stsb": Suite(
        "replicse.evaluation.retrieval",
        "fast",
        _RETRIEVED,
        {"corpus": _STSB_TEST},
        QueryOptions,
        named_by="queries",
        range=COSINE,
    ),
    "recall": Suite(
        "replicse.evaluation.recall",
        "fast",
        _names(("all", "distinct"), ("forward", "backward", "both"), (*CUTOFFS, "n", "corpus")),
        range=PERCENTAGE,
    ),
    "model": Suite("replicse.evaluation.model", "fast", ("parameters",)),
    "training": Suite(
        "replicse.evaluation.training",
        "fast",
        ("hours", "steps", "sentences_per_second", "parameters"),
        options=TrainingOptions,
        range=ABOVE,
    ),
    "transfer": Suite(
        "replicse.evaluation.transfer",
        "transfer",
        _TRANSFER,
        {"setting": "test"},
        TransferOptions,
        range=PERCENTAGE,
    ),
    "transfer-dev": Suite(
        "replicse.evaluation.transfer",
        "transfer",
        _TRANSFER,
        {"setting": "fast"},
        TransferOptions,
        range=PERCENTAGE,
    ),
    "mteb": Suite("replicse.evaluation.mteb", "mteb", _MTEB, options=MtebOptions, range=CORRELATION),
    "heads-dev": Suite(
        "replicse.evaluation.heads",
        "heads",
        (*_PREDICTED, *_HEAT),
        options=HeadsOptions,
        development=True,
        named_by="tasks",
        range=SHARE,
    ),
}
# What is no suite of an encoder: numbers counted from the data, and the checkpoints along a training.
COUNTED = (
    *_names(("sts",), STS_TASKS, ("test",)),
    *_names(("sts",), STS_DEV_TASKS, ("train", "dev")),
    *(f"transfer/{task}/{split}" for task, splits in TRANSFER_SPLITS.items() for split in splits),
    "corpus/*/rows",
    "overlap/*",
    *_names(("shared/*",), STS_DEV_TASKS, ("train", "dev", "test")),
)
TRAJECTORY = tuple(f"*/{metric}" for metric in _GEOMETRY)


def known_paths() -> Iterator[str]:
    """Yield every metric path there is; a `*` stands for a step, a query or a corpus."""
    for name, suite in SUITES.items():
        yield from (f"{name}/{path}" for path in suite.metrics)
    yield from (f"data/{path}" for path in COUNTED)
    yield from (f"trajectory/{path}" for path in TRAJECTORY)


_EXACT = frozenset(path for path in known_paths() if "*" not in path)
_PATTERNS = tuple(path for path in known_paths() if "*" in path)


def is_metric(path: str) -> bool:
    """Return whether some suite yields a metric path."""
    return path in _EXACT or any(
        path.count("/") == pattern.count("/") and fnmatchcase(path, pattern) for pattern in _PATTERNS
    )


def is_percentage(path: str) -> bool:
    """Return whether what stands at a metric path is a correlation, an accuracy, a recall or an overlap x 100."""
    return range_of(path) in (CORRELATION, PERCENTAGE)


def range_of(path: str) -> Range | None:
    """Return where the number at a metric path lies; None where a sentence is, or nothing that a suite yields."""
    suite, _, rest = path.partition("/")
    name = rest.rpartition("/")[2]
    if name in ("sentence", "query") or not is_metric(path):
        return None
    if suite == "data":
        return PERCENTAGE if rest.startswith("overlap/") else COUNT
    return RANGES.get(name) or (SUITES[suite].range if suite in SUITES else ANY)


def file_of(path: str) -> str:
    """Return the name of the evaluation file that holds a metric path: a group, `trajectory` or `counts`."""
    suite = path.partition("/")[0]
    return {"data": "counts", "trajectory": "trajectory"}.get(suite) or SUITES[suite].group
