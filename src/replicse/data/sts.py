"""Text files line by line; the similarity sets STS12 to STS16, STS-B and SICK-R in the SentEval layout."""

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from replicse.errors import BadInput, MissingData, check_known, refusing
from replicse.files import check_fetched, check_there
from replicse.registry.corpora import STS_TASKS

# SMT is absent from STS13, as in SentEval: its licence forbids redistribution (methods section 2.2).
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

WHOLE = "put the file there as SentEval has it"
# How a CSV writer saves a cell that holds quotes; no cell of SentEval's own files is so.
REWRITTEN = re.compile('"(?:[^"]|"")*""(?:[^"]|"")*"')
HIGHEST = 5  # of the human ratings of all similarity sets; SICK's begin at 1

REMEDY = (
    "name a folder in the SentEval layout (by --data, in a study by data.root),"
    " or set data.source to hub to download it"
)


@dataclass(frozen=True, eq=False)
class StsSubset:
    """Scored sentence pairs; `gold` is float64, one score a pair, on the scale of the task."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the sentences of both sides, repetitions included."""
        return self.first + self.second


def senteval_root(folder: Path) -> Path:
    """Return the `downstream` folder of a data root, of its `SentEval`, or itself; MissingData if none."""
    folder = Path(folder)
    for below in ("SentEval/downstream", "SentEval/data/downstream", "data/downstream", "downstream"):
        if (folder / below).is_dir():
            return folder / below
    if (folder.name == "downstream" and folder.is_dir()) or (folder / "STS").is_dir():
        return folder
    raise MissingData(f"{folder}: no SentEval/downstream folder there; {REMEDY}")


def load_sts(root: Path, task: str, split: str = "test") -> tuple[StsSubset, ...]:
    """Return the subsets of a similarity task: one for STS-B and SICK-R, several for STS12 to STS16.

    STS12 to STS16 have the split `test` only; STS-B and SICK-R have `train`, `dev` and `test`. Raises
    BadInput for an unknown task or split and for a malformed line, MissingData for an absent file.
    """
    check_known(task, STS_TASKS, f'"{task}" is no STS task')
    check_known(split, STS_SPLITS.get(task, ("test",)), f'{task} has no split "{split}"')
    downstream = senteval_root(root)
    read = {"STS-B": _stsb, "SICK-R": _sick}.get(task, _year_subset)
    files = sts_files(task, split).items()
    return tuple(read(name, *(downstream / file for file in paths)) for name, paths in files)


def sts_files(task: str, split: str) -> dict[str, tuple[str, ...]]:
    """Return the files of each subset of a similarity task, below `senteval_root`."""
    if task in STS_SUBSETS:
        kinds = ("input", "gs")
        return {
            name: tuple(f"STS/{task}-en-test/STS.{kind}.{name}.txt" for kind in kinds)
            for name in STS_SUBSETS[task]
        }
    folder = "STS/STSBenchmark" if task == "STS-B" else "SICK"
    return {task: (f"{folder}/{STS_SPLITS[task][split]}",)}


def read_lines(path: Path, fallback: str | None = None, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    r"""Yield the line number (from 1) and text of each line of a UTF-8 file; `.gz` is transparent.

    Only `\n` and `\r\n` end a line: other separators of Unicode occur inside sentences. A byte-order mark
    is dropped. A line that is not UTF-8 is read as `fallback`, or is BadInput where there is none; so are UTF-16, a
    pointer of git-lfs, and a file whose lines end with `\r` alone.
    """
    check_there(path, REMEDY)
    check_fetched(path)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        for number, raw in _numbered(stream, path):
            text = _decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, path, number, fallback)
            yield number, text if keep_ends else text.removesuffix("\n").removesuffix("\r")


