"""Counts that need no weights.

Examples are dataset sizes, rows and overlap of corpora, and the number of parameters of an architecture.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from replicse.data.corpora import read_corpus
from replicse.data.sts import StsSubset, load_sts
from replicse.data.transfer import load_transfer
from replicse.encoder.architectures import empty_backbone
from replicse.encoder.heads import make_head
from replicse.errors import BadInput, check_known, nearest
from replicse.evaluation.overlap import lexical_overlap
from replicse.objective import Objective
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
    """Count at paths such as `data/sts/STS12/test`.

    Args:
        root: The folder of the datasets.
        wanted: The paths, each `data/` and a pattern in the registry's COUNTED.
        corpora: A dict from names to corpora.
        recipes: A dict from `paper/recipe` to runs whose trained parameters can be counted. Default: empty.

    Returns:
        `{"suites": {"data": ...}, "failures": ...}`, nested by the parts of the paths. If a count fails, it
        is None and `failures` has the reason by path.

    Raises:
        BadInput: If a path is unknown.
    """
    numbers: dict[str, Any] = {}
    failures: dict[str, str] = {}

    @functools.cache
    def read(name: str) -> Columns:
        check_known(name, corpora, f'corpus "{name}" does not exist')
        return read_corpus(root, corpora[name])

    for path in sorted(wanted):
        prefix, *parts = path.split("/")
        if prefix != "data" or not is_metric(path):
            raise BadInput(f'"{path}" is not counted{nearest(path, [f"data/{name}" for name in COUNTED])}')
        node = numbers
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        try:
            node[parts[-1]] = _count(root, read, parts, recipes)
        except BadInput as error:
            node[parts[-1]] = None
            failures[path] = str(error)
    return {"suites": {"data": numbers}, "failures": failures}


def _normalise_pairs(first: Iterable[str], second: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts reduced to letters and digits in lower case.

    Copies of a dataset differ in tokenisation and capitals.
    """
    for one, other in zip(first, second, strict=True):
        yield _normalise(one), _normalise(other)


def _normalise(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _count_architecture(name: str, variant: str) -> int:
    """Count the parameters of an architecture without masked-LM head."""
    backbone = empty_backbone(name)
    backbone.drop_token_head()
    pooler = backbone.hidden * (backbone.hidden + 1) if variant == "with-pooler" else 0
    return sum(parameter.numel() for parameter in backbone.parameters()) + pooler


def _count_trained(run: RunSpec) -> int:
    """Count the parameters of encoder, heads and terms that a run trains."""
    backbone = empty_backbone(run.start("parameters").backbone or "")
    with torch.device("meta"):
        head = make_head(run.head, backbone.hidden)
        model = SentenceModel(backbone, head, run.encoders == "two", run.dropout)
        objective = Objective(run.objective or ())
        objective.prepare(model)
    trained = {*model.trained_parameters(), *objective.parameters()} - {*backbone.token_head_parameters()}
    return sum(parameter.numel() for parameter in trained if parameter.requires_grad)


def _count(
    root: Path, read: Callable[[str], Columns], parts: list[str], recipes: Mapping[str, RunSpec]
) -> float:
    """Return the count at a path below `data/`."""
    match parts:
        case ["parameters", paper, recipe, "trained"]:
            return _count_trained(recipes[f"{paper}/{recipe}"])
        case ["parameters", name, variant]:
            return _count_architecture(name, variant)
        case ["sts", task, split]:
            return sum(len(subset.gold) for subset in load_sts(root, task, split))
        case ["transfer", task, split]:
            return len(load_transfer(root, task).splits[split].labels)
        case ["corpus", name, "rows"]:
            return len(next(iter(read(name).values())))
        case ["shared", name, task, split]:
            return _count_shared(read(name), load_sts(root, task, split))
        case [_, name]:
            sides = list(read(name).values())
            if len(sides) < 2:
                raise BadInput(
                    f"corpus {name} has 1 column, but the overlap requires 2; use a corpus of pairs"
                )
            return lexical_overlap(*sides[:2])
    raise ValueError(f"cannot count {'/'.join(parts)}")


def _count_shared(columns: Columns, subsets: Iterable[StsSubset]) -> int:
    """Return the number of STS pairs that a corpus contains, in either order."""
    corpus_pairs = set(_normalise_pairs(columns.get("first", []), columns.get("second", [])))
    shared = 0
    for subset in subsets:
        for first, second in _normalise_pairs(subset.first, subset.second):
            if (first, second) in corpus_pairs or (second, first) in corpus_pairs:
                shared += 1
    return shared
