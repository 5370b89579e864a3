"""Planning: from papers, a scale and a config to every run, encoder and evaluation, all known at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.paper.papers import Column, Item, Paper, Reported, Row
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.paper.scales import Scale
from replicse.study.plan.cost import run_hours
from replicse.study.plan.paths import Paths
from replicse.study.plan.specs import EncoderSpec, RunSpec, digest, plain

SOURCES = ("use", "backbone", "released", "vectors", "data")


@dataclass(frozen=True)
class Study:
    """What to reproduce: the checked config.

    `adjudicate` names items whose protocols are all run, or is "all"; `rows` the rows of items not run whole.
    """

    workflow: Path
    scale: str
    papers: Mapping[str, Any]
    seeds: tuple[int, ...]
    source: str
    root: str
    adjudicate: str | tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    def adjudicates(self, item: str) -> bool:
        """Return whether the protocols of an item are run."""
        return self.adjudicate == "all" or item in self.adjudicate


@dataclass(frozen=True)
class Cell:
    """One number of an item: where it is read, from which encoders (one per seed), and what is printed."""

    item: Item
    row: Row
    column: Column
    read: str
    encoders: tuple[str, ...]
    reported: Reported | None
    minus: Reported | None = None
    protocol: str = AS_DESCRIBED


@dataclass
class Plan:
    """Everything a study needs; shared runs, encoders and stores stand once."""

    study: Study
    scale: Scale
    papers: dict[str, Paper]
    paths: Paths
    items: dict[str, Item] = field(default_factory=dict)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    runs: dict[str, RunSpec] = field(default_factory=dict)
    encoders: dict[str, EncoderSpec] = field(default_factory=dict)
    suites: dict[str, set[str]] = field(default_factory=dict)
    backbones: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokenizers: dict[str, dict[str, Any]] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    run_stores: dict[str, list[str]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    # run -> its published spreads by metric
    measured: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def item(self, name: str) -> Item:
        """Return an item by `paper/item` or by its target name; BadInput names the nearest one."""
        for item in self.items.values():
            if name in (item.id, item.target):
                return item
        raise BadInput(f'no item "{name}" in this study{nearest(name, self.items)}')

    def runs_of(self, item: Item) -> set[str]:
        """Return the ids of all runs an item needs, chained ones included."""
        found: set[str] = set()
        pending = [
            self.encoders[encoder].source["run"]
            for cell in self.cells[item.id]
            for encoder in cell.encoders
            if "run" in self.encoders[encoder].source
        ]
        while pending:
            run = pending.pop()
            if run not in found:
                found.add(run)
                pending += self._needed_runs(run)
        return found

    def _needed_runs(self, run_id: str) -> list[str]:
        """Return the runs whose checkpoints a run stands on: initial weights, generators, a view's masked-LM."""
        run = self.runs[run_id]
        folders = [
            self.init_folder(run),
            *(term["generator"] for term in run.objective if "generator" in term),
            *(view["augment"]["encoder"] for view in run.views if "encoder" in view.get("augment", {})),
        ]
        known = self._checkpoints()
        return [known[folder] for folder in folders if folder in known]

    def _checkpoints(self) -> dict[str, str]:
        """Return the run behind each folder of weights that another run may stand on."""
        return {
            self.paths.checkpoint(run, self.kept_checkpoint(spec)): run for run, spec in self.runs.items()
        }

    def hours(self, runs: Iterable[str]) -> float | None:
        """Return the estimated hours of some runs on the scale's device; None where one cannot be estimated."""
        folders = {folder: {"run": run} for folder, run in self._checkpoints().items()}
        released = {self.paths.backbone(name): source for name, source in self.backbones.items()}
        sources = {run: spec.init for run, spec in self.runs.items()} | folders | released
        each = [
            run_hours(
                self.runs[run],
                self.scale.rows(self.runs[run].corpus["name"]),
                self.scale.cost["flops"],
                sources,
            )
            for run in runs
        ]
        return None if None in each else sum(each)

    def evaluation_files(self, item: Item) -> list[str]:
        """Return the JSON files that an item's cells read, each once, in order."""
        files: dict[str, None] = {}
        for cell in self.cells[item.id]:
            what = "trajectory" if cell.read.startswith("trajectory/") else "evaluation"
            for encoder in cell.encoders:
                files[self.paths.encoder(encoder, what)] = None
        return list(files)

    def encoder_folder(self, encoder: EncoderSpec) -> str:
        """Return the folder that holds an encoder's weights."""
        if "run" in encoder.source:
            return self.paths.checkpoint(encoder.source["run"], encoder.checkpoint)
        return self.paths.backbone(backbone_id(encoder.source))

    def tokenizer_file(self, init: Mapping[str, Any]) -> str:
        """Return the tokenizer file of a run, followed through the runs it starts from."""
        while "run" in init:
            init = self.runs[init["run"]].init
        if "fresh" in init:
            return self.paths.tokenizer(tokenizer_id(init["fresh"]["tokenizer"]))
        return f"{self.paths.backbone(backbone_id(init))}/tokenizer.json"

    def init_folder(self, run: RunSpec) -> str:
        """Return the folder a run's weights start from; empty for a fresh encoder."""
        if "run" in run.init:
            return self.paths.checkpoint(run.init["run"], self.kept_checkpoint(self.runs[run.init["run"]]))
        return "" if "fresh" in run.init else self.paths.backbone(backbone_id(run.init))

    @staticmethod
    def kept_checkpoint(run: RunSpec) -> str:
        """Return `best` where a run selects by a metric, `last` where it does not."""
        return "best" if run.selection.every else "last"

    def count_job(self) -> dict[str, Any]:
        """Return the paths that are counted from the data, and the recipes of the corpora among them."""
        named = {path.split("/")[2] for path in self.counted if path.split("/")[1] in ("corpus", "overlap")}
        corpora = {name: self.scale.corpus(name, "data counts") for name in sorted(named)}
        return {"read": sorted(self.counted), "corpora": corpora}

    def train_job(self, run_id: str) -> dict[str, Any]:
        """Return all that the train job is told: the spec and the files it stands on."""
        run = self.runs[run_id]
        return {
            "run": plain(run),
            "run_id": run_id,
            "init": self.init_folder(run),
            "tokenizer": self.tokenizer_file(run.init),
            "stores": [self.paths.store(store) for store in self.run_stores[run_id]],
        }

    def train_needs(self, run_id: str) -> list[str]:
        """Return the files a train job reads: stores, tokenizer, initial weights, and those of its generators."""
        job, run = self.train_job(run_id), self.runs[run_id]
        folders = [job["init"], *(term["generator"] for term in run.objective if "generator" in term)]
        return [
            *(f"{store}/store.json" for store in dict.fromkeys(job["stores"])),
            job["tokenizer"],
            *(f"{folder}/model.safetensors" for folder in dict.fromkeys(folders) if folder),
        ]

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return what the report prints about the study itself."""
        return {
            "scale": self.scale.name,
            "title": self.scale.title,
            "shows": self.scale.shows,
            "comparable": self.scale.comparable,
            "judges_orders": self.scale.judges_orders,
            "seeds": list(self.study.seeds),
            "source": self.study.source,
            "protocols": self._protocols_run(),
            "papers": {key: dict(self.papers[key].about) for key in self.study.papers},
            "items": list(self.items),
        }

    def _protocols_run(self) -> list[dict[str, str]]:
        """Return id, title and evidence of the protocols that some cell was run under."""
        run = {cell.protocol for cells in self.cells.values() for cell in cells}
        found = [
            {"id": f"{key}: {protocol.id}", "text": f"{protocol.title}. {protocol.evidence}"}
            for key in self.study.papers
            for protocol in self.papers[key].protocols
            if protocol.id in run
        ]
        described = "What the paper's text says; where it leaves a choice open, what is told beside the item."
        return [{"id": AS_DESCRIBED, "text": described}, *found]


def tokenizer_id(recipe: Mapping[str, Any]) -> str:
    """Return the name of a trained tokenizer and 8 hexadecimal digits of its recipe."""
    return f"{recipe['name']}-{digest(recipe, 8)}"


def backbone_id(source: Mapping[str, Any]) -> str:
    """Return the name of a released encoder and 8 hexadecimal digits of its source."""
    name = str(source.get("hub") or source.get("folder") or source.get("vectors"))
    return f"{name.rstrip('/').rsplit('/', 1)[-1]}-{digest(source, 8)}"
