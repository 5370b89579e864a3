"""Collect the published numbers, seeds and settings of a cell."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from replicse.compile.recipes import merge_recipe
from replicse.compile.requests import merge_cell_request
from replicse.errors import BadInput, nearest
from replicse.judge.statistics.intervals import mean_and_spread, t_quantile
from replicse.registry.levels import FEWEST_SEEDS
from replicse.registry.registry import current
from replicse.spec.causes import Kind
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.columns import AnyColumn
from replicse.spec.models import PlannedRequest
from replicse.spec.papers import Paper, printed_in
from replicse.spec.printed import Reported, Rounded
from replicse.spec.tables import Item, Row

# The default seed of transformers' Trainer, which the papers' scripts use.
DEFAULT_SEED = 42


@dataclass(frozen=True)
class SeedSpread:
    """A sample of values of a cell: name, mean, standard deviation and size.

    Attributes:
        error: the standard error of the mean; default: sd / sqrt(n). If a value is itself a mean, `sd` is smaller.
        is_printed: the values were measured in the printed setting.
    """

    name: str
    mean: float
    sd: float
    n: int
    error: float = 0.0
    is_printed: bool = False

    def __post_init__(self) -> None:
        """Set the default of the standard error."""
        object.__setattr__(self, "error", self.error or self.sd / math.sqrt(self.n))

    def of_means(self, count: int, shared: float = 0.0) -> "SeedSpread":
        """Return the spread of means of `count` values.

        `shared` is a part of the sd that is equal for all of them.
        """
        sd = math.sqrt(shared**2 + (self.sd**2 - shared**2) / count)
        return replace(self, sd=sd)

    def bounds(self) -> tuple[float, float]:
        """Compute the 95% prediction interval for one more value, by Student's t."""
        half = t_quantile(self.n - 1) * math.hypot(self.sd, self.error)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class PublishedCell:
    """The published numbers of a cell, by the paper and by others.

    Attributes:
        name: the id of the cell.
        words: the name of the cell in words.
        kind: whether the encoder is trained, released or untrained.
        settings: the paper's settings by the name of a fact.
        seeds: spreads over seeds.
        reruns: single runs of others, by source.
        averaged: how many seeds the number to compare is a mean of.
    """

    name: str
    words: str
    metric_path: str
    reported: Reported | None
    kind: Kind | None
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[SeedSpread, ...] = ()
    reruns: Mapping[str, float] = field(default_factory=dict)
    averaged: int = 1

    @property
    def printed(self) -> Rounded | None:
        """Return the printed number with its rounding.

        Returns None if no number is printed.
        """
        return self.reported.number if self.reported else None

    @property
    def between_labs(self) -> SeedSpread | None:
        """Return the spread of the reruns.

        Returns None for fewer than three, or if all are equal.
        """
        values = tuple(self.reruns.values())
        if len(values) < FEWEST_SEEDS:
            return None
        mean, sd = mean_and_spread(values)
        return SeedSpread(f"{len(values)} reruns by others", mean, sd, len(values)) if sd else None

    @property
    def spreads(self) -> tuple[SeedSpread, ...]:
        """Return the known spreads of seeds and between labs.

        They are for a mean of `averaged` seeds. An encoder that is not trained has no spread. Differences between labs
        beyond the spread of seeds do not average out; if the spread of seeds is unknown, no part of them does.
        """
        if self.kind in ("released", "untrained"):
            return ()
        seeds = max((spread.sd for spread in self.seeds), default=0.0)
        means = [spread.of_means(self.averaged) for spread in self.seeds]
        labs = self.between_labs
        if labs:
            means.append(labs.of_means(self.averaged, math.sqrt(max(0.0, labs.sd**2 - seeds**2))))
        return tuple(means)


def published_cell(papers: Mapping[str, Paper], name: str) -> PublishedCell:
    """Collect the published numbers of a cell.

    Args:
        papers: all papers by key.
        name: the cell, `paper/item/row/column`.

    Raises:
        BadInput: if the cell does not exist; the message names the nearest one.
    """
    names = CellNames(papers)
    paper, _, rest = name.partition("/")
    if paper not in papers or not rest:
        raise BadInput(f"--item {name}: {_explain_missing(papers, paper)}")
    (full,) = names.full_names(name, paper, "--item")
    cell = names.cell(full)
    reported = printed_in(papers, cell)
    item = papers[cell.paper].items.get(cell.item_name)
    place = item.place_of(cell) if item else None
    if item is None or place is None:
        return PublishedCell(full, names.words(cell), "", reported, None)
    row, column = place
    path, request = item.path(row, column), encoder_request(item, row, column)
    kind, settings = _settings(papers, item, request, path)
    seeds, reruns = published_runs(papers, cell)
    model = f"{item.paper} {row.id} {row.label}"
    return PublishedCell(full, names.words(cell), path, reported, kind, model, settings, seeds, reruns)


def _explain_missing(papers: Mapping[str, Paper], paper: str) -> str:
    if paper not in papers:
        return f'no paper is "{paper}"{nearest(paper, papers)}'
    return f"a cell is paper/item/row/column; {paper} has {', '.join(papers[paper].items)}"


