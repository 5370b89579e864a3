"""Read text files by line, and load STS datasets in the SentEval layout.

The datasets are STS12 to STS16, STS-B and SICK-R.
"""

import csv
import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedIOBase, BufferedReader
from pathlib import Path

import numpy as np

from replicse.errors import BadInput, MissingData, check_known, refusing
from replicse.files import check_fetched, check_there
from replicse.registry.corpora import STS_TASKS

# STS13 has no SMT subset, like SentEval, because the licence forbids redistribution (methods section 2.2).
STS_SUBSETS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
STS_SPLITS = {
    "STS-B": {"train": "sts-train.csv", "dev": "sts-dev.csv", "test": "sts-test.csv"},
    "SICK-R": {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"},
}

WHOLE = "replace it with SentEval's original file"
# A cell with quotes as a CSV writer saves it; SentEval's original files have no such cell.
REWRITTEN = re.compile('"(?:[^"]|"")*""(?:[^"]|"")*"')
HIGHEST = 5  # the highest human rating in all STS datasets; the lowest is 0, or 1 in SICK

REMEDY = (
    "specify a folder with datasets in the SentEval layout (--data, or data.root in a study),"
    " or set data.source to hub to download it"
)


@dataclass(frozen=True, eq=False)
class StsSubset:
    """Scored sentence pairs.

    Attributes:
        name: The name of the subset.
        first: The first sentences.
        second: The second sentences.
        gold: The human ratings, (pairs,), float64, on the scale of the task; read-only.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the sentences of both sides, including repetitions."""
        return self.first + self.second


def senteval_root(folder: Path) -> Path:
    """Return the folder `downstream` where SentEval stores datasets.

    Args:
        folder: A data root, the `SentEval` folder, or the `downstream` folder itself.

    Returns:
        The folder with the subfolder `STS`.

    Raises:
        MissingData: If there is no such folder.
    """
    folder = Path(folder)
    for below in ("SentEval/downstream", "SentEval/data/downstream", "data/downstream", "downstream"):
        if (folder / below).is_dir():
            return folder / below
    if (folder.name == "downstream" and folder.is_dir()) or (folder / "STS").is_dir():
        return folder
    raise MissingData(f"{folder} does not contain a folder SentEval/downstream; {REMEDY}")


def load_sts(root: Path, task: str, split: str = "test") -> tuple[StsSubset, ...]:
    """Load the subsets of an STS task.

    A file is loaded again only if it has changed, because several suites of an evaluation use the same task.

    Args:
        root: The data root, a folder of datasets.
        task: STS12 to STS16 (several subsets), STS-B or SICK-R (one subset).
        split: `test`; for STS-B and SICK-R also `train` or `dev`. Default: `test`.

    Returns:
        A tuple of subsets.

    Raises:
        BadInput: If the task or split is unknown, or a line is malformed.
        MissingData: If a file does not exist.
    """
    check_known(task, STS_TASKS, f'"{task}" is not an STS task')
    check_known(split, STS_SPLITS.get(task, ("test",)), f'{task} does not have a split "{split}"')
    downstream = senteval_root(root)
    read = {"STS-B": _stsb, "SICK-R": _sick}.get(task, _year_subset)
    subsets = []
    for name, files in sts_files(task, split).items():
        paths = tuple(downstream / file for file in files)
        subsets.append(_load_subset(read, name, paths, tuple(map(_version, paths))))
    return tuple(subsets)


@lru_cache(maxsize=64)  # all subsets of all splits are 30
def _load_subset(
    read: Callable[..., StsSubset], name: str, paths: Sequence[Path], versions: Sequence[tuple[int, ...]]
) -> StsSubset:
    """Load a subset, once for each version of its files."""
    return read(name, *paths)


def _version(path: Path) -> tuple[int, ...]:
    """Return numbers that change with a file; empty if it does not exist."""
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def sts_files(task: str, split: str) -> dict[str, tuple[str, ...]]:
    """Return the files of each subset of an STS task.

    Args:
        task: The name of the task.
        split: The split.

    Returns:
        A dict from subsets to paths below `senteval_root`.
    """
    if task in STS_SUBSETS:
        folder = f"STS/{task}-en-test"
        files: dict[str, tuple[str, ...]] = {}
        for name in STS_SUBSETS[task]:
            files[name] = (f"{folder}/STS.input.{name}.txt", f"{folder}/STS.gs.{name}.txt")
        return files
    folder = "STS/STSBenchmark" if task == "STS-B" else "SICK"
    return {task: (f"{folder}/{STS_SPLITS[task][split]}",)}


def read_lines(path: Path, fallback: str | None = None, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    r"""Yield line number (from 1) and text of each line of a UTF-8 file.

    Files with the suffix `.gz` are decompressed. Only `\n` and `\r\n` end a line, because other line separators of
    Unicode occur inside sentences. A byte order mark is removed.

    Args:
        path: The file.
        fallback: The encoding of lines that are not UTF-8. Default: such lines are errors.
        keep_ends: Whether lines keep their ends. Default: False.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If a line is not UTF-8 and there is no fallback, or the file is UTF-16, a pointer of
            git-lfs, or has lines that end with `\r` alone.
    """
    check_there(path, REMEDY)
    check_fetched(path)
    with open_binary(path) as stream:
        for number, raw in _number_lines(stream, path):
            text = _decode_line(
                raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, path, number, fallback
            )
            yield number, text if keep_ends else text.removesuffix("\n").removesuffix("\r")


def open_binary(path: Path) -> BufferedReader | gzip.GzipFile:
    """Open a file for reading; `.gz` is decompressed.

    Args:
        path: The file.
    """
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def refusing_broken_archive(path: Path) -> AbstractContextManager[None]:
    """Convert errors of a broken `.gz` file in a block to BadInput.

    Args:
        path: The file.
    """
    broken = (EOFError, gzip.BadGzipFile, zlib.error)
    return refusing(f"{path}: cannot be unpacked", "put the complete file there", broken)


def filled_lines(path: Path, fallback: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a file that are not empty.

    Args:
        path: The file.
        fallback: The encoding of lines that are not UTF-8. Default: such lines are errors.
    """
    for number, line in read_lines(path, fallback):
        if line.strip():
            yield number, line


def read_table(path: Path, columns: Sequence[str], quoted: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and the requested columns of a tab-separated file.

    The file has a header line.

    Args:
        path: The file.
        columns: The headings of the columns.
        quoted: Whether a cell that starts with a quote ends with a quote. Otherwise quotes are part of the
            text. Default: False.

    Raises:
        BadInput: If a column is missing, or a line does not have as many cells as the header.
    """
    header: list[str] = []
    for number, line in read_lines(path):
        cells = _cells(line, path, number, quoted)
        if number == 1:
            header = cells
            for name in columns:
                check_known(name, header, f'{path}:1: the header does not contain the column "{name}"')
        elif line.strip():
            if len(cells) != len(header):
                problem = f"{len(cells)} tab-separated columns, but the header has {len(header)}"
                raise BadInput(f"{path}:{number}: {problem}; fix the line")
            yield number, [cells[header.index(name)] for name in columns]


def _cells(line: str, path: Path, number: int, quoted: bool = False) -> list[str]:
    """Return the cells of a line.

    By default, quotes are part of the text.

    Raises:
        BadInput: If quotes are part of the text, but a CSV writer has quoted a cell.
    """
    if quoted:
        with refusing(f"{path}:{number}: cannot parse the cells of this line", "fix the line", csv.Error):
            return next(csv.reader([line], delimiter="\t"), [])
    cells = line.split("\t")
    if '""' in line and any(map(REWRITTEN.fullmatch, cells)):
        raise BadInput(
            f'{path}:{number}: a cell is in quotes, with "" inside, so another program saved the file; {WHOLE}'
        )
    return cells


def one_spaced(text: str) -> str:
    """Return the words of a text joined by single spaces (methods 2.1)."""
    return " ".join(text.split())


def score_of(text: str, path: Path, number: int) -> float:
    """Parse a gold score.

    Args:
        text: The cell.
        path: The file, for the message.
        number: The line, for the message.

    Raises:
        BadInput: If it is not a finite number. The message contains the line.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f'{path}:{number}: score is "{text.strip()}"; expected a number')
    return value


def _number_lines(stream: BufferedIOBase, path: Path) -> Iterator[tuple[int, bytes]]:
    with refusing_broken_archive(path):
        for number, raw in enumerate(stream, start=1):
            if number == 1 and not raw.endswith(b"\n") and raw.rstrip(b"\r").count(b"\r"):
                raise BadInput(f"{path}: lines end with CR alone; convert the file to LF line ends")
            yield number, raw


def _decode_line(raw: bytes, path: Path, number: int, fallback: str | None) -> str:
    # Latin-1 would decode UTF-16 without an error, with a NUL after each letter.
    if b"\0" in raw or (number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise BadInput(f"{path}:{number}: UTF-16, or not a text; convert the file to UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if fallback:
            return raw.decode(fallback)
        raise BadInput(f"{path}:{number}: not UTF-8; convert the file to UTF-8") from None


def _subset(name: str, pairs: list[tuple[str, str, float]], path: Path) -> StsSubset:
    if not pairs:
        raise BadInput(f"{path} does not contain scored pairs; {WHOLE}")
    first, second, gold = zip(*pairs, strict=True)
    scores = np.array(gold, dtype=np.float64)
    scores.flags.writeable = False
    return StsSubset(name, tuple(map(one_spaced, first)), tuple(map(one_spaced, second)), scores)


def _year_subset(name: str, sentences: Path, scores: Path) -> StsSubset:
    """Return a subset of STS12 to STS16.

    A pair with an empty gold line was never scored and is skipped.
    """
    gold = [line.strip() for _, line in read_lines(scores)]
    lines = list(read_lines(sentences))
    if len(lines) != len(gold):
        problem = f"{len(gold)} lines, but {sentences.name} has {len(lines)}"
        raise BadInput(f"{scores}: {problem}; {WHOLE}")
    pairs = []
    for (number, line), score in zip(lines, gold, strict=True):
        if score:
            first, *rest = _cells(line, sentences, number)
            if not rest:
                raise BadInput(
                    f"{sentences}:{number}: expected two sentences separated by a tab; fix the line"
                )
            pairs.append(_pair(first, rest[0], score, sentences, number, scores))
    return _subset(name, pairs, sentences)


def _stsb(name: str, path: Path) -> StsSubset:
    """Return a split of STS-B.

    The file has tabs, no header and no quoting; score and sentences are in columns 5 to 7.
    """
    pairs = []
    for number, line in filled_lines(path):
        cells = _cells(line, path, number)
        if len(cells) < 7:
            problem = f"{len(cells)} tab-separated columns, expected 7 or more"
            raise BadInput(f"{path}:{number}: {problem}; fix the line")
        pairs.append(_pair(cells[5], cells[6], cells[4], path, number))
    return _subset(name, pairs, path)


def _sick(name: str, path: Path) -> StsSubset:
    rows = read_table(path, ("sentence_A", "sentence_B", "relatedness_score"))
    pairs = [_pair(first, second, score, path, number) for number, (first, second, score) in rows]
    return _subset(name, pairs, path)


def _pair(
    first: str, second: str, score: str, path: Path, number: int, scores: Path | None = None
) -> tuple[str, str, float]:
    """Return a scored pair.

    By default, the score is in the same file as the sentences.

    Raises:
        BadInput: If a sentence is empty, or the score is not between 0 and 5.
    """
    if not (first.strip() and second.strip()):
        raise BadInput(f"{path}:{number}: a sentence of the pair is empty; fix the line")
    value = score_of(score, scores or path, number)
    if not 0 <= value <= HIGHEST:
        raise BadInput(f"{scores or path}:{number}: score is {score.strip()}; expected 0 to {HIGHEST}")
    return first, second, value
