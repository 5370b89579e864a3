"""A compiled study: every cell, run, encoder and store."""

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from replicse.compile.cell import Cell
from replicse.compile.paths import Paths, backbone_id, tokenizer_id
from replicse.compile.pickles import Remembered
from replicse.errors import BadInput, nearest
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Checkpoint, Precision
from replicse.registry.poolings import Own
from replicse.registry.registry import current
from replicse.registry.runs import Init, Run
from replicse.registry.suites import file_of
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.cell_names import CellNames
from replicse.spec.config import Config
from replicse.spec.models import Encoder
from replicse.spec.papers import Paper
from replicse.spec.printed import Spread
from replicse.spec.scales import Scale
from replicse.spec.tables import Item


class Extent(NamedTuple):
    """The extent of an item.

    Args:
        cells: the number of cells.
        files: the evaluation files of the cells, in order, without duplicates.
        runs: the ids of the runs and of their dependencies.
        single: the runs of cells without a search, and their dependencies.
    """

    cells: int
    files: tuple[str, ...]
    runs: frozenset[str]
    single: frozenset[str]


@dataclass(frozen=True, eq=False)
class Study:
    """A study: cells, runs, encoders and stores.

    By default, all dicts, sets and lists are empty. The compiler fills them, then the study is `frozen`.

    Args:
        config: the config.
        workflow: the folder of papers and scales.
        scale: the scale.
        papers: a dict from keys to all papers.
        paths: the paths of the files.
        items: a dict from ids to items.
        cells: a dict from items to lists of cells.
        runs: a dict from ids to runs.
        encoders: a dict from ids to encoders.
        suites: a dict from encoders to the suites, and `trajectory`, to evaluate.
        read: the paths below a suite that cells use, by encoder and suite, if the suite can compute only these paths.
        backbones: the sources of released encoders and of folders, by id.
        tokenizers: the recipes of tokenizers by id.
        stores: the specifications of stores by id.
        run_stores: a dict from runs to the stores of their views.
        counted: the metric paths of counts of datasets.
        measured: the published spreads of each run, by metric path.
        unpinned: hub artefacts without a commit.
        without_pooler: backbones that the scale pre-trains without the pooler that a run keeps.
        left_out: items with a search that is too large for the scale, unless the config names them.
        depends: a dict from runs to their direct dependencies.
        unplanned: the errors of items that could not be compiled.
        remembered: the cache of `remember`.
    """

    config: Config
    workflow: Path
    scale: Scale
    papers: Mapping[str, Paper]
    paths: Paths
    items: MutableMapping[str, Item] = field(default_factory=dict)
    cells: MutableMapping[str, Sequence[Cell]] = field(default_factory=dict)
    runs: MutableMapping[str, Run] = field(default_factory=dict)
    encoders: MutableMapping[str, Encoder] = field(default_factory=dict)
    suites: dict[str, set[str]] = field(default_factory=dict)
    read: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    backbones: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokenizers: dict[str, dict[str, Any]] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    run_stores: dict[str, list[str]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    measured: dict[str, dict[str, Spread]] = field(default_factory=dict)
    unpinned: set[str] = field(default_factory=set)
    without_pooler: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)
    depends: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unplanned: dict[str, BadInput] = field(default_factory=dict)
    remembered: Remembered = field(default_factory=Remembered)

    def frozen(self) -> Self:
        """Return a copy of the study with read-only dicts, sets and lists."""
        read_only: dict[Any, Any] = {MutableMapping: MappingProxyType, set: frozenset, list: tuple}
        changes = {}
        for name, value in vars(self).items():
            for kind, convert in read_only.items():
                if isinstance(value, kind):
                    changes[name] = convert(value)
        return replace(self, **changes)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds of the study."""
        return self.config.seeds

    @property
    def source(self) -> str:
        """Return the source of the datasets: embedded, local or hub."""
        return (self.config.data and self.config.data.source) or self.scale.data.source

    @property
    def root(self) -> str:
        """Return the root of a local source in the config.

        Returns an empty string if the environment specifies the root.
        """
        return (self.config.data and self.config.data.root) or ""

    @property
    def data_root(self) -> Path:
        """Return the folder where the datasets are stored.

        The default is `not-named` if neither the config nor the environment specifies a local root.
        """
        if self.source != "local":
            return Path(self.paths.data).parent / "data"
        return Path(self.root or os.environ.get("REPLICSE_DATA") or "not-named")

    @property
    def studied(self) -> list[str]:
        """Return the keys of the papers with an item in the study, in order."""
        return list(dict.fromkeys(item.paper for item in self.items.values()))

    @property
    def left_out_text(self) -> str:
        """Return why items are left out and how to run them.

        Returns an empty string if the study contains all items.
        """
        if not self.left_out:
            return ""
        first, most = self.left_out[0], self.scale.largest_search
        return (
            f"run only if requested by name, because of a search of more than {most} jobs: replicse run {first}"
            f" --scale {self.scale.name}, or a list of items under papers of the config"
        )

    def precision(self, paper: str) -> Precision:
        """Return the training precision of a paper's runs.

        Args:
            paper: the key of the paper. A precision of the run itself has priority. Default: "fp32".
        """
        if self.config.precision:
            return self.config.precision
        precision = self.scale.precision
        return precision if precision != "papers" else self.printed_precision(paper) or "fp32"

    def printed_precision(self, paper: str) -> Precision | None:
        """Return the precision of a paper's training; None if it is not stated."""
        return self.papers[paper].about.precision if paper in self.papers else None

    def run_of(self, encoder: str) -> Run | None:
        """Return the run of an encoder; None if it is not trained here."""
        return self.runs.get(self.encoders[encoder].source.run or "")

    @cached_property
    def extents(self) -> Mapping[str, Extent]:
        """Return the extent of each item."""
        return {item: self._extent(cells) for item, cells in self.cells.items()}

    def _extent(self, cells: Sequence[Cell]) -> Extent:
        files: dict[str, None] = {}
        for cell in cells:
            for operand in cell.operands or (cell,):
                if operand.metric_path:
                    group = file_of(operand.metric_path)
                    for encoder in operand.encoders:
                        files[self.paths.evaluation(encoder, group)] = None
        single = [cell for cell in cells if not cell.is_search]
        runs = self.chain(self.trained_runs(cells))
        single_runs = self.chain(self.trained_runs(single))
        return Extent(len(cells), tuple(files), frozenset(runs), frozenset(single_runs))

    def evaluation_files(self, item: Item) -> tuple[str, ...]:
        """Return the evaluation files of the cells of an item.

        They are in the order of the cells, without duplicates.
        """
        return self.extents[item.id].files

    def groups(self, encoder: str) -> dict[str, list[str]]:
        """Return a dict from groups to the suites of an encoder.

        The group is the name of the evaluation file; `trajectory` has the checkpoints of a run.
        """
        groups: dict[str, list[str]] = {}
        for suite in sorted(self.suites.get(encoder, set()) - {"data"}):
            groups.setdefault(file_of(suite), []).append(suite)
        return groups

    def options(self, suite: str, encoders: Iterable[str]) -> dict[str, Any]:
        """Return the options of a suite as a dict.

        Args:
            suite: the name of the suite.
            encoders: the encoders; options that their cells do not use are removed.
        """
        options, narrowed = self.scale.options.get(suite, {}), current().suites[suite].narrowed
        if not narrowed:
            return options
        paths: list[str] = []
        for encoder in encoders:
            paths += self.read.get((encoder, suite), ())
        return narrowed(options, paths)

    def encoder_folder(self, encoder: Encoder) -> str:
        """Return the folder of the weights of an encoder."""
        if encoder.source.run:
            return self.paths.run(encoder.source.run, encoder.checkpoint)
        return self.paths.backbone(backbone_id(encoder.source))

    def inits(self, init: Init) -> list[Init]:
        """Return the start of a run, then the start of each earlier run."""
        if not init.run:
            return [init]
        return [init, *self.inits(self.runs[init.run].init)]

    def tokenizer_file(self, init: Init) -> str:
        """Return the tokenizer file for a run with these initial weights.

        The file belongs to the first run of the chain.
        """
        init = self.inits(init)[-1]
        if init.fresh:
            return self.paths.tokenizer(tokenizer_id(init.fresh.tokenizer))
        return f"{self.paths.backbone(backbone_id(init))}/{TOKENIZER}"

    def init_folder(self, run: Run) -> str:
        """Return the folder of the initial weights; empty for a fresh encoder."""
        if run.init.run:
            which = run.init.checkpoint or kept_checkpoint(self.runs[run.init.run])
            return self.paths.run(run.init.run, which)
        return "" if run.init.fresh else self.paths.backbone(backbone_id(run.init))

    @cached_property
    def names(self) -> CellNames:
        """Return the names of the cells of all papers."""
        return CellNames(self.papers)

    def remember(self, name: str, compute: Callable[["Study"], Any]) -> Any:
        """Return the result of a function of the study from the cache.

        Args:
            name: the name of the result.
            compute: the function, called if the cache does not contain the result.
        """
        return self.remembered.get(name, lambda: compute(self))

    def run_name(self, encoder: str) -> str:
        """Return the run of an encoder; empty if it was not trained here."""
        return self.encoders[encoder].source.run or ""

    @property
    def own_sets(self) -> Mapping[str, Any]:
        """Return a dict from names to the user's own evaluation datasets."""
        sets: Mapping[str, Any] = self.scale.options.get("sets", {}).get("sets", {})
        return sets

    def item(self, name: str) -> Item:
        """Return an item by id or by target name.

        Args:
            name: `paper/item` or `paper_item`.

        Raises:
            BadInput: if the study does not contain the item; the error suggests the most similar name.
        """
        for item in self.items.values():
            if name in (item.id, item.target):
                return item
        if name in self.left_out:
            raise BadInput(f"{name}: {self.left_out_text}")
        raise BadInput(f'item "{name}" is not in this study{nearest(name, self.items)}')

    def described(self, item: str) -> list[Cell]:
        """Return the cells of an item as the paper describes them.

        Returns an empty list if the study leaves the item out.
        """
        return [cell for cell in self.cells.get(item, ()) if cell.protocol == AS_DESCRIBED]

    def trained_runs(self, cells: Iterable[Cell]) -> set[str]:
        """Return the runs whose checkpoints cells evaluate."""
        runs = set()
        for cell in cells:
            for encoder in cell.encoders:
                runs.add(self.run_name(encoder))
        return runs - {""}

    def runs_of(self, item: Item) -> frozenset[str]:
        """Return the ids of all runs of an item, including dependencies."""
        return self.extents[item.id].runs

    def searched(self) -> set[str]:
        """Return the runs only used by searches.

        Searches are cells with several jobs for each seed: grids and random searches.
        """
        runs: set[str] = set()
        single: set[str] = set()
        for extent in self.extents.values():
            runs |= extent.runs
            single |= extent.single
        return runs - single

    def chain(self, runs: Iterable[str]) -> set[str]:
        """Return runs and all of their dependencies."""
        return follow(runs, self.depends)

    def evaluated(self, name: str, group: str) -> dict[str, Any]:
        """Return the description of an encoder in an evaluation file.

        Args:
            name: the id of the encoder.
            group: the group of suites, or `trajectory`.

        Returns:
            A dict with the folder, pooling and post-processing; empty for counts of datasets.
        """
        encoder = self.encoders.get(name)
        if encoder is None or encoder.source.data:
            return {}
        if group == "trajectory":
            return {"encoder": self.paths.run(encoder.source.name), "pooling": encoder.pooling.spelling}
        description: dict[str, Any] = {"encoder": "", "vectors": None}
        if not encoder.source.vectors:
            description["encoder"] = self.encoder_folder(encoder)
        if encoder.source.words:
            description["vectors"] = encoder.source.words.plain()
        # The default pooling of an encoder is defined in the folder, which might not exist yet.
        if not isinstance(encoder.pooling, Own):
            description["pooling"] = encoder.pooling.spelling
        description["postprocess"] = encoder.postprocess.plain() if encoder.postprocess else None
        return description


def follow(runs: Iterable[str], depends: Mapping[str, Iterable[str]]) -> set[str]:
    """Return runs and all of their dependencies.

    Args:
        runs: the ids of the runs.
        depends: a dict from runs to their direct dependencies.
    """
    chain: set[str] = set()
    pending = list(runs)
    while pending:
        run = pending.pop()
        if run not in chain:
            chain.add(run)
            pending += depends[run]
    return chain


def kept_checkpoint(run: Run) -> Checkpoint:
    """Return `best` if a run selects checkpoints by a metric, else `last`."""
    return "best" if run.selection.every else "last"
