"""Planning: from papers, a scale and a config to every run, encoder and evaluation, all known at once."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.paper.merging import merged
from replicse.study.paper.papers import Column, Item, Reported, Row, load_paper, recipe_of
from replicse.study.paper.protocols import AS_DESCRIBED, changed_subject, variants, varied
from replicse.study.paper.scales import load_scale
from replicse.study.paper.validation import check, read_yaml
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Cell, Plan, Study, backbone_id, tokenizer_id
from replicse.study.plan.specs import EncoderSpec, RunSpec, Trajectory, build, digest, tidy
from replicse.study.results.statistics import Priors, load_priors

SOURCES = ("use", "backbone", "released", "vectors", "data")


def load_study(config: Mapping[str, Any], workflow: Path, file: str = "config.yaml") -> Study:
    """Return the checked config; BadInput names file, key, value and what was expected."""
    check(dict(config), workflow / "schemas" / "config.schema.json", file)
    data = config.get("data") or {}
    return Study(
        workflow=workflow,
        scale=config["scale"],
        papers={key: wanted for key, wanted in config["papers"].items() if wanted},
        seeds=tuple(config["seeds"]),
        source=data.get("source") or "",
        root=data.get("root") or "",
        adjudicate=wanted if (wanted := config.get("adjudicate") or ()) == "all" else tuple(wanted),
        rows=config.get("rows") or {},
        config=config,
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
    priors = workflow / "priors.yaml"
    plan = Plan(
        study=replace(study, source=study.source or scale.source),
        scale=scale,
        papers=papers,
        paths=Paths(scale.name),
    )
    # A further config file is laid over config.yaml, so what that one says of other items must not be a mistake.
    known = [item.id for paper in papers.values() for item in paper.items.values()]
    for key, names in (
        ("rows", study.rows),
        ("adjudicate", () if study.adjudicate == "all" else study.adjudicate),
    ):
        for name in names:
            if name not in known:
                raise BadInput(f'{file}: {key} names "{name}"{nearest(name, known)}')
    planner = Planner(plan, load_priors(priors) if priors.exists() else ())
    for key, wanted in study.papers.items():
        items = papers[key].items
        for name in items if wanted == "all" else wanted:
            if name not in items:
                raise BadInput(f'{file}: papers.{key} names "{name}"{nearest(name, items)}')
            planner.add(with_rows(items[name], study.rows.get(f"{key}/{name}"), file))
    if not plan.items:
        raise BadInput(f"{file}: papers holds no item; name some, or write all")
    return plan


def with_rows(item: Item, wanted: Sequence[str] | None, file: str) -> Item:
    """Return an item with only the rows that are wanted, in its own order, and a note that says so."""
    if wanted is None:
        return item
    known = [row.id for row in item.rows]
    for name in wanted:
        if name not in known:
            raise BadInput(f'{file}: rows.{item.id} names "{name}"{nearest(name, known)}')
    rows = tuple(row for row in item.rows if row.id in wanted)
    note = f"This study asks for {len(rows)} of the {len(known)} rows."
    baseline = item.baseline if item.baseline in wanted else ""
    return replace(item, rows=rows, baseline=baseline, notes=(*item.notes, note))


def read_config(file: Path) -> dict[str, Any]:
    """Return the config of a YAML file."""
    return read_yaml(file) or {}


class Planner:
    """Adds items to a plan: each cell's encoders, their runs, and what those stand on."""

    def __init__(self, plan: Plan, priors: Sequence[Priors] = ()) -> None:
        self.plan = plan
        self._measured = [
            (recipe_of(plan.papers, "", name, "priors.yaml"), prior.spreads.get(backbone, {}))
            for prior in priors
            for backbone, name in prior.recipes.items()
        ]
        self._memo: dict[str, tuple[str, ...]] = {}

    def add(self, item: Item) -> None:
        """Plan all cells of an item."""
        self.plan.items[item.id] = item
        self.plan.cells[item.id] = [cell for row in item.rows for cell in self._row(item, row)]

    def _row(self, item: Item, row: Row) -> Iterator[Cell]:
        protocols = {AS_DESCRIBED: row.subject, **row.also, **self._variants(item, row)}
        for protocol, subject in protocols.items():
            for column in item.columns:
                quoted = row.quoted and protocol == AS_DESCRIBED
                read = row.read.get(column.id, column.read)
                if row.final_only and read.startswith("trajectory/"):
                    read = ""
                encoders = () if quoted or not read else self._encoders(item, row, column, subject)
                for encoder in encoders:
                    self.plan.suites.setdefault(encoder, set()).add(read.partition("/")[0])
                    if read.startswith("data/"):
                        self.plan.counted.add(read)
                    if read.startswith("trajectory/"):
                        self._keep(encoder, item)
                yield Cell(
                    item=item,
                    row=row,
                    column=column,
                    read=read,
                    encoders=encoders,
                    reported=self._reported(item, row, column),
                    minus=self._minus(item, row, column),
                    protocol=protocol,
                )

    def _reported(self, item: Item, row: Row, column: Column) -> Reported | None:
        """Return the printed number of a cell: of the item, or of the running text that the row points to."""
        printed = self.plan.papers[item.paper].reported
        if column.id not in row.printed:
            return printed.get((item.name, row.id, column.id, column.metric))
        key = ("text", *row.printed[column.id].split("/"), column.metric)
        if key not in printed:
            known = ["/".join(other[1:3]) for other in printed if other[0] == "text"]
            raise BadInput(
                f'{item.file}: row {row.id}: printed names "{row.printed[column.id]}"'
                f"{nearest(row.printed[column.id], known)}"
            )
        return printed[key]

    def _variants(self, item: Item, row: Row) -> dict[str, Mapping[str, Any]]:
        if row.quoted:
            return {}
        wanted = variants(
            self.plan.papers[item.paper].protocols, item.name, row.id, self.plan.study.adjudicates(item.id)
        )
        return {name: changed_subject(row.subject, change) for name, change in wanted.items()}

    def _minus(self, item: Item, row: Row, column: Column) -> Reported | None:
        if not column.minus:
            return None
        paper, _, name = column.minus["item"].partition("/")
        key = (name, column.minus.get("row", row.id), column.minus["column"], column.minus["metric"])
        if paper not in self.plan.papers:
            raise BadInput(f'{item.file}: minus names the paper "{paper}"{nearest(paper, self.plan.papers)}')
        return self.plan.papers[paper].reported.get(key)

    def _encoders(self, item: Item, row: Row, column: Column, subject: Mapping[str, Any]) -> tuple[str, ...]:
        subject = merged(merged(item.subject, column.subject), subject)
        subject = merged(subject, row.cells.get(column.id, {}))
        memo = json.dumps([item.paper, subject], sort_keys=True, default=str)
        if memo not in self._memo:
            where = f"{item.file}: row {row.id}"
            grid = subject.get("grid")
            # A grid search is run with one seed, as the papers ran theirs.
            seeds = self.plan.study.seeds[:1] if grid else self.plan.study.seeds
            found: dict[str, None] = {}
            for choice in _choices(self.plan.scale.tried(grid or {}, where)):
                for seed in seeds:
                    found[self._encoder(item, merged(subject, choice), seed, where)] = None
            self._memo[memo] = tuple(found)
        return self._memo[memo]

    def _encoder(self, item: Item, subject: Mapping[str, Any], seed: int, where: str) -> str:
        if "released" in subject:
            released = self.plan.scale.released_encoder(subject["released"], where)
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
                    **self.plan.scale.word_vectors(subject["vectors"], where),
                },
            }
        elif "hub" in subject:
            source = dict(subject["hub"])
            values = {"pooling": source.pop("pooling", "cls"), **values, "source": source}
            self.plan.backbones[backbone_id(source)] = source
        elif "use" in subject:
            values = {**self._trained(item, subject, seed, where), **values}
        elif "backbone" in subject:
            source = self._backbone(subject["backbone"], where)
            values = {"checkpoint": self._kept_of(source), **values, "source": source}
        else:
            raise BadInput(f"{where}: the encoder names none of {', '.join(SOURCES)}")
        spec = build(EncoderSpec, values, where)
        self.plan.encoders[spec.encoder_id] = spec
        return spec.encoder_id

    def _trained(self, item: Item, subject: Mapping[str, Any], seed: int, where: str) -> dict[str, Any]:
        """Return source, pooling and checkpoint of the run that a recipe describes."""
        name = self.plan.scale.recipe(item.paper, subject["use"])
        recipe = recipe_of(self.plan.papers, item.paper, name, where)
        values = varied(merged(recipe, subject.get("run", {})), subject.get("vary", {}))
        run_id = self._run(values, seed, where, adjust=True)
        for recipe, spreads in self._measured:
            if values == recipe:
                self.plan.measured[run_id] = spreads
        run = self.plan.runs[run_id]
        return {
            "pooling": run.pooling.test,
            "checkpoint": self.plan.kept_checkpoint(run),
            "source": {"run": run_id},
        }

    def _postprocess(self, wanted: Mapping[str, Any], where: str) -> dict[str, Any]:
        fit = wanted["fit"]
        return {**wanted, "fit": fit if fit == "target" else self.plan.scale.corpus(fit, where)}

    def _keep(self, encoder: str, item: Item) -> None:
        """Ask the run of an encoder to keep the checkpoints of an item's trajectory."""
        run = self.plan.runs[self.plan.encoders[encoder].source["run"]]
        asked = Trajectory(every=item.trajectory["every"], until=item.trajectory["until"])
        self.plan.runs[run.run_id] = replace(run, trajectory=run.trajectory.joined(asked))

    def _backbone(self, name: str, where: str) -> dict[str, Any]:
        entry = self.plan.scale.backbone(name, where)
        if "run" in entry:
            values = {**entry["run"]}
            return {"run": self._run(values, values.pop("seed", 0), where, adjust=False)}
        source = dict(entry)
        self.plan.backbones[backbone_id(source)] = source
        return source

    def _run(self, values: dict[str, Any], seed: int, where: str, adjust: bool) -> str:
        init = dict(values["init"])
        if "backbone" in init:
            init = self._backbone(init["backbone"], where)
        elif "fresh" in init:
            fresh = dict(init["fresh"])
            fresh["tokenizer"] = self.plan.scale.tokenizer(fresh["tokenizer"], where)
            self.plan.tokenizers[tokenizer_id(fresh["tokenizer"])] = fresh["tokenizer"]
            init = {"fresh": fresh}
        if adjust:
            values = self.plan.scale.adjusted(values)
        corpus = self.plan.scale.corpus(values["corpus"], where)
        views = [self._view(view, where) for view in values["views"]]
        objective = [self._term(term, where) for term in values["objective"]]
        chosen = {"init": init, "corpus": corpus, "views": views, "objective": objective, "seed": seed}
        spec = build(RunSpec, {**values, **chosen}, where)
        known = self.plan.runs.get(spec.run_id)
        if known is None:
            self.plan.runs[spec.run_id] = spec
            self.plan.run_stores[spec.run_id] = [self._store(spec, view) for view in spec.views]
        return spec.run_id

    def _kept_of(self, source: Mapping[str, Any]) -> str:
        """Return which checkpoint of a backbone is used: that of its run, or the only one it was released with."""
        return self.plan.kept_checkpoint(self.plan.runs[source["run"]]) if "run" in source else "best"

    def _view(self, view: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return a view with what the scale says of its augmentation; a masked-LM's backbone becomes its folder."""
        if "augment" not in view:
            return dict(view)
        augment = {**view["augment"], **self.plan.scale.augmentations.get(view["augment"]["name"], {})}
        if "backbone" in augment:
            augment["encoder"] = self._backbone_folder(augment.pop("backbone"), where)
        return {**view, "augment": augment}

    def _term(self, term: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return a loss term; the backbone it generates with becomes its folder."""
        if "generator" not in term:
            return dict(term)
        return {**term, "generator": self._backbone_folder(term["generator"]["backbone"], where)}

    def _backbone_folder(self, name: str, where: str) -> str:
        source = self._backbone(name, where)
        return self.plan.encoder_folder(EncoderSpec(source=source, checkpoint=self._kept_of(source)))

    def _store(self, run: RunSpec, view: Mapping[str, Any]) -> str:
        spec = {
            "corpus": run.corpus,
            "view": dict(view),
            "tokenizer": self.plan.tokenizer_file(run.init),
            "max_length": run.optimisation.max_length,
        }
        name = view.get("augment", {}).get("name", view["column"])
        store = f"{run.corpus['name']}-{name}-{digest(spec)}"
        self.plan.stores[store] = spec
        return store


def _choices(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield what each combination of a grid changes in an encoder.

    A name is `section.key` of the run, as in {"optimisation.batch_size": [64, 128]}, or `terms.TERM.key`.
    """
    names = list(grid)
    for values in itertools.product(*grid.values()):
        chosen: dict[str, Any] = {}
        for name, value in zip(names, values, strict=True):
            *path, key = name.split(".")
            inner = chosen.setdefault("vary" if path[0] == "terms" else "run", {})
            for part in path:
                inner = inner.setdefault(part, {})
            inner[key] = value
        yield chosen
