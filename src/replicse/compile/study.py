"""A compiled study: every cell, run, encoder, store and job, all known at once."""

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, starmap
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from replicse.compile.paths import Paths, backbone_id, tokenizer_id
from replicse.compile.pickles import Remembered
from replicse.compile.recipes import merge_recipe
from replicse.errors import BadInput, nearest
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Checkpoint, Precision
from replicse.registry.poolings import Own
from replicse.registry.registry import current
from replicse.registry.runs import Init, Run
from replicse.registry.suites import file_of
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.columns import AnyColumn
from replicse.spec.config import Config
from replicse.spec.models import Encoder
from replicse.spec.papers import Paper
from replicse.spec.printed import Reported, Spread
from replicse.spec.scales import Scale
from replicse.spec.tables import Item, Row


@dataclass(frozen=True)
class Cell:
    """One number of an item under one protocol: where it is read, from which encoders, and what is printed.

    `jobs` holds the encoders of each seed (several in a search), `seeds` the seeds: a lone None where the encoder has
    none. A derived cell has the cells that its formula reads instead.
    """

    item: Item
    row: Row
    column: AnyColumn
    metric_path: str
    jobs: tuple[tuple[str, ...], ...]
    seeds: tuple[int | None, ...]
    reported: Reported | None
    subtracted: Reported | None = None
    protocol: str = AS_DESCRIBED
    operands: tuple["Cell", ...] = ()

    @property
    def id(self) -> CellId:
        """Return the cell's name."""
        return self.item.cell_id(self.row, self.column, self.protocol)

    @property
    def encoders(self) -> tuple[str, ...]:
        """Return the encoders of all jobs and seeds, each once; those of its operands where the cell is derived."""
        groups = [group for cell in self.operands for group in cell.jobs] if self.operands else self.jobs
        return tuple(dict.fromkeys(chain.from_iterable(groups)))


class Extent(NamedTuple):
    """How much an item asks for: how many cells, the files that they read, each once, in order, and runs by id.

    Chained runs are included; `single` are those that not only a search over hyper-parameters asks for.
    """

    cells: int
    files: tuple[str, ...]
    runs: frozenset[str]
    single: frozenset[str]


