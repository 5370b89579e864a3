"""Numbers that are counted from the data and need no encoder: sizes of sets, rows and lexical overlap of corpora."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.data.transfer import load_transfer
from replicse.errors import BadInput, nearest
from replicse.evaluation.overlap import lexical_overlap
from replicse.registry.corpora import Corpus
from replicse.registry.suites import COUNTED, is_metric

Columns = dict[str, list[str]]


def count(
    root: Path, wanted: Iterable[str], corpora: Mapping[str, Corpus | Mapping[str, Any]]
) -> dict[str, Any]:
    """Return `{"suites": {"data": ...}, "failures": ...}` for paths such as `data/sts/STS12/test`.

    Paths are `data/` and one of the registry's COUNTED; what cannot be counted is None, with the sentence that says
    why under `failures`. BadInput for any other path.
    """
    numbers: dict[str, Any] = {}
    failures: dict[str, str] = {}

    @functools.cache
    def read(name: str) -> Columns:
        if name not in corpora:
            raise BadInput(f'no corpus is named "{name}"{nearest(name, corpora)}')
        return read_corpus(root, corpora[name])

    for path in sorted(wanted):
        first, *parts = path.split("/")
        if first != "data" or not is_metric(path):
            raise BadInput(f'"{path}" is not counted{nearest(path, [f"data/{name}" for name in COUNTED])}')
        node = numbers
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        try:
            node[parts[-1]] = _counted(root, read, parts)
        except BadInput as error:
            node[parts[-1]], failures[path] = None, str(error)
    return {"suites": {"data": numbers}, "failures": failures}


def _compared(first: Iterable[str], second: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield pairs by letters and digits alone: one copy of a set is tokenised and in small letters, another not."""
    for pair in zip(first, second, strict=True):
        yield tuple(re.sub(r"[\W_]+", "", text.casefold()) for text in pair)


def _counted(root: Path, read: Callable[[str], Columns], parts: list[str]) -> float:
    """Return the number at a path below `data/`."""
    match parts:
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
