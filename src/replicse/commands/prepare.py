"""Verbs that prepare what runs stand on: the data root, tokenizers, released encoders, tokenised stores."""

import logging
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.checked import shown
from replicse.commands import Action, json_mapping
from replicse.errors import BadInput, MissingData
from replicse.files import atomic_write, below, copy_file, read_json, sha256_of, write_json
from replicse.registry.corpora import SIMCSE_DATA
from replicse.study.paper.lock import LOCK

log = logging.getLogger(__name__)
WHAT = "a file below the data root"


def data_folder(place: Path) -> Path:
    """Return the data root of a data record, or the folder itself.

    Raises BadInput for another file, and where an evaluation set has changed since it was recorded.
    """
    if not place.is_file():
        return place
    from replicse.data.sets import check_sets

    record = read_json(place)
    try:
        root = Path(record["root"])
        check_sets(root, record["sets"], place)
    except (AttributeError, KeyError, TypeError):
        raise BadInput(f"{place}: no data record; name one that `replicse data` wrote, or a folder") from None
    return root


def data_verb(parser: ArgumentParser) -> Action:
    """Make the data root ready and write its record: where it is, and each file's rows and sha256."""
    parser.epilog = "example:\n  replicse data --source embedded --out results/micro/data.json"
    parser.add_argument("--source", choices=("embedded", "local", "hub"), required=True)
    parser.add_argument("--root", type=Path, help="folder of a local source; default: $REPLICSE_DATA")
    parser.add_argument(
        "--file", action="append", default=[], help="a file of the root to record, repeatable"
    )
    parser.add_argument("--revision", help="of a hub source: the commit in workflow/hub.lock.yaml")
    parser.add_argument(
        "--sizes", type=json_mapping, default={}, help="JSON: rows that each evaluation set must have"
    )
    parser.add_argument("--out", type=Path, required=True, help="the data record")

    def action(arguments: Namespace) -> None:
        from replicse.data.sets import recorded_sets

        own = arguments.out.parent / "data"
        if arguments.source == "embedded":
            from replicse.world.world import write_world

            files = [{"name": name, **facts} for name, facts in sorted(write_world(own).items())]
            record = {"root": str(own), "files": files}
        elif arguments.source == "hub":
            from replicse.data.hub import materialise

            if not arguments.revision:
                raise BadInput(
                    f"workflow/{LOCK}: no commit of {SIMCSE_DATA}; run replicse lock --write {SIMCSE_DATA}"
                )
            record = {"root": str(own), "files": materialise(own, arguments.file, arguments.revision)}
        else:
            root = arguments.root or Path(os.environ.get("REPLICSE_DATA", ""))
            if not str(root) or str(root) == "." or not root.is_dir():
                raise MissingData(
                    f'data.root is "{root}", not a folder; set data.root in config.yaml or REPLICSE_DATA to a folder'
                    " in the SentEval layout, or set data.source to hub"
                )
            record = {"root": str(root.resolve()), "files": [recorded(root, name) for name in arguments.file]}
        sets = recorded_sets(Path(record["root"]), arguments.sizes)
        write_json(arguments.out, {"source": arguments.source, **record, "sets": sets})
        log.info("wrote=%s files=%d", arguments.out, len(record["files"]))

    return action


