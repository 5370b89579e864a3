"""Names made definite: the encoders, runs, backbones and stores that a request comes to at a scale."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from replicse.compile.cost import check_frozen_layers
from replicse.compile.paths import Paths
from replicse.compile.study import Study, backbone_id, tokenizer_id
from replicse.errors import BadInput, MissingData, nearest
from replicse.registry.corpora import Labelled
from replicse.registry.digests import digest
from replicse.registry.encoders import Checkpoint, Engine, can_keep
from replicse.registry.frozen import BY_NAME, FrozenModel, with_frozen
from replicse.registry.poolings import Own
from replicse.registry.registry import current
from replicse.registry.run_options import SelectionRule, View
from replicse.registry.run_specs import PARTS, InitSpec, RunSpec, SourceSpec
from replicse.registry.runs import Fresh, Init, Run, RunSource
from replicse.spec.config import Config
from replicse.spec.layers import merged
from replicse.spec.lock import Lock, load_lock
from replicse.spec.models import (
    SOURCES,
    Encoder,
    EncoderRequest,
    EncoderSource,
    PlannedRequest,
    layered,
)
from replicse.spec.papers import Paper, recipe_of, recipes_in_order
from replicse.spec.printed import Spread
from replicse.spec.protocols import varied
from replicse.spec.scales import OfAnotherScale, Scale

# How an encoder is read, whatever it is made from.
READING = ("pooling", "checkpoint", "postprocess", "engine")
# What a protocol changes in the runs of a chain, by their recipes.
Stages = Mapping[str, EncoderRequest]
NONE: Stages = {}


class Seeds(NamedTuple):
    """The seeds of one chain of training: of its runs, and of the backbones that the scale pre-trains per seed."""

    run: int
    backbone: int


FIRST = Seeds(0, 0)


class Start(NamedTuple):
    """A backbone of the scale: what it is made from, the engine that reads it, its checkpoint where it is a run."""

    source: EncoderSource
    engine: Engine
    checkpoint: Checkpoint | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """Return how it is read where nothing else is asked for."""
        own = {"pooling": Own(pooling="own")} if self.source.folder else {}
        return {"engine": self.engine, **({"checkpoint": self.checkpoint} if self.checkpoint else {}), **own}


class Resolver:
    """Adds encoders to a plan, with the runs, backbones, tokenizers and stores that they depend on."""

    def __init__(self, plan: Study, lock: Lock) -> None:
        self.plan, self.lock = plan, lock
        self._published = list(published_spreads(plan.papers)) if plan.scale.comparable else []
        self._backbones: dict[tuple[str, int], Start] = {}
        self._stores: dict[tuple[str, View, str, int], str] = {}
        self._starts: list[InitSpec | FrozenModel] = []
        self._recipes: dict[tuple[str, str], RunSpec] = {}
        self._corpora: dict[str, dict[str, Any]] = {}

    def encoders(self, paper: str, request: PlannedRequest, seeds: Sequence[Seeds], where: str) -> list[str]:
        """Add the encoder of each seed (one where no seed changes it), with what it depends on; return the ids."""
        encoders = self._encoders(paper, request, seeds, where)
        self.plan.encoders |= {encoder.encoder_id: encoder for encoder in encoders}
        return list(dict.fromkeys(encoder.encoder_id for encoder in encoders))

    def _encoders(
        self, paper: str, request: PlannedRequest, seeds: Sequence[Seeds], where: str
    ) -> list[Encoder]:
        """Return the encoder of each seed, with what it depends on added to the plan."""
        scale = self.plan.scale
        if request.released:
            released = scale.named("released", request.released, where)
            if released.stand_in is None:
                source = self._artefact(EncoderSource(hub=released.hub))
                return [self._read(request, source, {"pooling": released.pooling}, where)]
            where = f"{scale.file}: released.{request.released}.stand_in"
            request = layered(released.stand_in, request.without("released", "run", "grid", "draw"))
        if request.vectors:
            words = scale.named("vectors", request.vectors, where)
            return [self._read(request, EncoderSource(vectors=request.vectors, words=words), {}, where)]
        if request.use:
            runs = [self.plan.runs[run] for run in self._trained(paper, request, seeds, where)]
            return [
                self._read(request, EncoderSource(run=run.run_id), self._as_trained(run), where)
                for run in runs
            ]
        if request.backbone:
            each = [self.backbone(request.backbone, seed.backbone, where) for seed in seeds]
            return [self._read(request, start.source, start.reading, where) for start in each]
        if request.folder or request.hub:
            source = self._own(request, where)
            return [self._read(request, source, {"pooling": Own(pooling="own")}, where)]
        raise BadInput(f"{where}: the encoder names none of {', '.join(SOURCES)}")

    def encoder(
        self, request: EncoderRequest, source: EncoderSource, reading: Mapping[str, Any], where: str
    ) -> str:
        """Add an encoder to the plan and return its id; it is read as the request says, else by `reading`."""
        spec = self._read(request, source, reading, where)
        self.plan.encoders[spec.encoder_id] = spec
        return spec.encoder_id

    def _read(
        self, request: EncoderRequest, source: EncoderSource, reading: Mapping[str, Any], where: str
    ) -> Encoder:
        """Return an encoder that is read as the request says, else by `reading`."""
        asked = {key: entry for key, entry in request.entries().items() if key in READING and entry}
        spec = Encoder.model_construct(source=source, **{**reading, **asked})
        fit = spec.postprocess and spec.postprocess.fit
        if isinstance(fit, str) and fit != "target":
            spec = spec.replace(postprocess=spec.postprocess.replace(fit=self.plan.scale.corpus(fit, where)))
        return spec

    def _trained(self, paper: str, request: PlannedRequest, seeds: Sequence[Seeds], where: str) -> list[str]:
        """Return the runs that a recipe describes, with what the request changes in it, one per seed."""
        run = self._run(paper, request, request.stages, where)
        runs = self.runs(paper, run, seeds, where, request.stages)
        for recipe, spreads in () if request.stages else self._published:
            if run == recipe:
                for name in runs:
                    self.plan.measured[name] = {**self.plan.measured.get(name, {}), **spreads}
        return runs

    def _run(self, paper: str, request: EncoderRequest | InitSpec, stages: Stages, where: str) -> RunSpec:
        """Return the run of a recipe, with what a request changes in it, before the scale's adjustments."""
        name = self.plan.scale.recipe(paper, request.use)
        if (paper, name) not in self._recipes:
            self._recipes[paper, name] = recipe_of(self.plan.papers, paper, name, where)
        run = changed_run(self._recipes[paper, name], request, where)
        # A chain names its recipes with their paper.
        stage = stages.get(request.use.removeprefix(f"{paper}/"))
        return changed_run(run, stage, where) if stage else run

    def backbone(self, name: str, seed: int, where: str) -> Start:
        """Return a backbone by its name in the scale.

        `seed` is that of its pre-training where the scale pre-trains it for each seed.
        """
        if (name, seed) not in self._backbones:
            entry = self.plan.scale.named("backbones", name, where)
            if entry.run is not None:
                run_seed = seed if entry.run.seed == "each" else entry.run.seed
                run = merged(RunSpec(), entry.run.without("seed"))
                with self._not_from_itself(InitSpec(backbone=name), where):
                    (run_id,) = self.runs("", run, [Seeds(run_seed, run_seed)], where, adjust=False)
                kept = self.plan.kept_checkpoint(self.plan.runs[run_id])
                start = Start(EncoderSource(run=run_id), entry.engine, kept)
            else:
                start = Start(self._artefact(EncoderSource(hub=entry.hub, folder=entry.folder)), entry.engine)
            self._backbones[name, seed] = start
        return self._backbones[name, seed]

    def _own(self, named: EncoderRequest | InitSpec, where: str) -> EncoderSource:
        """Return an encoder that a person names by its folder or hub id; MissingData for a folder that is not there."""
        if named.hub:
            hub, _, revision = named.hub.partition("@")
            return self._artefact(EncoderSource(hub=hub, revision=revision or None))
        folder = Path(named.folder).expanduser()
        if not folder.is_dir():
            raise MissingData(f"{where}: no folder {folder} here; name one with an encoder")
        return self._artefact(_in_folder(folder))

    def _artefact(self, source: EncoderSource) -> EncoderSource:
        """Return a released encoder as a source, at the commit of the lock file, and plan to bring it."""
        if folder := (self.plan.config.folders or {}).get(source.hub or ""):
            source = _in_folder(Path(folder).expanduser())
        if source.hub and not source.revision:
            revision = self.lock.revision(source.hub)
            if revision is None:
                self.plan.unpinned.add(source.hub)
            source = source.replace(revision=revision or "main")
        self.plan.backbones[backbone_id(source)] = source.plain()
        return source

    def runs(
        self,
        paper: str,
        run: RunSpec,
        seeds: Sequence[Seeds],
        where: str,
        stages: Stages = NONE,
        adjust: bool = True,
    ) -> list[str]:
        """Add a run under each seed to the plan, and return their ids.

        The encoders that its views and terms depend on are of the same chain as the weights it starts from.
        """
        asked, sources = run.start(where), run.sources(where)
        run = self.plan.scale.adjusted(run, where) if adjust else run
        run = run.replace(selection=self._selection(run.selection, where))
        if "precision" not in run.model_fields_set:
            run = run.replace(precision=self.plan.precision(paper))
        run_ids: list[str] = []
        for seed in seeds:
            init, engine = self._init(paper, asked, seed, stages, where)
            frozen = partial(self._frozen, paper, seed, stages, where)
            own, *beside = (with_frozen(self._source(source, seed, where), frozen) for source in sources)
            engine = run.engine if "engine" in run.model_fields_set else engine
            parts = {"init": init, "beside": tuple(beside), "seed": seed.run, "engine": engine}
            spec = run.definite(where, **own.entries(), **parts)
            if spec.run_id not in self.plan.runs:
                self.plan.runs[spec.run_id] = spec
                self._check_head(spec, asked, where)
                check_frozen_layers(spec, self.plan.runs, where)
                self.plan.run_stores[spec.run_id] = self._run_stores(spec)
            run_ids.append(spec.run_id)
        return run_ids

    def _check_head(self, run: Run, init: InitSpec, where: str) -> None:
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
                f"{where}: init.keep_head is true, but the run of {init.use or init.backbone} has another"
                f" head of task {task}; take it away or fix that run"
            )
        if not run.trains_head:
            return
        trains = before.trains_head
        if trains and can_keep(run.head, before.head):
            return
        if init.backbone:
            self.plan.without_pooler.add(init.backbone)
            return
        problem = (
            f"has a {before.head.kind} of other sizes"
            if trains
            else "trains none (pooling.train cls-head does)"
        )
        raise BadInput(
            f"{where}: init.keep_head is true, but the run of {init.use} {problem}; take it away or fix"
            " that run"
        )

    def _source(self, source: SourceSpec, seed: Seeds, where: str) -> RunSource:
        """Return corpus, views and objective of a source as the scale has them, but for frozen models."""
        name = source.corpus
        self._check_columns(source.views, name, where)
        if name not in self._corpora:
            self._corpora[name] = self.plan.scale.corpus(name, where)
        return RunSource.model_construct(
            corpus=self._corpora[name],
            views=tuple(self._view(view, seed, where) for view in source.views),
            objective=source.objective,
        )

    def _selection(self, rule: SelectionRule, where: str) -> SelectionRule:
        """Return the rule of selection with the development set of its task, or the options of its suite.

        The scale's options have both.
        """
        options, (_, _, path) = self.plan.scale.options.get(rule.suite, {}), rule.metric.partition("/")
        entry, where = current().suites[rule.suite], f"{where}: selection.metric"
        if entry.named_by:
            name = entry.name_in(rule.metric)
            self.plan.scale.check_name(where, rule.suite, name, path.partition("/")[2])
        if rule.task:
            return rule.replace(data=Labelled.of(options[entry.named_by][rule.task], where))
        if entry.narrowed:
            options = entry.narrowed(options, [path])
        return rule.replace(options=options) if options else rule

    def _init(
        self, paper: str, init: InitSpec, seed: Seeds, stages: Stages, where: str
    ) -> tuple[Init, Engine]:
        """Return where a run starts, and the engine of that encoder; the run of another recipe has the same seed."""
        if init.use:
            with self._not_from_itself(init, where):
                (run,) = self.runs(paper, self._run(paper, init, stages, where), [seed], where, stages)
            kept = Init(run=run, checkpoint=init.checkpoint, keep_head=init.keep_head)
            return kept, self.plan.runs[run].engine
        if init.fresh:
            tokenizer = self.plan.scale.tokenizer(init.fresh.tokenizer, where)
            self.plan.tokenizers[tokenizer_id(tokenizer)] = tokenizer
            return Init(fresh=Fresh(**{**init.fresh.entries(), "tokenizer": tokenizer})), "auto"
        if init.folder or init.hub:
            start = Start(self._own(init, where), "auto")
        else:
            start = self.backbone(init.backbone, seed.backbone, where)
        return Init(**start.source.entries(), keep_head=init.keep_head), start.engine

    @contextmanager
    def _not_from_itself(self, start: InitSpec | FrozenModel, where: str) -> Iterator[None]:
        """Refuse a run that starts from its own end or reads it, through however many others."""
        if start in self._starts:
            name = start.use or start.backbone
            how = f"init from {name}" if isinstance(start, InitSpec) else f"the frozen model {start.name}"
            raise BadInput(f"{where}: the run starts from itself, by {how}; break the circle")
        self._starts.append(start)
        try:
            yield
        finally:
            self._starts.pop()

    def _check_columns(self, views: Iterable[View], corpus: str, where: str) -> None:
        columns = self.plan.scale.named("corpora", corpus, where).columns
        for view in views:
            if view.column not in columns:
                wrong = view.column
                raise BadInput(
                    f'{where}: a view reads column "{wrong}" of corpus {corpus}{nearest(wrong, columns)}'
                )

    def _view(self, view: View, seed: Seeds, where: str) -> View:
        """Return a view with what the scale says of its augmentation; a masked-LM's backbone becomes its folder."""
        if view.augment:
            view = view.augmented(self.plan.scale.augmentations.get(view.augment.name, {}), where)
        return view.reading(lambda name: self._backbone_folder(name, seed, where))

    def _frozen(self, paper: str, seed: Seeds, stages: Stages, where: str, model: FrozenModel) -> FrozenModel:
        """Return a frozen model as its folder, and how it is read where that is not left to the term."""
        if model.folder:
            raise BadInput(f'{where}: the run names the folder "{model.folder}"; expected {BY_NAME}')
        request = PlannedRequest.model_construct(**model.entries(), stages=dict(stages))
        with self._not_from_itself(model, where):
            (encoder,) = self._encoders(paper, request, [seed], where)
        pooling = encoder.pooling if model.pooling or not model.backbone else None
        read = {"pooling": pooling, "engine": encoder.engine}
        return FrozenModel.of({"folder": self.plan.encoder_folder(encoder), **read}, f"{where}: {model.name}")

    def _backbone_folder(self, name: str, seed: Seeds, where: str) -> str:
        start = self.backbone(name, seed.backbone, where)
        return self.plan.encoder_folder(Encoder(source=start.source, checkpoint=start.checkpoint or "best"))

    def _run_stores(self, run: Run) -> list[str]:
        """Return the stores of the views of a run's sources, in their order."""
        tokenizer, length = self.plan.tokenizer_file(run.init), run.optimisation.max_length
        stores = []
        for source in run.sources:
            corpus = source.corpus
            for view in source.views:
                key = corpus["name"], view.text, tokenizer, length
                if key not in self._stores:
                    spec = {
                        "corpus": corpus,
                        "view": view.text.plain(),
                        "tokenizer": tokenizer,
                        "max_length": length,
                    }
                    name = view.augment.name if view.augment else view.column
                    self._stores[key] = f"{corpus['name']}-{name}-{digest(spec)}"
                    self.plan.stores[self._stores[key]] = spec
                stores.append(self._stores[key])
        return stores

    def _as_trained(self, run: Run) -> dict[str, Any]:
        """Return how the encoder of a run is read where nothing else is asked for."""
        kept = self.plan.kept_checkpoint(run)
        return {"pooling": run.pooling.test, "checkpoint": kept, "engine": run.engine}


