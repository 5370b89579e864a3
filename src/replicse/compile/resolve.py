"""Resolve requests at a scale: encoders, runs, backbones and stores."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from replicse.compile.adjustments import adjust_run
from replicse.compile.cost import check_frozen_layers
from replicse.compile.paths import backbone_id, tokenizer_id
from replicse.compile.recipes import Chain, Recipes, Written
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
from replicse.registry.run_specs import AveragedRun, InitSpec, RunSpec, SourceSpec
from replicse.registry.runs import Fresh, Init, Run, RunSource
from replicse.spec.layers import merge_layers
from replicse.spec.lock import Lock
from replicse.spec.models import SOURCES, Encoder, EncoderRequest, EncoderSource, PlannedRequest
from replicse.spec.own_corpora import name_corpus
from replicse.spec.record import Record, load_record

# The keys of a request that apply to an encoder of any source.
READING = ("pooling", "checkpoint", "postprocess", "engine")
OWN = Own(pooling="own")


class Seeds(NamedTuple):
    """The seeds of a chain of training.

    `run` is the seed of the runs, `backbone` the seed of backbones that the scale pre-trains for each seed.
    """

    run: int
    backbone: int


FIRST = Seeds(0, 0)


class Resolver:
    """A resolver of encoders and runs.

    It adds encoders, runs, and their stores, tokenizers and backbones to a study.

    Args:
        study: the study to fill.
        lock: the commits of hub artefacts.
    """

    def __init__(self, study: Study, lock: Lock) -> None:
        self.study, self.scale, self.lock = study, study.scale, lock
        record = load_record(study.workflow) if study.scale.comparable else Record()
        self.recipes, self.stores = Recipes(study.papers, study.scale, record), Stores(study)
        self._backbones: dict[tuple[str, int], Encoder] = {}
        self._starts: list[InitSpec | FrozenModel] = []

    def encoders(
        self, paper: str, request: PlannedRequest, seeds: Sequence[Seeds], location: str
    ) -> list[Encoder]:
        """Return the encoder of each seed.

        Args:
            paper: the key of the paper with the recipes.
            request: the merged request of a cell, of a stand-in or of a frozen model.
            seeds: the seeds of the chain.
            location: the location in error messages.

        Returns:
            The encoders; a single encoder if it does not depend on the seed.

        Raises:
            BadInput: if the request has no source, or a name in it is unknown.
        """
        if request.released:
            released = self.scale.named("released", request.released, location)
            if released.stand_in is not None:
                location = f"{self.scale.file}: released.{request.released}.stand_in"
                above = request.without("released", "run", "grid", "draw")
                return self.encoders(paper, merge_requests(released.stand_in, above), seeds, location)
            source = self._artefact(EncoderSource(hub=released.hub))
            found = [Encoder(source=source, pooling=released.pooling)]
        elif request.vectors:
            words = self.scale.named("vectors", request.vectors, location)
            found = [Encoder(source=EncoderSource(vectors=request.vectors, words=words))]
        elif request.use:
            found = self._trained(request.use, request, Chain(paper, location, request.stages), seeds)
        elif request.backbone:
            found = [self.backbone(request.backbone, seed.backbone, location) for seed in seeds]
        elif request.folder or request.hub:
            found = [Encoder(source=self._own(request, location), pooling=OWN)]
        else:
            raise BadInput(f"{location}: the encoder does not have a source; add {' or '.join(SOURCES)}")
        encoders: dict[str, Encoder] = {}
        for encoder in found:
            encoder = self._apply_reading(encoder, request, paper, location)
            encoders[encoder.encoder_id] = encoder
        return list(encoders.values())

    def _apply_reading(self, encoder: Encoder, request: EncoderRequest, paper: str, location: str) -> Encoder:
        """Return an encoder with the pooling and other keys of a request."""
        changes = {key: entry for key, entry in request.entries().items() if key in READING and entry}
        postprocess = changes.get("postprocess")
        if postprocess and postprocess.fit != "target":
            papers, name = self.study.papers, postprocess.fit
            if paper in papers:
                name = name_corpus(name, papers[paper], papers)
            changes["postprocess"] = postprocess.replace(fit=self.scale.corpus(name, location))
        return encoder.replace(**changes)

    def _trained(
        self, use: str, request: PlannedRequest, chain: Chain, seeds: Sequence[Seeds]
    ) -> list[Encoder]:
        """Return the encoders of a recipe's runs, and record their spreads."""
        written = self.recipes.run(use, request, chain, own=self.recipes.is_own(chain.paper))
        spreads = {} if chain.stages else self.recipes.spreads(written.run)
        runs = self.runs(written, chain, seeds)
        for run in runs if spreads else ():
            self.study.measured[run.run_id] = {**self.study.measured.get(run.run_id, {}), **spreads}
        return [
            Encoder(
                source=EncoderSource(run=run.run_id),
                pooling=run.pooling.test,
                checkpoint=kept_checkpoint(run),
                engine=run.engine,
            )
            for run in runs
        ]

    def backbone(self, name: str, seed: int, location: str) -> Encoder:
        """Return a backbone of the scale.

        Args:
            name: the name in the scale.
            seed: the seed of pre-training, used if the scale pre-trains the backbone for each seed.
            location: the location in error messages.
        """
        if (name, seed) not in self._backbones:
            entry = self.scale.named("backbones", name, location)
            if entry.run is None:
                source = self._artefact(EncoderSource(hub=entry.hub, folder=entry.folder))
                reading: dict[str, Any] = {"pooling": OWN} if entry.folder else {}
            else:
                own_seed = seed if entry.run.seed == "each" else entry.run.seed
                written = Written(merge_layers(RunSpec(), entry.run.without("seed")))
                with self._not_from_itself(InitSpec(backbone=name), location):
                    (run,) = self.runs(
                        written, Chain("", location), [Seeds(own_seed, own_seed)], adjust=False
                    )
                source = EncoderSource(run=run.run_id)
                reading = {"checkpoint": kept_checkpoint(run)}
            self._backbones[name, seed] = Encoder(source=source, engine=entry.engine, **reading)
        return self._backbones[name, seed]

    def _own(self, named: EncoderRequest | InitSpec, location: str) -> EncoderSource:
        """Return the source of a user's encoder, specified by folder or hub id.

        Raises:
            MissingData: if the folder does not exist.
        """
        if named.folder is None:
            hub, _, revision = (named.hub or "").partition("@")
            return self._artefact(EncoderSource(hub=hub, revision=revision or None))
        folder = Path(named.folder).expanduser()
        if not folder.is_dir():
            raise MissingData(f"{location}: folder {folder} does not exist; use the folder of an encoder")
        return self._artefact(_in_folder(folder))

    def _artefact(self, source: EncoderSource) -> EncoderSource:
        """Return a released encoder at the locked commit; add it to the study.

        A folder in the config replaces the download.
        """
        if folder := (self.study.config.folders or {}).get(source.hub or ""):
            source = _in_folder(Path(folder).expanduser())
        if source.hub and not source.revision:
            revision = self.lock.revision(source.hub)
            if revision is None:
                self.study.unpinned.add(source.hub)
            source = source.replace(revision=revision or "main")
        self.study.backbones[backbone_id(source)] = source.plain()
        return source

    def runs(self, written: Written, chain: Chain, seeds: Sequence[Seeds], adjust: bool = True) -> list[Run]:
        """Return the run of each seed, with every name resolved.

        Encoders for views and terms have the seed of the run's initial weights.

        Args:
            written: the run as recipes and requests specify it.
            chain: the chain of training.
            seeds: the seeds.
            adjust: whether to apply the adjustments of the scale. Default: True.
        """
        spec = written.run
        start, sources = spec.start(chain.location), spec.sources(chain.location)
        own = start == written.own.init
        if adjust:
            spec = adjust_run(self.scale, spec, written.own, chain.location)
        spec = spec.replace(selection=self._selection(spec.selection, chain.location))
        if "precision" not in spec.model_fields_set:
            spec = spec.replace(precision=self.study.precision(chain.paper))
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
        run = spec.definite(chain.location, **own.entries(), **parts)
        if run.run_id not in self.study.runs:
            self.study.runs[run.run_id] = run
            self._check_heads(run, start, chain.location)
            check_frozen_layers(run, self.study.runs, chain.location)
            self.study.run_stores[run.run_id] = self.stores.of_run(run)
        return run

    def _check_heads(self, run: Run, start: InitSpec, location: str) -> None:
        """Raise BadInput if the previous run lacks a head that a run keeps.

        A backbone pre-trained by the scale has no pooler; the study records that the run initialises it randomly.
        """
        if not (run.init.keep_head and run.init.run):
            return
        before = self.study.runs[run.init.run]
        task = next((task for task, head in run.heads.items() if before.heads.get(task, head) != head), None)
        if task:
            problem = f"has another head of task {task}"
        elif not run.trains_head or (before.trains_head and can_keep(run.head, before.head)):
            return
        elif start.backbone:
            self.study.without_pooler.add(start.backbone)
            return
        elif before.trains_head:
            problem = f"has a head {before.head.kind} with other sizes"
        else:
            problem = "does not train a head (pooling.train: cls-head does)"
        raise BadInput(
            f"{location}: init.keep_head is true, but the run of {start.name} {problem}; remove"
            " keep_head or change that run"
        )

    def _selection(self, rule: SelectionRule, location: str) -> SelectionRule:
        """Return a selection rule with the options of the suite at this scale."""
        options, (_, _, path) = self.scale.options.get(rule.suite, {}), rule.metric.partition("/")
        entry, location = current().suites[rule.suite], f"{location}: selection.metric"
        if entry.named_by:
            name = entry.name_in(rule.metric)
            self.scale.check_name(location, rule.suite, name, path.partition("/")[2])
        if rule.task:
            return rule.replace(data=Labelled.of(options[entry.named_by][rule.task], location))
        if entry.narrowed:
            options = entry.narrowed(options, [path])
        return rule.replace(options=options) if options else rule

    def _init(self, start: InitSpec, own: bool, chain: Chain, seed: Seeds) -> tuple[Init, Engine]:
        """Return the initial weights of a run, and the engine of the encoder.

        Args:
            start: the start in a recipe.
            own: whether a paper of the workspace specifies it.
            chain: the chain of training.
            seed: the seeds of the run, also used for a run of another recipe from which it starts.
        """
        if start.fresh:
            tokenizer = self.scale.tokenizer(start.fresh.tokenizer, chain.location)
            self.study.tokenizers[tokenizer_id(tokenizer)] = tokenizer
            return Init(fresh=Fresh(**{**start.fresh.entries(), "tokenizer": tokenizer})), "auto"
        if start.use:
            with self._not_from_itself(start, chain.location):
                (run,) = self.runs(self.recipes.run(start.use, start, chain, own), chain, [seed])
            return Init(run=run.run_id, checkpoint=start.checkpoint, **start.kept), run.engine
        if start.average:
            return self._average(start, start.average, own, chain, seed)
        if start.backbone:
            backbone = self.backbone(start.backbone, seed.backbone, chain.location)
            engine = "auto" if start.family else backbone.engine
            return Init(**backbone.source.entries(), **start.kept), engine
        return Init(**self._own(start, chain.location).entries(), **start.kept), "auto"

    def _average(
        self, start: InitSpec, averaged: Sequence[AveragedRun], own: bool, chain: Chain, seed: Seeds
    ) -> tuple[Init, Engine]:
        """Return a start with the mean weights of runs, and the first engine."""
        ends: list[tuple[Run, Checkpoint]] = []
        for each in averaged:
            # All runs start from the same backbone: averaging the weights of different backbones is meaningless.
            seeds = [Seeds(number, seed.backbone) for number in each.seeds] or [seed]
            with self._not_from_itself(start, chain.location):
                runs = self.runs(self.recipes.run(each.use, each, chain, own), chain, seeds)
            ends += [(run, each.checkpoint or kept_checkpoint(run)) for run in runs]
        (first, checkpoint), *others = ends
        folders = [self.study.paths.run(run.run_id, which) for run, which in others]
        average = tuple(FrozenModel(folder=folder) for folder in folders)
        return Init(run=first.run_id, checkpoint=checkpoint, average=average, **start.kept), first.engine

    @contextmanager
    def _not_from_itself(self, start: InitSpec | FrozenModel, location: str) -> Iterator[None]:
        """Raise BadInput if a run depends on itself, also through others."""
        if start in self._starts:
            how = "init from" if isinstance(start, InitSpec) else "the frozen model"
            raise BadInput(
                f"{location}: the run depends on itself through {how} {start.name}; use another encoder there"
            )
        self._starts.append(start)
        try:
            yield
        finally:
            self._starts.pop()

    def _source(self, source: SourceSpec, chain: Chain, seed: Seeds) -> RunSource:
        """Return a source at this scale; frozen models are resolved later."""
        columns = self.scale.named("corpora", source.corpus, chain.location).columns
        for view in source.views:
            problem = f'{chain.location}: a view uses column "{view.column}" of corpus {source.corpus}'
            check_known(view.column, columns, problem)
        return RunSource.model_construct(
            corpus=self.scale.corpus(source.corpus, chain.location),
            views=tuple(self._view(view, chain, seed) for view in source.views),
            objective=source.objective,
        )

    def _view(self, view: View, chain: Chain, seed: Seeds) -> View:
        """Return a view with augmentation parameters and an encoder's folder."""
        if view.augment:
            view = view.augmented(self.scale.augmentations.get(view.augment.name, {}), chain.location)
        return view.reading(
            lambda name: self.study.encoder_folder(self.backbone(name, seed.backbone, chain.location))
        )

    def _frozen(self, chain: Chain, seed: Seeds, model: FrozenModel) -> FrozenModel:
        """Return a frozen model with a folder instead of a name."""
        location = chain.location
        if model.folder:
            raise BadInput(f'{location}: the run names the folder "{model.folder}"; expected {BY_NAME}')
        request = PlannedRequest.model_construct(**model.entries(), stages=dict(chain.stages))
        with self._not_from_itself(model, location):
            (encoder,) = self.encoders(chain.paper, request, [seed], location)
        pooling = encoder.pooling if model.pooling or not model.backbone else None
        read = {"pooling": pooling, "engine": encoder.engine}
        return FrozenModel.of(
            {"folder": self.study.encoder_folder(encoder), **read}, f"{location}: {model.name}"
        )


def _in_folder(folder: Path) -> EncoderSource:
    """Return the source of an encoder in a user's folder."""
    return EncoderSource(folder=str(folder) if folder.is_absolute() else f"./{folder}")
