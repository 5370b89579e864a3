"""Planning: from papers, a scale and a config to every run, encoder and evaluation, all known at once."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.cost import run_hours
from replicse.study.papers import Column, Item, Paper, Reported, Row, load_paper, merged, recipe_of
from replicse.study.paths import Paths
from replicse.study.scales import Scale, load_scale
from replicse.study.specs import EncoderSpec, RunSpec, Trajectory, build, digest, plain, tidy
from replicse.study.tabulate import AS_DESCRIBED
from replicse.study.validation import check, read_yaml

SOURCES = ("use", "backbone", "released", "vectors", "data")


@dataclass(frozen=True)
class Study:
    """What to reproduce: the checked config."""

    workflow: Path
    scale: str
    papers: Mapping[str, Any]
    seeds: tuple[int, ...]
    source: str
    root: str


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
    _memo: dict[str, Any] = field(default_factory=dict, repr=False)

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
                pending += [self.runs[run].init["run"]] if "run" in self.runs[run].init else []
        return found

    def hours(self, runs: Iterable[str]) -> float | None:
        """Return the estimated hours of some runs on the scale's device; None where one cannot be estimated."""
        each = [
            run_hours(
                self.runs[run],
                self.scale.rows(self.runs[run].corpus["name"]),
                self.scale.cost["flops"],
                self.runs.__getitem__,
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

    def manifest(self, item: Item) -> dict[str, Any]:
        """Return all that tabulate and report need to know of an item."""
        protocols: dict[str, dict[str, dict[str, str]]] = {row.id: {} for row in item.rows}
        lists: dict[str, list[str]] = {}
        cells: dict[str, dict[str, Any]] = {}
        for cell in self.cells[item.id]:
            named = protocols[cell.row.id].setdefault(cell.protocol, {})
            if cell.encoders:
                # Most columns of a row read the same encoders: each list stands once.
                name = digest(cell.encoders, 6)
                lists[name] = list(cell.encoders)
                named[f"{cell.column.id}|{cell.column.metric}"] = name
            facts = self._cell_facts(cell)
            if facts:
                cells[f"{cell.row.id}|{cell.column.id}|{cell.column.metric}"] = facts
        return {
            "item": item.id,
            "paper": item.paper,
            "kind": item.kind,
            "figure": item.figure or None,
            "title": item.title,
            "place": item.place,
            "setting": dict(item.setting),
            "comparable": self.scale.comparable,
            "scale": self.scale.name,
            "baseline": item.baseline,
            "columns": [
                {
                    "id": column.id,
                    "label": column.label,
                    "metric": column.metric,
                    "read": column.read,
                    "better": column.better,
                    "minus": bool(column.minus),
                    "choose": column.choose,
                }
                for column in item.columns
            ],
            "rows": [
                {
                    "id": row.id,
                    "label": row.label,
                    "group": row.group,
                    "quoted": row.quoted,
                    "note": row.note,
                    "protocols": protocols[row.id],
                }
                for row in item.rows
            ],
            "seedless": sorted(
                {
                    encoder
                    for cell in self.cells[item.id]
                    for encoder in cell.encoders
                    if "run" not in self.encoders[encoder].source
                }
            ),
            "encoders": lists,
            "cells": cells,
            "notes": list(item.notes),
            "deviations": self.papers[item.paper].deviations.get(item.name, ""),
        }

    def _cell_facts(self, cell: Cell) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if cell.reported:
            facts = {"reported": cell.reported.value, "source": cell.reported.source}
        if cell.minus:
            facts["minus"] = cell.minus.value
        if cell.read != cell.column.read:
            facts["read"] = cell.read
        if cell.column.choose:
            facts["choices"] = {encoder: self._hyperparameter(encoder, cell) for encoder in cell.encoders}
        return facts

    def _hyperparameter(self, encoder: str, cell: Cell) -> float:
        run = plain(self.runs[self.encoders[encoder].source["run"]], drop_defaults=False)
        section, _, name = cell.column.choose.partition(".")
        if name not in run.get(section, {}):
            raise BadInput(
                f'{cell.item.file}: choose is "{cell.column.choose}"; expected section.name of a run'
            )
        return float(run[section][name])

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return what the report prints about the study itself."""
        return {
            "scale": self.scale.name,
            "title": self.scale.title,
            "shows": self.scale.shows,
            "comparable": self.scale.comparable,
            "seeds": list(self.study.seeds),
            "source": self.study.source,
            "protocols": [AS_DESCRIBED],
            "papers": {key: dict(self.papers[key].about) for key in self.study.papers},
            "items": list(self.items),
        }

    # building -------------------------------------------------------------------------------------------------

    def add(self, item: Item) -> None:
        """Plan all cells of an item."""
        self.items[item.id] = item
        self.cells[item.id] = [cell for row in item.rows for cell in self._row(item, row)]

    def _row(self, item: Item, row: Row) -> Iterator[Cell]:
        reported = self.papers[item.paper].reported
        protocols = {AS_DESCRIBED: row.subject, **row.also}
        for protocol, subject in protocols.items():
            for column in item.columns:
                quoted = row.quoted and protocol == AS_DESCRIBED
                read = row.read.get(column.id, column.read)
                encoders = () if quoted or not read else self._encoders(item, row, column, subject)
                for encoder in encoders:
                    self.suites.setdefault(encoder, set()).add(read.partition("/")[0])
                    if read.startswith("data/"):
                        self.counted.add(read)
                yield Cell(
                    item=item,
                    row=row,
                    column=column,
                    read=read,
                    encoders=encoders,
                    reported=reported.get((item.name, row.id, column.id, column.metric)),
                    minus=self._minus(item, row, column),
                    protocol=protocol,
                )

    def _minus(self, item: Item, row: Row, column: Column) -> Reported | None:
        if not column.minus:
            return None
        paper, _, name = column.minus["item"].partition("/")
        key = (name, column.minus.get("row", row.id), column.minus["column"], column.minus["metric"])
        if paper not in self.papers:
            raise BadInput(f'{item.file}: minus names the paper "{paper}"{nearest(paper, self.papers)}')
        return self.papers[paper].reported.get(key)

    def _encoders(self, item: Item, row: Row, column: Column, subject: Mapping[str, Any]) -> tuple[str, ...]:
        subject = merged(merged(item.subject, column.subject), subject)
        subject = merged(subject, row.cells.get(column.id, {}))
        memo = json.dumps([item.paper, subject, item.trajectory], sort_keys=True, default=str)
        if memo not in self._memo:
            where = f"{item.file}: row {row.id}"
            grid = subject.get("grid")
            # A grid search is run with one seed, as the papers ran theirs.
            seeds = self.study.seeds[:1] if grid else self.study.seeds
            found: dict[str, None] = {}
            for choice in _choices(grid or {}):
                for seed in seeds:
                    chosen = {**subject, "run": merged(subject.get("run", {}), choice)} if grid else subject
                    found[self._encoder(item, chosen, seed, where)] = None
            self._memo[memo] = tuple(found)
        return self._memo[memo]

    def _encoder(self, item: Item, subject: Mapping[str, Any], seed: int, where: str) -> str:
        if "released" in subject:
            released = self.scale.released_encoder(subject["released"], where)
            own = {key: entry for key, entry in subject.items() if key not in (*SOURCES, "run", "grid")}
            subject = {**(released.get("stand_in", {"hub": released})), **own}
        values = {
            key: entry for key, entry in subject.items() if key in ("pooling", "checkpoint", "postprocess")
        }
        if values.get("postprocess"):
            values["postprocess"] = self._postprocess(values["postprocess"], where)
        if "data" in subject:
            values = {"source": {"data": "counts"}}
        elif "vectors" in subject:
            values = {
                **values,
                "source": {
                    "vectors": subject["vectors"],
                    **self.scale.word_vectors(subject["vectors"], where),
                },
            }
        elif "hub" in subject:
            source = dict(subject["hub"])
            values = {"pooling": source.pop("pooling", "cls"), **values, "source": source}
            self.backbones[backbone_id(source)] = source
        elif "use" in subject:
            values = {**self._trained(item, subject, seed, where), **values}
        elif "backbone" in subject:
            source = self._backbone(subject["backbone"], where)
            values = {"checkpoint": self._kept_of(source), **values, "source": source}
        else:
            raise BadInput(f"{where}: the encoder names none of {', '.join(SOURCES)}")
        spec = build(EncoderSpec, values, where)
        self.encoders[spec.encoder_id] = spec
        return spec.encoder_id

    def _trained(self, item: Item, subject: Mapping[str, Any], seed: int, where: str) -> dict[str, Any]:
        """Return source, pooling and checkpoint of the run that a recipe describes."""
        recipe = recipe_of(self.papers, item.paper, subject["use"], where)
        run_id = self._run(merged(recipe, subject.get("run", {})), seed, where, adjust=True)
        if item.trajectory:
            self._keep(run_id, item.trajectory, where)
        run = self.runs[run_id]
        return {
            "pooling": run.pooling.test,
            "checkpoint": self.kept_checkpoint(run),
            "source": {"run": run_id},
        }

    def _postprocess(self, wanted: Mapping[str, Any], where: str) -> dict[str, Any]:
        fit = wanted["fit"]
        return {**wanted, "fit": fit if fit == "target" else self.scale.corpus(fit, where)}

    def _keep(self, run_id: str, wanted: Mapping[str, Any], where: str) -> None:
        run = self.runs[run_id]
        asked = Trajectory(every=wanted["every"], until=wanted["until"])
        self.runs[run_id] = replace(run, trajectory=run.trajectory.joined(asked))

    def _backbone(self, name: str, where: str) -> dict[str, Any]:
        entry = self.scale.backbone(name, where)
        if "run" in entry:
            values = {**entry["run"]}
            return {"run": self._run(values, values.pop("seed", 0), where, adjust=False)}
        source = dict(entry)
        self.backbones[backbone_id(source)] = source
        return source

    def _run(self, values: dict[str, Any], seed: int, where: str, adjust: bool) -> str:
        init = dict(values["init"])
        if "backbone" in init:
            init = self._backbone(init["backbone"], where)
        elif "fresh" in init:
            fresh = dict(init["fresh"])
            fresh["tokenizer"] = self.scale.tokenizer(fresh["tokenizer"], where)
            self.tokenizers[tokenizer_id(fresh["tokenizer"])] = fresh["tokenizer"]
            init = {"fresh": fresh}
        if adjust:
            values = self.scale.adjusted(values)
        corpus = self.scale.corpus(values["corpus"], where)
        views = [self._view(view, where) for view in values["views"]]
        spec = build(RunSpec, {**values, "init": init, "corpus": corpus, "views": views, "seed": seed}, where)
        known = self.runs.get(spec.run_id)
        if known is None:
            self.runs[spec.run_id] = spec
            self.run_stores[spec.run_id] = [self._store(spec, view) for view in spec.views]
        return spec.run_id

    def _kept_of(self, source: Mapping[str, Any]) -> str:
        """Return which checkpoint of a backbone is used: that of its run, or the only one it was released with."""
        return self.kept_checkpoint(self.runs[source["run"]]) if "run" in source else "best"

    def _view(self, view: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return a view with what the scale says of its augmentation; a masked-LM's backbone becomes its folder."""
        if "augment" not in view:
            return dict(view)
        augment = {**view["augment"], **self.scale.augmentations.get(view["augment"]["name"], {})}
        if "backbone" in augment:
            source = self._backbone(augment.pop("backbone"), where)
            spec = EncoderSpec(source=source, checkpoint=self._kept_of(source))
            augment["encoder"] = self.encoder_folder(spec)
        return {**view, "augment": augment}

    def _store(self, run: RunSpec, view: Mapping[str, Any]) -> str:
        spec = {
            "corpus": run.corpus,
            "view": dict(view),
            "tokenizer": self.tokenizer_file(run.init),
            "max_length": run.optimisation.max_length,
        }
        name = view.get("augment", {}).get("name", view["column"])
        store = f"{run.corpus['name']}-{name}-{digest(spec)}"
        self.stores[store] = spec
        return store


def _choices(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the run overrides of every combination of a grid such as {"optimisation.batch_size": [64, 128]}."""
    names = list(grid)
    for values in itertools.product(*grid.values()):
        chosen: dict[str, Any] = {}
        for name, value in zip(names, values, strict=True):
            section, _, key = name.partition(".")
            chosen.setdefault(section, {})[key] = value
        yield chosen


def tokenizer_id(recipe: Mapping[str, Any]) -> str:
    """Return the name of a trained tokenizer and 8 hexadecimal digits of its recipe."""
    return f"{recipe['name']}-{digest(recipe, 8)}"


def backbone_id(source: Mapping[str, Any]) -> str:
    """Return the name of a released encoder and 8 hexadecimal digits of its source."""
    name = str(source.get("hub") or source.get("folder") or source.get("vectors"))
    return f"{name.rstrip('/').rsplit('/', 1)[-1]}-{digest(source, 8)}"


def load_study(config: Mapping[str, Any], workflow: Path, file: str = "config.yaml") -> Study:
    """Return the checked config; BadInput names file, key, value and what was expected."""
    check(dict(config), workflow / "schemas" / "config.schema.json", file)
    data = config.get("data") or {}
    return Study(
        workflow=workflow,
        scale=config["scale"],
        papers=config["papers"],
        seeds=tuple(config["seeds"]),
        source=data.get("source") or "",
        root=data.get("root") or "",
    )


def load_plan(config: Mapping[str, Any], workflow: Path, file: str = "config.yaml") -> Plan:
    """Return the plan of a config; nothing is read but YAML and CSV, nothing is run."""
    study = load_study(tidy(config), workflow, file)
    schemas = workflow / "schemas"
    scales = {path.stem: path for path in (workflow / "scales").glob("*.yaml")}
    if study.scale not in scales:
        raise BadInput(f'{file}: scale is "{study.scale}"{nearest(study.scale, scales)}')
    folders = {path.parent.name: path.parent for path in (workflow / "papers").glob("*/paper.yaml")}
    for key in study.papers:
        if key not in folders:
            raise BadInput(f'{file}: papers names "{key}"{nearest(key, folders)}')
    scale = load_scale(scales[study.scale], schemas)
    papers = {key: load_paper(folder, schemas) for key, folder in sorted(folders.items())}
    plan = Plan(replace(study, source=study.source or scale.source), scale, papers, Paths(scale.name))
    for key, wanted in study.papers.items():
        items = papers[key].items
        for name in items if wanted == "all" else wanted:
            if name not in items:
                raise BadInput(f'{file}: papers.{key} names "{name}"{nearest(name, items)}')
            plan.add(items[name])
    return plan


def read_config(file: Path) -> dict[str, Any]:
    """Return the config of a YAML file."""
    return read_yaml(file) or {}
