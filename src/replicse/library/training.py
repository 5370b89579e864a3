"""Train an encoder by a recipe, on sentences in memory or in a file."""

import hashlib
import json
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from replicse.augment import augment, token_change
from replicse.compile.recipes import merge_recipe
from replicse.data.corpora import labels_of, read_corpus
from replicse.data.store import write_store
from replicse.encoder.folders import encoder_folder
from replicse.encoder.modules import transformer_folder
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.stored import has_weights, weight_files
from replicse.encoder.tokenizer import checked_fast, folder_tokenizer
from replicse.errors import BadInput, MissingData, nearest
from replicse.files import read_json, sha256_of, write_json, write_text
from replicse.provenance.record import computed, provenance
from replicse.provenance.source import SourceCode, modules_of
from replicse.registry.artefacts import PROVENANCE, STORE, TOKENIZER
from replicse.registry.corpora import corpus_of
from replicse.registry.digests import digest
from replicse.registry.encoders import Precision
from replicse.registry.frozen import FrozenModel, with_frozen
from replicse.registry.plugins import family_code, plugin_places, suite_code, unit_of
from replicse.registry.run_options import View
from replicse.registry.run_specs import InitSpec, RunSpec
from replicse.registry.runs import Init, Run
from replicse.runtime.devices import device_for
from replicse.spec.layers import merge_layers
from replicse.spec.models import Recipe
from replicse.spec.papers import load_papers
from replicse.training.job import TrainJob
from replicse.training.loop import train as run_training
from replicse.training.parts import Parts
from replicse.workspace import workflow_folder

ROLES = ("anchor", "positive", "negative")
# Sentences, pairs or triplets; a dict of columns; a text file; or the keys of a corpus as in corpora.yaml.
CorpusInput = str | Path | Sequence[str] | Sequence[Sequence[str]] | Mapping[str, Any]


def train(
    recipe: str | Mapping[str, Any],
    corpus: CorpusInput,
    start: str | Path,
    out: str | Path,
    *,
    data: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    models: Mapping[str, str | Path] | None = None,
    seed: int = 0,
    precision: Precision = "fp32",
    device: str | None = None,
    threads: int | None = None,
    on_step: Callable[[dict[str, Any]], object] | None = None,
    plugins: Sequence[str] = (),
) -> SentenceEncoder:
    """Train an encoder by a recipe and return it.

    The returned encoder has the selected weights and the recipe's pooling for tests. A stopped run resumes from
    the last saved state; a complete run is loaded instead of trained again.

    Args:
        recipe: The name of a recipe of a packaged paper or of a paper in `papers/`, such as `simcse/unsup`; or
            a dict with the keys of recipes.yaml, in which `like` names the recipe to start from.
        corpus: Sentences (column `text`); pairs or triplets (columns `anchor`, `positive`, `negative`); a dict
            from column names to lists of equal length; the path of a text file with one sentence per line; or a
            dict with `format` and the other keys of a corpus in corpora.yaml, with files relative to the
            working directory.
        start: The encoder from which training starts: a folder or a hub id (`name/model[@revision]`).
        out: The output folder: `best/`, `last/`, `metrics.json`, `provenance.json`, and the tokenised corpus.
        data: A folder in the SentEval layout. Required if the recipe selects the checkpoint on a development
            set.
        changes: Keys that replace keys of the recipe, such as `{"optimisation": {"steps": 500}}`.
        models: Folders or hub ids by name, for the backbones, released checkpoints and recipes that the
            recipe's terms and augmentations use.
        seed: The seed of the data order, dropout, masks and heads.
        precision: `fp32`, `bf16` (autocast), `fp16` with loss scaling, or `tf32`; the last two need a GPU.
        device: `cpu`, `cuda`, `cuda:1`, ... Default: the first GPU if there is one.
        threads: The number of CPU threads. Default: torch's own number.
        on_step: Called after each step with a dict of `step`, `loss` and `terms` (the loss of each term).
        plugins: Files or folders of plug-ins in the working directory, in addition to the plug-ins in its
            config.yaml.

    Returns:
        The trained encoder.

    Raises:
        BadInput: If recipe, corpus or changes are wrong, or `out` contains another run.
        MissingData: If a file is missing (a kind of BadInput).
        Failed: If the training fails, for example because the loss is not finite.

    Examples:
        >>> few = {"optimisation": {"steps": 500}, "selection": {"every": 0}}
        >>> encoder = replicse.train("simcse/unsup", sentences, "bert-base-uncased", "runs/first", changes=few)
        >>> encoder(["A sentence.", "Another sentence."]).shape
        (2, 768)
    """
    out = Path(out)
    written = _run_of(recipe, changes or {}, plugins)
    columns, description = _columns_of(corpus)
    initial = transformer_folder(encoder_folder(start))
    named = {name: str(encoder_folder(place)) for name, place in (models or {}).items()}
    views = tuple(_view(view, columns, named) for view in written.views or ())
    spec = written.definite(
        "recipe",
        seed=seed,
        precision=precision,
        init=_init(start, initial, written.init),
        corpus=description,
        views=with_frozen(views, partial(_frozen, named)),
        objective=with_frozen(written.objective, partial(_frozen, named)),
    )
    if spec.selection.every and data is None and spec.selection.suite != "sets":
        raise BadInput(
            f"data is missing, but the recipe selects the checkpoint by {spec.selection.metric}; specify a folder in"
            ' the SentEval layout, or use changes={"selection": {"every": 0}} to keep the last checkpoint'
        )
    code = _digest_code(spec)
    if _is_complete(out, spec.run_id, code):
        return _opened(out, spec, device)
    tokenizer, *_ = folder_tokenizer(initial)
    write_text(out / TOKENIZER, checked_fast(tokenizer, initial).to_str(pretty=True))
    stores = _stores(out, spec, columns, Path(data or out))
    job = {
        "run": spec.plain(),
        "run_id": spec.run_id,
        "init": str(initial),
        "tokenizer": str(out / TOKENIZER),
        "stores": [str(store) for store in stores],
    }
    if threads:
        torch.set_num_threads(threads)
    train_job(job, Path(data or out), out, out / "state", device=device, code=code, on_step=on_step)
    return _opened(out, spec, device)