def filled_lines(path: Path, fallback: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that `read_lines` yields and that are not blank."""
    return ((number, line) for number, line in read_lines(path, fallback) if line.strip())


def read_table(path: Path, columns: Sequence[str], quoted: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and the named columns of a tab-separated file with a header line.

    A cell that begins with a quote ends with one where the file is `quoted`; otherwise quotes are text.
    """
    header: list[str] = []
    for number, line in read_lines(path):
        cells = _cells(line, path, number, quoted)
        if number == 1:
            header = cells
            for name in columns:
                check_known(name, header, f'{path}:1: the header has no column "{name}"')
        elif line.strip():
            if len(cells) != len(header):
                problem = f"{len(cells)} tab-separated columns, but the header has {len(header)}"
                raise BadInput(f"{path}:{number}: {problem}; fix the line")
            yield number, [cells[header.index(name)] for name in columns]


def _cells(line: str, path: Path, number: int, quoted: bool = False) -> list[str]:
    """Return the cells of a line; BadInput where quotes are text, but a CSV writer has quoted one."""
    if quoted:
        with refusing(f"{path}:{number}: not a line of cells", "fix the line", csv.Error):
            return next(csv.reader([line], delimiter="\t"), [])
    cells = line.split("\t")
    if '""' in line and any(map(REWRITTEN.fullmatch, cells)):
        raise BadInput(
            f'{path}:{number}: a cell is in quotes, with "" inside, as other programs save it; {WHOLE}'
        )
    return cells


def one_spaced(text: str) -> str:
    """Return the words of a text joined by single spaces (methods section 2.1)."""
    return " ".join(text.split())


def score_of(text: str, path: Path, number: int) -> float:
    """Return a finite gold score; BadInput names the line otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f'{path}:{number}: score is "{text.strip()}"; expected a number')
    return value


def _numbered(stream: BufferedIOBase, path: Path) -> Iterator[tuple[int, bytes]]:
    broken = (EOFError, gzip.BadGzipFile, zlib.error)
    with refusing(f"{path}: cannot be unpacked", "put the complete file there", broken):
        for number, raw in enumerate(stream, start=1):
            if number == 1 and not raw.endswith(b"\n") and raw.rstrip(b"\r").count(b"\r"):
                raise BadInput(f"{path}: lines end with CR alone; convert the file to LF line ends")
            yield number, raw


def _decoded(raw: bytes, path: Path, number: int, fallback: str | None) -> str:
    # Latin-1 would read UTF-16 without complaint, a NUL behind every letter.
    if b"\0" in raw or (number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise BadInput(f"{path}:{number}: UTF-16, or bytes that are no text; convert the file to UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if fallback:
            return raw.decode(fallback)
        raise BadInput(f"{path}:{number}: not UTF-8; convert the file to UTF-8") from None


def _subset(name: str, pairs: list[tuple[str, str, float]], path: Path) -> StsSubset:
    if not pairs:
        raise BadInput(f"{path}: no scored pair; {WHOLE}")
    first, second, gold = zip(*pairs, strict=True)
    first, second = (tuple(map(one_spaced, side)) for side in (first, second))
    return StsSubset(name, first, second, np.array(gold, dtype=np.float64))


def _year_subset(name: str, sentences: Path, scores: Path) -> StsSubset:
    """Return a subset of STS12 to STS16; a pair whose gold line is empty was never scored and is skipped."""
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
                raise BadInput(f"{sentences}:{number}: no tab between two sentences; fix the line")
            pairs.append(_pair(first, rest[0], score, sentences, number, scores))
    return _subset(name, pairs, sentences)


def _stsb(name: str, path: Path) -> StsSubset:
    """Return a split of STS-B: tabs, no header, no quoting; score and sentences in columns 5 to 7."""
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
    """Return a scored pair of a line; BadInput for an empty sentence and for a score outside 0 to 5."""
    if not (first.strip() and second.strip()):
        raise BadInput(f"{path}:{number}: a sentence of the pair is empty; fix the line")
    value = score_of(score, scores or path, number)
    if not 0 <= value <= HIGHEST:
        raise BadInput(f"{scores or path}:{number}: score is {score.strip()}; expected 0 to {HIGHEST}")
    return first, second, value
