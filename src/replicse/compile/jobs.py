"""Create the jobs of a study: inputs, outputs, payloads and modules.

The outputs of a job depend on the code of the modules.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from replicse.checked import Checked
from replicse.compile.counts import describe_counts
from replicse.compile.item_plan import plan_item
from replicse.compile.job import JUDGED, Job, log_of, outputs_of
from replicse.compile.lineage import checkpoint_runs, run_sources
from replicse.compile.study import Study
from replicse.compile.study_record import describe_study
from replicse.provenance.source import modules_of
from replicse.registry.artefacts import ENCODER, METRICS, STORE
from replicse.registry.augmentations import augmentation_of
from replicse.registry.corpora import SIMCSE_DATA, corpus_of
from replicse.registry.encoders import HeadParameters
from replicse.registry.frozen import frozen_models
from replicse.registry.plugins import family_code, plugins_of, suite_code, unit_of
from replicse.registry.registry import current
from replicse.registry.run_specs import RunSpec
from replicse.spec.datasets import load_datasets
from replicse.spec.lock import load_lock
from replicse.spec.models import Encoder
from replicse.world.files import FILES

CORPORA = "replicse.data.corpora"
PAIRS = "replicse.judge.values.pairs"
STAGES = "replicse.cli.stages"
# The code that judges evaluations, and the code that shows results.
JUDGES = frozenset({"replicse.spec", "replicse.compile", "replicse.judge"})
SHOWS = frozenset({"replicse.show", "replicse.judge.report.build_report"})


def list_jobs(study: Study) -> Mapping[tuple[str, str], Job]:
    """Return every job of a study.

    Args:
        study: the study; it caches the jobs.

    Returns:
        A dict from (stage, id) to jobs.
    """
    jobs: Mapping[tuple[str, str], Job] = study.remember("jobs", _list_jobs)
    return jobs


def _list_jobs(study: Study) -> Mapping[tuple[str, str], Job]:
    jobs = {(job.stage, job.id): job for job in chain(_JobBuilder(study).build(), _list_outcomes(study))}
    return MappingProxyType(jobs)


def _make_job(
    study: Study, stage: str, parts: tuple[str, ...], inputs: Iterable[str], payload: Mapping[str, Any],
    modules: Iterable[str], settings: Iterable[object] = (), files: Mapping[str, Any] | None = None,
    reads_sets: bool = False, texts: str = "", outputs: tuple[str, ...] = (),
) -> Job:  # fmt: skip
    """Create a job.

    Args:
        study: the study.
        stage: the stage.
        parts: the parts of the id.
        inputs: the files that the job reads.
        payload: the data for the code of the stage.
        modules: the modules that change the outputs, `module` or `module:name`.
        settings: the checked data in the payload, from which further modules follow. Default: empty.
        files: a dict with the names of files below the data root. Default: empty.
        reads_sets: whether the job loads evaluation datasets of the data root. Default: False.
        texts: the files of the workflow that the job reads. Default: empty.
        outputs: the outputs; default: computed from stage and id.
    """
    settings = tuple(settings)
    code = frozenset(map(unit_of, {f"{STAGES}.{stage}:STAGE", *modules, *modules_of(settings)}))
    plugins = plugins_of(code)
    if plugins:
        payload = {**payload, "plugin": plugins}
    name = ".".join(parts)
    return Job(
        stage=stage,
        id=name,
        inputs=tuple(inputs),
        outputs=outputs or outputs_of(study.paths, stage, *parts),
        log=log_of(study.paths, stage, name),
        text=json.dumps(
            {"payload": payload, "settings": [_write_defaults(each) for each in settings]}, ensure_ascii=False
        ),
        code=code,
        files=files or {},
        reads_sets=reads_sets,
        texts=texts,
    )


def _write_defaults(value: object) -> Any:
    """Return JSON-like data with every default."""
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, Checked) else value


class _JobBuilder:
    """A builder of the jobs from data to evaluations."""

    def __init__(self, study: Study) -> None:
        self.study, self.paths, self.scale = study, study.paths, study.scale
        self.run_of_folder = checkpoint_runs(study)
        self.sources = run_sources(study)

    def build(self) -> Iterator[Job]:
        """Yield the jobs, each after the jobs that create its inputs."""
        yield self._data()
        for name, recipe in self.study.tokenizers.items():
            yield self._tokenizer(name, recipe)
        for name, source in self.study.backbones.items():
            yield self._backbone(name, source)
        for name, spec in self.study.stores.items():
            yield self._store(name, spec)
        for name in self.study.runs:
            yield self._train(name)
        for name in self.study.suites:
            if name != "data":
                yield from self._evaluations(name, self.study.encoders[name])
        if self.study.counted:
            yield self._count()

    def _make(
        self, stage: str, parts: tuple[str, ...], payload: Mapping[str, Any], modules: Collection[str],
        settings: Iterable[object] = (), needs: Iterable[str] = (), **options: Any,
    ) -> Job:  # fmt: skip
        inputs = (self.paths.data, *needs)
        return _make_job(self.study, stage, parts, inputs, payload, modules, settings, **options)

    def _data(self) -> Job:
        """Create the data job with the local root of config or environment."""
        study = self.study
        payload: dict[str, Any] = {
            "source": study.source,
            "root": study.root,
            "file": list(self.scale.data.files),
        }
        if study.source == "hub":
            payload["revision"] = load_lock(study.workflow).revision(SIMCSE_DATA) or ""
        if study.source != "embedded":
            payload["sizes"] = load_datasets(study.workflow).plain()["sizes"]
        modules = {"embedded": "replicse.world.world", "hub": "replicse.data.hub"}
        generated = [f"{study.data_root}/{name}" for name in FILES if study.source == "embedded"]
        return _make_job(
            study,
            "data",
            (),
            (),
            {name: value for name, value in payload.items() if value},
            ["replicse.data.sets", *filter(None, [modules.get(study.source)])],
            reads_sets=True,
            files={"files": list(self.scale.data.files)},
            outputs=(study.paths.data, *generated),
        )

    def _tokenizer(self, name: str, recipe: Mapping[str, Any]) -> Job:
        corpora = (corpus_of(recipe["corpus"]),) if "corpus" in recipe else ()
        modules = {CORPORA, "replicse.data.tokenizer"}
        return self._make("tokenizer", (name,), recipe, modules, corpora, files=recipe)

    def _backbone(self, name: str, source: Mapping[str, Any]) -> Job:
        files = {"encoder": source["folder"]} if "folder" in source else {}
        return self._make("backbone", (name,), source, {"replicse.encoder.preparing"}, files=files)

    def _store(self, name: str, spec: Mapping[str, Any]) -> Job:
        augment = spec["view"].get("augment", {})
        settings: list[Any] = [corpus_of(spec["corpus"])]
        encoders = []
        if augment:
            settings.append(augmentation_of(augment))
            encoders += [model.folder or "" for model in frozen_models(settings[1])]
        if "encoder" in augment:
            encoders.insert(0, augment["encoder"])
        needs = (spec["tokenizer"], *(f"{encoder}/{ENCODER[0]}" for encoder in encoders))
        modules = {CORPORA, "replicse.data.store", *self._families(*encoders)}
        payload = {**spec, "corpus": self.scale.expected(spec["corpus"])}
        return self._make("store", (name,), payload, modules, settings, needs, files=spec)

    def _train(self, name: str) -> Job:
        study, run = self.study, self.study.runs[name]
        initial, stores = study.init_folder(run), study.run_stores[name]
        frozen = [model.folder or "" for model in frozen_models(run)]
        tokenizer = study.tokenizer_file(run.init)
        needs = [self.paths.store(store, STORE) for store in dict.fromkeys(stores)]
        needs.append(tokenizer)
        needs += [f"{folder}/{ENCODER[0]}" for folder in dict.fromkeys([initial, *frozen]) if folder]
        payload = {
            "run": run.plain(),
            "run_id": name,
            "init": initial,
            "tokenizer": tokenizer,
            "stores": [self.paths.store(store) for store in stores],
        }
        # The store depends on the reader of a corpus, but a run also gets labels from the format of the corpus.
        formats = {source.corpus_format for source in run.sources}
        modules = {"replicse.training.loop", *(f"{kind.__module__}:{kind.__qualname__}" for kind in formats)}
        modules |= {suite_code(run.selection.suite), *self._families(name, *frozen)}
        files = run.selection.plain()
        return self._make("train", (name,), payload, modules, (run,), needs, files=files, reads_sets=True)

    def _evaluations(self, name: str, encoder: Encoder) -> Iterator[Job]:
        """Yield a job for each group of suites."""
        weights = []
        if not encoder.source.vectors:
            weights.append(f"{self.study.encoder_folder(encoder)}/{ENCODER[0]}")
        families = self._families(encoder.source.run or "")
        for group, suites in self.study.groups(name).items():
            if group == "trajectory":
                yield self._trajectory(name, encoder, families)
                continue
            payload = self._describe_encoder(encoder) | self._describe_suites(name, suites)
            files = {key: payload[key] for key in ("options", "postprocess", "vectors") if key in payload}
            modules = {PAIRS} | _encoder_modules(encoder) | _suite_modules(suites) | families
            settings: list[Any] = [self.scale.suite_options(suite) for suite in suites]
            settings += [dict(current().suites[suite].fixed) for suite in suites]
            settings += _encoder_settings(encoder)
            yield self._make(
                "evaluate", (name, group), payload, modules, settings, weights, files=files, reads_sets=True
            )

    def _trajectory(self, name: str, encoder: Encoder, families: set[str]) -> Job:
        """Return the job that evaluates the checkpoints of a run."""
        run, pooling = encoder.source.name, encoder.pooling
        payload = {"encoder": self.paths.run(run), "pooling": pooling.spelling, "engine": encoder.engine}
        modules = {"replicse.encoder.sentence", *_suite_modules(["geometry"]), *families}
        settings = [self.scale.suite_options("geometry"), pooling]
        needs = (self.paths.run(run, METRICS),)
        return self._make("geometry", (name,), payload, modules, settings, needs, reads_sets=True)

    def _families(self, *encoders: str) -> set[str]:
        """Return the plug-ins that define the families and heads of encoders."""
        modules = set()
        for name in encoders:
            if name in self.sources:
                for init in self.study.inits(self.sources[name]):
                    if init.made_family:
                        modules.add(family_code(init.made_family))
            run = self.study.runs.get(self.run_of_folder.get(name, name))
            if run:
                modules.add(type(run.head).__module__)
        return modules - {HeadParameters.__module__, ""}

    def _describe_encoder(self, encoder: Encoder) -> dict[str, Any]:
        """Return the description of an encoder in the payload of an evaluation."""
        options: dict[str, Any] = {"pooling": encoder.pooling.spelling}
        if encoder.source.words:
            options["vectors"] = encoder.source.words.plain()
        else:
            options["encoder"] = self.study.encoder_folder(encoder)
        if encoder.engine != "auto":
            options["engine"] = encoder.engine
        if encoder.postprocess:
            options["postprocess"] = encoder.postprocess.plain()
            if encoder.postprocess.fit != "target":
                options["postprocess"]["fit"] = self.scale.expected(options["postprocess"]["fit"])
        return options

    def _describe_suites(self, name: str, suites: list[str]) -> dict[str, Any]:
        options = {}
        for suite in suites:
            own = self.study.options(suite, [name])
            if own:
                options[suite] = own
        payload: dict[str, Any] = {"suite": suites}
        if options:
            payload["options"] = options
        return payload

    def _count(self) -> Job:
        payload = describe_counts(self.study)
        corpora = map(corpus_of, payload["corpora"].values())
        runs = (RunSpec.of(run, name) for name, run in payload.get("recipes", {}).items())
        return self._make(
            "count",
            (),
            payload,
            {"replicse.training.counts"},
            (*corpora, *runs),
            files=payload,
            reads_sets=True,
        )


def _suite_plugins(study: Study, item: str) -> set[str]:
    """Return the plug-ins that define the suites of an item."""
    plugins = set()
    for cell in study.cells[item]:
        for operand in cell.operands or (cell,):
            suite = operand.metric_path.partition("/")[0]
            plugins.add(current().homes.get(("SUITES", suite), ""))
    return plugins - {""}


def _suite_modules(suites: Iterable[str]) -> set[str]:
    return {"replicse.evaluation.suites", *map(suite_code, suites)}


def _encoder_modules(encoder: Encoder) -> set[str]:
    """Return the modules that load an encoder and compute vectors."""
    modules = {"replicse.encoder.sentence"}
    if encoder.source.vectors:
        modules = {"replicse.encoder.baselines.word_vectors"}
    if encoder.postprocess:
        modules.add("replicse.encoder.baselines.fitted")
        if encoder.postprocess.fit != "target":
            modules.add(CORPORA)
    return modules


def _encoder_settings(encoder: Encoder) -> list[object]:
    """Return the checked pooling, postprocessing and corpus of an encoder."""
    settings: list[object] = [encoder.pooling]
    if encoder.postprocess:
        settings.append(encoder.postprocess)
        if isinstance(encoder.postprocess.fit, dict):
            settings.append(corpus_of(encoder.postprocess.fit))
    return settings


def _list_outcomes(study: Study) -> Iterator[Job]:
    """Yield the jobs from the evaluations of cells to the report."""
    paths, items = study.paths, study.items.values()
    results = list(map(paths.item, study.items))
    tables = list(map(paths.table, study.items))
    figures = [paths.figure(item.id) for item in items if item.figure]
    described = {"config": study.config.whole(), "record": describe_study(study)}
    yield _make_job(study, "study", (), (), described, ())
    for item in items:
        result, parts = paths.item(item.id), (item.id,)
        payload, suites = plan_item(study, item).plain(), _suite_plugins(study, item.id)
        yield _make_job(study, "tabulate", parts, study.evaluation_files(item), payload, JUDGES | suites)
        if item.figure:
            shown = {"item": result}
            yield _make_job(study, "figures", parts, [result], shown, SHOWS | suites, texts="figures.yaml")
        figure = [paths.figure(item.id)] if item.figure else []
        shown = {"study": paths.record, "item": result, "figure": "".join(figure)}
        yield _make_job(study, "page", parts, [paths.record, result, *figure], shown, SHOWS)
    yield _make_job(
        study, "judge", (), [paths.config, *results], {"study": paths.config}, JUDGES, texts="papers"
    )
    judged = map(paths.judged, JUDGED)
    inputs = [paths.record, paths.data, *results, *tables, *figures, *judged, paths.judgements]
    yield _make_job(
        study, "report", (), inputs, {"study": paths.record}, SHOWS, texts="causes-page.yaml",
        outputs=outputs_of(paths, "report", study.studied, study.items),
    )  # fmt: skip
