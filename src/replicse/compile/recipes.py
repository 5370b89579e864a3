"""The runs of recipes before a scale adjusts them.

The runs contain the changes of requests and protocols.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, reduce
from typing import NamedTuple

from replicse.compile.requests import merge_cell_request, merge_requests
from replicse.errors import BadInput, nearest
from replicse.registry.frozen import with_frozen
from replicse.registry.run_specs import AveragedRun, InitSpec, RunSpec
from replicse.spec.cell_names import CellNames
from replicse.spec.layers import merge_layers
from replicse.spec.models import EncoderRequest, Vary
from replicse.spec.own_corpora import with_own_corpora
from replicse.spec.papers import Paper
from replicse.spec.printed import Spread
from replicse.spec.record import Record
from replicse.spec.record_spreads import lent_spreads
from replicse.spec.scales import Scale
from replicse.spec.tables import Item, Row

# The parts of a study that can change the run of a recipe.
Request = EncoderRequest | InitSpec | AveragedRun
# The changes of a protocol in the runs of a chain, by their recipes.
Stages = Mapping[str, EncoderRequest]


class Chain(NamedTuple):
    """A chain of training: paper of the recipes, location of the request.

    `stages` contains the changes of a protocol by recipe. The location is for error messages. By default, no recipe is
    changed.
    """

    paper: str
    location: str
    stages: Stages = {}


class Written(NamedTuple):
    """A run as recipes and requests specify it.

    `own` contains what papers of the workspace set, `varied` the paths that a search varies. By default, both are
    empty.
    """

    run: RunSpec
    own: RunSpec = RunSpec()
    varied: tuple[str, ...] = ()


class Recipes:
    """The recipes of papers at a scale; each recipe is merged once.

    Args:
        papers: a dict from keys to papers.
        scale: the scale, which can replace recipes.
        record: the record, for spreads over seeds.
    """

    def __init__(self, papers: Mapping[str, Paper], scale: Scale, record: Record) -> None:
        self.papers, self.scale = papers, scale
        self._record = record
        self._read: dict[tuple[str, str], Written] = {}

    def is_own(self, paper: str) -> bool:
        """Return whether a paper is in the workspace.

        Args:
            paper: the key of the paper.
        """
        return paper in self.papers and self.papers[paper].own

    def read(self, paper: str, name: str, location: str) -> Written:
        """Return the run of a recipe of a paper without the changes of requests.

        Args:
            paper: the key of the paper.
            name: `recipe` or `other-paper/recipe`.
            location: the location in error messages.

        Raises:
            BadInput: if a recipe is unknown or extends itself.
        """
        if (paper, name) not in self._read:
            layers = list(_list_layers(self.papers, paper, name, location))
            own = _merge_runs(run for home, run in layers if home.own)
            self._read[paper, name] = Written(_merge_runs(run for _, run in layers), own)
        return self._read[paper, name]

    def run(self, use: str, request: Request, chain: Chain, own: bool) -> Written:
        """Return the run of a recipe with the changes of a request.

        The scale has not adjusted the run yet.

        Args:
            use: the recipe.
            request: the request for an encoder, the start of a run, or a part of an average.
            chain: the chain of training.
            own: whether a paper of the workspace contains the request.
        """
        written = self.read(chain.paper, self.scale.recipe(chain.paper, use), chain.location)
        # A chain names recipes with their paper.
        stage = chain.stages.get(use.removeprefix(f"{chain.paper}/"))
        changes: list[tuple[Request, bool]] = [(request, own)]
        if stage:
            changes.append((stage, self.is_own(chain.paper)))
        for change, is_own in changes:
            if isinstance(change, EncoderRequest) and change.run and chain.paper in self.papers:
                run = with_own_corpora(change.run, self.papers[chain.paper], self.papers)
                change = change.replace(run=run)
            kept = written.own
            if is_own and change.run:
                kept = merge_layers(kept, change.run)
            written = Written(change_run(written.run, change, chain.location), kept)
        return written

    def spreads(self, run: RunSpec) -> dict[str, Spread]:
        """Return the published spreads over seeds of a run.

        Args:
            run: the run, compared with the runs of the record and of the papers.

        Returns:
            A dict from metric paths to spreads.
        """
        found: dict[str, Spread] = {}
        for other, spreads in self._published:
            if other == run:
                found.update(spreads)
        return found

    @cached_property
    def _published(self) -> list[tuple[RunSpec, dict[str, Spread]]]:
        if not self.scale.comparable:
            return []
        # A spread in the paper replaces the spread in the record.
        return [*self._recorded_spreads(), *self._printed_spreads()]

    def _recorded_spreads(self) -> Iterator[tuple[RunSpec, dict[str, Spread]]]:
        """Yield the run and spread of each cell with enough recorded seeds."""
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
            request = merge_cell_request(item, column, [row.encoder], row)
            if request.use:
                yield self._merge_run(item, row, request), {item.path(row, column): spread}

    def _printed_spreads(self) -> Iterator[tuple[RunSpec, dict[str, Spread]]]:
        """Yield the run and spreads of each row with standard deviations."""
        for paper in self.papers.values():
            for item in paper.items.values():
                for row in item.rows:
                    spreads = _list_printed_spreads(paper, item, row)
                    request = merge_requests(item.encoder, row.encoder)
                    if spreads and request.use:
                        yield self._merge_run(item, row, request), spreads

    def _merge_run(self, item: Item, row: Row, request: EncoderRequest) -> RunSpec:
        location = f"{item.file}: row {row.id}"
        return change_run(
            merge_recipe(self.papers, item.paper, request.use or "", location), request, location
        )


def _list_printed_spreads(paper: Paper, item: Item, row: Row) -> dict[str, Spread]:
    """Return the published spreads of a row by metric path."""
    spreads = {}
    for column in item.columns:
        printed = paper.reported.get(item.cell_id(row, column))
        if printed and printed.spread:
            spreads[item.path(row, column)] = printed.spread
    return spreads


def merge_recipe(papers: Mapping[str, Paper], paper: str, name: str, location: str) -> RunSpec:
    """Merge the layers of a recipe into a run.

    Args:
        papers: a dict from keys to papers.
        paper: the key of the paper with the recipe, unless the name contains a paper.
        name: `recipe` or `other-paper/recipe`.
        location: the location in error messages.

    Returns:
        The run, or the parts of a run that the recipe specifies.

    Raises:
        BadInput: if a recipe is unknown or extends itself.
    """
    return _merge_runs(run for _, run in _list_layers(papers, paper, name, location))


def _merge_runs(layers: Iterable[RunSpec]) -> RunSpec:
    """Merge layers of a run, each over the previous layer."""
    return reduce(merge_layers, layers, RunSpec())


def _list_layers(
    papers: Mapping[str, Paper], paper: str, name: str, location: str, below: tuple[str, ...] = ()
) -> Iterator[tuple[Paper, RunSpec]]:
    """Yield the layers of a recipe and their papers, the base recipe first.

    `below` contains the recipes that extend it, by default none.
    """
    owner, _, short = name.rpartition("/")
    home = papers.get(owner or paper)
    if home is None or short not in home.recipes:
        recipes = [f"{key}/{entry}" for key, value in papers.items() for entry in value.recipes]
        if not owner and home is not None:
            recipes = [*home.recipes]
        raise BadInput(f'{location}: recipe "{name}" is unknown{nearest(name, recipes)}')
    full = f"{home.key}/{short}"
    if full in below:
        circle = " like ".join((*below, full))
        raise BadInput(f"{location}: recipe {full} extends itself ({circle}); change `like` in one of them")
    recipe = home.recipes[short]
    if recipe.init:
        recipe = recipe.replace(init=recipe.init.of_paper(home.key))
    recipe = with_own_corpora(recipe, home, papers)
    recipe = with_frozen(recipe, lambda model: model.of_paper(home.key))
    if recipe.like:
        location = f"{home.folder / 'recipes.yaml'}: {short}.like"
        yield from _list_layers(papers, home.key, recipe.like, location, (*below, full))
    yield home, recipe.without("like")


def sort_recipes(papers: Mapping[str, Paper]) -> Iterator[tuple[Paper, str]]:
    """Yield every recipe after the recipe that it extends.

    In this order an error names the recipe with the mistake.

    Args:
        papers: a dict from keys to papers.

    Yields:
        The paper and the name of the recipe.
    """
    pending = []
    for paper in papers.values():
        for name, recipe in paper.recipes.items():
            is_full = recipe.like is None or "/" in recipe.like
            parent = recipe.like if is_full else f"{paper.key}/{recipe.like}"
            pending.append((paper, name, parent))
    while pending:
        waiting = {f"{paper.key}/{name}" for paper, name, _ in pending}
        ready = [entry for entry in pending if entry[2] not in waiting]
        blocked = [entry for entry in pending if entry[2] in waiting]
        if not ready:
            # A cycle: the first recipe of the cycle raises an error.
            ready, blocked = pending, []
        for paper, name, _ in ready:
            yield paper, name
        pending = blocked


def change_run(run: RunSpec, request: Request, location: str) -> RunSpec:
    """Apply the changes of a request to a run.

    Args:
        run: the run.
        request: the request; `run` is merged first, then views and terms are changed.
        location: the location in error messages.
    """
    if request.run:
        run = merge_layers(run, request.run)
    return vary_run(run, getattr(request, "vary", None), location)


def vary_run(run: RunSpec, vary: Vary | None, location: str) -> RunSpec:
    """Change the augmentations, loss terms or pair sides of a run.

    Args:
        run: the run.
        vary: the changes; None returns the run unchanged.
        location: the location in error messages.

    Raises:
        BadInput: if the run does not have the term or an augmentation, so the change would have no effect.
    """
    if vary is None:
        return run
    views, objective = run.views or (), run.objective or ()
    names = {term.term for term in objective}
    for name in vary.terms:
        if name not in names:
            present = ", ".join(sorted(term.term for term in objective))
            raise BadInput(
                f'{location}: term "{name}" is changed, but the run has {present}; change one of these'
            )
    if (vary.augment or vary.both_sides) and not any(view.augment for view in views):
        raise BadInput(
            f"{location}: an augmentation is changed, but the views of the run have no augmentation; add one to a view"
        )
    if vary.augment:
        views = tuple(view.augmented(vary.augment, location) for view in views)
    if vary.both_sides:
        # With the same seed, a random augmentation would make the two sides equal.
        augment = next(view.augment for view in views if view.augment)
        first = views[0].replace(augment=augment.replace(seed=augment.seed + 1))
        views = (first, *views[1:])
    terms = []
    for term in objective:
        if term.term in vary.terms:
            term = type(term).of({**term.written(), **vary.terms[term.term]}, location)
        terms.append(term)
    return run.replace(views=views, objective=tuple(terms))
