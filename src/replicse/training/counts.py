"""Numbers that need no weights: sizes of sets, rows and overlap of corpora, parameters of architectures."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.data.transfer import load_transfer
from replicse.encoder.architectures import empty_backbone
from replicse.encoder.heads import make_head
from replicse.errors import BadInput, check_known, nearest
from replicse.evaluation.overlap import lexical_overlap
from replicse.objective.terms import Objective
from replicse.registry.corpora import Corpus
from replicse.registry.run_specs import RunSpec
from replicse.registry.suites import COUNTED, is_metric
from replicse.training.model import SentenceModel

Columns = dict[str, list[str]]


def count(
    root: Path,
    wanted: Iterable[str],
    corpora: Mapping[str, Corpus | Mapping[str, Any]],
    recipes: Mapping[str, RunSpec] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return `{"suites": {"data": ...}, "failures": ...}` for paths such as `data/sts/STS12/test`.

    Paths are `data/` and one of the registry's COUNTED; what cannot be counted is None, with the sentence that says
    why under `failures`. `recipes` holds, by `paper/recipe`, the runs whose trained parameters are counted. BadInput
    for any other path.
    """
    numbers: dict[str, Any] = {}
    failures: dict[str, str] = {}

    @functools.cache
    def read(name: str) -> Columns:
        check_known(name, corpora, f'no corpus is named "{name}"')
        return read_corpus(root, corpora[name])

    for path in sorted(wanted):
        first, *parts = path.split("/")
        if first != "data" or not is_metric(path):
            raise BadInput(f'"{path}" is not counted{nearest(path, [f"data/{name}" for name in COUNTED])}')
        node = numbers
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        try:
            node[parts[-1]] = _counted(root, read, parts, recipes)
        except BadInput as error:
            node[parts[-1]], failures[path] = None, str(error)
    return {"suites": {"data": numbers}, "failures": failures}


def _compared(first: Iterable[str], second: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield pairs by letters and digits alone: one copy of a set is tokenised and in small letters, another not."""
    for pair in zip(first, second, strict=True):
        yield tuple(re.sub(r"[\W_]+", "", text.casefold()) for text in pair)


def _parameters(name: str, what: str) -> int:
    """Return the parameters of an architecture without its masked-LM head, perhaps with BERT's pooler."""
    backbone = empty_backbone(name)
    backbone.drop_token_head()
    pooler = backbone.hidden * (backbone.hidden + 1) if what == "with-pooler" else 0
    return sum(parameter.numel() for parameter in backbone.parameters()) + pooler


def _trained(run: RunSpec) -> int:
    """Return how many parameters a run trains: encoder, heads, and the networks of its terms that are not frozen."""
    backbone = empty_backbone(run.start("parameters").backbone or "")
    with torch.device("meta"):
        head = make_head(run.head, backbone.hidden)
        model = SentenceModel(backbone, head, run.encoders == "two", run.dropout)
        objective = Objective(run.objective or ())
        objective.prepare(model)
    moved = {*model.trained(), *objective.parameters()} - {*backbone.token_head_parameters()}
    return sum(parameter.numel() for parameter in moved if parameter.requires_grad)


def _counted(
    root: Path, read: Callable[[str], Columns], parts: list[str], recipes: Mapping[str, RunSpec]
) -> float:
    """Return the number at a path below `data/`."""
    match parts:
        case ["parameters", paper, recipe, "trained"]:
            return _trained(recipes[f"{paper}/{recipe}"])
        case ["parameters", name, what]:
            return _parameters(name, what)
        case ["sts", task, split]:
            return sum(len(subset.gold) for subset in load_sts(root, task, split))
        case ["transfer", task, split]:
            return len(load_transfer(root, task).splits[split].labels)
        case ["corpus", name, "rows"]:
            return len(next(iter(read(name).values())))
        case ["shared", name, task, split]:
            columns = read(name)
            corpus_pairs = set(_compared(columns.get("first", []), columns.get("second", [])))
            pairs = (pair for one in load_sts(root, task, split) for pair in _compared(one.first, one.second))
            return sum(pair in corpus_pairs or pair[::-1] in corpus_pairs for pair in pairs)
        case [_, name]:
            sides = list(read(name).values())
            if len(sides) < 2:
                raise BadInput(f"corpus {name} has one column; the overlap of two is asked for")
            return lexical_overlap(*sides[:2])
    raise ValueError(f"nothing is counted at {'/'.join(parts)}")
