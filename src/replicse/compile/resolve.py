"""Names made definite: the encoders, runs, backbones and stores that a request comes to at a scale."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from replicse.compile.adjustments import adjust_run
from replicse.compile.cost import check_frozen_layers
from replicse.compile.paths import Paths, backbone_id, tokenizer_id
from replicse.compile.recipes import Chain, Recipes, Written, merge_recipe, sort_recipes
from replicse.compile.requests import merge_requests
from replicse.compile.stores import Stores
from replicse.compile.study import Study, kept_checkpoint
from replicse.errors import BadInput, MissingData, check_known
from replicse.registry.corpora import Labelled
from replicse.registry.encoders import Checkpoint, Engine, can_keep
from replicse.registry.frozen import BY_NAME, FrozenModel, with_frozen
from replicse.registry.poolings import Own
from replicse.registry.registry import current
from replicse.registry.run_options import SelectionRule, View
from replicse.registry.run_specs import PARTS, AveragedRun, InitSpec, RunSpec, SourceSpec
from replicse.registry.runs import Fresh, Init, Run, RunSource
from replicse.spec.config import Config
from replicse.spec.layers import merge_layers
from replicse.spec.lock import Lock, load_lock
from replicse.spec.models import SOURCES, Encoder, EncoderRequest, EncoderSource, PlannedRequest
from replicse.spec.own_corpora import name_corpus
from replicse.spec.papers import Paper
from replicse.spec.record import Record, load_record
from replicse.spec.scales import OfAnotherScale, Scale

# How an encoder is read, whatever it is made from.
READING = ("pooling", "checkpoint", "postprocess", "engine")
OWN = Own(pooling="own")


class Seeds(NamedTuple):
    """The seeds of one chain of training: of its runs, and of the backbones that the scale pre-trains per seed."""

    run: int
    backbone: int


FIRST = Seeds(0, 0)


class Resolver:
    """Returns encoders and runs, and adds the runs, backbones, tokenizers and stores they depend on to a study."""

    def __init__(self, plan: Study, lock: Lock) -> None:
        self.plan, self.scale, self.lock = plan, plan.scale, lock
        record = load_record(plan.workflow) if plan.scale.comparable else Record()
        self.recipes, self.stores = Recipes(plan.papers, plan.scale, record), Stores(plan)
        self._backbones: dict[tuple[str, int], Encoder] = {}
        self._starts: list[InitSpec | FrozenModel] = []

    def encoders(
        self, paper: str, request: PlannedRequest, seeds: Sequence[Seeds], where: str
    ) -> list[Encoder]:
        """Return the encoder of each seed; one for all where no seed changes it."""
        if request.released:
            released = self.scale.named("released", request.released, where)
            if released.stand_in is not None:
                where = f"{self.scale.file}: released.{request.released}.stand_in"
                above = request.without("released", "run", "grid", "draw")
                return self.encoders(paper, merge_requests(released.stand_in, above), seeds, where)
            source = self._artefact(EncoderSource(hub=released.hub))
            found = [Encoder(source=source, pooling=released.pooling)]
        elif request.vectors:
            words = self.scale.named("vectors", request.vectors, where)
            found = [Encoder(source=EncoderSource(vectors=request.vectors, words=words))]
        elif request.use:
            found = self._trained(request.use, request, Chain(paper, where, request.stages), seeds)
        elif request.backbone:
            found = [self.backbone(request.backbone, seed.backbone, where) for seed in seeds]
        elif request.folder or request.hub:
            found = [Encoder(source=self._own(request, where), pooling=OWN)]
        else:
            raise BadInput(f"{where}: the encoder names none of {', '.join(SOURCES)}")
        each = (self._read(encoder, request, paper, where) for encoder in found)
        return list({encoder.encoder_id: encoder for encoder in each}.values())

    def _read(self, encoder: Encoder, request: EncoderRequest, paper: str, where: str) -> Encoder:
        """Return an encoder as the request reads it."""
        asked = {key: entry for key, entry in request.entries().items() if key in READING and entry}
        after = asked.get("postprocess")
        if after and after.fit != "target":
            papers = self.plan.papers
            name = name_corpus(after.fit, papers[paper], papers) if paper in papers else after.fit
            asked["postprocess"] = after.replace(fit=self.scale.corpus(name, where))
        return encoder.replace(**asked)

    def _trained(
        self, use: str, request: PlannedRequest, chain: Chain, seeds: Sequence[Seeds]
    ) -> list[Encoder]:
        """Return the encoders of a recipe's runs, as they were trained; note the spreads that are printed of them."""
        written = self.recipes.run(use, request, chain, own=self.recipes.is_own(chain.paper))
        spreads = {} if chain.stages else self.recipes.spreads(written.run)
        runs = self.runs(written, chain, seeds)
        for run in runs if spreads else ():
            self.plan.measured[run.run_id] = {**self.plan.measured.get(run.run_id, {}), **spreads}
        return [
            Encoder(
                source=EncoderSource(run=run.run_id),
                pooling=run.pooling.test,
                checkpoint=kept_checkpoint(run),
                engine=run.engine,
            )
            for run in runs
        ]

    def backbone(self, name: str, seed: int, where: str) -> Encoder:
        """Return a backbone of the scale; `seed` is that of its pre-training where it is pre-trained for each seed."""
        if (name, seed) not in self._backbones:
            entry = self.scale.named("backbones", name, where)
            if entry.run is None:
                source = self._artefact(EncoderSource(hub=entry.hub, folder=entry.folder))
                reading: dict[str, Any] = {"pooling": OWN} if entry.folder else {}
            else:
                own_seed = seed if entry.run.seed == "each" else entry.run.seed
                written = Written(merge_layers(RunSpec(), entry.run.without("seed")))
                with self._not_from_itself(InitSpec(backbone=name), where):
                    (run,) = self.runs(written, Chain("", where), [Seeds(own_seed, own_seed)], adjust=False)
                source = EncoderSource(run=run.run_id)
                reading = {"checkpoint": kept_checkpoint(run)}
            self._backbones[name, seed] = Encoder(source=source, engine=entry.engine, **reading)
        return self._backbones[name, seed]

    def _own(self, named: EncoderRequest | InitSpec, where: str) -> EncoderSource:
        """Return an encoder that a person names by its folder or hub id; MissingData for a folder that is not there."""
        if named.folder is None:
            hub, _, revision = (named.hub or "").partition("@")
            return self._artefact(EncoderSource(hub=hub, revision=revision or None))
        folder = Path(named.folder).expanduser()
        if not folder.is_dir():
            raise MissingData(f"{where}: no folder {folder} here; name one with an encoder")
        return self._artefact(_in_folder(folder))

    def _artefact(self, source: EncoderSource) -> EncoderSource:
        """Return a released encoder as a source, at the commit of the lock file, and plan to bring it.

        The config may name a folder that it is read from instead.
        """
        if folder := (self.plan.config.folders or {}).get(source.hub or ""):
            source = _in_folder(Path(folder).expanduser())
        if source.hub and not source.revision:
            revision = self.lock.revision(source.hub)
            if revision is None:
                self.plan.unpinned.add(source.hub)
            source = source.replace(revision=revision or "main")
        self.plan.backbones[backbone_id(source)] = source.plain()
        return source

    def runs(self, written: Written, chain: Chain, seeds: Sequence[Seeds], adjust: bool = True) -> list[Run]:
        """Return the definite run of each seed.

        The encoders that its views and terms depend on are of the same chain as the weights it starts from.
        """
        spec = written.run
        start, sources = spec.start(chain.where), spec.sources(chain.where)
        own = start == written.own.init
        if adjust:
            spec = adjust_run(self.scale, spec, written.own, chain.where)
        spec = spec.replace(selection=self._selection(spec.selection, chain.where))
        if "precision" not in spec.model_fields_set:
            spec = spec.replace(precision=self.plan.precision(chain.paper))
        return [self._run(spec, (start, own), sources, chain, seed) for seed in seeds]

    def _run(
        self,
        spec: RunSpec,
        starting: tuple[InitSpec, bool],
        sources: Sequence[SourceSpec],
        chain: Chain,
        seed: Seeds,
    ) -> Run:
        start, own = starting
        init, engine = self._init(start, own, chain, seed)
        frozen = partial(self._frozen, chain, seed)
        own, *beside = (with_frozen(self._source(source, chain, seed), frozen) for source in sources)
        engine = spec.engine if "engine" in spec.model_fields_set else engine
        parts = {"init": init, "beside": tuple(beside), "seed": seed.run, "engine": engine}
        run = spec.definite(chain.where, **own.entries(), **parts)
        if run.run_id not in self.plan.runs:
            self.plan.runs[run.run_id] = run
            self._check_heads(run, start, chain.where)
            check_frozen_layers(run, self.plan.runs, chain.where)
            self.plan.run_stores[run.run_id] = self.stores.of_run(run)
        return run

    def _check_heads(self, run: Run, start: InitSpec, where: str) -> None:
        """Refuse a run that is to keep heads of another run which trains none, or others.

        A backbone that the scale pre-trains has no pooler: the plan notes that the run draws one.
        """
        if not (run.init.keep_head and run.init.run):
            return
        before = self.plan.runs[run.init.run]
        task = next((task for task, head in run.heads.items() if before.heads.get(task, head) != head), None)
        if task:
            problem = f"has another head of task {task}"
        elif not run.trains_head or (before.trains_head and can_keep(run.head, before.head)):
            return
        elif start.backbone:
            self.plan.without_pooler.add(start.backbone)
            return
        elif before.trains_head:
            problem = f"has a {before.head.kind} of other sizes"
        else:
            problem = "trains none (pooling.train cls-head does)"
        raise BadInput(
            f"{where}: init.keep_head is true, but the run of {start.name} {problem}; take it away"
            " or fix that run"
        )

    def _selection(self, rule: SelectionRule, where: str) -> SelectionRule:
        """Return the rule of selection with the development set of its task, or the options of its suite.

        The scale's options have both.
        """
        options, (_, _, path) = self.scale.options.get(rule.suite, {}), rule.metric.partition("/")
        entry, where = current().suites[rule.suite], f"{where}: selection.metric"
        if entry.named_by:
            name = entry.name_in(rule.metric)
            self.scale.check_name(where, rule.suite, name, path.partition("/")[2])
        if rule.task:
            return rule.replace(data=Labelled.of(options[entry.named_by][rule.task], where))
        if entry.narrowed:
            options = entry.narrowed(options, [path])
        return rule.replace(options=options) if options else rule

    def _init(self, start: InitSpec, own: bool, chain: Chain, seed: Seeds) -> tuple[Init, Engine]:
        """Return where a run starts, and the engine of that encoder; the run of another recipe has the same seed.

        `own` says that a paper of the workspace writes it.
        """
        if start.fresh:
            tokenizer = self.scale.tokenizer(start.fresh.tokenizer, chain.where)
            self.plan.tokenizers[tokenizer_id(tokenizer)] = tokenizer
            return Init(fresh=Fresh(**{**start.fresh.entries(), "tokenizer": tokenizer})), "auto"
        if start.use:
            with self._not_from_itself(start, chain.where):
                (run,) = self.runs(self.recipes.run(start.use, start, chain, own), chain, [seed])
            return Init(run=run.run_id, checkpoint=start.checkpoint, **start.kept), run.engine
        if start.average:
            return self._average(start, start.average, own, chain, seed)
        if start.backbone:
            backbone = self.backbone(start.backbone, seed.backbone, chain.where)
            engine = "auto" if start.family else backbone.engine
            return Init(**backbone.source.entries(), **start.kept), engine
        return Init(**self._own(start, chain.where).entries(), **start.kept), "auto"

    def _average(
        self, start: InitSpec, averaged: Sequence[AveragedRun], own: bool, chain: Chain, seed: Seeds
    ) -> tuple[Init, Engine]:
        """Return a start that is the mean of the ends of runs, the first of which the others are added to."""
        ends: list[tuple[Run, Checkpoint]] = []
        for each in averaged:
            # Runs of other seeds are averaged on one backbone: from several their mean is no encoder.
            seeds = [Seeds(number, seed.backbone) for number in each.seeds] or [seed]
            with self._not_from_itself(start, chain.where):
                runs = self.runs(self.recipes.run(each.use, each, chain, own), chain, seeds)
            ends += [(run, each.checkpoint or kept_checkpoint(run)) for run in runs]
        (first, checkpoint), *others = ends
        folders = [self.plan.paths.run(run.run_id, which) for run, which in others]
        average = tuple(FrozenModel(folder=folder) for folder in folders)
        return Init(run=first.run_id, checkpoint=checkpoint, average=average, **start.kept), first.engine

    @contextmanager
    def _not_from_itself(self, start: InitSpec | FrozenModel, where: str) -> Iterator[None]:
        """Refuse a run that starts from its own end or reads it, through however many others."""
        if start in self._starts:
            how = (
                f"init from {start.name}" if isinstance(start, InitSpec) else f"the frozen model {start.name}"
            )
            raise BadInput(f"{where}: the run starts from itself, by {how}; break the circle")
        self._starts.append(start)
        try:
            yield
        finally:
            self._starts.pop()

    def _source(self, source: SourceSpec, chain: Chain, seed: Seeds) -> RunSource:
        """Return corpus, views and objective of a source as the scale has them, but for frozen models."""
        columns = self.scale.named("corpora", source.corpus, chain.where).columns
        for view in source.views:
            problem = f'{chain.where}: a view reads column "{view.column}" of corpus {source.corpus}'
            check_known(view.column, columns, problem)
        return RunSource.model_construct(
            corpus=self.scale.corpus(source.corpus, chain.where),
            views=tuple(self._view(view, chain, seed) for view in source.views),
            objective=source.objective,
        )

    def _view(self, view: View, chain: Chain, seed: Seeds) -> View:
        """Return a view with what the scale says of its augmentation; a masked-LM's backbone becomes its folder."""
        if view.augment:
            view = view.augmented(self.scale.augmentations.get(view.augment.name, {}), chain.where)
        return view.reading(
            lambda name: self.plan.encoder_folder(self.backbone(name, seed.backbone, chain.where))
        )

    def _frozen(self, chain: Chain, seed: Seeds, model: FrozenModel) -> FrozenModel:
        """Return a frozen model as its folder, and how it is read where that is not left to the term."""
        where = chain.where
        if model.folder:
            raise BadInput(f'{where}: the run names the folder "{model.folder}"; expected {BY_NAME}')
        request = PlannedRequest.model_construct(**model.entries(), stages=dict(chain.stages))
        with self._not_from_itself(model, where):
            (encoder,) = self.encoders(chain.paper, request, [seed], where)
        pooling = encoder.pooling if model.pooling or not model.backbone else None
        read = {"pooling": pooling, "engine": encoder.engine}
        return FrozenModel.of({"folder": self.plan.encoder_folder(encoder), **read}, f"{where}: {model.name}")


def check_parts(scale: Scale, papers: Mapping[str, Paper], workflow: Path) -> None:
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
            merge_recipe(papers, "", name, f"{scale.file}: recipes.{pair[0]}")
    for paper, name in sort_recipes(papers):
        where = f"{paper.folder / 'recipes.yaml'}: {name}"
        run = merge_recipe(papers, paper.key, name, where)
        # A template leaves parts to those that are like it; another recipe may stand in for one at this scale.
        if run.model_fields_set >= set(PARTS) and scale.recipe(paper.key, name) == name:
            with suppress(OfAnotherScale):
                resolver.runs(resolver.recipes.read(paper.key, name, where), Chain(paper.key, where), [FIRST])
    for name, released in scale.released.items():
        if released.stand_in is not None:
            where = f"{scale.file}: released.{name}.stand_in"
            resolver.encoders("", merge_requests(released.stand_in), [FIRST], where)


def _in_folder(folder: Path) -> EncoderSource:
    """Return the source of an encoder in a person's folder."""
    return EncoderSource(folder=str(folder) if folder.is_absolute() else f"./{folder}")
