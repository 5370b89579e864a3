"""Evaluation sets of your own, read from their tables: scored pairs by subset, labelled sentences by split."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.corpora import read_corpus
from replicse.data.sts import StsSubset, score_of
from replicse.data.tables import table_rows
from replicse.data.transfer import TransferSplit, TransferTask
from replicse.errors import BadInput, check_known
from replicse.registry.corpora import Corpus
from replicse.registry.sets import SET_SPLITS, EvaluationSet
from replicse.registry.tables import Table

ALL = "all"
MOST_CLASSES = 500  # a probe of as many outputs is fitted for each split and strength of the penalty


def check_tables(corpora: Iterable[Corpus], sets: Mapping[str, Mapping[str, Any]]) -> None:
    """Read the corpora and sets of your own that are there, so that no job is the first to refuse them."""
    for corpus in corpora:
        if isinstance(corpus, Table) and Path(corpus.file).exists():
            read_corpus(Path(), corpus)
    for name, one in sets.items():
        wanted = EvaluationSet.of(one, name)
        if not Path(wanted.file).exists():
            continue
        if wanted.has_pairs:
            load_pairs(wanted)
        else:
            load_labelled(name, wanted)


def load_pairs(wanted: EvaluationSet) -> tuple[StsSubset, ...]:
    """Return the scored pairs of a set by subset, one named "all" where it has none, in the order of the file.

    BadInput names the line of a score outside the range, and scores that are all the same; else as `table_rows`.
    """
    headings = [name for name in (wanted.first, wanted.second, wanted.score, wanted.subset) if name]
    subsets: dict[str, list[tuple[str, str, float]]] = {}
    for number, (first, second, score, *rest) in table_rows(wanted.file, headings, {*headings[2:]}):
        value = _score(wanted, score, number)
        subsets.setdefault(rest[0] if rest else ALL, []).append((first, second, value))
    scores = {score for pairs in subsets.values() for *_, score in pairs}
    if len(scores) == 1:
        raise BadInput(f"{wanted.file}: every score is {scores.pop():g}; a correlation needs two that differ")
    return tuple(_subset(name, pairs) for name, pairs in subsets.items())


def _score(wanted: EvaluationSet, text: str, number: int) -> float:
    value = score_of(text, Path(wanted.file), number)
    low, high = wanted.range or (-math.inf, math.inf)
    if not low <= value <= high:
        problem = f"score is {text}; expected {low:g} to {high:g}"
        raise BadInput(f"{wanted.file}:{number}: {problem}, the range of the set")
    return value


def _subset(name: str, pairs: Sequence[tuple[str, str, float]]) -> StsSubset:
    first, second, scores = zip(*pairs, strict=True)
    return StsSubset(name, first, second, np.array(scores, dtype=np.float64))


def load_labelled(name: str, wanted: EvaluationSet) -> TransferTask:
    """Return labelled sentences as a transfer set, their labels numbered in alphabetical order.

    It has the one split `all`, or those that a column names. BadInput for a single label, for a label that no sentence
    to learn from has, and for splits other than `train` and `test`, with or without `dev`; else as `table_rows`.
    """
    headings = [name for name in (wanted.text, wanted.label, wanted.split) if name]
    splits: dict[str, list[tuple[str, str]]] = {}
    for number, (text, label, *rest) in table_rows(wanted.file, headings, {headings[1]}):
        for split in rest:
            check_known(split, SET_SPLITS, f'{wanted.file}:{number}: split is "{split}"')
        splits.setdefault(rest[0] if rest else ALL, []).append((text, label))
    for split in ("train", "test") if wanted.split else ():
        if split not in splits:
            raise BadInput(f"{wanted.file}: no row has the split {split}; name train and test, perhaps dev")
    learned = {label for _, label in splits["train" if wanted.split else ALL]}
    numbers = {label: number for number, label in enumerate(sorted(learned))}
    if len(numbers) == 1:
        raise BadInput(f'{wanted.file}: every label to learn is "{learned.pop()}"; a classifier needs two')
    if len(numbers) > MOST_CLASSES:
        told = f"{len(numbers):,} labels to learn, at most {MOST_CLASSES} are classes"
        raise BadInput(f"{wanted.file}: {told}; name the column of classes, not one of scores or of texts")
    for split, rows in splits.items():
        for label in sorted({label for _, label in rows} - learned):
            problem = f'no row of split train has the label "{label}" of split {split}'
            raise BadInput(f"{wanted.file}: {problem}; add one, or take these rows out")
    ordered = [split for split in (ALL, *SET_SPLITS) if split in splits]
    return TransferTask(name, {split: _split(splits[split], numbers) for split in ordered})


def _split(rows: Sequence[tuple[str, str]], numbers: Mapping[str, int]) -> TransferSplit:
    texts, labels = zip(*rows, strict=True)
    return TransferSplit(texts, None, np.array([numbers[label] for label in labels], dtype=np.int64))