def train_job(
    document: Mapping[str, Any],
    root: Path,
    out: Path,
    state: Path,
    *,
    device: str | None = None,
    parts: Parts | None = None,
    code: str = "",
    on_step: Callable[[dict[str, Any]], object] | None = None,
) -> float | None:
    """Train the run of a job and write the provenance.

    Args:
        document: The job as JSON-like data.
        root: The data root, a folder of datasets.
        out: The output folder.
        state: The folder of the state from which training resumes.
        device: `cpu`, `cuda`, ... Default: the first GPU if there is one.
        parts: How the batch is split over processes or chunks. Default: not split.
        code: The digest of the run's code. Default: empty.
        on_step: Called after each step with a dict of `step`, `loss` and `terms`. Default: None.

    Returns:
        The duration of the training in seconds; None in all processes except the first, which writes the
        files.

    Raises:
        BadInput: If the job is not valid.
        Failed: If the training fails, for example because the loss is not finite.

    Examples:
        >>> job = read_json("job.json")  # a dict that the compiler wrote
        >>> seconds = train_job(job, Path("data"), Path("runs/first"), Path("runs/first/state"))
    """
    begin = time.monotonic()
    job, parts = TrainJob.read(document), parts or Parts()
    chosen = device_for(device)
    machine = computed(chosen, job.spec.precision) | parts.record()
    options = {"parts": parts, "code": code, "on_step": on_step}
    trainer = run_training(job, root, out, state, chosen, machine, **options)
    if parts.processes.rank:
        return None
    # If a step did not fit into memory, it and all later steps were computed in chunks.
    machine |= trainer.model.parts.record()
    facts = {**machine, "resumed_from": [other for other in trainer.machines if other != machine]}
    stores = {store.name: read_json(store / STORE)["sha256"] for store in job.stores}
    cost = _cost(time.monotonic() - begin)
    record = {"run_id": job.run_id, "code": code, "job": document, "stores": stores, "cost": cost, **facts}
    write_json(out / PROVENANCE, provenance(**record))
    return cost["seconds"]


def _cost(seconds: float) -> dict[str, float]:
    """Return seconds, CPU seconds and peak memory (MiB) of this process.

    If a job server runs the job, Snakemake's benchmark would measure only the server's client.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }


def _run_of(recipe: str | Mapping[str, Any], changes: Mapping[str, Any], plugins: Sequence[str]) -> RunSpec:
    """Return the run of a recipe with changes.

    Raises:
        BadInput: If a part is missing, or the recipe has several corpora.
    """
    if not isinstance(recipe, str | Mapping):
        raise BadInput(
            f"recipe is a {type(recipe).__name__}; use the name of a recipe, or a dict (a loss of your own is a"
            " plug-in)"
        )
    papers, name = load_papers(workflow_folder(), plugins), recipe
    if isinstance(recipe, Mapping):
        own = Recipe.of(recipe, "recipe")
        name, run = "recipe", RunSpec()
        if own.like:
            run = merge_recipe(papers, "", own.like, "recipe.like")
        run = merge_layers(run, own.without("like"))
    else:
        run = merge_recipe(papers, "", recipe, "recipe")
    run = merge_layers(run, Recipe.of(changes, "changes").without("like"))
    for part in ("views", "objective"):
        if not getattr(run, part):
            raise BadInput(f"{name}: the run does not specify {part}; add {part} to changes")
    if run.beside:
        raise BadInput(f"{name}: the recipe trains on several corpora; run it in a study (replicse run)")
    return run


def _init(start: str | Path, folder: Path, spec: InitSpec | None) -> Init:
    """Return the start of a run: the folder and the digest of the weights.

    If the weights in the folder change, the run has another id.
    """
    digests = list(map(sha256_of, weight_files(folder))) if has_weights(folder) else []
    revision = digests[0] if len(digests) == 1 else None
    if len(digests) > 1:
        revision = digest(digests)
    entries: dict[str, Any] = {"folder": str(start), "revision": revision}
    if spec:
        entries |= spec.kept
    return Init.of(entries, "start")


def _columns_of(corpus: CorpusInput) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the columns of a corpus and the description for the run's name.

    The description has the options of the format, the number of rows, and the SHA-256 of the columns.
    """
    named: dict[str, Any] = {"name": "corpus"}
    if isinstance(corpus, str | Path):
        file = Path(corpus)
        if not file.is_file():
            raise MissingData(f"{file}: the corpus file does not exist; correct the path")
        columns = read_corpus(file.parent, {"format": "lines", "file": file.name})
    elif isinstance(corpus, Mapping) and "format" in corpus:
        named |= corpus
        columns = read_corpus(Path(), corpus_of({**corpus}))
    elif isinstance(corpus, Mapping):
        columns = {name: list(values) for name, values in corpus.items()}
    elif corpus and isinstance(corpus[0], str):
        columns = {"text": [str(sentence) for sentence in corpus]}
    else:
        lengths = sorted({len(row) for row in corpus})
        if lengths not in ([2], [3]):
            raise BadInput(
                f"corpus: rows have {lengths} sentences; the corpus should contain at least 1 pair or triplet"
            )
        columns = dict(zip(ROLES, map(list, zip(*corpus, strict=True)), strict=False))
    rows = _checked_rows(columns)
    digest = hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()
    if "label" in columns and "format" not in named:
        named["labelled"] = True
    return columns, {**named, "rows": rows, "sha256": digest}


