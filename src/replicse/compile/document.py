"""The document of a study: all that was compiled, read back as long as what it was compiled from is the same."""

import hashlib
import json
import os
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from replicse.compile.job import Job, log_of
from replicse.compile.paths import Paths
from replicse.compile.selection import load_scales
from replicse.compile.study import Cell, Study
from replicse.errors import BadInput, Failed
from replicse.files import read_text, write_text
from replicse.provenance.source import package_sha256
from replicse.registry.registry import current
from replicse.registry.runs import Run
from replicse.spec.cell_id import CellId
from replicse.spec.claims import Claim
from replicse.spec.config import SHIPPED, Config, checked_config, use_all_plugins
from replicse.spec.expression import Expression
from replicse.spec.models import Encoder, Recipe
from replicse.spec.papers import About, Corpora, Paper, Sets, printed_of
from replicse.spec.printed import Reported, Spread
from replicse.spec.protocols import Protocol
from replicse.spec.scales import OfAnotherScale, Scale
from replicse.spec.tables import Item, Row
from replicse.workspace import looked_up

# What is read of papers and scales; so many of the newest studies are kept.
READ = ("papers/*/**/*", "scales/*.yaml", "hub.lock.yaml", "datasets.yaml")
SUFFIXES = (".yaml", ".yml", ".csv", ".md", ".py")
PARTS = ("about", "recipes", "items", "protocols", "claims", "corpora", "sets")
SETS = ("counted", "unpinned", "without_pooler")
PLAIN = ("run_stores", "backbones", "tokenizers", "stores", "left_out")
DOCUMENT = "study.json"
KEPT, MOST_KEPT = Path(".snakemake", "replicse-studies"), 32
Key = TypeVar("Key")
Value = TypeVar("Value")


class Built(UserDict[Key, Value]):
    """A mapping whose values are built of plain data when they are first asked for."""

    def __init__(self, plain: Mapping[Key, Any], build: Callable[[Key, Any], Value]) -> None:
        super().__init__()
        self.data, self._build, self._built = dict(plain), build, dict[Key, Value]()

    def __getitem__(self, key: Key) -> Value:
        if key not in self._built:
            self._built[key] = self._build(key, self.data[key])
        return self._built[key]


def study_of(
    values: Config | Mapping[str, Any],
    workflow: Path,
    file: str = "config.yaml",
    only: str = "",
    *,
    as_far_as_possible: bool = False,
    of_workflow: bool = False,
    papers: Mapping[str, Paper] | None = None,
) -> Study:
    """Return the study of a config as `compile_study` does, read back where it was compiled from the same before.

    With `only` it may hold more than that item. It is kept in the folder .snakemake of a workspace, and the one that
    is `of_workflow` is left in the results of its scale too, with its jobs. Raises BadInput as `compile_study` does.
    """
    config = values if isinstance(values, Config) else checked_config(values, file)
    use_all_plugins(config.plugins, workflow)
    made_from = inputs_digest(config, workflow, as_far_as_possible)
    of_scale, kept = Path(Paths(config.scale).study), KEPT / f"{made_from}.json"
    of_item = KEPT / f"{made_from}-{only.replace('/', '-')}.json"
    for place in (of_item, of_scale, kept) if only else (of_scale, kept):
        study = read_study(place, made_from, config, workflow)
        if study and (not only or only in study.items):
            break
    else:
        from replicse.compile.compiler import compile_study

        place = of_item if only else kept
        study = compile_study(
            config, workflow, file, only, papers=papers, as_far_as_possible=as_far_as_possible
        )
        if of_workflow or SHIPPED.is_file():
            _write(place, document_text(study, made_from))
    if of_workflow and place != of_scale:
        _write(of_scale, document_text(study, made_from, jobs=True))
    return study


def _write(place: Path, text: str) -> None:
    """Write a study where that can be written; of those that are kept the newest stay."""
    with suppress(OSError, Failed, BadInput):
        write_text(place, text)
        for old in sorted(KEPT.glob("*.json"), key=os.path.getmtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)


