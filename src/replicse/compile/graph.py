"""The jobs of a study as a graph: what each reads, makes and logs, what it is given, and what its numbers come from."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.provenance.source import named_in
from replicse.registry.artefacts import ENCODER, METRICS, OFFSETS, PROVENANCE, STORE, TOKENS, WEIGHTS
from replicse.registry.augmentations import augmentation_of
from replicse.registry.corpora import SIMCSE_DATA, corpus_of
from replicse.registry.encoders import CHECKPOINTS
from replicse.registry.frozen import frozen_models
from replicse.registry.plugins import family_code, plugins_of, suite_code, unit_of
from replicse.registry.run_specs import RunSpec
from replicse.spec.datasets import load_datasets
from replicse.spec.lock import load_lock
from replicse.spec.models import Encoder

Outputs = dict[str, Any]
JUDGED = ("claims", "adjudication", "audit")
DRAWINGS = ("svg", "png", "pdf")
CORPORA = "replicse.data.corpora"
TAIL, LONGEST = 4, 400
AGAIN = "then give the same command again: what is done is kept"


@dataclass(frozen=True, eq=False)
class Job:
    """One job of the workflow.

    `needs` are the files that it reads, `made` those that it writes by their names in the rule, `payload` what it is
    given, `modules` the code that its numbers come from (`module` or `module:name`), `specs` checked data that name
    more of it, `files` plain data that names the files below the data root that it reads.
    """

    stage: str
    parts: tuple[str, ...]
    needs: tuple[str, ...]
    made: Mapping[str, str]
    log: str
    payload: Mapping[str, Any]
    modules: frozenset[str]
    specs: tuple[object, ...] = ()
    files: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.stage} {'.'.join(self.parts)}".strip()

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the files that it writes."""
        return tuple(self.made.values())

    @cached_property
    def code(self) -> frozenset[str]:
        """Return the modules, or names in them, that its numbers come from; of a plug-in all of it."""
        return frozenset(map(unit_of, self.modules | named_in(self.specs)))

    @property
    def done(self) -> bool:
        """Return whether all that it makes is there."""
        return all(Path(file).exists() for file in self.outputs)

    @cached_property
    def tail(self) -> tuple[str, ...]:
        """Return the last lines of its log; nothing where it wrote none."""
        try:
            text = Path(self.log).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ()
        lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
        return tuple(line if len(line) <= LONGEST else f"{line[:LONGEST]} ..." for line in lines[-TAIL:])

    @property
    def age(self) -> float:
        """Return how many seconds ago its log was last written."""
        return time.time() - Path(self.log).stat().st_mtime

    @property
    def remedy(self) -> str:
        """Return what to do about its failure."""
        if self.tail and self.tail[-1].startswith("replicse "):
            return f"do what its last line says, {AGAIN}"
        if self.tail and "error" in self.tail[-1].lower():
            return f"fix what its log names, {AGAIN}"
        return f"no error in its log; probably killed: raise its memory or time limit, {AGAIN}"


Graph = dict[tuple[str, ...], Job]


def _by_name(files: Iterable[str]) -> Outputs:
    return {Path(file).name.partition(".")[0]: file for file in files}


def _trained(paths: Paths, run: str) -> Outputs:
    weights = {which: f"{paths.checkpoint(run, which)}/{WEIGHTS}" for which in CHECKPOINTS}
    return weights | _by_name(paths.run(run, record) for record in (METRICS, PROVENANCE))


def _drawn(paths: Paths, item: str) -> Outputs:
    return {kind: paths.figure(item, kind) for kind in DRAWINGS} | {"data": paths.figure(item, "csv")}


def _reported(paths: Paths, papers: Iterable[str], items: Iterable[str]) -> Outputs:
    return {
        "html": paths.report("html"),
        "document": paths.report("json"),
        "audit": paths.audit,
        "papers": [paths.paper(key) for key in papers],
        "markdown": paths.report("md"),
        "tex": paths.report("tex"),
        "macros": paths.printed("macros", "tex"),
        "printed": [paths.printed(item, kind) for item in items for kind in ("tex", "md", "csv")],
    }