def changed_run(run: RunSpec, request: EncoderRequest | InitSpec, where: str) -> RunSpec:
    """Return a run with what a request changes in it: its parts, then its views and terms."""
    changes = request.run
    return varied(merged(run, changes) if changes else run, getattr(request, "vary", None), where)


def published_spreads(papers: Mapping[str, Paper]) -> Iterator[tuple[RunSpec, dict[str, Spread]]]:
    """Yield each run whose spread over seeds some paper prints, and that spread by metric path."""
    for paper in papers.values():
        for item in paper.items.values():
            for row in item.rows:
                spreads = {
                    item.path(row, column): Spread(printed.sd, printed.seeds - 1)
                    for column in item.columns
                    if (printed := paper.reported.get(item.cell_id(row, column)))
                    and printed.sd is not None
                    and (printed.seeds or 0) > 1
                }
                request = layered(item.encoder, row.encoder)
                if spreads and request.use:
                    where = f"{item.file}: row {row.id}"
                    recipe = recipe_of(papers, paper.key, request.use, where)
                    yield changed_run(recipe, request, where), spreads


def check_parts(scale: Scale, papers: dict[str, Paper], workflow: Path) -> None:
    """Raise BadInput where a backbone, a stand-in or a recipe cannot be planned at a scale, whoever asks for it.

    A recipe of what other scales alone have is none of this scale.
    """
    config = Config(scale=scale.name, papers="all", seeds=(0,))
    plan = Study(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
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
            with suppress(OfAnotherScale):
                resolver.runs(paper.key, run, [FIRST], where)
    for name, released in scale.released.items():
        if released.stand_in is not None:
            where = f"{scale.file}: released.{name}.stand_in"
            resolver.encoders("", layered(released.stand_in), [FIRST], where)


def _in_folder(folder: Path) -> EncoderSource:
    """Return the source of an encoder in a person's folder."""
    return EncoderSource(folder=str(folder) if folder.is_absolute() else f"./{folder}")
