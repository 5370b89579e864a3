"""Load the seven transfer tasks in the SentEval layout.

The tasks are MR, CR, SUBJ, MPQA, SST2, TREC and MRPC.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replicse.data.sts import WHOLE, filled_lines, one_spaced, read_lines, read_table, senteval_root
from replicse.errors import BadInput, check_known
from replicse.registry.suites import TRANSFER_TASKS

Row = tuple[int, *tuple[str, ...]]  # label, sentence and, for pairs, second sentence

# The files of class 1 and class 0. For SUBJ the objective sentences are class 1, as in SentEval.
POLARITY_FILES = {
    "MR": ("MR/rt-polarity.pos", "MR/rt-polarity.neg"),
    "CR": ("CR/custrev.pos", "CR/custrev.neg"),
    "SUBJ": ("SUBJ/subj.objective", "SUBJ/subj.subjective"),
    "MPQA": ("MPQA/mpqa.pos", "MPQA/mpqa.neg"),
}
SPLIT_FILES = {
    "SST2": {split: f"SST/binary/sentiment-{split}" for split in ("train", "dev", "test")},
    "TREC": {"train": "TREC/train_5500.label", "test": "TREC/TREC_10.label"},
    "MRPC": {"train": "MRPC/msr_paraphrase_train.txt", "test": "MRPC/msr_paraphrase_test.txt"},
}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@dataclass(frozen=True, eq=False)
class TransferSplit:
    """Labelled sentences, or sentence pairs for MRPC.

    Attributes:
        first: The sentences, or the first sentences of pairs.
        second: The second sentences of pairs, or None.
        labels: The classes, (rows,), int64.
    """

    first: tuple[str, ...]
    second: tuple[str, ...] | None
    labels: np.ndarray


@dataclass(frozen=True)
class TransferTask:
    """A transfer task by split.

    Attributes:
        name: The name of the task.
        splits: A dict from splits to sentences. The split is `all` if SentEval cross-validates the task;
            otherwise `train` and `test`, and for SST2 `dev`.
    """

    name: str
    splits: dict[str, TransferSplit]


def load_transfer(root: Path, task: str) -> TransferTask:
    """Load a transfer task (methods section 2.3).

    Rows are in file order, class 1 before class 0.

    Args:
        root: The data root, a folder of datasets.
        task: The name of the task, such as "MR".

    Raises:
        BadInput: If the task is unknown, a line is malformed, or a class has no training sentence.
        MissingData: If a file does not exist.
    """
    check_known(task, TRANSFER_TASKS, f'"{task}" is not a transfer task')
    downstream = senteval_root(root)
    files = transfer_files(task)
    if task in POLARITY_FILES:
        rows = []
        for file, label in zip(files["all"], (1, 0), strict=True):
            path = downstream / file
            rows += _require_rows(_class(path, label), path)
        return TransferTask(task, {"all": _split(rows)})
    read = {"SST2": _sst2, "TREC": _trec, "MRPC": _mrpc}[task]
    paths = {split: downstream / file for split, (file,) in files.items()}
    splits = {split: _split(_require_rows(read(path), path)) for split, path in paths.items()}
    classes = TREC_CLASSES if task == "TREC" else ("0", "1")
    for label in set(range(len(classes))) - set(splits["train"].labels.tolist()):
        raise BadInput(f"{paths['train']} does not contain class {classes[label]}; {WHOLE}")
    return TransferTask(task, splits)


def transfer_files(task: str) -> dict[str, tuple[str, ...]]:
    """Return the files of each split of a task.

    Args:
        task: The name of the task.

    Returns:
        A dict from splits to paths below `senteval_root`.
    """
    if task in POLARITY_FILES:
        return {"all": POLARITY_FILES[task]}
    return {split: (file,) for split, file in SPLIT_FILES[task].items()}


def _require_rows(rows: Iterator[Row], path: Path) -> list[Row]:
    """Return the rows of a file; BadInput if it has no rows."""
    entries = list(rows)
    if not entries:
        raise BadInput(f"{path} does not contain rows; {WHOLE}")
    return entries


def _split(rows: list[Row]) -> TransferSplit:
    labels, first, *second = zip(*rows, strict=True)
    return TransferSplit(first, second[0] if second else None, np.array(labels, dtype=np.int64))


def _class(path: Path, label: int) -> Iterator[Row]:
    """Yield the sentences of a class.

    The empty lines of CR and MPQA are empty sentences, because SentEval counts them.
    """
    for _, line in read_lines(path, fallback="latin-1"):
        yield label, one_spaced(line)


def _sst2(path: Path) -> Iterator[Row]:
    for number, line in filled_lines(path):
        sentence, tab, label = line.rpartition("\t")
        if not tab:
            raise BadInput(f"{path}:{number}: the line should be a sentence, a tab, and 0 or 1")
        yield _binary(label, path, number), one_spaced(sentence)


def _trec(path: Path) -> Iterator[Row]:
    """Yield questions with the coarse class, which is before the colon.

    The file can be Latin-1.
    """
    for number, line in filled_lines(path, fallback="latin-1"):
        label, _, question = line.partition(" ")
        coarse = label.partition(":")[0]
        check_known(coarse, TREC_CLASSES, f'{path}:{number}: question class is "{coarse}"')
        yield TREC_CLASSES.index(coarse), one_spaced(question)


def _mrpc(path: Path) -> Iterator[Row]:
    for number, (first, second, label) in read_table(path, ("#1 String", "#2 String", "Quality")):
        yield _binary(label, path, number), one_spaced(first), one_spaced(second)


def _binary(label: str, path: Path, number: int) -> int:
    if label.strip() not in ("0", "1"):
        raise BadInput(f'{path}:{number}: label is "{label}", but should be 0 or 1')
    return int(label)
