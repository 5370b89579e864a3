"""Names made definite: the encoders, runs, backbones and stores that a request comes to at a scale."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from replicse.errors import BadInput, nearest
from replicse.registry.encoders import can_keep
from replicse.study.paper.layers import layered, merged
from replicse.study.paper.lock import Lock
from replicse.study.paper.papers import Paper, recipe_of
from replicse.study.paper.protocols import (
    varied,
)
from replicse.study.plan.plan import Plan, backbone_id, tokenizer_id
from replicse.study.plan.specs import EncoderSource, EncoderSpec, RunSpec, digest

PARTS = ("init", "corpus", "views", "objective")  # what no run can do without


class Seeds(NamedTuple):
    """The seeds of one chain of training: of its runs, and of the backbones that the scale pre-trains per seed."""

    run: int
    backbone: int


FIRST = Seeds(0, 0)


class Resolver:
    """Adds encoders to a plan, with the runs, backbones, tokenizers and stores that they stand on."""

    def __init__(self, plan: Plan, lock: Lock) -> None:
        self.plan, self.lock = plan, lock
        self._published = list(published_spreads(plan.papers)) if plan.scale.comparable else []
        self._backbones: dict[tuple[str, int], dict[str, Any]] = {}
        self._stores: dict[tuple[str, Any, str, int], str] = {}
        self._starts: list[Mapping[str, Any]] = []
        self._recipes: dict[tuple[str, str], dict[str, Any]] = {}
        self._corpora: dict[str, dict[str, Any]] = {}

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
                return [self.encoder(request, {"source": source, **engine}, where)]
            own = {
                key: entry for key, entry in request.items() if key not in ("released", "run", "grid", "draw")
            }
            request = layered(released.stand_in.given(), own)
        if "vectors" in request:
            words = scale.named("vectors", request["vectors"], where)
            source = {"vectors": request["vectors"], "words": words.plain()}
            return [self.encoder(request, {"source": source}, where)]
        if "use" in request:
            trained = self._trained(paper, request, seeds, where)
            return [self.encoder({**_as_trained(self.plan.runs[run]), **request}, {"source": {"run": run}}, where)
                    for run in trained]  # fmt: skip
        if "backbone" in request:
            each = [self.backbone(request["backbone"], seed.backbone, where) for seed in seeds]
            found = [self.encoder({**entry, **request}, {"source": entry["source"]}, where) for entry in each]
            return list(dict.fromkeys(found))
        raise BadInput(f"{where}: the encoder names none of use, backbone, released, vectors")

    def encoder(self, request: Mapping[str, Any], values: Mapping[str, Any], where: str) -> str:
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