OUTPUTS: dict[str, Callable[..., Outputs]] = {
    "data": lambda paths: {"record": paths.data},
    "tokenizer": lambda paths, name: {"file": paths.tokenizer(name)},
    "backbone": lambda paths, name: _by_name(paths.backbone(name, file) for file in ENCODER),
    "store": lambda paths, name: _by_name(paths.store(name, file) for file in (STORE, TOKENS, OFFSETS)),
    "train": _trained,
    "evaluate": lambda paths, encoder, group: {"scores": paths.evaluation(encoder, group)},
    "geometry": lambda paths, encoder: {"scores": paths.evaluation(encoder, "trajectory")},
    "count": lambda paths: {"scores": paths.evaluation("data", "counts")},
    "config": lambda paths: {"config": paths.config},
    "tabulate": lambda paths, item: {"result": paths.item(item), "table": paths.table(item)},
    "judge": lambda paths: {
        **{what: paths.judged(what) for what in JUDGED},
        "cells": paths.cells,
        "judgements": paths.judgements,
    },
    "figures": _drawn,
    "study": lambda paths: {"record": paths.record},
    "page": lambda paths, item: {"html": paths.page(item), "tex": paths.page(item, "tex")},
    "report": _reported,
}


def outputs_of(paths: Paths, stage: str, *parts: Any) -> Outputs:
    """Return the files of a job by their names in its rule; parts may be the rule's wildcards."""
    return OUTPUTS[stage](paths, *parts)


def log_of(paths: Paths, stage: str, *parts: str) -> str:
    """Return the log of a job; parts may be the rule's wildcards."""
    return "/".join([paths.logs, *([stage, ".".join(parts)] if parts else [stage])]) + ".log"


def graph_of(plan: Study) -> Graph:
    """Return every job by its stage and parts, one stage after another."""
    return {(job.stage, *job.parts): job for job in _Jobs(plan)}


class _Jobs:
    """The jobs of a plan, one stage after another."""

    def __init__(self, plan: Study) -> None:
        self.plan, self.paths, self.scale = plan, plan.paths, plan.scale

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
        reads = () if stage == "data" else (self.paths.data, *needs)
        made, log = outputs_of(self.paths, stage, *parts), log_of(self.paths, stage, *parts)
        job = Job(stage, parts, reads, made, log, payload, frozenset(modules), specs, files or {})
        plugins = plugins_of(job.code)
        return replace(job, payload={**payload, "plugin": plugins}) if plugins else job

    def _data(self) -> dict[str, Any]:
        """Return the options of the data verb; the root of a local source comes from the config or the environment."""
        plan = self.plan
        options: dict[str, Any] = {
            "source": plan.source,
            "root": plan.root,
            "file": list(self.scale.data.files),
        }
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
            run = encoder.source.run or ""
            payload = {
                "encoder": self.paths.run(run),
                "pooling": encoder.pooling.spelling,
                "engine": encoder.engine,
            }
            modules = {"replicse.encoder.sentence", *self._suite_modules(["geometry"]), *families}
            kept = (outputs_of(self.paths, "train", run)["metrics"],)
            yield self._job(
                "geometry",
                (name,),
                payload,
                modules,
                (self.scale.suite_options("geometry"), encoder.pooling),
                kept,
            )

    def _families(self, *encoders: str) -> set[str]:
        """Return the plug-ins that bring the families of some encoders, each a run or a folder of weights."""
        inits = (self.plan.first(self.plan.sources[name]) for name in encoders if name in self.plan.sources)
        return {family_code(init.fresh.architecture.family) for init in inits if init.fresh} - {""}

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
        return {
            "replicse.evaluation.suites",
            *map(suite_code, suites),
        }

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
        return self._job("count", (), payload, {"replicse.evaluation.counts"}, (*corpora, *runs))
