"""Numbers that are counted from the data and need no encoder: sizes of sets, rows and lexical overlap of corpora."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from replicse.data.corpora import read_corpus
from replicse.data.sts import load_sts
from replicse.data.transfer import load_transfer
from replicse.errors import BadInput
from replicse.evaluation.overlap import lexical_overlap


def count(root: Path, wanted: Iterable[str], corpora: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return `{"suites": {"data": ...}, "failures": ...}` for paths such as `data/sts/STS12/test`.

    Paths are `data/sts/TASK/SPLIT`, `data/transfer/TASK/SPLIT`, `data/corpus/NAME/rows` and `data/overlap/NAME`;
    what cannot be counted is None, with the sentence that says why under `failures`.
    """
    found: dict[str, Any] = {}
    failures: dict[str, str] = {}
    read = _Corpora(root, corpora)
    for path in sorted(wanted):
        _, kind, *parts = path.split("/")
        try:
            value: float | None = COUNTERS[kind](root, read, parts)
        except KeyError:
            raise BadInput(
                f'metric "{path}": expected data/ and one of {", ".join(sorted(COUNTERS))}'
            ) from None
        except BadInput as error:
            value, failures[path] = None, str(error)
        node = found.setdefault(kind, {})
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        node[parts[-1]] = value
    return {"suites": {"data": found}, "failures": failures}


class _Corpora:
    """Corpora by name, each read once."""

    def __init__(self, root: Path, recipes: Mapping[str, Mapping[str, Any]]) -> None:
        self.root, self.recipes = root, recipes
        self._read: dict[str, dict[str, list[str]]] = {}

    def __call__(self, name: str) -> dict[str, list[str]]:
        if name not in self._read:
            self._read[name] = read_corpus(self.root, self.recipes[name])
        return self._read[name]


def _sts(root: Path, read: _Corpora, parts: list[str]) -> float:
    return sum(len(subset.gold) for subset in load_sts(root, *parts))


def _transfer(root: Path, read: _Corpora, parts: list[str]) -> float:
    return len(load_transfer(root, parts[0]).splits[parts[1]].labels)


def _rows(root: Path, read: _Corpora, parts: list[str]) -> float:
    return len(next(iter(read(parts[0]).values())))


def _overlap(root: Path, read: _Corpora, parts: list[str]) -> float:
    first, second, *_ = read(parts[0]).values()
    return lexical_overlap(first, second)


COUNTERS: dict[str, Callable[[Path, _Corpora, list[str]], float]] = {
    "sts": _sts,
    "transfer": _transfer,
    "corpus": _rows,
    "overlap": _overlap,
}
