"""Planning: from papers, a scale and a config to every run, encoder and evaluation, all known at once."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from replicse.checked import shown
from replicse.errors import BadInput, nearest
from replicse.registry.corpora import SIMCSE_DATA
from replicse.registry.runs import PARTS, Trajectory
from replicse.registry.suites import SUITES
from replicse.study.paper.config import Config, checked_config
from replicse.study.paper.layers import merged
from replicse.study.paper.lock import Lock, load_lock
from replicse.study.paper.models import EncoderRequest, EncoderSource, PlannedRequest, layered
from replicse.study.paper.papers import Paper, load_papers, recipe_of, recipes_in_order
from replicse.study.paper.printed import Reported
from replicse.study.paper.protocols import (
    AS_DESCRIBED,
    ON_BACKBONE,
    Protocol,
    changed,
    variants,
)
from replicse.study.paper.scales import Scale
from replicse.study.paper.tables import AnyColumn, Item, Row
from replicse.study.plan.choose import cell_request, chosen_items, chosen_scale, request_of, too_large
from replicse.study.plan.needs import hub_parts
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Cell, Plan
from replicse.study.plan.resolve import FIRST, Resolver, Seeds


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


def check_parts(scale: Scale, papers: dict[str, Paper], workflow: Path) -> None:
    """Raise BadInput where a backbone, a stand-in or a recipe cannot be planned at a scale, whoever asks for it."""
    config = Config(scale=scale.name, papers="all", seeds=(0,))
    plan = Plan(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
    resolver = Resolver(plan, load_lock(workflow))
    for name in scale.backbones:
        resolver.backbone(name, FIRST.backbone, f"{scale.file}: backbones.{name}")
    for pair in scale.recipes.items():
        for name in pair:
            recipe_of(papers, "", name, f"{scale.file}: recipes.{pair[0]}")
    for paper, name in recipes_in_order(papers):
        where = f"{paper.folder / 'recipes.yaml'}: {name}"
        run = recipe_of(papers, paper.key, name, where)
        # A template leaves parts to those that are like it; another recipe may stand in for one at this scale.
        if run.model_fields_set >= set(PARTS) and scale.recipe(paper.key, name) == name:
            resolver.runs(paper.key, run, [FIRST], where)
    for name, released in scale.released.items():
        if released.stand_in is not None:
            where = f"{scale.file}: released.{name}.stand_in"
            resolver.encoders("", layered(released.stand_in), [FIRST], where)


class Planner:
    """Adds items to a plan: each cell's encoders, their runs, and what those stand on."""

    def __init__(self, plan: Plan, lock: Lock) -> None:
        self.plan, self.resolver = plan, Resolver(plan, lock)
        # What the columns of the line that is planned ask for together: own part, whole request, and its memo.
        self._line_asks = EncoderRequest(), PlannedRequest(), ""
        self._memo: dict[str, tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]] = {}

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
        for protocol, request in {AS_DESCRIBED: row.encoder, **row.also}.items():
            quoted = row.quoted and protocol == AS_DESCRIBED
            yield from self._line(item, row, protocol, request, quoted)
        for name, protocols in self._variants(item, row).items():
            yield from self._variant(item, row, name, protocols)
        if row.id in (self.plan.config.crossed or {}).get(item.id, ()):
            yield from self._crossed(item, row)

    def _line(self, item: Item, row: Row, protocol: str, request: EncoderRequest, quoted: bool) -> list[Cell]:
        """Return the cells of a row under one protocol."""
        cells = [self._cell(item, row, column, protocol, request, quoted) for column in item.columns]
        by_id = {cell.column.id: cell for cell in cells}
        return [self._with_operands(cell, by_id) if cell.column.kind == "derived" else cell for cell in cells]

    def _crossed(self, item: Item, row: Row) -> list[Cell]:
        """Return the cells of a row under every seed, on the backbone of each seed in turn."""
        requests = {
            f"{ON_BACKBONE}{seed}": layered(row.encoder).replace(backbone_seed=seed)
            for seed in self.plan.seeds
        }
        lines = [
            self._line(item, row, protocol, request, row.quoted) for protocol, request in requests.items()
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
        requests: dict[tuple[str, ...], EncoderRequest] = {}
        cells, about = [], set()
        for column in item.columns:
            own = [each for each in protocols if each.applies(item.name, row.id, column.id)]
            key = tuple(each.id for each in own)
            if key not in requests:
                requests[key] = reduce(changed, own, row.encoder)
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
            changes = protocol.change.run
            replaced = [part for part in PARTS if changes and part in changes.model_fields_set]
            about = [
                c for c in item.columns if c.kind != "derived" and protocol.applies(item.name, row.id, c.id)
            ]
            requests = [request_of(item, row, column, row.encoder) for column in about if replaced]
            recipes = sorted({request.use for request in requests if request.use})
            if len(recipes) > 1 and not protocol.stages:
                file = self.plan.papers[item.paper].folder / "protocols.yaml"
                raise BadInput(
                    f"{file}: {protocol.id} replaces {replaced[0]} in row {row.id} of {item.id}, whose columns train"
                    f" {', '.join(recipes)}; name the cells that it is about as {row.id}/COLUMN"
                )

    def _cell(
        self, item: Item, row: Row, column: AnyColumn, protocol: str, request: EncoderRequest, quoted: bool
    ) -> Cell:
        path = row.metric_paths.get(column.id, getattr(column, "metric_path", ""))
        if row.final_only and path.startswith("trajectory/"):
            path = ""
        jobs: tuple[tuple[str, ...], ...] = ()
        seeds: tuple[int | None, ...] = ()
        if path.startswith("data/") and not quoted:
            # Counted from the data, whatever encoder the row names.
            jobs, seeds = (
                ((self.resolver.encoder(EncoderRequest(), EncoderSource(data="counts"), {}, ""),),),
                (None,),
            )
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
        self, item: Item, row: Row, column: AnyColumn, own: EncoderRequest, protocol: str
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]:
        """Return the encoders of each seed, and the seeds."""
        special = bool(cell_request(row, column).model_fields_set or column.encoder.model_fields_set)
        if special or self._line_asks[0] is not own:
            request = request_of(item, row, column, own)
            memo = f"{item.paper} {request.model_dump_json(exclude_unset=True)}"
            if not special:
                self._line_asks = own, request, memo
        else:
            _, request, memo = self._line_asks
        search = request.grid or request.draw
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
                Seeds(seed, seed if request.backbone_seed is None else request.backbone_seed)
                for seed in (self.plan.seeds[:1] if search else self.plan.seeds)
            ]
            each = [
                self.resolver.encoders(item.paper, merged(request, _change(values, where)), seeds, where)
                for values in self.plan.scale.searched(request, where)
            ]
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
            self.plan.runs[run.run_id] = run.replace(trajectory=run.trajectory.joined(asked))


def _change(values: Mapping[str, Any], where: str) -> EncoderRequest:
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
    return EncoderRequest.of(change, where)
