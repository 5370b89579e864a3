"""The runs that recipes describe, as written: with what a request and a protocol change in them."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from replicse.registry.run_specs import AveragedRun, InitSpec, RunSpec
from replicse.spec.cell_names import CellNames
from replicse.spec.layers import merged
from replicse.spec.models import EncoderRequest, layered
from replicse.spec.own_corpora import with_own_corpora
from replicse.spec.papers import Paper, merge_runs, recipe_layers, recipe_of
from replicse.spec.printed import Spread
from replicse.spec.protocols import varied
from replicse.spec.record import Record
from replicse.spec.record_spreads import lent_spreads
from replicse.spec.scales import Scale

# What may change something in the run of a recipe.
Request = EncoderRequest | InitSpec | AveragedRun
# What a protocol changes in the runs of a chain, by their recipes.
Stages = Mapping[str, EncoderRequest]


class Chain(NamedTuple):
    """What the runs of one chain of training share: the paper whose recipes they name, the place that asks for them."""

    paper: str
    where: str
    stages: Stages = {}


class Written(NamedTuple):
    """A run as recipes and requests write it, and the part that papers of the workspace write."""

    run: RunSpec
    own: RunSpec = RunSpec()


class Recipes:
    """Reads the recipes of papers at a scale, each once."""

    def __init__(self, papers: Mapping[str, Paper], scale: Scale, record: Record) -> None:
        self.papers, self.scale = papers, scale
        self._record = record
        self._read: dict[tuple[str, str], Written] = {}

    def is_own(self, paper: str) -> bool:
        """Return whether a paper, named by its key, is one of the workspace."""
        return paper in self.papers and self.papers[paper].own

    def read(self, paper: str, name: str, where: str) -> Written:
        """Return the run of a recipe of a paper as it is written."""
        if (paper, name) not in self._read:
            layers = list(recipe_layers(self.papers, paper, name, where))
            own = merge_runs(run for home, run in layers if home.own)
            self._read[paper, name] = Written(merge_runs(run for _, run in layers), own)
        return self._read[paper, name]

    def run(self, use: str, request: Request, chain: Chain, own: bool) -> Written:
        """Return the run of a recipe, with what a request changes in it, before the scale's adjustments.

        `own` says that the request is written in a paper of the workspace.
        """
        written = self.read(chain.paper, self.scale.recipe(chain.paper, use), chain.where)
        # A chain names its recipes with their paper.
        stage = chain.stages.get(use.removeprefix(f"{chain.paper}/"))
        changes = [(request, own), (stage, self.is_own(chain.paper))] if stage else [(request, own)]
        for change, is_own in changes:
            if isinstance(change, EncoderRequest) and change.run and chain.paper in self.papers:
                run = with_own_corpora(change.run, self.papers[chain.paper], self.papers)
                change = change.replace(run=run)
            kept = merged(written.own, change.run) if is_own and change.run else written.own
            written = Written(changed_run(written.run, change, chain.where), kept)
        return written

    def spreads(self, run: RunSpec) -> dict[str, Spread]:
        """Return the spreads over seeds that a source of the record or a paper has of a run, by metric path."""
        return {
            path: spread
            for other, spreads in self._published
            if other == run
            for path, spread in spreads.items()
        }

    @cached_property
    def _published(self) -> list[tuple[RunSpec, dict[str, Spread]]]:
        # A paper's own spread replaces the one of the record.
        return [*self._recorded_spreads(), *self._printed_spreads()] if self.scale.comparable else []

    def _recorded_spreads(self) -> Iterator[tuple[RunSpec, dict[str, Spread]]]:
        """Yield the run and spread of each cell that others trained often enough; skip papers that are not here."""
        names = CellNames(self.papers)
        for reading, spread in lent_spreads(self._record):
            if reading.cell.partition("/")[0] not in self.papers:
                continue
            (full,) = names.full_names(reading.cell, "", self._record.location(reading))
            cell = names.cell(full)
            item = self.papers[cell.paper].items.get(cell.item_name)
            place = item.place_of(cell) if item else None
            if item is None or place is None:
                continue
            row, column = place
            own = row.cells.get(column.id, EncoderRequest())
            request = layered(item.encoder, column.encoder, row.encoder, own)
            if request.use:
                where = f"{item.file}: row {row.id}"
                recipe = recipe_of(self.papers, cell.paper, request.use, where)
                yield changed_run(recipe, request, where), {item.path(row, column): spread}

    def _printed_spreads(self) -> Iterator[tuple[RunSpec, dict[str, Spread]]]:
        for paper in self.papers.values():
            lines = ((item, row) for item in paper.items.values() for row in item.rows)
            for item, row in lines:
                spreads = {
                    item.path(row, column): printed.spread
                    for column in item.columns
                    if (printed := paper.reported.get(item.cell_id(row, column))) and printed.spread
                }
                request = layered(item.encoder, row.encoder)
                if spreads and request.use:
                    where = f"{item.file}: row {row.id}"
                    recipe = recipe_of(self.papers, paper.key, request.use, where)
                    yield changed_run(recipe, request, where), spreads


def changed_run(run: RunSpec, request: Request, where: str) -> RunSpec:
    """Return a run with what a request changes in it: its parts, then its views and terms."""
    changes = request.run
    return varied(merged(run, changes) if changes else run, getattr(request, "vary", None), where)
