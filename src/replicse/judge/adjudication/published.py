"""Published numbers, seeds and settings of a cell."""

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

    The default error is the standard error of independent values.

    Attributes:
        error: the standard error of the mean. For means of several values, `sd` is smaller and the error is unchanged.
            Default: sd / sqrt(n).
        is_printed: whether the values were measured in the printed setting. Default: False.
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
        """Compute the standard deviation of means of several values.

        By default, the whole standard deviation averages out.

        Args:
            count: the number of values of each mean.
            shared: a part of the standard deviation that is equal for all of these values, so it does not average out.
                Default: 0.
        """
        sd = math.sqrt(shared**2 + (self.sd**2 - shared**2) / count)
        return replace(self, sd=sd)

    def bounds(self) -> tuple[float, float]:
        """Compute the 95% prediction interval for another value (Student's t)."""
        half = t_quantile(self.n - 1) * math.hypot(self.sd, self.error)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class PublishedCell:
    """The published numbers of a cell, by the paper and by others.

    Attributes:
        name: the id of the cell.
        words: the name of the cell in words.
        metric_path: the path of the metric; an empty string if the cell is not in a table or figure.
        reported: the printed number; None if no number is printed.
        kind: whether the encoder is trained, released or untrained.
        model: the names of paper and row, which may contain the name of the model.
        settings: dict from the name of a fact to the paper's setting.
        seeds: standard deviations over seeds.
        reruns: dict from source to a single run by others.
        averaged: the number of seeds that the number to compare is a mean of. Default: 1.
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
        """Return the parsed printed number.

        Returns None if no number is printed.
        """
        return self.reported.number if self.reported else None

    @property
    def between_labs(self) -> SeedSpread | None:
        """Return the standard deviation of the reruns.

        Returns None for fewer than three reruns, or if all are equal.
        """
        values = tuple(self.reruns.values())
        if len(values) < FEWEST_SEEDS:
            return None
        mean, sd = mean_and_spread(values)
        if not sd:
            return None
        return SeedSpread(f"{len(values)} reruns by others", mean, sd, len(values))

    @property
    def spreads(self) -> tuple[SeedSpread, ...]:
        """Return the known standard deviations of seeds and between labs.

        They are for a mean of `averaged` seeds. An encoder that is not trained has no standard deviation. Differences
        between labs do not average out, except for the part that is due to seeds; if this part is unknown, nothing
        averages out.
        """
        if self.kind in ("released", "untrained"):
            return ()
        seeds, means = 0.0, []
        for spread in self.seeds:
            seeds = max(seeds, spread.sd)
            means.append(spread.of_means(self.averaged))
        labs = self.between_labs
        if labs:
            means.append(labs.of_means(self.averaged, math.sqrt(max(0.0, labs.sd**2 - seeds**2))))
        return tuple(means)


def published_cell(papers: Mapping[str, Paper], name: str) -> PublishedCell:
    """Collect the published numbers of a cell.

    Args:
        papers: all papers by key.
        name: the id `paper/item/row/column`.

    Raises:
        BadInput: if the cell does not exist; the message contains the nearest name.
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
        return f'unknown paper "{paper}"{nearest(paper, papers)}'
    return f"a cell is paper/item/row/column; {paper} has {', '.join(papers[paper].items)}"


def encoder_request(item: Item, row: Row, column: AnyColumn) -> PlannedRequest:
    """Return the request of a cell for an encoder.

    The name of a recipe contains the paper.

    Args:
        item: the item.
        row: the row of the cell.
        column: the column of the cell.
    """
    request = merge_cell_request(item, column, [row.encoder], row)
    if request.use and "/" not in request.use:
        request = request.replace(use=f"{item.paper}/{request.use}")
    return request


def published_runs(
    papers: Mapping[str, Paper], cell: CellId
) -> tuple[tuple[SeedSpread, ...], dict[str, float]]:
    """Return the standard deviations and reruns that other papers print.

    Only cells with the same recipe and metric are used. If a paper prints single runs, its mean and standard deviation
    of the same runs are skipped.

    Args:
        papers: all papers by key.
        cell: the cell.

    Returns:
        The standard deviations over seeds, and a dict from source to a single run.
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
            if "/issues/" in source:
                # Threads are from different people.
                reruns.setdefault((paper, source, number.value), source)
            else:
                # Count a number once if a paper prints it in several tables.
                reruns.setdefault((paper, "", number.value), f"{cited}, {source}")
    with_reruns = {paper for paper, *_ in reruns}
    return tuple(spread for paper, spread in spreads if paper not in with_reruns), _number_sources(reruns)


def _number_sources(reruns: Mapping[tuple[str, str, float], str]) -> dict[str, float]:
    """Return reruns by source; the second value of a source gets a number."""
    named: dict[str, float] = {}
    for (_, _, value), source in reruns.items():
        name = source
        if source in named:
            name = f"{source} ({len(named) + 1})"
        named[name] = value
    return named


def _same_recipe(
    papers: Mapping[str, Paper], wanted: PlannedRequest, path: str
) -> Iterator[tuple[str, Reported]]:
    """Yield paper and printed number of cells with the same recipe and metric."""
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

    The keys of the settings are names of facts.
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
    if request.released:
        return "released"
    return None
