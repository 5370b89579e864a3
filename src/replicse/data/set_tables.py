"""Load your own evaluation datasets: scored pairs, or labelled sentences."""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.corpora import check_corpus
from replicse.data.sts import StsSubset, score_of
from replicse.data.tables import table_rows
from replicse.data.transfer import TransferSplit, TransferTask
from replicse.errors import BadInput, check_known
from replicse.registry.corpora import Corpus
from replicse.registry.sets import SET_SPLITS, EvaluationSet
from replicse.registry.tables import Table

ALL = "all"
MOST_CLASSES = 500  # a probe with one output per class is fitted for each split and each penalty


def check_tables(corpora: Iterable[Corpus], sets: Mapping[str, Mapping[str, Any]]) -> None:
    """Check the corpora and evaluation datasets of the user that exist.

    Otherwise a job would be the first to report a mistake. Rows are read one by one, so the memory does not
    depend on the size of a table.

    Args:
        corpora: The corpora.
        sets: A dict from names to the keys of evaluation datasets.

    Raises:
        BadInput: If a dataset is not valid.
    """
    for corpus in corpora:
        if isinstance(corpus, Table) and Path(corpus.file).exists():
            check_corpus(Path(), corpus)
    for name, one in sets.items():
        wanted = EvaluationSet.of(one, name)
        if not Path(wanted.file).exists():
            continue
        if wanted.has_pairs:
            _check_scores(wanted, (score for *_, score in _scored_pairs(wanted)))
        else:
            labels: dict[str, set[str]] = {}
            for split, _, label in _labelled_sentences(wanted):
                labels.setdefault(split, set()).add(label)
            _number_labels(wanted, labels)


def load_pairs(wanted: EvaluationSet) -> tuple[StsSubset, ...]:
    """Load the scored pairs of a dataset by subset, in the order of the file.

    If the table has no column of subsets, there is one subset, "all".

    Args:
        wanted: The keys of the dataset.

    Raises:
        BadInput: If a score is out of range (the message contains the line), if all scores are equal, or for
            the reasons of `table_rows`.
    """
    subsets: dict[str, _Columns] = {}
    for subset, first, second, score in _scored_pairs(wanted):
        columns = subsets.setdefault(subset, _Columns())
        columns.first.append(first)
        columns.second.append(second)
        columns.scores.append(score)
    _check_scores(wanted, chain.from_iterable(columns.scores for columns in subsets.values()))
    return tuple(columns.subset(name) for name, columns in subsets.items())


@dataclass
class _Columns:
    """The pairs of a subset while the table is read."""

    first: list[str] = field(default_factory=list)
    second: list[str] = field(default_factory=list)
    scores: "array[float]" = field(default_factory=lambda: array("d"))

    def subset(self, name: str) -> StsSubset:
        return StsSubset(name, tuple(self.first), tuple(self.second), np.array(self.scores))


def _scored_pairs(wanted: EvaluationSet) -> Iterator[tuple[str, str, str, float]]:
    """Yield subset, sentences and score of each row."""
    headings = [name for name in (wanted.first, wanted.second, wanted.score, wanted.subset) if name]
    low, high = wanted.range or (-math.inf, math.inf)
    path = Path(wanted.file)
    for number, (first, second, text, *rest) in table_rows(wanted.file, headings, {*headings[2:]}):
        score = score_of(text, path, number)
        if not low <= score <= high:
            problem = f"score is {text}; expected {low:g} to {high:g}"
            raise BadInput(f"{path}:{number}: {problem}, the range of the dataset")
        yield rest[0] if rest else ALL, first, second, score


def _check_scores(wanted: EvaluationSet, scores: Iterable[float]) -> None:
    """Raise BadInput if all scores are equal."""
    lowest, highest = math.inf, -math.inf
    for score in scores:
        lowest, highest = min(lowest, score), max(highest, score)
    if lowest == highest:
        raise BadInput(f"{wanted.file}: every score is {lowest:g}; a correlation needs different scores")


def load_labelled(name: str, wanted: EvaluationSet) -> TransferTask:
    """Load labelled sentences as a transfer task.

    Labels are numbered in alphabetical order. The split is `all`, unless a column specifies the splits.

    Args:
        name: The name of the dataset.
        wanted: The keys of the dataset.

    Raises:
        BadInput: If there is only one label, a label does not occur in the training sentences, the splits are
            not `train` and `test` and optionally `dev`, or for the reasons of `table_rows`.
    """
    splits: dict[str, list[tuple[str, str]]] = {}
    for split, text, label in _labelled_sentences(wanted):
        splits.setdefault(split, []).append((text, label))
    labels: dict[str, set[str]] = {}
    for split, rows in splits.items():
        labels[split] = {label for _, label in rows}
    numbers = _number_labels(wanted, labels)
    ordered = [split for split in (ALL, *SET_SPLITS) if split in splits]
    return TransferTask(name, {split: _split(splits[split], numbers) for split in ordered})


def _labelled_sentences(wanted: EvaluationSet) -> Iterator[tuple[str, str, str]]:
    """Yield split, text and label of each row."""
    headings = [name for name in (wanted.text, wanted.label, wanted.split) if name]
    for number, (text, label, *rest) in table_rows(wanted.file, headings, {headings[1]}):
        for split in rest:
            check_known(split, SET_SPLITS, f'{wanted.file}:{number}: split is "{split}"')
        yield rest[0] if rest else ALL, text, label


def _number_labels(wanted: EvaluationSet, labels: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return the number of each label.

    Args:
        wanted: The dataset.
        labels: The labels of each split.
    """
    for split in ("train", "test") if wanted.split else ():
        if split not in labels:
            raise BadInput(f"{wanted.file}: split {split} is missing; use train and test, optionally dev")
    learned = sorted(set(labels["train" if wanted.split else ALL]))
    if len(learned) == 1:
        raise BadInput(
            f'{wanted.file}: every training label is "{learned[0]}"; a classifier needs two labels'
        )
    if len(learned) > MOST_CLASSES:
        problem = (
            f"{len(learned):,} different training labels, but there should be at most {MOST_CLASSES} classes"
        )
        raise BadInput(f"{wanted.file}: {problem}; use a column of classes, not of scores or texts")
    for split, found in labels.items():
        for label in sorted(set(found) - set(learned)):
            problem = f'split train does not contain the label "{label}" of split {split}'
            raise BadInput(
                f"{wanted.file}: {problem}; add a training row, or remove the rows with this label"
            )
    return {label: number for number, label in enumerate(learned)}


def _split(rows: Sequence[tuple[str, str]], numbers: Mapping[str, int]) -> TransferSplit:
    texts, labels = zip(*rows, strict=True)
    return TransferSplit(texts, None, np.array([numbers[label] for label in labels], dtype=np.int64))