def encoder_request(item: Item, row: Row, column: AnyColumn) -> PlannedRequest:
    """Return the request of a cell for its encoder.

    A recipe is named with its paper.
    """
    request = merge_cell_request(item, column, [row.encoder], row)
    if request.use and "/" not in request.use:
        request = request.replace(use=f"{item.paper}/{request.use}")
    return request


def published_runs(
    papers: Mapping[str, Paper], cell: CellId
) -> tuple[tuple[SeedSpread, ...], dict[str, float]]:
    """Return the spreads and reruns that other papers print for a recipe.

    The recipe is the one of a cell; single reruns are by source. If a paper prints the single runs, its mean and spread
    of the same runs are left out.
    """
    item = papers[cell.paper].items[cell.item_name]
    place = item.place_of(cell)
    if place is None:
        return (), {}
    row, column = place
    spreads: list[tuple[str, SeedSpread]] = []
    reruns: dict[tuple[str, str, float], str] = {}
    for paper, printed in _same_recipe(papers, encoder_request(item, row, column), item.path(row, column)):
        number, count = printed.number, printed.seeds or 0
        if paper == cell.paper or number is None:
            continue
        cited = papers[paper].about.cited
        if printed.statistic == "mean" and printed.sd and count >= FEWEST_SEEDS:
            spreads.append((paper, SeedSpread(f"{count} runs of {cited}", number.value, printed.sd, count)))
        elif printed.statistic == "single":
            source = printed.source.partition(";")[0]
            is_thread = "/issues/" in source
            # A paper may print a number in several tables: count it once. Threads are different people.
            once = (paper, source if is_thread else "", number.value)
            reruns.setdefault(once, source if is_thread else f"{cited}, {source}")
    with_reruns = {paper for paper, *_ in reruns}
    return tuple(spread for paper, spread in spreads if paper not in with_reruns), _number_sources(reruns)


def _number_sources(reruns: Mapping[tuple[str, str, float], str]) -> dict[str, float]:
    """Return reruns by source; a second value of a source gets a number."""
    named: dict[str, float] = {}
    for (_, _, value), source in reruns.items():
        named[source if source not in named else f"{source} ({len(named) + 1})"] = value
    return named


def _same_recipe(
    papers: Mapping[str, Paper], wanted: PlannedRequest, path: str
) -> Iterator[tuple[str, Reported]]:
    """Yield paper and printed number of cells with one recipe and metric."""
    if not (wanted.use or wanted.backbone or wanted.vectors):
        return
    for item in chain.from_iterable(paper.items.values() for paper in papers.values()):
        for row in item.rows:
            if row.quoted:
                continue
            for column in item.columns:
                if column.kind != "score":
                    continue
                printed = printed_in(papers, item.cell_id(row, column))
                if not printed or item.path(row, column) != path:
                    continue
                if encoder_request(item, row, column) == wanted:
                    yield item.paper, printed


def _settings(
    papers: Mapping[str, Paper], item: Item, request: PlannedRequest, path: str
) -> tuple[Kind | None, dict[str, Any]]:
    """Return the kind of encoder of a cell, and the paper's settings.

    Settings are by the name of a fact.
    """
    settings = _evaluation_settings(path)
    if request.pooling:
        settings["pooling"] = request.pooling.pooling
    if not request.use:
        return _untrained_kind(request), settings
    run = merge_recipe(papers, item.paper, request.use, str(item.file))
    if request.run:
        run = run.replace(**request.run.entries())
    optimisation = run.optimisation
    return "trained", {
        **settings,
        "pooling": (request.pooling or run.pooling.test).pooling,
        "steps": request.checkpoint or ("best" if run.selection.every else "last"),
        "seed": DEFAULT_SEED,
        "devices": 1,
        "accumulation": optimisation.accumulate,
        "batch": optimisation.batch_size,
        "learning-rate": optimisation.learning_rate,
        "epochs": optimisation.epochs,
        "length": optimisation.max_length,
        "dropout": run.dropout.hidden,
        "corpus": run.corpus,
        "precision": papers[item.paper].about.precision,
    }


def _evaluation_settings(path: str) -> dict[str, Any]:
    """Return the paper's settings for evaluating a metric."""
    suite = current().suites.get(path.partition("/")[0])
    last = path.rpartition("/")[2]
    is_in_training = suite and suite.selects and not path.startswith("sets/")
    settings: dict[str, Any] = {
        "against": "paper",
        "versions": "same",
        "read-from": "training" if is_in_training else "test",
    }
    if suite and suite.split:
        settings["split"] = suite.split
    if suite and suite.aggregations:
        default = last if last in suite.aggregations else "all"
        settings["aggregation"] = {"avg-mean": "mean", "avg-wmean": "wmean"}.get(last, default)
    return settings


def _untrained_kind(request: PlannedRequest) -> Kind | None:
    if request.backbone or request.vectors:
        return "untrained"
    return "released" if request.released else None
