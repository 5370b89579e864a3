"""The jobs of a study: what each reads, makes and logs, what it is given, and what its numbers come from."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.compile.job import Job, log_of, outputs_of
from replicse.compile.study import Study
from replicse.registry.artefacts import ENCODER
from replicse.registry.augmentations import augmentation_of
from replicse.registry.corpora import SIMCSE_DATA, corpus_of
from replicse.registry.encoders import CHECKPOINTS, HeadParameters
from replicse.registry.frozen import frozen_models
from replicse.registry.plugins import family_code, plugins_of, suite_code
from replicse.registry.run_specs import RunSpec
from replicse.registry.runs import Init, Run
from replicse.spec.datasets import load_datasets
from replicse.spec.lock import load_lock
from replicse.spec.models import Encoder
from replicse.workspace import encoder_place

CORPORA = "replicse.data.corpora"


class Graph:
    """The jobs of a complete study, which it yields, and what its runs are made from."""

    def __init__(self, plan: Study) -> None:
        self.plan, self.paths, self.scale = plan, plan.paths, plan.scale

    @cached_property
    def sources(self) -> Mapping[str, Init]:
        """Return what each run and each folder of weights was made from; a folder of the data root where it is."""
        plan = self.plan
        folders = {folder: plan.runs[run].init for folder, run in self.checkpoints.items()}
        released = {self.paths.backbone(name): Init(**source) for name, source in plan.backbones.items()}
        named = [folder for source in plan.backbones.values() if (folder := source.get("folder"))]
        placed = {folder: Init(folder=str(encoder_place(folder, plan.data_root))) for folder in named}
        return {run: spec.init for run, spec in plan.runs.items()} | folders | released | placed

    @cached_property
    def checkpoints(self) -> Mapping[str, str]:
        """Return the run of each folder of weights that another run may depend on."""
        return {self.paths.run(run, which): run for run in self.plan.runs for which in CHECKPOINTS}

    @cached_property
    def depends(self) -> Mapping[str, Sequence[str]]:
        """Return the runs that each run depends on."""
        made = self.checkpoints
        return {
            name: tuple(made[folder] for folder in self._folders(run) if folder in made)
            for name, run in self.plan.runs.items()
        }

    def _folders(self, run: Run) -> list[str]:
        """Return the folders of weights that a run reads: its start, frozen models, what proposes words."""
        frozen = (model.folder or "" for model in frozen_models(run))
        views = (view for source in run.sources for view in source.views)
        proposers = (getattr(view.augment, "encoder", None) or "" for view in views)
        return [self.plan.init_folder(run), *frozen, *proposers]

    def __iter__(self) -> Iterator[Job]:
        modules = {"embedded": "replicse.world.world", "hub": "replicse.data.hub"}
        yield self._job(
            "data", (), self._data(), {"replicse.data.sets", *filter(None, [modules.get(self.plan.source)])}
        )
        for name, recipe in self.plan.tokenizers.items():
            yield self._tokenizer(name, recipe)
        for name, source in self.plan.backbones.items():
            # An encoder of the workspace is brought again where a file of it has changed.
            own = Path(folder) if (folder := source.get("folder", "")).startswith((".", "/")) else None
            needs = sorted(map(str, filter(Path.is_file, own.glob("*")))) if own else ()
            yield self._job("backbone", (name,), source, {"replicse.encoder.preparing"}, needs=tuple(needs))
        for name, spec in self.plan.stores.items():
            yield self._store(name, spec)
        for name in self.plan.runs:
            yield self._train(name)
        for name in self.plan.suites:
            if name != "data":
                yield from self._evaluations(name, self.plan.encoders[name])
        if self.plan.counted:
            yield self._count()

    def _job(
        self, stage: str, parts: tuple[str, ...], payload: Mapping[str, Any], modules: Collection[str] = (),
        specs: tuple[object, ...] = (), needs: tuple[str, ...] = (), files: Mapping[str, Any] | None = None,
    ) -> Job:  # fmt: skip
        inputs = () if stage == "data" else (self.paths.data, *needs)
        named, log = outputs_of(self.paths, stage, *parts), log_of(self.paths, stage, *parts)
        job = Job(stage, ".".join(parts), inputs, named, log, payload, frozenset(modules), specs, files or {})
        plugins = plugins_of(job.code)
        return replace(job, payload={**payload, "plugin": plugins}) if plugins else job

    def _data(self) -> dict[str, Any]:
        """Return the options of the data verb; the root of a local source comes from the config or the environment."""
        plan = self.plan
        files = list(self.scale.data.files)
        options: dict[str, Any] = {"source": plan.source, "root": plan.root, "file": files}
        if plan.source == "hub":
            options["revision"] = load_lock(plan.workflow).revision(SIMCSE_DATA) or ""
        if plan.source != "embedded":
            options["sizes"] = load_datasets(plan.workflow).plain()["sizes"]
        return {name: value for name, value in options.items() if value}

    def _tokenizer(self, name: str, recipe: Mapping[str, Any]) -> Job:
        corpora = (corpus_of(recipe["corpus"]),) if "corpus" in recipe else ()
        return self._job(
            "tokenizer", (name,), recipe, {CORPORA, "replicse.data.tokenizer"}, corpora, files=recipe
        )

    def _store(self, name: str, spec: Mapping[str, Any]) -> Job:
        augment = spec["view"].get("augment", {})
        specs = (corpus_of(spec["corpus"]), *([augmentation_of(augment)] if augment else ()))
        encoders = [augment["encoder"]] if "encoder" in augment else []
        encoders += [model.folder or "" for part in specs[1:] for model in frozen_models(part)]
        needs = (spec["tokenizer"], *(f"{encoder}/{ENCODER[0]}" for encoder in encoders))
        modules = {CORPORA, "replicse.data.store", *self._families(*encoders)}
        payload = {**spec, "corpus": self.scale.expected(spec["corpus"])}
        return self._job("store", (name,), payload, modules, specs, needs, files=spec)

    def _train(self, name: str) -> Job:
        plan, run = self.plan, self.plan.runs[name]
        initial, stores = plan.init_folder(run), plan.run_stores[name]
        frozen = [model.folder or "" for model in frozen_models(run)]
        tokenizer = plan.tokenizer_file(run.init)
        needs = (
            *(outputs_of(self.paths, "store", store)["store"] for store in dict.fromkeys(stores)),
            tokenizer,
            *(f"{folder}/{ENCODER[0]}" for folder in dict.fromkeys([initial, *frozen]) if folder),
        )
        payload = {
            "run": run.plain(),
            "run_id": name,
            "init": initial,
            "tokenizer": tokenizer,
            "stores": [self.paths.store(store) for store in stores],
        }
        # The reader of a corpus is of its store, but a run asks its format for labels.
        formats = {source.corpus_format for source in run.sources}
        modules = {"replicse.training.loop", *(f"{kind.__module__}:{kind.__qualname__}" for kind in formats)}
        modules |= {suite_code(run.selection.suite), *self._families(name, *frozen)}
        return self._job("train", (name,), payload, modules, (run,), needs, files=run.selection.plain())

    def _evaluations(self, name: str, encoder: Encoder) -> Iterator[Job]:
        """Yield a job for each group of suites of an encoder, and one for the checkpoints of its run."""
        weights = () if encoder.source.vectors else (f"{self.plan.encoder_folder(encoder)}/{ENCODER[0]}",)
        families = self._families(encoder.source.run or "")
        for group, suites in self.plan.groups(name).items():
            payload = self._encoder(encoder) | self._suites(name, suites)
            read: dict[str, Any] = {key: payload[key] for key in ("options", "postprocess") if key in payload}
            modules = self._modules(encoder) | self._suite_modules(suites) | families
            specs = (*map(self.scale.suite_options, suites), *self._specs(encoder))
            yield self._job("evaluate", (name, group), payload, modules, specs, weights, read)
        if "trajectory" in self.plan.suites[name]:
            run, pooling = encoder.source.run or "", encoder.pooling
            payload = {"encoder": self.paths.run(run), "pooling": pooling.spelling, "engine": encoder.engine}
            modules = {"replicse.encoder.sentence", *self._suite_modules(["geometry"]), *families}
            kept = (outputs_of(self.paths, "train", run)["metrics"],)
            specs = (self.scale.suite_options("geometry"), pooling)
            yield self._job("geometry", (name,), payload, modules, specs, kept)

    def _families(self, *encoders: str) -> set[str]:
        """Return the plug-ins that bring families and heads of some encoders, each a run or a folder of weights."""
        inits = [self.plan.inits(self.sources[name]) for name in encoders if name in self.sources]
        families = {init.made_family for init in chain.from_iterable(inits)}
        runs = (self.plan.runs.get(self.checkpoints.get(name, name)) for name in encoders)
        heads = {type(run.head).__module__ for run in runs if run} - {HeadParameters.__module__}
        return heads | {family_code(family) for family in families if family} - {""}

    def _encoder(self, encoder: Encoder) -> dict[str, Any]:
        """Return what an evaluation is given about its encoder."""
        options: dict[str, Any] = {"pooling": encoder.pooling.spelling}
        if encoder.source.words:
            options["vectors"] = encoder.source.words.plain()
        else:
            options["encoder"] = self.plan.encoder_folder(encoder)
        if encoder.engine != "auto":
            options["engine"] = encoder.engine
        if encoder.postprocess:
            options["postprocess"] = encoder.postprocess.plain()
            if encoder.postprocess.fit != "target":
                options["postprocess"]["fit"] = self.scale.expected(options["postprocess"]["fit"])
        return options

    def _suites(self, name: str, suites: list[str]) -> dict[str, Any]:
        options = {suite: given for suite in suites if (given := self.plan.options(suite, [name]))}
        return {"suite": suites, **({"options": options} if options else {})}

    @staticmethod
    def _suite_modules(suites: list[str]) -> set[str]:
        return {"replicse.evaluation.suites", *map(suite_code, suites)}

    @staticmethod
    def _specs(encoder: Encoder) -> tuple[object, ...]:
        """Return the checked data of how an encoder is read: pooling, post-processing, the corpus that is fitted on."""
        after = encoder.postprocess
        fitted = (corpus_of(after.fit),) if after and isinstance(after.fit, dict) else ()
        return (encoder.pooling, *([after] if after else []), *fitted)

    @staticmethod
    def _modules(encoder: Encoder) -> set[str]:
        """Return the code that reads an encoder, and what it is based on."""
        modules = {f"replicse.encoder.{'baselines.word_vectors' if encoder.source.vectors else 'sentence'}"}
        if encoder.postprocess:
            modules.add("replicse.encoder.baselines.fitted")
            if encoder.postprocess.fit != "target":
                modules.add(CORPORA)
        return modules

    def _count(self) -> Job:
        payload = self.plan.count_job()
        corpora = tuple(map(corpus_of, payload["corpora"].values()))
        runs = tuple(RunSpec.of(run, name) for name, run in payload.get("recipes", {}).items())
        return self._job("count", (), payload, {"replicse.training.counts"}, (*corpora, *runs))
