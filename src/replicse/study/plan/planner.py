"""Planning: from papers, a scale and a config to every run, encoder and evaluation, all known at once."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from replicse.checked import shown
from replicse.errors import BadInput, check_names, nearest
from replicse.registry.corpora import SIMCSE_DATA
from replicse.registry.encoders import can_keep
from replicse.registry.suites import SUITES
from replicse.study.paper.config import Config, checked_config
from replicse.study.paper.layers import layered, merged
from replicse.study.paper.lock import Lock, load_lock
from replicse.study.paper.papers import Paper, load_papers, recipe_of
from replicse.study.paper.printed import Reported
from replicse.study.paper.protocols import (
    AS_DESCRIBED,
    ON_BACKBONE,
    Protocol,
    changed,
    variants,
    varied,
)
from replicse.study.paper.scales import Scale, load_scale
from replicse.study.paper.tables import AnyColumn, Item, Row
from replicse.study.plan.needs import hub_parts
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Cell, Plan, backbone_id, tokenizer_id
from replicse.study.plan.specs import EncoderSource, EncoderSpec, RunSpec, Trajectory, digest

PARTS = ("init", "corpus", "views", "objective")  # what no run can do without


class Seeds(NamedTuple):
    """The seeds of one chain of training: of its runs, and of the backbones that the scale pre-trains per seed."""

    run: int
    backbone: int


FIRST = Seeds(0, 0)


def load_scales(workflow: Path) -> dict[str, Path]:
    """Return the file of every scale by name."""
    return {path.stem: path for path in sorted((workflow / "scales").glob("*.yaml"))}


def load_plan(values: Mapping[str, Any], workflow: Path, file: str = "config.yaml", only: str = "") -> Plan:
    """Return the plan of a config, or of one of its items; nothing is read but YAML and CSV, nothing is run."""
    return plan_of(checked_config(values, file), load_papers(workflow), workflow, file, only)


def plan_of(
    config: Config,
    papers: dict[str, Paper],
    workflow: Path,
    file: str = "config.yaml",
    only: str = "",
    *,
    as_far_as_possible: bool = False,
) -> Plan:
    """Return the plan of a checked config over papers that are loaded.

    Raises BadInput for an item that cannot be planned; `as_far_as_possible` leaves it out and notes why.
    """
    lock = load_lock(workflow)
    scale = chosen_scale(config, workflow, file).pinned(lock)
    plan = Plan(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
    planner = Planner(plan, lock)
    items = list(chosen_items(config, papers, file))
    left_out = too_large(items, config, scale)
    for item in items:
        if only == item.id or (not only and item not in left_out):
            (planner.add_if_possible if as_far_as_possible else planner.add)(item)
    plan.left_out = [] if only else [item.id for item in left_out]
    wanted = [SIMCSE_DATA] if plan.source == "hub" else []
    plan.unpinned |= set(lock.unpinned([*wanted, *(part.path for part in hub_parts(plan))]))
    if not plan.items and not plan.unplanned:
        raise BadInput(f'{file}: the study has no item "{only}"{nearest(only, [item.id for item in items])}')
    return plan


def chosen_scale(config: Config, workflow: Path, file: str) -> Scale:
    """Return the scale of a config; BadInput names the nearest one where it is not known."""
    scales = load_scales(workflow)
    if config.scale not in scales:
        raise BadInput(f'{file}: scale is "{config.scale}"{nearest(config.scale, scales)}')
    return load_scale(scales[config.scale])


def check_parts(scale: Scale, papers: dict[str, Paper], workflow: Path) -> None:
    """Raise BadInput where a backbone, a stand-in or a recipe cannot be planned at a scale, whoever asks for it."""
    config = Config(scale=scale.name, papers="all", seeds=(0,))
    plan = Plan(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
    planner = Planner(plan, load_lock(workflow))
    for name in scale.backbones:
        planner.backbone(name, FIRST.backbone, f"{scale.file}: backbones.{name}")
    for pair in scale.recipes.items():
        for name in pair:
            recipe_of(papers, "", name, f"{scale.file}: recipes.{pair[0]}")
    for paper, name in recipes_in_order(papers):
        where = f"{paper.folder / 'recipes.yaml'}: {name}"
        values = recipe_of(papers, paper.key, name, where)
        # A template leaves parts to those that are like it; another recipe may stand in for one at this scale.
        if values.keys() >= set(PARTS) and scale.recipe(paper.key, name) == name:
            planner.runs(paper.key, values, [FIRST], where)
    for name, released in scale.released.items():
        if released.stand_in is not None:
            planner.encoders(
                "", released.stand_in.given(), [FIRST], f"{scale.file}: released.{name}.stand_in"
            )


def recipes_in_order(papers: Mapping[str, Paper]) -> Iterator[tuple[Paper, str]]:
    """Yield every recipe behind the one that it is like, so that a mistake is told where it stands."""
    pending = [
        (paper, name, recipe.like) for paper in papers.values() for name, recipe in paper.recipes.items()
    ]
    while pending:
        waiting = {f"{paper.key}/{name}" for paper, name, _ in pending}
        parents = [
            like if like is None or "/" in like else f"{paper.key}/{like}" for paper, _, like in pending
        ]
        ready = [parent not in waiting for parent in parents]
        # In a circle nobody is ready; the first one is then told of it.
        ready = ready if any(ready) else [True] * len(pending)
        yield from (entry[:2] for entry, now in zip(pending, ready, strict=True) if now)
        pending = [entry for entry, now in zip(pending, ready, strict=True) if not now]


def chosen_items(config: Config, papers: Mapping[str, Paper], file: str) -> Iterator[Item]:
    """Yield the items of a config, each with the rows that are asked for; all papers stand by their years."""
    known = [item.id for paper in papers.values() for item in paper.items.values()]
    rows, crossed = config.rows or {}, config.crossed or {}
    check_names(f"{file}: rows", rows, known)
    check_names(f"{file}: crossed", crossed, known)
    check_names(f"{file}: adjudicate", () if config.adjudicate == "all" else config.adjudicate or (), known)
    for key, several in (("rows", rows), ("crossed", crossed)):
        for name, wanted in several.items():
            ids = [row.id for row in papers[name.partition("/")[0]].items[name.partition("/")[2]].rows]
            check_names(f"{file}: {key}.{name}", wanted or [""], ids)
    by_year = sorted(papers, key=lambda key: (papers[key].about.year, key))
    chosen = dict.fromkeys(by_year, "all") if config.papers == "all" else config.papers
    if not any(chosen.values()):
        raise BadInput(f"{file}: papers asks for no item; name one, or all")
    check_names(f"{file}: papers", chosen, papers)
    for key, wanted in chosen.items():
        items = papers[key].items
        check_names(f"{file}: papers.{key}", items if wanted == "all" else wanted, items)
        for name in items if wanted == "all" else wanted:
            item = items[name]
            yield item.with_rows(rows[item.id]) if item.id in rows else item


def too_large(items: Iterable[Item], config: Config, scale: Scale) -> list[Item]:
    """Return the items with a search that is too large for the scale, unless the config names them."""
    most = scale.largest_search
    asked = [item for item in items if most and not config.names(item.id)]
    return [item for item in asked if largest_search(item, scale) > most]


def largest_search(item: Item, scale: Scale) -> int:
    """Return how many jobs the largest search of an item has at a scale; 1 where it has none."""
    # A search without a statistic over its jobs is refused where it is planned.
    columns = [column for column in item.columns if getattr(column, "over", None) and column.over.jobs]
    requests = (
        (request_of(item, row, column, row.encoder.given()), f"{item.file}: row {row.id}")
        for row in item.rows
        for column in columns
    )
    return max((scale.jobs(request, where) for request, where in requests), default=1)


def request_of(item: Item, row: Row, column: AnyColumn, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cell asks of its encoder: the item's, the column's, `own` of the row, and the cell's in turn."""
    return layered(item.encoder.given(), column.encoder.given(), own, cell_request(row, column))


