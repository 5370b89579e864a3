"""Compile papers, a scale and a config into a study.

The study contains every run, encoder and evaluation.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.checked import Checked, excerpt
from replicse.compile.cell import Cell
from replicse.compile.lineage import run_dependencies
from replicse.compile.lines import Line, described, lines_of
from replicse.compile.needs import hub_parts, outside
from replicse.compile.paths import Paths
from replicse.compile.resolve import Resolver, Seeds
from replicse.compile.searches import get_setting, limit_searches, list_search_values, search_change
from replicse.compile.selection import chosen_items, chosen_scale, load_scales, too_large
from replicse.compile.study import Study
from replicse.errors import BadInput, nearest
from replicse.registry.corpora import SIMCSE_DATA
from replicse.registry.registry import current
from replicse.registry.runs import Run
from replicse.spec.additions import with_additions
from replicse.spec.columns import AnyColumn, Derived
from replicse.spec.config import Config, checked_config
from replicse.spec.layers import merge_layers
from replicse.spec.lock import Lock, load_lock
from replicse.spec.models import Encoder, EncoderSource, PlannedRequest
from replicse.spec.papers import Paper, load_papers, printed_of, subtracted_of
from replicse.spec.protocols import ON_BACKBONE
from replicse.spec.scales import OfAnotherScale
from replicse.spec.tables import Item, Row, TrajectoryFigure

# The encoders of each seed; a search has several encoders for a seed.
Jobs = tuple[tuple[str, ...], ...]


def compile_study(
    values: Config | Mapping[str, Any],
    workflow: Path,
    file: str = "config.yaml",
    only: str = "",
    *,
    papers: Mapping[str, Paper] | None = None,
    as_far_as_possible: bool = False,
) -> Study:
    """Compile the study of a config, or a single item.

    Only YAML and CSV files are read. An item of another scale is skipped unless the config names it or the study would
    be empty.

    Args:
        values: the config, or a dict with the keys of a config.
        workflow: the folder of papers and scales.
        file: the file of the config in error messages. Default: "config.yaml".
        only: the item to compile, `paper/item`. Default: all items of the config.
        papers: a dict from keys to papers; default: the papers are loaded.
        as_far_as_possible: whether to skip items with an error, and to record the error in `Study.unplanned`.

    Returns:
        The study, with read-only dicts, sets and lists.

    Raises:
        BadInput: if the config is not valid or an item cannot be compiled.
    """
    config = values if isinstance(values, Config) else checked_config(values, file)
    papers = load_papers(workflow, config.plugins) if papers is None else papers
    lock = load_lock(workflow)
    scale = with_additions(chosen_scale(config, workflow, file), papers, config, file, load_scales(workflow))
    scale = scale.pin_commits(lock)
    study = Study(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
    compiler = Compiler(study, lock)
    items = list(chosen_items(config, papers, file))
    left_out = too_large(items, config, scale)
    for item in items:
        if only == item.id or (not only and item not in left_out):
            compiler.add_if_possible(item)
            error = study.unplanned.get(item.id)
            optional = isinstance(error, OfAnotherScale) and not only and not config.names(item.id)
            if error and not as_far_as_possible and not optional:
                raise error
    if not only:
        study.left_out.extend(item.id for item in left_out)
    wanted = [part.path for part in hub_parts(study, outside(study))]
    if study.source == "hub":
        wanted.append(SIMCSE_DATA)
    study.unpinned.update(lock.unpinned(wanted))
    if not study.items and not (study.unplanned and as_far_as_possible):
        none = BadInput(
            f'{file}: the study does not contain item "{only}"{nearest(only, [item.id for item in items])}'
        )
        raise next(iter(study.unplanned.values()), none)
    study.depends.update(run_dependencies(study))
    return study.frozen()


class Compiler:
    """The compiler of the items of a study.

    It creates the cells of an item, the encoders of the cells, and the runs of the encoders.

    Args:
        study: the study to fill.
        lock: the commits of hub artefacts.
    """

    def __init__(self, study: Study, lock: Lock) -> None:
        self.study, self.resolver = study, Resolver(study, lock)
        # Encoders and seeds by request; many cells have the same request.
        self._memo: dict[str, tuple[Jobs, tuple[int | None, ...]]] = {}

    def add_if_possible(self, item: Item) -> None:
        """Compile the cells of an item, or record the error.

        Args:
            item: the item; `Study.unplanned` contains the error if a cell cannot be compiled.
        """
        try:
            cells = list(chain.from_iterable(self._row(item, row) for row in item.rows))
        except BadInput as error:
            self.study.unplanned[item.id] = error
        else:
            self.study.items[item.id], self.study.cells[item.id] = item, cells

    def _row(self, item: Item, row: Row) -> list[Cell]:
        """Return the cells of a row under all protocols."""
        cells: list[Cell] = []
        crossed: list[tuple[Jobs, ...]] = []
        for line in lines_of(self.study, item, row):
            line_cells = list(self._line(line))
            cells += line_cells
            if line.protocol.startswith(ON_BACKBONE):
                crossed.append(tuple(cell.jobs for cell in line_cells))
        if len(set(crossed)) < len(crossed):
            raise BadInput(
                f"crossed lists row {row.id} of {item.id}, but {self.study.scale.file} does not pre-train the backbones"
                " for each seed; remove the row from crossed"
            )
        return cells

    def _line(self, line: Line) -> Iterator[Cell]:
        """Yield the cells of a row under a protocol."""
        # Columns of a figure share a name for two metrics; no formula refers to them.
        cells = [self._cell(line, column) for column in line.item.columns if column.kind != "derived"]
        measured = iter(cells)
        by_id = {cell.column.id: cell for cell in cells}
        for column in line.item.columns:
            cell = self._derived(line, column, by_id) if isinstance(column, Derived) else next(measured)
            if line.shows(column):
                yield cell

    def _cell(self, line: Line, column: AnyColumn) -> Cell:
        item, row = line.item, line.row
        path = item.path(row, column)
        jobs: Jobs = ()
        seeds: tuple[int | None, ...] = ()
        if path.startswith("data/") and not line.quoted:
            # Counts of datasets do not depend on the encoder of the row.
            counts = Encoder(source=EncoderSource(data="counts"))
            self.study.encoders[counts.encoder_id] = counts
            jobs, seeds = ((counts.encoder_id,),), (None,)
            self._check_corpus(item, path)
            self.study.counted.add(path)
        elif path and not line.quoted:
            jobs, seeds = self._jobs(line, column)
            encoders = dict.fromkeys(chain.from_iterable(jobs))
            step = getattr(column, "step", None)
            if step and any(_steps(self._trained(encoder, item)) < step for encoder in encoders):
                # At this scale the run ends before this step.
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
            reported=printed_of(self.study.papers, item, row, column),
            subtracted=subtracted_of(self.study.papers, item, row, column),
            protocol=line.protocol,
        )

    def _derived(self, line: Line, column: Derived, by_id: Mapping[str, Cell]) -> Cell:
        # Rows outside of the study have no cells.
        rows = {row.id: row for row in line.item.rows}
        operands = []
        for row, read in column.reads.values():
            if not row:
                operands.append(by_id[read])
            elif row in rows:
                operands.append(self._cell(described(line.item, rows[row]), by_id[read].column))
        seeds: tuple[int | None, ...] = ()
        if len(operands) == len(column.reads) and all(operand.jobs for operand in operands):
            # A search has only the first seed, and so do derived cells. Cells without a seed combine with any seed.
            trained = [operand.seeds for operand in operands if operand.seeds != (None,)]
            seeds = min(trained, key=len, default=(None,))
        else:
            operands = []
        return Cell(
            item=line.item,
            row=line.row,
            column=column,
            metric_path="",
            jobs=(),
            seeds=seeds,
            reported=printed_of(self.study.papers, line.item, line.row, column),
            protocol=line.protocol,
            operands=tuple(operands),
        )

    def _note(self, item: Item, column: AnyColumn, path: str, encoders: Iterable[str]) -> None:
        """Add the suite and the checkpoints of a cell to its encoders."""
        suite, _, rest = path.partition("/")
        entry = current().suites.get(suite)
        if entry and entry.named_by:
            self.study.scale.check_name(
                f"{item.file}: column {column.id}", suite, entry.name_in(path), rest.partition("/")[2]
            )
        for encoder in encoders:
            self.study.suites.setdefault(encoder, set()).add(suite)
            if suite == "trajectory" and item.trajectory:
                self._keep(encoder, item, item.trajectory)
            if entry and entry.narrowed:
                self.study.read.setdefault((encoder, suite), set()).add(rest)

    def _check_corpus(self, item: Item, path: str) -> None:
        kind, name = path.split("/")[1:3]
        if kind in ("corpus", "overlap", "shared"):
            self.study.scale.named("corpora", name, f"{item.file}: {path}")

    def _jobs(self, line: Line, column: AnyColumn) -> tuple[Jobs, tuple[int | None, ...]]:
        """Return the encoders of each seed of a cell, and the seeds."""
        request, memo = line.asks(column)
        search = request.grid or request.draw
        over = column.over
        taken = over.jobs if over else None
        location = f"{line.item.file}: column {column.id}"
        if search and taken is None:
            raise BadInput(
                f"{location}: row {line.row.id} is a search; set over.jobs to the statistic over its jobs"
            )
        if not search and taken is not None:
            raise BadInput(
                f"{location}: over.jobs is set, but row {line.row.id} is not a search; remove over.jobs"
            )
        if memo not in self._memo:
            self._memo[memo] = self._planned(line.item.paper, request, line.location(column))
        jobs, seeds = self._memo[memo]
        self._check_argmax(line.item, line.row, column, jobs)
        shown = over.jobs.shows if over and over.jobs else None
        if shown and shown not in request.varied:
            raise BadInput(
                f'{location}: over.jobs.argmax is "{shown}", which the search of row {line.row.id} does not vary; use'
                f" {' or '.join(request.varied)}"
            )
        selector = line.item.selecting_column(column)
        if selector and line.asks(selector)[1] != memo:
            raise BadInput(
                f"{location}: over.jobs.best_by is {selector.id}, but row {line.row.id} evaluates other encoders there"
            )
        return jobs, seeds

    def _planned(
        self, paper: str, request: PlannedRequest, location: str
    ) -> tuple[Jobs, tuple[int | None, ...]]:
        """Resolve a request to encoders by seed, and the seeds or (None,)."""
        chosen = self.study.seeds
        if request.grid or request.draw:
            # A search is run with one seed, as in the papers.
            chosen = chosen[:1]
        seeds = [Seeds(seed, seed) for seed in chosen]
        if request.backbone_seed is not None:
            seeds = [Seeds(seed, request.backbone_seed) for seed in chosen]
        scale = limit_searches(self.study.scale, self.study.papers[paper].own)
        each = []
        for values in list_search_values(scale, request, location):
            changed = merge_layers(request, search_change(values, location))
            each.append(self.resolver.encoders(paper, changed, seeds, location))
        for encoder in chain.from_iterable(each):
            self.study.encoders[encoder.encoder_id] = encoder
        names = [list(map(_encoder_id, encoders)) for encoders in each]
        jobs = tuple(zip(*names, strict=True))
        return jobs, tuple(self._seed(group[0]) for group in jobs)

    def _check_argmax(self, item: Item, row: Row, column: AnyColumn, jobs: Iterable[Iterable[str]]) -> None:
        """Check that the path of an argmax has a number in each run of a search."""
        path = ""
        if column.over and column.over.jobs:
            path = column.over.jobs.shows or ""
        if not path:
            return
        for encoder in chain.from_iterable(jobs):
            value = get_setting(self.study.run_of(encoder), path)
            if isinstance(value, int | float) and not isinstance(value, bool):
                continue
            plain = value.plain() if isinstance(value, Checked) else value
            problem = f'over.jobs.argmax is "{path}", {excerpt(plain)} in a run of row {row.id}'
            raise BadInput(f"{item.file}: column {column.id}: {problem}; expected the path of a number")

    def _seed(self, encoder: str) -> int | None:
        """Return the training seed of an encoder; None if it is not trained here."""
        run = self.study.run_of(encoder)
        return run.seed if run else None

    def _trained(self, encoder: str, item: Item) -> Run:
        """Return the run of an encoder whose trajectory is shown.

        Raises:
            BadInput: if the encoder is not trained here.
        """
        if run := self.study.run_of(encoder):
            return run
        raise BadInput(
            f"{item.file}: a trajectory requires a run, but {encoder} is not trained; use a recipe for the row"
        )

    def _keep(self, encoder: str, item: Item, figure: TrajectoryFigure) -> None:
        """Add the checkpoints of a trajectory to the run of an encoder."""
        run = self._trained(encoder, item)
        asked = figure.within(_steps(run))
        if not set(asked.steps()) <= set(run.trajectory.steps()):
            self.study.runs[run.run_id] = run.replace(trajectory=run.trajectory.joined(asked))


def _encoder_id(encoder: Encoder) -> str:
    return encoder.encoder_id


def _steps(run: Run) -> float:
    """Return the maximum number of steps of a run, or infinity."""
    steps = run.optimisation.steps
    return math.inf if steps is None else steps
