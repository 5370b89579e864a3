"""Training as a function: a recipe of a paper, or one of your own, on sentences in memory or in a file."""

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
from replicse.errors import BadInput, nearest
from replicse.files import read_json, sha256_of, write_json, write_text
from replicse.provenance.record import computed, provenance
from replicse.registry.artefacts import PROVENANCE, STORE, TOKENIZER
from replicse.registry.corpora import corpus_of
from replicse.registry.digests import digest
from replicse.registry.encoders import Precision
from replicse.registry.frozen import FrozenModel, with_frozen
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
# Sentences, pairs or triplets; columns by name; a text file; or the keys of a corpus as in corpora.yaml.
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
    """Train an encoder by a recipe and return it, with the weights that selection kept and the recipe's test pooling.

    A run that was stopped continues from its last saved state; one that is complete is opened, not trained again.

    Args:
        recipe: the name of a recipe of a packaged paper or of one in `papers/`, such as `simcse/unsup`; or a mapping
            with the keys of recipes.yaml, which may name another one by `like`.
        corpus: sentences (column `text`); pairs or triplets (columns `anchor`, `positive`, `negative`); a mapping of
            columns by name to lists of equal length; the path of a text file with a sentence a line; or a mapping with
            `format` and the other keys of a corpus in corpora.yaml, files relative to the working directory.
        start: the encoder that training starts from, as a folder or an id on the hub (`name/model[@revision]`).
        out: the folder to write: best/, last/, metrics.json, provenance.json, and the tokenised corpus.
        data: a folder in the SentEval layout, where the recipe selects its checkpoint on a development set.
        changes: parts of a run that replace those of the recipe, such as `{"optimisation": {"steps": 500}}`.
        models: the encoders that names of backbones stand for, released checkpoints and recipes in its terms and
            augmentations.
        seed: of the order of the data, dropout, masks and heads.
        precision: fp32, bf16 (autocast), fp16 with loss scaling or tf32; the last two need a GPU.
        device: cpu, cuda, cuda:1, ...; the first GPU where there is one.
        threads: of the CPU; as many as torch has where they are not given.
        on_step: is called after each step with its `step`, `loss` and `terms`, which holds the loss of each term.
        plugins: files or folders of the working directory, besides those that its config.yaml names.

    Raises:
        BadInput: what is wrong with recipe, corpus or changes, or `out` holds another run; MissingData (a BadInput)
            for an absent file; Failed where the training itself fails, such as a loss that is not finite.
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
            f"data is not given, but the recipe selects its checkpoint by {spec.selection.metric}; name a folder in the"
            ' SentEval layout, or give changes={"selection": {"every": 0}} to keep the last checkpoint'
        )
    if _is_complete(out, spec.run_id):
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
    train_job(job, Path(data or out), out, out / "state", device=device, on_step=on_step)
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
    """Train the run of a job, write its provenance, and return the seconds it took.

    `root` is the data root, `state` the folder of the resume state, `code` the digest of the run's code. Of several
    processes the first writes; the others return None.
    """
    begin = time.monotonic()
    job, parts = TrainJob.read(document), parts or Parts()
    chosen = device_for(device)
    machine = computed(chosen, job.spec.precision) | parts.record()
    options = {"parts": parts, "code": code, "on_step": on_step}
    trainer = run_training(job, root, out, state, chosen, machine, **options)
    if parts.processes.rank:
        return None
    # A step that did not fit into memory was computed in chunks, which those after it have too.
    machine |= trainer.model.parts.record()
    facts = {**machine, "resumed_from": [other for other in trainer.machines if other != machine]}
    stores = {store.name: read_json(store / STORE)["sha256"] for store in job.stores}
    cost = _cost(time.monotonic() - begin)
    record = {"run_id": job.run_id, "job": document, "stores": stores, "cost": cost, **facts}
    write_json(out / PROVENANCE, provenance(**record))
    return cost["seconds"]


def _cost(seconds: float) -> dict[str, float]:
    """Return what this process has cost: seconds, processor seconds, and its largest memory in MiB.

    Snakemake's own record would be that of a job's client where a server runs it.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }


