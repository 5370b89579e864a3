"""What is published of a cell next to its printed number: its paper's settings, seeds, and others' reruns."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from replicse.compile.recipes import merge_recipe
from replicse.compile.requests import merge_cell_request
from replicse.errors import BadInput, nearest
from replicse.judge.statistics import mean_and_spread, t_quantile
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

# The seed of transformers' Trainer, with which the papers' scripts train.
DEFAULT_SEED = 42


@dataclass(frozen=True)
class SeedSpread:
    """Values around which a number may lie: their mean, standard deviation and count, and whose they are.

    `error` is the standard error of the mean, sd / sqrt(n) unless a number is itself a mean, which has a smaller sd;
    `is_printed` says that they were measured in the printed setting.
    """

    name: str
    mean: float
    sd: float
    n: int
    error: float = 0.0
    is_printed: bool = False

    def __post_init__(self) -> None:
        """Set the standard error."""
        object.__setattr__(self, "error", self.error or self.sd / math.sqrt(self.n))

    def of_means(self, count: int, shared: float = 0.0) -> "SeedSpread":
        """Return the spread of means of `count` such values, of whose variance shared**2 is not averaged out."""
        sd = math.sqrt(shared**2 + (self.sd**2 - shared**2) / count)
        return replace(self, sd=sd)

    def bounds(self) -> tuple[float, float]:
        """Return the bounds that one more value lies within with probability 95%: Student's t."""
        half = t_quantile(self.n - 1) * math.hypot(self.sd, self.error)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class PublishedCell:
    """What the papers say of one cell: its name and words, what it is, and what others got for the same recipe.

    `settings` holds the paper's setting by the name of a fact. `reruns` are single runs of others by their source.
    `averaged` is how many seeds a number that is compared with them is a mean of.
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
        """Return the printed number, with half a unit of its last digit; None where none is printed."""
        return self.reported.number if self.reported else None

    @property
    def labs(self) -> SeedSpread | None:
        """Return the spread of the reruns; None below three."""
        values = tuple(self.reruns.values())
        mean, sd = mean_and_spread(values) if len(values) >= FEWEST_SEEDS else (0.0, None)
        return SeedSpread(f"{len(values)} reruns by others", mean, sd, len(values)) if sd else None

    @property
    def spreads(self) -> tuple[SeedSpread, ...]:
        """Return the spread of seeds and that of labs, each where it is known, for a mean of so many seeds.

        An encoder that is not trained has none. What labs differ by beyond their seeds is not averaged out; where no
        seeds are known, that is all of it.
        """
        if self.kind in ("released", "untrained"):
            return ()
        seeds = max((spread.sd for spread in self.seeds), default=0.0)
        means = [spread.of_means(self.averaged) for spread in self.seeds]
        if labs := self.labs:
            means.append(labs.of_means(self.averaged, math.sqrt(max(0.0, labs.sd**2 - seeds**2))))
        return tuple(means)


def published_cell(papers: Mapping[str, Paper], name: str) -> PublishedCell:
    """Return what is known of a cell `paper/item/row/column`; BadInput names the nearest one."""
    names = CellNames(papers)
    paper, _, rest = name.partition("/")
    if paper not in papers or not rest:
        raise BadInput(f"--item {name}: {_no_cell(papers, paper)}")
    (full,) = names.full_names(name, paper, "--item")
    cell = names.cell(full)
    reported = printed_in(papers, cell)
    item = papers[cell.paper].items.get(cell.item_name)
    place = item.place_of(cell) if item else None
    if item is None or place is None:
        return PublishedCell(full, names.words(cell), "", reported, None)
    row, column = place
    path, request = item.path(row, column), asked(item, row, column)
    kind, settings = _setting(papers, item, request, path)
    seeds, reruns = others(papers, cell)
    model = f"{item.paper} {row.id} {row.label}"
    return PublishedCell(full, names.words(cell), path, reported, kind, model, settings, seeds, reruns)


def _no_cell(papers: Mapping[str, Paper], paper: str) -> str:
    if paper not in papers:
        return f'no paper is "{paper}"{nearest(paper, papers)}'
    return f"a cell is paper/item/row/column; {paper} has {', '.join(papers[paper].items)}"


def asked(item: Item, row: Row, column: AnyColumn) -> PlannedRequest:
    """Return what a cell asks of its encoder, its recipe named with its paper."""
    request = merge_cell_request(item, column, [row.encoder], row)
    if request.use and "/" not in request.use:
        request = request.replace(use=f"{item.paper}/{request.use}")
    return request


def others(papers: Mapping[str, Paper], cell: CellId) -> tuple[tuple[SeedSpread, ...], dict[str, float]]:
    """Return the published spreads of a cell's recipe, and single reruns by source: what other papers print of it.

    A paper that prints the single runs is read by them; its summary of the same runs is left out.
    """
    item = papers[cell.paper].items[cell.item_name]
    found = item.place_of(cell)
    if found is None:
        return (), {}
    row, column = found
    spreads: list[tuple[str, SeedSpread]] = []
    reruns: dict[tuple[str, str, float], str] = {}
    for paper, printed in _prints(papers, asked(item, row, column), item.path(row, column)):
        number, count = printed.number, printed.seeds or 0
        if paper == cell.paper or number is None:
            continue
        cited = papers[paper].about.cited
        if printed.statistic == "mean" and printed.sd and count >= FEWEST_SEEDS:
            spreads.append((paper, SeedSpread(f"{count} runs of {cited}", number.value, printed.sd, count)))
        elif printed.statistic == "single":
            place = printed.source.partition(";")[0]
            is_thread = "/issues/" in place
            # A paper prints one number in several tables: once is enough. Threads are apart.
            once = (paper, place if is_thread else "", number.value)
            reruns.setdefault(once, place if is_thread else f"{cited}, {place}")
    single = {paper for paper, *_ in reruns}
    named: dict[str, float] = {}
    for (_, _, value), place in reruns.items():
        named[place if place not in named else f"{place} ({len(named) + 1})"] = value
    return tuple(spread for paper, spread in spreads if paper not in single), named


def _prints(papers: Mapping[str, Paper], wanted: PlannedRequest, path: str) -> Iterator[tuple[str, Reported]]:
    """Yield paper and number of every cell that is printed of a recipe and a metric."""
    if not (wanted.use or wanted.backbone or wanted.vectors):
        return
    rows = ((item, row) for paper in papers.values() for item in paper.items.values() for row in item.rows)
    for item, row in rows:
        for column in (each for each in item.columns if each.kind == "score" and not row.quoted):
            printed = printed_in(papers, item.cell_id(row, column))
            if printed and item.path(row, column) == path and asked(item, row, column) == wanted:
                yield item.paper, printed


def _setting(
    papers: Mapping[str, Paper], item: Item, request: PlannedRequest, path: str
) -> tuple[Kind | None, dict[str, Any]]:
    """Return what kind of encoder a cell reads, and the paper's setting by the name of a fact."""
    suite = current().suites.get(path.partition("/")[0])
    last = path.rpartition("/")[2]
    settings: dict[str, Any] = {
        "against": "paper",
        "versions": "same",
        "read-from": "training" if suite and suite.selects and not path.startswith("sets/") else "test",
    }
    if suite and suite.split:
        settings["split"] = suite.split
    if suite and suite.aggregations:
        settings["aggregation"] = {"avg-mean": "mean", "avg-wmean": "wmean"}.get(
            last, last if last in suite.aggregations else "all"
        )
    if request.pooling:
        settings["pooling"] = request.pooling.pooling
    if not request.use:
        kinds: dict[str, Kind] = {"backbone": "untrained", "vectors": "untrained", "released": "released"}
        return next((kind for key, kind in kinds.items() if getattr(request, key)), None), settings
    run = merge_recipe(papers, item.paper, request.use, str(item.file))
    run = run.replace(**request.run.entries()) if request.run else run
    optimisation = run.optimisation
    every = run.selection.every
    return "trained", {
        **settings,
        "pooling": (request.pooling or run.pooling.test).pooling,
        "steps": request.checkpoint or ("best" if every else "last"),
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