@dataclass(frozen=True, eq=False)
class Study:
    """A study: every cell, run, encoder and store, each once. Its compiler fills it; then it is `frozen`."""

    config: Config
    workflow: Path
    scale: Scale
    papers: Mapping[str, Paper]
    paths: Paths
    items: MutableMapping[str, Item] = field(default_factory=dict)
    cells: MutableMapping[str, Sequence[Cell]] = field(default_factory=dict)
    runs: MutableMapping[str, Run] = field(default_factory=dict)
    encoders: MutableMapping[str, Encoder] = field(default_factory=dict)
    # encoder -> what is evaluated of it: suites, and `trajectory`
    suites: dict[str, set[str]] = field(default_factory=dict)
    # encoder, suite -> what is read below the suite, where a job runs no more than that
    read: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    backbones: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokenizers: dict[str, dict[str, Any]] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    # run -> the stores of its views
    run_stores: dict[str, list[str]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    # run -> its published spreads by metric path
    measured: dict[str, dict[str, Spread]] = field(default_factory=dict)
    unpinned: set[str] = field(default_factory=set)
    # backbones that the scale pre-trains without a pooler, of which a run asks to keep it
    without_pooler: set[str] = field(default_factory=set)
    # items of the config with a search that is too large for the scale, which nobody asked for by name
    left_out: list[str] = field(default_factory=list)
    # run -> the runs that it directly depends on
    depends: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # items that cannot be planned, where that is no reason to stop -> why
    unplanned: dict[str, BadInput] = field(default_factory=dict)
    # results of functions of the study by name, see `remember`
    remembered: Remembered = field(default_factory=Remembered)

    def frozen(self) -> Self:
        """Return the study as its readers have it: its mappings, sets and lists refuse every change."""
        kinds: dict[Any, Any] = {MutableMapping: MappingProxyType, set: frozenset, list: tuple}
        filled = ((name, value, kind) for name, value in vars(self).items() for kind in kinds)
        made = {name: kinds[kind](value) for name, value, kind in filled if isinstance(value, kind)}
        return replace(self, **made)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds of the study."""
        return self.config.seeds

    @property
    def source(self) -> str:
        """Return where data comes from: embedded, local or hub."""
        return (self.config.data and self.config.data.source) or self.scale.data.source

    @property
    def root(self) -> str:
        """Return the root of a local source; blank where the environment names it."""
        return (self.config.data and self.config.data.root) or ""

    @property
    def data_root(self) -> Path:
        """Return the folder that holds a study's data, or is to; `not-named` where a local source has no name."""
        if self.source != "local":
            return Path(self.paths.data).parent / "data"
        return Path(self.root or os.environ.get("REPLICSE_DATA") or "not-named")

    @property
    def studied(self) -> list[str]:
        """Return the papers of which the study has an item, in its order."""
        return list(dict.fromkeys(item.paper for item in self.items.values()))

    @property
    def left_out_text(self) -> str:
        """Return why items are left out and how they are asked for; blank where none is."""
        if not self.left_out:
            return ""
        first, most = self.left_out[0], self.scale.largest_search
        return (
            f"not run unless asked for by name, for a search of more than {most} jobs: replicse run {first}"
            f" --scale {self.scale.name}, or a list of items under papers of the config"
        )

    def precision(self, paper: str) -> Precision:
        """Return the precision that a paper's runs are trained in; a run's own takes precedence."""
        if self.config.precision:
            return self.config.precision
        precision = self.scale.precision
        return precision if precision != "papers" else self.printed_precision(paper) or "fp32"

    def printed_precision(self, paper: str) -> Precision | None:
        """Return the precision that a paper trained in; None where it names none."""
        return self.papers[paper].about.precision if paper in self.papers else None

    def run_of(self, encoder: str) -> Run | None:
        """Return the run that an encoder was trained in; None where it was not trained here."""
        return self.runs.get(self.encoders[encoder].source.run or "")

    def hyperparameter(self, encoder: str, path: str) -> Any:
        """Return what is at `section.key`, or `terms.TERM.key`, of the run of an encoder; None for no run."""
        run = self.run_of(encoder)
        section, *rest = path.split(".")
        if section == "terms" and run:
            part = next((term for term in run.objective if term.term == rest[0]), None)
        else:
            part = getattr(run, section, None)
        return getattr(part, rest[-1], None)

    @cached_property
    def extents(self) -> Mapping[str, Extent]:
        """Return how much each item asks for."""
        return {item: self._extent(cells) for item, cells in self.cells.items()}

    def _extent(self, cells: Sequence[Cell]) -> Extent:
        read = (each for cell in cells for each in cell.operands or (cell,) if each.metric_path)
        asked = {(encoder, file_of(each.metric_path)): 0 for each in read for encoder in each.encoders}
        single = [cell for cell in cells if all(len(group) == 1 for group in cell.jobs)]
        runs, others = (frozenset(self.chain(self.trained_runs(each))) for each in (cells, single))
        return Extent(len(cells), tuple(starmap(self.paths.evaluation, asked)), runs, others)

    def evaluation_files(self, item: Item) -> tuple[str, ...]:
        """Return the JSON files that an item's cells read, each once, in order."""
        return self.extents[item.id].files

    def groups(self, encoder: str) -> dict[str, list[str]]:
        """Return the suites of an encoder by the evaluation file that holds them."""
        groups: dict[str, list[str]] = {}
        for suite in sorted(self.suites.get(encoder, set()) - {"trajectory", "data"}):
            groups.setdefault(file_of(suite), []).append(suite)
        return groups

    def options(self, suite: str, encoders: Iterable[str]) -> dict[str, Any]:
        """Return the options of a suite as plain data for some encoders: what no cell of theirs reads is left out."""
        options, narrowed = self.scale.options.get(suite, {}), current().suites[suite].narrowed
        read = [path for encoder in encoders for path in self.read.get((encoder, suite), ())]
        return narrowed(options, read) if narrowed else options

    def encoder_folder(self, encoder: Encoder) -> str:
        """Return the folder that holds an encoder's weights."""
        if encoder.source.run:
            return self.paths.run(encoder.source.run, encoder.checkpoint)
        return self.paths.backbone(backbone_id(encoder.source))

    def inits(self, init: Init) -> list[Init]:
        """Return where a run starts, then where each run before it does that it continues."""
        return [init, *(self.inits(self.runs[init.run].init) if init.run else [])]

    def tokenizer_file(self, init: Init) -> str:
        """Return the tokenizer file of a run, followed through the runs it starts from."""
        init = self.inits(init)[-1]
        if init.fresh:
            return self.paths.tokenizer(tokenizer_id(init.fresh.tokenizer))
        return f"{self.paths.backbone(backbone_id(init))}/{TOKENIZER}"

    def init_folder(self, run: Run) -> str:
        """Return the folder a run's weights start from; empty for a fresh encoder."""
        if run.init.run:
            which = run.init.checkpoint or kept_checkpoint(self.runs[run.init.run])
            return self.paths.run(run.init.run, which)
        return "" if run.init.fresh else self.paths.backbone(backbone_id(run.init))

    def count_job(self) -> dict[str, Any]:
        """Return the paths that are counted, the recipes of the corpora among them, and those of runs."""
        parts = [path.split("/")[1:] for path in sorted(self.counted)]
        named = {name for kind, name, *_ in parts if kind in ("corpus", "overlap", "shared")}
        corpora = {name: self.scale.corpus(name, "data counts") for name in sorted(named)}
        runs = {f"{path[1]}/{path[2]}" for path in parts if path[0] == "parameters" and path[3:]}
        recipes = {name: merge_recipe(self.papers, "", name, "data counts").plain() for name in sorted(runs)}
        return {"read": sorted(self.counted), "corpora": corpora, **({"recipes": recipes} if recipes else {})}

    @cached_property
    def names(self) -> CellNames:
        """Return the names of the cells of all papers."""
        return CellNames(self.papers)

    def remember(self, name: str, compute: Callable[["Study"], Any]) -> Any:
        """Return the result of a function of the study, which is computed once."""
        return self.remembered.get(name, lambda: compute(self))

    def run_name(self, encoder: str) -> str:
        """Return the run of an encoder; empty if it was not trained here."""
        return self.encoders[encoder].source.run or ""

    @property
    def own_sets(self) -> Mapping[str, Any]:
        """Return the user's own evaluation sets by name."""
        sets: Mapping[str, Any] = self.scale.options.get("sets", {}).get("sets", {})
        return sets

    def item(self, name: str) -> Item:
        """Return an item by `paper/item` or by its target name; BadInput names the nearest one."""
        for item in self.items.values():
            if name in (item.id, item.target):
                return item
        if name in self.left_out:
            raise BadInput(f"{name}: {self.left_out_text}")
        raise BadInput(f'no item "{name}" in this study{nearest(name, self.items)}')

    def described(self, item: str) -> list[Cell]:
        """Return the cells of an item as its paper describes them; none where the study leaves the item out."""
        return [cell for cell in self.cells.get(item, ()) if cell.protocol == AS_DESCRIBED]

    def trained_runs(self, cells: Iterable[Cell]) -> set[str]:
        """Return the runs whose checkpoints some cells evaluate."""
        encoders = {encoder for cell in cells for encoder in cell.encoders}
        return {run for encoder in encoders if (run := self.encoders[encoder].source.run)}

    def runs_of(self, item: Item) -> frozenset[str]:
        """Return the ids of all runs an item needs, chained ones included."""
        return self.extents[item.id].runs

    def searched(self) -> set[str]:
        """Return the runs that only cells with several jobs per seed ask for: grids and random searches."""
        extents = self.extents.values()
        return set().union(*(each.runs for each in extents)).difference(*(each.single for each in extents))

    def chain(self, runs: Iterable[str]) -> set[str]:
        """Return runs and all runs that they depend on."""
        return follow(runs, self.depends)

    def evaluated(self, name: str, what: str) -> dict[str, Any]:
        """Return what an evaluation file of an encoder says of the encoder; nothing of counts of the data.

        `what` is the group of suites, or `trajectory`.
        """
        encoder = self.encoders.get(name)
        if encoder is None or encoder.source.data:
            return {}
        if what == "trajectory":
            return {"encoder": self.paths.run(encoder.source.name), "pooling": encoder.pooling.spelling}
        folder = "" if encoder.source.vectors else self.encoder_folder(encoder)
        fitted = encoder.postprocess.plain() if encoder.postprocess else None
        # Of an encoder's own pooling, as of its longest row, only its folder knows.
        own = isinstance(encoder.pooling, Own)
        return {
            "encoder": folder,
            "vectors": encoder.source.words.plain() if encoder.source.words else None,
            **({} if own else {"pooling": encoder.pooling.spelling}),
            "postprocess": fitted,
        }


def follow(runs: Iterable[str], depends: Mapping[str, Iterable[str]]) -> set[str]:
    """Return runs and all runs that they depend on."""
    chain: set[str] = set()
    pending = list(runs)
    while pending:
        run = pending.pop()
        if run not in chain:
            chain.add(run)
            pending += depends[run]
    return chain


def kept_checkpoint(run: Run) -> Checkpoint:
    """Return `best` where a run selects by a metric, `last` where it does not."""
    return "best" if run.selection.every else "last"