def _run_of(recipe: str | Mapping[str, Any], changes: Mapping[str, Any], plugins: Sequence[str]) -> RunSpec:
    """Return the run of a recipe with some changes; BadInput where a part is missing, or it has several corpora."""
    papers, name = load_papers(workflow_folder(), plugins), recipe
    if isinstance(recipe, Mapping):
        own = Recipe.of(recipe, "recipe")
        below, name = own.like, "recipe"
        run = merge_layers(
            merge_recipe(papers, "", below, "recipe.like") if below else RunSpec(), own.without("like")
        )
    else:
        run = merge_recipe(papers, "", recipe, "recipe")
    run = merge_layers(run, Recipe.of(changes, "changes").without("like"))
    if part := next((part for part in ("views", "objective") if not getattr(run, part)), ""):
        raise BadInput(f"{name}: the run has no {part}; give one in changes")
    if run.beside:
        raise BadInput(f"{name}: it trains on several corpora; run it in a study (replicse run)")
    return run


def _init(start: str | Path, folder: Path, spec: InitSpec | None) -> Init:
    """Return where a run starts, named by the digest of its weights too: another file there makes another run."""
    digests = [sha256_of(file) for file in weight_files(folder)] if has_weights(folder) else []
    revision = digests[0] if len(digests) == 1 else digest(digests) if digests else None
    entries = {"folder": str(start), "revision": revision}
    return Init.of({**entries, **(spec.kept if spec else {})}, "start")


def _columns_of(corpus: CorpusInput) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the columns of a corpus and what names it: how it was read, its rows and their sha256."""
    named: dict[str, Any] = {"name": "corpus"}
    if isinstance(corpus, str | Path):
        file = Path(corpus)
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
            raise BadInput(f"corpus: rows of {lengths} sentences; expected pairs or triplets, at least one")
        columns = {role: [row[place] for row in corpus] for place, role in enumerate(ROLES[: lengths[0]])}
    rows = _checked_rows(columns)
    digest = hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()
    if "label" in columns and "format" not in named:
        named["labelled"] = True
    return columns, {**named, "rows": rows, "sha256": digest}


def _checked_rows(columns: Mapping[str, Sequence[Any]]) -> int:
    """Return how many rows columns have; BadInput for none, for unequal ones, and for a cell that holds no text."""
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1 or not max(lengths.values()):
        raise BadInput(f"corpus: columns of {lengths} rows; expected equally many, at least one")
    for name, values in columns.items():
        for row, value in enumerate(values):
            if name != "label" and not (isinstance(value, str) and value.strip()):
                raise BadInput(f"corpus: row {row} of column {name} is {value!r}; expected a sentence")
    return next(iter(lengths.values()))


def _view(view: View, columns: Mapping[str, Any], models: Mapping[str, str]) -> View:
    if view.column not in columns:
        raise BadInput(
            f'corpus: the recipe reads column "{view.column}"{nearest(view.column, columns)}; give the corpus'
            " that column, or the recipe other views"
        )
    return view.reading(partial(_model, models))


def _frozen(models: Mapping[str, str], model: FrozenModel) -> FrozenModel:
    return FrozenModel(folder=_model(models, model.name), pooling=model.pooling, engine=model.engine)


def _model(models: Mapping[str, str], name: str) -> str:
    if name not in models:
        raise BadInput(f'models: no "{name}", which the recipe names; give models={{"{name}": FOLDER}}')
    return models[name]


def _is_complete(out: Path, run_id: str) -> bool:
    """Return whether a folder holds a run that is done; BadInput where it is another one."""
    if not (out / PROVENANCE).is_file():
        return False
    there = read_json(out / PROVENANCE).get("run_id")
    if there != run_id:
        raise BadInput(f"{out}: it holds run {there}, and this is {run_id}; name another folder")
    return True


def _opened(out: Path, spec: Run, device: str | None) -> SentenceEncoder:
    kept = "best" if spec.selection.every else "last"
    encoder = SentenceEncoder.open(out / kept, spec.pooling.test, device=device)
    assert isinstance(encoder, SentenceEncoder)
    return encoder


def _stores(out: Path, spec: Run, columns: Mapping[str, Sequence[str]], root: Path) -> list[Path]:
    """Write each view's tokenised store, equal views once, and return their folders in the order of the views."""
    folders: dict[str, Path] = {}
    length = spec.optimisation.max_length
    for view in spec.views:
        key = json.dumps(view.plain(), sort_keys=True)
        if key in folders:
            continue
        folders[key] = out / "stores" / f"{len(folders)}-{view.augment.name if view.augment else view.column}"
        lines, change = list(columns[view.column]), None
        if view.augment:
            change = token_change(view.augment, out / TOKENIZER)
            lines = lines if change else augment(lines, view.augment, root=root)
        about = {"view": view.plain(), "max_length": length, "corpus": spec.corpus}
        write_store(folders[key], lines, out / TOKENIZER, length, about, change, labels_of(columns))
    return [folders[json.dumps(view.plain(), sort_keys=True)] for view in spec.views]
