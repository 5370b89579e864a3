"""Jobs that prepare what runs depend on: data root, tokenizers, released encoders, stores, counts."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from replicse.checked import Count, Text
from replicse.cli.job import Payload, Stage
from replicse.data.sets import data_folder
from replicse.errors import BadInput, MissingData
from replicse.files import below, sha256_of, write_json, write_text
from replicse.registry.corpora import SIMCSE_DATA
from replicse.spec.lock import LOCK
from replicse.workspace import encoder_place

WHAT = "a file below the data root"


class DataJob(Payload):
    """Where data comes from, the files of the root to record, and the rows that each evaluation set must have."""

    source: Literal["embedded", "local", "hub"]
    root: str = ""
    file: tuple[Text, ...] = ()
    revision: str = ""
    sizes: dict[str, Any] = {}


class TokenizerJob(Payload):
    """A tokenizer that is trained on a corpus, or made of a vocabulary file."""

    name: str = ""
    vocabulary: Text | None = None
    train: Text | None = None
    size: Count | None = None
    corpus: dict[str, Any] | None = None
    lowercase: bool = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.vocabulary is None and None in (self.train, self.size, self.corpus):
            raise ValueError("vocabulary, or train with size and corpus")
        return self


class BackboneJob(Payload):
    """A released encoder on the hub, or in a folder of the data root."""

    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.folder is None and None in (self.hub, self.revision):
            raise ValueError("hub with revision, or folder")
        return self


class StoreJob(Payload):
    """One column of a corpus, augmented and tokenised."""

    corpus: dict[str, Any]
    view: dict[str, Any]
    tokenizer: Text
    max_length: Count


class CountJob(Payload):
    """What is counted from the data, by metric path, and the corpora among it."""

    read: tuple[Text, ...] = ()
    corpora: dict[str, Any] = {}


def _data(job: DataJob, arguments: Namespace) -> None:
    """Make the data root ready and write its record: where it is, and each file's rows and sha256."""
    from replicse.data.sets import recorded_sets

    out = arguments.out
    root = out.parent / "data"
    if job.source == "embedded":
        from replicse.world.world import write_world

        files = [{"name": name, **facts} for name, facts in sorted(write_world(root).items())]
    elif job.source == "hub":
        from replicse.data.hub import materialise

        if not job.revision:
            raise BadInput(f"workflow/{LOCK}: no commit of {SIMCSE_DATA}; run replicse fetch --pin")
        files = materialise(root, list(job.file), job.revision)
    else:
        root = _local_root(job.root)
        # SentEval is a folder: each of its sets is recorded by itself.
        files = [recorded(root, name) for name in job.file if not (root / name).is_dir()]
    sets = recorded_sets(root, job.sizes)
    write_json(out, {"source": job.source, "root": str(root), "files": files, "sets": sets})


def _local_root(named: str) -> Path:
    named = named or os.environ.get("REPLICSE_DATA", "")
    root = Path(named)
    if not named or not root.is_dir():
        raise MissingData(
            f'data.root is "{named}", not a folder; set data.root in config.yaml or REPLICSE_DATA to a folder'
            " in the SentEval layout, or set data.source to hub"
        )
    return root.resolve()


def recorded(root: Path, name: str) -> dict[str, object]:
    """Return name, size and sha256 of a data file; an absent one is recorded as absent, so other items still build."""
    path = below(root, name, WHAT)
    if not path.exists():
        return {"name": name, "missing": True}
    return {"name": name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def _tokenizer(job: TokenizerJob, arguments: Namespace) -> None:
    """Train a tokenizer on a corpus, or build one from a vocabulary file."""
    from replicse.data.corpora import read_corpus
    from replicse.data.tokenizer import tokenizer_from_vocabulary, train_tokenizer

    root = data_folder(arguments.data)
    if job.vocabulary:
        made = tokenizer_from_vocabulary(below(root, job.vocabulary, WHAT), job.lowercase)
    else:
        made = train_tokenizer(job.train, read_corpus(root, job.corpus)["text"], job.size, job.lowercase)
    write_text(arguments.out, made.to_str(pretty=True))


def _backbone(job: BackboneJob, arguments: Namespace) -> None:
    """Bring a released encoder, from the hub or from the data root, into one folder."""
    from replicse.encoder.preparing import prepare_encoder

    if job.folder:
        source = encoder_place(job.folder, data_folder(arguments.data))
        if not source.is_dir():
            raise MissingData(f"{source}: no such folder; name one with an encoder")
        facts = {"folder": job.folder}
    else:
        from replicse.data.hub import cached_encoder

        source, commit = cached_encoder(job.hub, job.revision)
        facts = {"repository": job.hub, "revision": commit}
    prepare_encoder(source, arguments.out, facts)


def _store(job: StoreJob, arguments: Namespace) -> None:
    """Clean, augment and tokenise one column of a corpus into a memory-mapped store."""
    from replicse.data.corpora import labels_of, read_corpus
    from replicse.data.store import write_store

    root, view = data_folder(arguments.data), job.view
    columns = read_corpus(root, job.corpus)
    if view.get("column") not in columns:
        raise BadInput(
            f'corpus {job.corpus["name"]} has no column "{view.get("column")}"; known: {sorted(columns)}'
        )
    lines, change = columns[view["column"]], None
    if "augment" in view:
        from replicse.augment import augment, token_change

        change = token_change(view["augment"], Path(job.tokenizer))
        lines = lines if change else augment(lines, view["augment"], root=root)
    write_store(
        arguments.out, lines, Path(job.tokenizer), job.max_length, job.plain(), change, labels_of(columns)
    )


def _count(job: CountJob, arguments: Namespace) -> None:
    """Count what needs no encoder: sizes of evaluation sets, rows and lexical overlap of corpora."""
    from replicse.evaluation.counts import count
    from replicse.provenance.record import provenance

    counted = count(data_folder(arguments.data), list(job.read), job.corpora)
    write_json(arguments.out, {**counted, "provenance": provenance()})


STAGES = {
    "data": Stage(DataJob.of, _data),
    "tokenizer": Stage(TokenizerJob.of, _tokenizer),
    "backbone": Stage(BackboneJob.of, _backbone),
    "store": Stage(StoreJob.of, _store),
    "count": Stage(CountJob.of, _count),
}