def cell_request(row: Row, column: AnyColumn) -> dict[str, Any]:
    """Return what a row's cell in a column asks for itself."""
    return row.cells[column.id].given() if column.id in row.cells else {}


class Planner:
    """Adds items to a plan: each cell's encoders, their runs, and what those stand on."""

    def __init__(self, plan: Plan, lock: Lock) -> None:
        self.plan, self.lock = plan, lock
        self._published = list(published_spreads(plan.papers)) if plan.scale.comparable else []
        # What the columns of the line that is planned ask for together: own part, whole request, and its memo.
        self._line_asks: tuple[Mapping[str, Any], dict[str, Any], str] = ({}, {}, "")
        self._memo: dict[str, tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]] = {}
        self._backbones: dict[tuple[str, int], dict[str, Any]] = {}
        self._stores: dict[tuple[str, Any, str, int], str] = {}
        self._starts: list[Mapping[str, Any]] = []
        self._recipes: dict[tuple[str, str], dict[str, Any]] = {}
        self._corpora: dict[str, dict[str, Any]] = {}

    def add(self, item: Item) -> None:
        """Plan all cells of an item."""
        self.plan.items[item.id] = item
        self.plan.cells[item.id] = [cell for row in item.rows for cell in self._row(item, row)]

    def add_if_possible(self, item: Item) -> None:
        """Plan all cells of an item, or note in the plan why that cannot be done."""
        try:
            self.add(item)
        except BadInput as error:
            del self.plan.items[item.id]
            self.plan.unplanned[item.id] = str(error)

    def _row(self, item: Item, row: Row) -> Iterator[Cell]:
        requests = {AS_DESCRIBED: row.encoder.given()}
        requests |= {name: request.given() for name, request in row.also.items()}
        for protocol, request in requests.items():
            quoted = row.quoted and protocol == AS_DESCRIBED
            yield from self._line(item, row, protocol, request, quoted)
        for name, protocols in self._variants(item, row).items():
            yield from self._variant(item, row, name, protocols)
        if row.id in (self.plan.config.crossed or {}).get(item.id, ()):
            yield from self._crossed(item, row)

    def _line(
        self, item: Item, row: Row, protocol: str, request: Mapping[str, Any], quoted: bool
    ) -> list[Cell]:
        """Return the cells of a row under one protocol."""
        cells = [self._cell(item, row, column, protocol, request, quoted) for column in item.columns]
        by_id = {cell.column.id: cell for cell in cells}
        return [self._with_operands(cell, by_id) if cell.column.kind == "derived" else cell for cell in cells]

    def _crossed(self, item: Item, row: Row) -> list[Cell]:
        """Return the cells of a row under every seed, on the backbone of each seed in turn."""
        given = row.encoder.given()
        lines = [
            self._line(item, row, f"{ON_BACKBONE}{seed}", {**given, "backbone_seed": seed}, row.quoted)
            for seed in self.plan.seeds
        ]
        if len({tuple(cell.jobs for cell in line) for line in lines}) < len(lines):
            raise BadInput(
                f"crossed names row {row.id} of {item.id}, but {self.plan.scale.file} pre-trains nothing per seed that"
                " it stands on; leave the row out"
            )
        return [cell for line in lines for cell in line]

    def _variants(self, item: Item, row: Row) -> dict[str, list[Protocol]]:
        if row.quoted:
            return {}
        protocols = self.plan.papers[item.paper].protocols
        return variants(protocols, item.name, row.id, self.plan.config.adjudicates(item.id))

    def _variant(self, item: Item, row: Row, name: str, protocols: Sequence[Protocol]) -> Iterator[Cell]:
        """Yield the cells of a row that a variant is about, and what is derived from one of them."""
        self._check_cells(item, row, protocols)
        requests: dict[tuple[str, ...], dict[str, Any]] = {}
        cells, about = [], set()
        for column in item.columns:
            own = [each for each in protocols if each.applies(item.name, row.id, column.id)]
            key = tuple(each.id for each in own)
            if key not in requests:
                requests[key] = reduce(changed, own, row.encoder.given())
            cells.append(self._cell(item, row, column, name, requests[key], quoted=False))
            about |= {column.id} if own else set()
        by_id = {cell.column.id: cell for cell in cells}
        for cell in cells:
            if cell.column.kind != "derived":
                wanted = cell.column.id in about
            elif wanted := not about.isdisjoint(cell.column.parsed.columns):
                cell = self._with_operands(cell, by_id)
            if wanted:
                yield cell

    def _check_cells(self, item: Item, row: Row, protocols: Iterable[Protocol]) -> None:
        """Refuse a protocol that gives several recipes of a row one corpus, one objective, or the like."""
        for protocol in protocols:
            replaced = [part for part in PARTS if part in protocol.change.given().get("run", {})]
            about = [
                c for c in item.columns if c.kind != "derived" and protocol.applies(item.name, row.id, c.id)
            ]
            requests = [request_of(item, row, column, row.encoder.given()) for column in about if replaced]
            recipes = sorted({request["use"] for request in requests if "use" in request})
            if len(recipes) > 1 and not protocol.stages:
                file = self.plan.papers[item.paper].folder / "protocols.yaml"
                raise BadInput(
                    f"{file}: {protocol.id} replaces {replaced[0]} in row {row.id} of {item.id}, whose columns train"
                    f" {', '.join(recipes)}; name the cells that it is about as {row.id}/COLUMN"
                )

    def _cell(
        self, item: Item, row: Row, column: AnyColumn, protocol: str, request: Mapping[str, Any], quoted: bool
    ) -> Cell:
        path = row.metric_paths.get(column.id, getattr(column, "metric_path", ""))
        if row.final_only and path.startswith("trajectory/"):
            path = ""
        jobs: tuple[tuple[str, ...], ...] = ()
        seeds: tuple[int | None, ...] = ()
        if path.startswith("data/") and not quoted:
            # Counted from the data, whatever encoder the row names.
            jobs, seeds = ((self._added({}, {"source": {"data": "counts"}}, str(item.file)),),), (None,)
            self._check_corpus(item, path)
            self.plan.counted.add(path)
        elif path and not quoted:
            jobs, seeds = self._jobs(item, row, column, request, protocol)
            encoders = {encoder for group in jobs for encoder in group}
            step = getattr(column, "step", None)
            if step and any(self._steps(encoder, item) < step for encoder in encoders):
                # At this scale the run ends before: there is nothing to show.
                path, jobs, seeds = "", (), ()
            else:
                self._note(item, column, path, encoders)
        return Cell(
            item=item,
            row=row,
            column=column,
            metric_path=path,
            jobs=jobs,
            seeds=seeds,
            reported=self._reported(item, row, column),
            subtracted=self._subtracted(item, row, column),
            protocol=protocol,
        )

    def _with_operands(self, cell: Cell, by_id: Mapping[str, Cell]) -> Cell:
        operands = tuple(by_id[name] for name in cell.column.parsed.columns)
        ready = all(operand.jobs for operand in operands)
        # A search has the first seed alone, and what is derived from it too; what has no seed stands beside any.
        trained = [operand.seeds for operand in operands if operand.seeds != (None,)]
        seeds = min(trained, key=len, default=(None,))
        return Cell(
            item=cell.item, row=cell.row, column=cell.column, metric_path="", jobs=(), reported=cell.reported,
            protocol=cell.protocol, seeds=seeds if ready else (), operands=operands if ready else (),
        )  # fmt: skip

    def _note(self, item: Item, column: AnyColumn, path: str, encoders: Iterable[str]) -> None:
        """Note what a cell needs of its encoders: the suite, checkpoints of a trajectory, or a count of the data."""
        suite = path.partition("/")[0]
        for encoder in encoders:
            self.plan.suites.setdefault(encoder, set()).add(suite)
            if suite == "trajectory":
                self._keep(encoder, item)
            entry = SUITES.get(suite)
            if entry and entry.named_by:
                known = self.plan.scale.options.get(suite, {}).get(entry.named_by, {})
                if (name := entry.name_in(path)) not in known:
                    where = f"{item.file}: column {column.id}: {self.plan.scale.file}"
                    raise BadInput(
                        f'{where} has no "{name}" among the {entry.named_by} of {suite}{nearest(name, known)}'
                    )

    def _check_corpus(self, item: Item, path: str) -> None:
        kind, name = path.split("/")[1:3]
        if kind in ("corpus", "overlap", "shared"):
            self.plan.scale.named("corpora", name, f"{item.file}: {path}")

    def _reported(self, item: Item, row: Row, column: AnyColumn) -> Reported | None:
        """Return the printed number of a cell: of the item, or of the running text that the row points to."""
        printed = self.plan.papers[item.paper].reported
        if column.id not in row.printed:
            return printed.get((item.name, row.id, column.id, column.metric))
        key = ("text", *row.printed[column.id].split("/"), column.metric)
        if key not in printed:
            known = ["/".join(other[1:3]) for other in printed if other[0] == "text"]
            wanted = row.printed[column.id]
            raise BadInput(f'{item.file}: row {row.id}: printed names "{wanted}"{nearest(wanted, known)}')
        return printed[key]

    def _subtracted(self, item: Item, row: Row, column: AnyColumn) -> Reported | None:
        if column.kind != "difference":
            return None
        wanted = column.subtract
        where = f"{item.file}: column {column.id}: subtract"
        paper, _, name = wanted.item.partition("/")
        known = [other.id for each in self.plan.papers.values() for other in each.items.values()]
        if wanted.item not in known:
            raise BadInput(f'{where}.item is "{wanted.item}"{nearest(wanted.item, known)}')
        other = self.plan.papers[paper].items[name]
        columns = {f"{each.id}, {each.metric}" for each in other.columns}
        if f"{wanted.column}, {wanted.metric}" not in columns:
            raise BadInput(f'{where} names column and metric "{wanted.column}, {wanted.metric}" of {wanted.item}'
                           f"{nearest(f'{wanted.column}, {wanted.metric}', columns)}")  # fmt: skip
        key = (name, wanted.row or row.id, wanted.column, wanted.metric)
        if wanted.row and wanted.row not in {each.id for each in other.rows}:
            raise BadInput(
                f'{where}.row is "{wanted.row}"{nearest(wanted.row, [each.id for each in other.rows])}'
            )
        return self.plan.papers[paper].reported.get(key)

    def _jobs(
        self, item: Item, row: Row, column: AnyColumn, own: Mapping[str, Any], protocol: str
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]:
        """Return the encoders of each seed, and the seeds."""
        special = bool(cell_request(row, column) or column.encoder.given())
        if special or self._line_asks[0] is not own:
            request = request_of(item, row, column, own)
            memo = json.dumps([item.paper, request], sort_keys=True)
            if not special:
                self._line_asks = own, request, memo
        else:
            _, request, memo = self._line_asks
        search = request.get("grid") or request.get("draw")
        over = getattr(column, "over", None)
        if search and (over is None or over.jobs is None):
            raise BadInput(
                f"{item.file}: column {column.id}: row {row.id} is a search; say in over.jobs what is taken of its jobs"
            )
        if not search and over is not None and over.jobs is not None:
            raise BadInput(
                f"{item.file}: column {column.id}: over.jobs is given, but row {row.id} is no search"
            )
        if memo not in self._memo:
            where = self._where(item, row, column if special else None, protocol)
            # A search is run with one seed, as the papers ran theirs.
            seeds = [
                Seeds(seed, request.get("backbone_seed", seed))
                for seed in (self.plan.seeds[:1] if search else self.plan.seeds)
            ]
            changes = map(_change, self.plan.scale.searched(request, where))
            each = [self.encoders(item.paper, merged(request, change), seeds, where) for change in changes]
            jobs = tuple(zip(*each, strict=True))
            self._memo[memo] = jobs, tuple(self._seed(group[0]) for group in jobs)
        jobs, seeds = self._memo[memo]
        self._check_argmax(item, row, column, jobs)
        return jobs, seeds

    def _where(self, item: Item, row: Row, column: AnyColumn | None, protocol: str) -> str:
        """Return the place of what a line, or its cell in a column, asks for."""
        if protocol not in row.also and protocol != AS_DESCRIBED and not protocol.startswith(ON_BACKBONE):
            file = self.plan.papers[item.paper].folder / "protocols.yaml"
            return f"{file}: {protocol}: row {row.id} of {item.id}"
        where = f"{item.file}: row {row.id}" + (f", column {column.id}" if column else "")
        return where + (f": also.{protocol}" if protocol in row.also else "")

    def _check_argmax(self, item: Item, row: Row, column: AnyColumn, jobs: Iterable[Iterable[str]]) -> None:
        """Refuse an argmax that shows something else than a number of the runs of a search."""
        over = getattr(column, "over", None)
        path = over and over.jobs and over.jobs.shows
        for encoder in (encoder for group in jobs for encoder in group) if path else ():
            value = self.plan.hyperparameter(encoder, path)
            if isinstance(value, bool) or not isinstance(value, int | float):
                what = f'over.jobs.argmax is "{path}", {shown(value)} in a run of row {row.id}'
                raise BadInput(f"{item.file}: column {column.id}: {what}; expected the path of a number")

    def _seed(self, encoder: str) -> int | None:
        """Return the seed that an encoder was trained with; None where it was not trained here."""
        run = self.plan.encoders[encoder].source.run
        return self.plan.runs[run].seed if run else None

    def encoders(
        self, paper: str, request: Mapping[str, Any], seeds: Sequence[Seeds], where: str
    ) -> list[str]:
        """Add the encoder of each seed (a lone one where no seed changes it), with all it stands on; return the ids."""
        scale = self.plan.scale
        engine = {"engine": request["engine"]} if "engine" in request else {}
        if "released" in request:
            released = scale.named("released", request["released"], where)
            if released.stand_in is None:
                source = self._artefact(EncoderSource(hub=released.hub))
                request = {"pooling": released.pooling, **request}
                return [self._added(request, {"source": source, **engine}, where)]
            own = {
                key: entry for key, entry in request.items() if key not in ("released", "run", "grid", "draw")
            }
            request = layered(released.stand_in.given(), own)
        if "vectors" in request:
            words = scale.named("vectors", request["vectors"], where)
            source = {"vectors": request["vectors"], "words": words.plain()}
            return [self._added(request, {"source": source}, where)]
        if "use" in request:
            trained = self._trained(paper, request, seeds, where)
            return [self._added({**_as_trained(self.plan.runs[run]), **request}, {"source": {"run": run}}, where)
                    for run in trained]  # fmt: skip
        if "backbone" in request:
            each = [self.backbone(request["backbone"], seed.backbone, where) for seed in seeds]
            found = [self._added({**entry, **request}, {"source": entry["source"]}, where) for entry in each]
            return list(dict.fromkeys(found))
        raise BadInput(f"{where}: the encoder names none of use, backbone, released, vectors")

    def _added(self, request: Mapping[str, Any], values: Mapping[str, Any], where: str) -> str:
        """Add an encoder to the plan and return its id; `request` says how it is read."""
        read = {
            key: request[key]
            for key in ("pooling", "checkpoint", "postprocess", "engine")
            if request.get(key)
        }
        if "postprocess" in read:
            fit = read["postprocess"]["fit"]
            corpus = fit if fit == "target" else self.plan.scale.corpus(fit, where)
            read["postprocess"] = {**read["postprocess"], "fit": corpus}
        spec = EncoderSpec.of({**read, **values}, where)
        self.plan.encoders[spec.encoder_id] = spec
        return spec.encoder_id

    def _trained(
        self, paper: str, request: Mapping[str, Any], seeds: Sequence[Seeds], where: str
    ) -> list[str]:
        """Return the runs that a recipe describes, with what the request changes in it, one per seed."""
        values = self._values(paper, request, where)
        runs = self.runs(paper, values, seeds, where)
        for recipe, spreads in self._published:
            if values == recipe:
                for run in runs:
                    self.plan.measured[run] = {**self.plan.measured.get(run, {}), **spreads}
        return runs

    def _values(self, paper: str, request: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return a run's plain data before the scale's adjustments."""
        name = self.plan.scale.recipe(paper, request["use"])
        if (paper, name) not in self._recipes:
            self._recipes[paper, name] = recipe_of(self.plan.papers, paper, name, where)
        values = run_values(self._recipes[paper, name], request, where)
        if stages := request.get("stages"):
            # A chain names its recipes with their paper.
            own = stages.get(request["use"].removeprefix(f"{paper}/"), {})
            values = run_values(values, own, where)
            if "use" in values["init"]:
                values["init"] = {**values["init"], "stages": stages}
        return values

    def _steps(self, encoder: str, item: Item) -> float:
        """Return the steps that the run of an encoder is bounded to, infinity where its epochs end it alone."""
        run_id = self.plan.encoders[encoder].source.run
        if run_id is None:
            raise BadInput(f"{item.file}: a trajectory needs a run; {encoder} is not trained")
        return self.plan.runs[run_id].optimisation.steps or math.inf

    def _keep(self, encoder: str, item: Item) -> None:
        """Ask the run of an encoder to keep the checkpoints of an item's trajectory, as far as it goes."""
        until = min(item.trajectory.until, self._steps(encoder, item))
        run = self.plan.runs[self.plan.encoders[encoder].source.run]
        asked = Trajectory(every=item.trajectory.every, until=int(until))
        if asked.steps() and not set(asked.steps()) <= set(run.trajectory.steps()):
            self.plan.runs[run.run_id] = run.model_copy(update={"trajectory": run.trajectory.joined(asked)})

    def backbone(self, name: str, seed: int, where: str) -> dict[str, Any]:
        """Return source, checkpoint and engine of a backbone by its name in the scale.

        `seed` is that of its pre-training where the scale pre-trains it for each seed.
        """
        if (name, seed) not in self._backbones:
            entry = self.plan.scale.named("backbones", name, where)
            found: dict[str, Any] = {"engine": entry.engine}
            if entry.run is not None:
                values = entry.run.given()
                own = seed if (fixed := values.pop("seed", 0)) == "each" else fixed
                with self._not_from_itself({"backbone": name}, where):
                    (run,) = self.runs("", values, [Seeds(own, own)], where, adjust=False)
                found |= {
                    "source": {"run": run},
                    "checkpoint": self.plan.kept_checkpoint(self.plan.runs[run]),
                }
            else:
                found["source"] = self._artefact(EncoderSource(hub=entry.hub, folder=entry.folder))
            self._backbones[name, seed] = found
        return self._backbones[name, seed]

    def _artefact(self, source: EncoderSource) -> dict[str, Any]:
        """Return a released encoder as a source, at the commit of the lock file, and plan to bring it."""
        if source.hub:
            revision = self.lock.revision(source.hub)
            if revision is None:
                self.plan.unpinned.add(source.hub)
            source = source.model_copy(update={"revision": revision or "main"})
        self.plan.backbones[backbone_id(source)] = source.plain()
        return source.plain()

    def runs(
        self, paper: str, values: dict[str, Any], seeds: Sequence[Seeds], where: str, adjust: bool = True
    ) -> list[str]:
        """Add the run of some plain values under each seed to the plan, and return their ids.

        The encoders that its views and terms stand on are of the same chain as the weights it starts from.
        """
        for part in PARTS:
            if part not in values:
                raise BadInput(f"{where}: the run has no {part}; its recipe must give one")
        scale = self.plan.scale
        values = {"precision": self.plan.precision(paper), **(scale.adjusted(values) if adjust else values)}
        values["selection"] = self._selection(values.get("selection", {}), where)
        found: list[str] = []
        spec, known, stores = None, None, None
        for seed in seeds:
            init, engine = self._init(paper, values["init"], seed, where)
            chosen = {"engine": engine, **values, "init": init, **self._source(values, seed, where)}
            chosen["beside"] = [self._source(source, seed, where) for source in values.get("beside", ())]
            if spec is None or chosen != known:
                spec, known, stores = RunSpec.of({**chosen, "seed": seed.run}, where), chosen, None
            # What differs in the seed alone is checked once, and reads the same.
            spec = spec.with_seed(seed.run)
            if spec.run_id not in self.plan.runs:
                self.plan.runs[spec.run_id] = spec
                self._check_head(spec, values["init"], where)
                stores = stores or self._run_stores(spec)
                self.plan.run_stores[spec.run_id] = stores
            found.append(spec.run_id)
        return found

    def _check_head(self, run: RunSpec, init: Mapping[str, Any], where: str) -> None:
        """Refuse a run that is to keep the head of another run which trains none, or one of another kind.

        So for the head of a task that both runs train. A backbone that the scale pre-trains has no pooler: the plan
        notes that the run draws one.
        """
        if not (run.init.keep_head and run.init.run):
            return
        before = self.plan.runs[run.init.run]
        task = next((task for task, head in run.heads.items() if before.heads.get(task, head) != head), None)
        if task:
            raise BadInput(
                f"{where}: init.keep_head is true, but the run of {init.get('use') or init['backbone']} has another"
                f" head of task {task}; take it away or mend that run"
            )
        if run.pooling.train != "cls-head":
            return
        trains = before.pooling.train == "cls-head"
        if trains and can_keep(run.head, before.head):
            return
        if "backbone" in init:
            self.plan.without_pooler.add(init["backbone"])
            return
        problem = (
            f"has a {before.head.kind} of other sizes"
            if trains
            else "trains none (pooling.train cls-head does)"
        )
        raise BadInput(
            f"{where}: init.keep_head is true, but the run of {init['use']} {problem}; take it away or mend"
            " that run"
        )

    def _source(self, values: Mapping[str, Any], seed: Seeds, where: str) -> dict[str, Any]:
        """Return corpus, views and objective of a source as the scale has them."""
        self._check_columns(values["views"], values["corpus"], where)
        if values["corpus"] not in self._corpora:
            self._corpora[values["corpus"]] = self.plan.scale.corpus(values["corpus"], where)
        return {
            "corpus": self._corpora[values["corpus"]],
            "views": [self._view(view, seed, where) for view in values["views"]],
            "objective": [self._term(term, seed, where) for term in values["objective"]],
        }

    def _selection(self, rule: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the rule of selection with the development set of its task, which the scale's options name."""
        metric = rule.get("metric", "")
        if not metric.startswith("heads-dev/"):
            return dict(rule)
        tasks, task = self.plan.scale.options.get("heads-dev", {}).get("tasks", {}), metric.split("/")[1]
        if task not in tasks:
            problem = f"has no task {task} for heads-dev{nearest(task, tasks)}"
            raise BadInput(f"{where}: selection.metric: {self.plan.scale.file} {problem}")
        return {**rule, "data": tasks[task]}

    def _init(
        self, paper: str, init: Mapping[str, Any], seed: Seeds, where: str
    ) -> tuple[dict[str, Any], str]:
        """Return where a run starts, and the engine of that encoder; the run of another recipe has the same seed."""
        if "use" in init:
            with self._not_from_itself(init, where):
                values = self._values(paper, init, where)
                (run,) = self.runs(paper, values, [seed], where)
            kept = {key: init[key] for key in ("checkpoint", "keep_head") if key in init}
            return {"run": run, **kept}, self.plan.runs[run].engine
        if "fresh" in init:
            tokenizer = self.plan.scale.tokenizer(init["fresh"]["tokenizer"], where)
            self.plan.tokenizers[tokenizer_id(tokenizer)] = tokenizer
            return {"fresh": {**init["fresh"], "tokenizer": tokenizer}}, "auto"
        found = self.backbone(init["backbone"], seed.backbone, where)
        kept = {"keep_head": True} if init.get("keep_head") else {}
        return {**found["source"], **kept}, found["engine"]

    @contextmanager
    def _not_from_itself(self, start: Mapping[str, Any], where: str) -> Iterator[None]:
        """Refuse a run that starts from its own end, through however many others."""
        if start in self._starts:
            name = start.get("use") or start["backbone"]
            raise BadInput(f"{where}: the run starts from itself, by init from {name}; break the circle")
        self._starts.append(start)
        yield
        self._starts.pop()

    def _check_columns(self, views: Iterable[Mapping[str, Any]], corpus: str, where: str) -> None:
        known = self.plan.scale.named("corpora", corpus, where).columns
        for view in views:
            if view["column"] not in known:
                wrong = view["column"]
                raise BadInput(
                    f'{where}: a view reads column "{wrong}" of corpus {corpus}{nearest(wrong, known)}'
                )

    def _view(self, view: Mapping[str, Any], seed: Seeds, where: str) -> dict[str, Any]:
        """Return a view with what the scale says of its augmentation; a masked-LM's backbone becomes its folder."""
        if not view.get("augment"):
            return dict(view)
        augment = {**view["augment"], **self.plan.scale.augmentations.get(view["augment"]["name"], {})}
        if augment.get("backbone"):
            augment["encoder"] = self._backbone_folder(augment.pop("backbone"), seed, where)
        return {**view, "augment": augment}

    def _term(self, term: Mapping[str, Any], seed: Seeds, where: str) -> dict[str, Any]:
        """Return a loss term; the backbone it generates with becomes its folder."""
        if not term.get("generator"):
            return dict(term)
        return {**term, "generator": self._backbone_folder(term["generator"]["backbone"], seed, where)}

    def _backbone_folder(self, name: str, seed: Seeds, where: str) -> str:
        found = self.backbone(name, seed.backbone, where)
        spec = EncoderSpec(
            source=EncoderSource(**found["source"]), checkpoint=found.get("checkpoint", "best")
        )
        return self.plan.encoder_folder(spec)

    def _run_stores(self, run: RunSpec) -> list[str]:
        """Return the stores of the views of a run's sources, in their order."""
        tokenizer, length = self.plan.tokenizer_file(run.init), run.optimisation.max_length
        found = []
        for source in run.sources:
            for view in source.views:
                key = source.corpus["name"], view, tokenizer, length
                if key not in self._stores:
                    spec = {
                        "corpus": source.corpus,
                        "view": view.plain(),
                        "tokenizer": tokenizer,
                        "max_length": length,
                    }
                    name = view.augment.name if view.augment else view.column
                    self._stores[key] = f"{source.corpus['name']}-{name}-{digest(spec)}"
                    self.plan.stores[self._stores[key]] = spec
                found.append(self._stores[key])
        return found


def _as_trained(run: RunSpec) -> dict[str, Any]:
    """Return how the encoder of a run is read where nothing else is asked for."""
    kept = Plan.kept_checkpoint(run)
    return {"pooling": run.pooling.test, "checkpoint": kept, "engine": run.engine}


def run_values(recipe: Mapping[str, Any], request: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a run's plain data: its recipe, and what the request changes in it."""
    return varied(merged(recipe, request.get("run") or {}), request.get("vary") or {}, where)


def published_spreads(papers: Mapping[str, Paper]) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Yield the values of each run whose spread over seeds some paper prints, and that spread by metric path."""
    for paper in papers.values():
        for item in paper.items.values():
            for row in item.rows:
                spreads = {
                    row.metric_paths.get(column.id, getattr(column, "metric_path", "")): printed.sd
                    for column in item.columns
                    if (printed := paper.reported.get((item.name, row.id, column.id, column.metric)))
                    and printed.sd is not None
                }
                request = layered(item.encoder.given(), row.encoder.given())
                if spreads and "use" in request:
                    where = f"{item.file}: row {row.id}"
                    recipe = recipe_of(papers, paper.key, request["use"], where)
                    yield run_values(recipe, request, where), spreads


def _change(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what one job of a search changes in an encoder.

    A name is `section.key` of the run, as in {"optimisation.batch_size": 64}, or `terms.TERM.key`.
    """
    change: dict[str, Any] = {}
    for name, value in values.items():
        *path, key = name.split(".")
        inner = change.setdefault("vary" if path[0] == "terms" else "run", {})
        for part in path:
            inner = inner.setdefault(part, {})
        inner[key] = value
    return change