def _checked_rows(columns: Mapping[str, Sequence[Any]]) -> int:
    """Return the number of rows of some columns.

    Raises:
        BadInput: If there are no rows, the columns have different lengths, or a cell is not a string or is
            empty.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1 or not max(lengths.values()):
        raise BadInput(f"corpus: columns have {lengths} rows; expected the same number, at least 1")
    for name, values in columns.items():
        for row, value in enumerate(values):
            if name != "label" and not (isinstance(value, str) and value.strip()):
                raise BadInput(f"corpus: row {row} of column {name} is {value!r}; expected a sentence")
    return next(iter(lengths.values()))


def _view(view: View, columns: Mapping[str, Any], models: Mapping[str, str]) -> View:
    if view.column not in columns:
        raise BadInput(
            f'corpus does not contain column "{view.column}", which the recipe uses'
            f"{nearest(view.column, columns)}; add the column, or change views"
        )
    return view.reading(partial(_model, models))


def _frozen(models: Mapping[str, str], model: FrozenModel) -> FrozenModel:
    return FrozenModel(folder=_model(models, model.name), pooling=model.pooling, engine=model.engine)


def _model(models: Mapping[str, str], name: str) -> str:
    if name not in models:
        raise BadInput(
            f'models does not contain "{name}", which the recipe uses; add models={{"{name}": FOLDER}}'
        )
    return models[name]


def _digest_code(spec: Run) -> str:
    """Return the digest of the code of a run, including plug-ins."""
    modules = {"replicse.training.loop", suite_code(spec.selection.suite), *modules_of(spec)}
    if spec.init.made_family:
        modules.add(family_code(spec.init.made_family))
    return SourceCode(plugins=plugin_places()).digest(*map(unit_of, modules - {""}))[:16]


def _is_complete(out: Path, run_id: str, code: str) -> bool:
    """Return whether a folder contains this run and the run is complete.

    Raises:
        BadInput: If the folder contains another run, or the code of the run has changed since.
    """
    if not (out / PROVENANCE).is_file():
        return False
    record = read_json(out / PROVENANCE)
    there = record.get("run_id")
    if there != run_id:
        raise BadInput(f"{out} contains run {there}, not {run_id}; use another folder")
    if record.get("code", code) != code:
        raise BadInput(
            f"{out} contains run {run_id}, but its code or plug-in has changed; use another folder"
        )
    return True


def _opened(out: Path, spec: Run, device: str | None) -> SentenceEncoder:
    kept = "best" if spec.selection.every else "last"
    encoder = SentenceEncoder.open(out / kept, spec.pooling.test, device=device)
    assert isinstance(encoder, SentenceEncoder)
    return encoder


def _stores(out: Path, spec: Run, columns: Mapping[str, Sequence[str]], root: Path) -> list[Path]:
    """Write the tokenised views, equal views once; return their folders."""
    folders: dict[str, Path] = {}
    length = spec.optimisation.max_length
    for view in spec.views:
        key = json.dumps(view.plain(), sort_keys=True)
        if key in folders:
            continue
        name = view.augment.name if view.augment else view.column
        folders[key] = out / "stores" / f"{len(folders)}-{name}"
        lines, change = list(columns[view.column]), None
        if view.augment:
            change = token_change(view.augment, out / TOKENIZER)
            lines = lines if change else augment(lines, view.augment, root=root)
        about = {"view": view.plain(), "max_length": length, "corpus": spec.corpus}
        write_store(folders[key], lines, out / TOKENIZER, length, about, change, labels_of(columns))
    return [folders[json.dumps(view.plain(), sort_keys=True)] for view in spec.views]