def recorded(root: Path, name: str) -> dict[str, object]:
    """Return name, size and sha256 of a data file; an absent one is recorded as absent, so other items still build."""
    path = below(root, name, WHAT)
    if not path.exists():
        return {"name": name, "missing": True}
    return {"name": name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def tokenizer_verb(parser: ArgumentParser) -> Action:
    """Train a tokenizer on a corpus, or build one from a vocabulary file."""
    parser.epilog = """example:
  replicse tokenizer --recipe '{"vocabulary": "vocab.txt"}' --data DIR --out FILE"""
    parser.add_argument(
        "--recipe", type=json_mapping, required=True, help="JSON: train or vocabulary, and options"
    )
    parser.add_argument("--data", type=Path, required=True, help="data root or data record")
    parser.add_argument("--out", type=Path, required=True)

    def action(arguments: Namespace) -> None:
        from replicse.data.corpora import read_corpus
        from replicse.data.tokenizer import tokenizer_from_vocabulary, train_tokenizer

        root, recipe = data_folder(arguments.data), arguments.recipe
        if not ({"vocabulary"} <= recipe.keys() or {"train", "size", "corpus"} <= recipe.keys()):
            raise BadInput(f"--recipe is {shown(recipe)}; expected vocabulary, or train with size and corpus")
        if "vocabulary" in recipe:
            made = tokenizer_from_vocabulary(
                below(root, recipe["vocabulary"], WHAT), recipe.get("lowercase", True)
            )
        else:
            lines = read_corpus(root, recipe["corpus"])["text"]
            made = train_tokenizer(recipe["train"], lines, recipe["size"], recipe.get("lowercase", True))
        with atomic_write(arguments.out) as temporary:
            made.save(str(temporary))
        log.info("wrote=%s vocabulary=%d", arguments.out, made.get_vocab_size())

    return action


def backbone_verb(parser: ArgumentParser) -> Action:
    """Bring a released encoder, from the hub or from the data root, into one folder."""
    parser.epilog = """example:
  replicse backbone --source '{"folder": "models/bert"}' --data DIR --out FOLDER"""
    parser.add_argument(
        "--source", type=json_mapping, required=True, help="JSON: hub and revision, or folder"
    )
    parser.add_argument("--data", type=Path, required=True, help="data root or data record")
    parser.add_argument("--out", type=Path, required=True)

    def action(arguments: Namespace) -> None:
        source = arguments.source
        if not ({"hub", "revision"} <= source.keys() or "folder" in source):
            raise BadInput(f"--source is {shown(source)}; expected hub with revision, or folder")
        if "hub" in source:
            from replicse.data.hub import download_encoder

            download_encoder(source["hub"], source["revision"], arguments.out)
        else:
            copy_encoder(below(data_folder(arguments.data), source["folder"], WHAT), arguments.out)
        log.info("wrote=%s", arguments.out)

    return action


def copy_encoder(source: Path, out: Path) -> None:
    """Copy the files of an encoder folder; MissingData where one is absent."""
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (source / name).exists():
            raise MissingData(f"{source / name}: no such file; an encoder folder needs it")
        copy_file(source / name, out / name)


def prepare_verb(parser: ArgumentParser) -> Action:
    """Clean, augment and tokenise one column of a corpus into a memory-mapped store."""
    parser.epilog = """example:
  replicse prepare --store "$(cat store.json)" --data DIR --out FOLDER"""
    parser.add_argument(
        "--store", type=json_mapping, required=True, help="JSON: corpus, view, tokenizer, max_length"
    )
    parser.add_argument("--data", type=Path, required=True, help="data root or data record")
    parser.add_argument("--out", type=Path, required=True)

    def action(arguments: Namespace) -> None:
        from replicse.data.corpora import labels_of, read_corpus
        from replicse.data.store import write_store

        spec, root = arguments.store, data_folder(arguments.data)
        if not {"corpus", "view", "tokenizer", "max_length"} <= spec.keys():
            raise BadInput(f"--store is {shown(spec)}; expected corpus, view, tokenizer and max_length")
        columns = read_corpus(root, spec["corpus"])
        view = spec["view"]
        if view["column"] not in columns:
            raise BadInput(
                f'corpus {spec["corpus"]["name"]} has no column "{view["column"]}"; known: {sorted(columns)}'
            )
        lines, change = columns[view["column"]], None
        if "augment" in view:
            from replicse.augment import augment, token_change

            change = token_change(view["augment"])
            lines = lines if change else augment(lines, view["augment"], root=root)
        tokenizer, labels = Path(spec["tokenizer"]), labels_of(columns)
        write_store(arguments.out, lines, tokenizer, spec["max_length"], spec, change, labels)
        log.info("wrote=%s rows=%d", arguments.out, len(lines))

    return action