def inputs_digest(config: Config, workflow: Path, *asked: object) -> str:
    """Return the digest of what a study is made from: code, plug-ins in use, papers, scales, lock, config."""
    plugins = [plugin.record() for plugin in current().plugins.values()]
    digest = hashlib.sha256(package_sha256().encode())
    digest.update(json.dumps([config.whole(), plugins, asked], sort_keys=True).encode())
    for pattern in READ:
        for file in looked_up(workflow, pattern):
            if file.suffix in SUFFIXES and file.is_file():
                name = file.relative_to(workflow) if file.is_relative_to(workflow) else file
                digest.update(f"\0{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


# Writing


def document_text(study: Study, made_from: str, jobs: bool = False) -> str:
    """Return a study as the text of its document."""
    return json.dumps(document_of(study, made_from, jobs), ensure_ascii=False, separators=(",", ":"))


def document_of(study: Study, made_from: str = "", jobs: bool = False) -> dict[str, Any]:
    """Return a study as plain data, the same for the same inputs in any folder; without its jobs unless asked."""
    cells = {name: [_cell(cell) for cell in several] for name, several in study.cells.items()}
    return {
        "made_from": made_from,
        "folders": {folder: _listed(folder) for folder in _own_folders(study.backbones)},
        "scale": given(study.scale),
        "papers": {key: _paper(paper, study.workflow) for key, paper in study.papers.items()},
        "items": given(study.items),
        "cells": cells,
        "read": [[*key, sorted(paths)] for key, paths in study.read.items()],
        "unplanned": {
            name: [str(error), isinstance(error, OfAnotherScale)] for name, error in study.unplanned.items()
        },
        "depends": study.depends,
        # A folder of the data root may come or go without any input of the study.
        "estimates": {} if any("folder" in each for each in study.backbones.values()) else study.estimates,
        **{name: given(getattr(study, name)) for name in (*SETS, *PLAIN, "suites", "runs", "encoders", "measured")},
        "jobs": [
            [job.stage, job.id, job.inputs, job.named, job.payload, sorted(job.code), job.files, job.texts]
            for job in (study.jobs.values() if jobs else ())
        ],
    }  # fmt: skip


def given(value: Any) -> Any:
    """Return checked data as plain data from which it can be read again: what was given, also what no hash is of."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        kept = (name for name in fields if name in value.model_fields_set)
        return {fields[name].alias or name: given(getattr(value, name)) for name in kept}
    if isinstance(value, Expression):
        return value.text if value.names else json.loads(value.text)
    if isinstance(value, Mapping):
        return {key: given(each) for key, each in value.items()}
    if isinstance(value, set):
        return sorted(value)
    return list(map(given, value)) if isinstance(value, list | tuple) else value


def _cell(cell: Cell) -> list[Any]:
    column = next(place for place, each in enumerate(cell.item.columns) if each is cell.column)
    read = [cell.protocol, cell.metric_path, cell.jobs, cell.seeds, given(cell.subtracted)]
    return [cell.row.id, column, *read, list(map(_cell, cell.operands))]


def _paper(paper: Paper, workflow: Path) -> dict[str, Any]:
    reported = paper.reported.items()
    printed = [[cell.item_name, cell.row, cell.column, cell.metric, given(one)] for cell, one in reported]
    plain = {part: given(getattr(paper, part)) for part in PARTS}
    return {"own": not paper.folder.is_relative_to(workflow), "reported": printed, **plain}


def _own_folders(backbones: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the folders of encoders of a person's own, whose files are inputs of jobs."""
    folders = (source.get("folder", "") for source in backbones.values())
    return (folder for folder in folders if folder.startswith((".", "/")))


def _listed(folder: str) -> list[str]:
    return sorted(file.name for file in Path(folder).glob("*") if file.is_file())


# Reading


def read_study(place: Path, made_from: str, config: Config, workflow: Path) -> Study | None:
    """Return the study in a file; None where there is none, it is broken, or made from something else."""
    try:
        text = read_text(place)
        document = json.loads(text) if text.startswith(f'{{"made_from":"{made_from}"') else None
        if document and all(_listed(folder) == files for folder, files in document["folders"].items()):
            return _study(document, config, workflow)
    except (BadInput, LookupError, TypeError, ValueError):
        pass
    return None


def _study(document: Mapping[str, Any], config: Config, workflow: Path) -> Study:
    scale, files = Scale.of(document["scale"], DOCUMENT), load_scales(workflow)
    scale._file, scale._files = files[scale.name], files
    papers, paths = Built(document["papers"], partial(_built_paper, workflow)), Paths(scale.name)

    def item(name: str, plain: Any) -> Item:
        paper, _, short = name.partition("/")
        return _item(plain, papers[paper].folder, short)

    def cells(name: str, plain: Any) -> list[Cell]:
        rows = {row.id: row for row in items[name].rows}
        return [_built_cell(papers, items[name], rows, *each) for each in plain]

    def job(key: tuple[str, str], plain: Any) -> Job:
        inputs, named, payload, code, read, texts = plain
        log = log_of(paths, key[0], *filter(None, key[1:]))
        return Job(*key, tuple(inputs), named, log, payload, frozenset(code), files=read, texts=texts)

    measured, unplanned = document["measured"].items(), document["unplanned"].items()
    items = Built(document["items"], item)
    study = Study(
        config,
        workflow,
        scale,
        papers,
        paths,
        items,
        Built(document["cells"], cells),
        Built(document["runs"], lambda _, plain: Run.of(plain, DOCUMENT)),
        Built(document["encoders"], lambda _, plain: Encoder.of(plain, DOCUMENT)),
        suites={encoder: set(suites) for encoder, suites in document["suites"].items()},
        read={(encoder, suite): set(below) for encoder, suite, below in document["read"]},
        measured={run: {path: Spread(*one) for path, one in each.items()} for run, each in measured},
        unplanned={name: (OfAnotherScale if other else BadInput)(text) for name, (text, other) in unplanned},
        counted=set(document["counted"]),
        unpinned=set(document["unpinned"]),
        without_pooler=set(document["without_pooler"]),
        **{name: document[name] for name in PLAIN},
    )
    vars(study).update({name: document[name] for name in ("depends", "estimates") if document[name]})
    if jobs := {(stage, name): rest for stage, name, *rest in document["jobs"]}:
        vars(study).update(jobs=Built(jobs, job))
    return study


def _built_cell(
    papers: Mapping[str, Paper], item: Item, rows: Mapping[str, Row], row: str, column: int, protocol: str, path: str,
    jobs: list[list[str]], seeds: list[int | None], subtracted: Any, operands: list[Any],
) -> Cell:  # fmt: skip
    return Cell(
        item,
        rows[row],
        item.columns[column],
        path,
        tuple(map(tuple, jobs)),
        tuple(seeds),
        printed_of(papers, item, rows[row], item.columns[column]),
        subtracted and Reported.of(subtracted, DOCUMENT),
        protocol,
        tuple(_built_cell(papers, item, rows, *operand) for operand in operands),
    )


def _built_paper(workflow: Path, key: str, plain: Mapping[str, Any]) -> Paper:
    folder = (Path() if plain["own"] else workflow) / "papers" / key
    claims = tuple(Claim.of(claim, DOCUMENT) for claim in plain["claims"])
    for claim in claims:
        claim._file = folder / "claims.yaml"
    return Paper(
        key,
        folder,
        About.of(plain["about"], DOCUMENT),
        Built(plain["recipes"], lambda _, recipe: Recipe.of(recipe, DOCUMENT)),
        Built(plain["items"], lambda name, item: _item(item, folder, name)),
        tuple(Protocol.of(protocol, DOCUMENT) for protocol in plain["protocols"]),
        claims,
        {
            CellId(f"{key}/{item}", row, column, metric): Reported.of(printed, DOCUMENT)
            for item, row, column, metric, printed in plain["reported"]
        },
        Corpora.of({"corpora": plain["corpora"]}, DOCUMENT).corpora,
        Sets.of({"sets": plain["sets"]}, DOCUMENT).sets,
    )


def _item(plain: Any, paper: Path, name: str) -> Item:
    item = Item.of(plain, DOCUMENT)
    item._file = paper / "tables" / f"{name}.yaml"
    return item
