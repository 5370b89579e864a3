"""Training corpora: every format of text file becomes columns of lines, all of the same length."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.sts import load_sts, one_spaced, read_lines, read_table
from replicse.errors import BadInput, nearest

Row = tuple[str, ...]
Recipe = Mapping[str, Any]
Table = tuple[tuple[str, ...], Iterator[Row]]  # column names, rows

PAIR = ("anchor", "positive")
TRIPLE = ("anchor", "positive", "negative")
NLI_LABELS = ("entailment", "neutral", "contradiction")
NO_LABEL = "-"  # SNLI's mark where the annotators did not agree


@dataclass(frozen=True)
class Format:
    """How a format is read, and the keys that its recipe must have and may have."""

    read: Callable[[Path, Recipe], Table]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


def read_corpus(root: Path, spec: Recipe) -> dict[str, list[str]]:
    """Return the columns of the corpus that a recipe describes, all of the same length, in file order.

    `format` is one of FORMATS and decides the other keys; files are named below `root`. `limit: n` keeps the
    first n rows, `sample: {rows: n, seed: s}` n random ones. White space becomes single spaces, so a cell
    is one line. Raises BadInput for unknown formats and keys and for malformed lines, MissingData for an
    absent file.
    """
    columns, rows = _format_of(spec).read(Path(root), spec)
    kept = list(_selected(rows, spec))
    return {name: [row[i] for row in kept] for i, name in enumerate(columns)}


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the cells of each record; blank lines are skipped."""
    reader = csv.reader((text for _, text in read_lines(path, keep_ends=True)), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            problem = f"not CSV ({error}); check the quotes from there on"
            raise BadInput(f"{path}:{number}: {problem}") from None
        if record is None:
            return
        if record:
            yield number, record


def _format_of(spec: Recipe) -> Format:
    name = spec.get("format")
    if name not in FORMATS:
        raise BadInput(f'corpus format is "{name}"{nearest(name, FORMATS)}')
    found = FORMATS[name]
    known = {"format", "name", "limit", "sample", *found.required, *found.optional}
    for key in spec:
        if key not in known:
            raise BadInput(f'corpus of format {name}: unknown key "{key}"{nearest(key, known)}')
    for key in found.required:
        if key not in spec:
            raise BadInput(f'corpus of format {name} lacks the key "{key}"; add it')
    return found


def _selected(rows: Iterator[Row], spec: Recipe) -> Iterable[Row]:
    """Return the rows that `limit` or `sample` keeps, in file order."""
    if "limit" in spec and "sample" in spec:
        raise BadInput("corpus has both limit and sample; keep one of them")
    if "limit" in spec:
        return islice(rows, _whole(spec, "limit"))
    if "sample" not in spec:
        return rows
    sample = spec["sample"]
    if not isinstance(sample, Mapping) or set(sample) != {"rows", "seed"}:
        raise BadInput(f"corpus sample is {sample!r}; expected {{rows: n, seed: s}}")
    every, wanted = list(rows), _whole(sample, "rows")
    if wanted > len(every):
        raise BadInput(f"corpus sample asks for {wanted} rows of {len(every)}; lower rows or use limit")
    chosen = np.random.default_rng(sample["seed"]).choice(len(every), wanted, replace=False)
    return [every[i] for i in np.sort(chosen)]


def _whole(spec: Recipe, key: str) -> int:
    value = spec[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput(f"corpus {key} is {value!r}; expected a whole number of at least 1")
    return value


def _files(root: Path, spec: Recipe) -> list[Path]:
    files = spec["files"]
    if isinstance(files, str) or not files:
        raise BadInput(f"corpus files is {files!r}; expected a list of files")
    return [root / file for file in files]


def _lines(root: Path, spec: Recipe) -> Table:
    """Return one line a row; blank lines, and lines outside `min_words` to `max_words`, are dropped."""
    least = _whole(spec, "min_words") if "min_words" in spec else 1
    most = _whole(spec, "max_words") if "max_words" in spec else None

    def rows() -> Iterator[Row]:
        for _, line in read_lines(root / spec["file"]):
            words = line.split()
            if len(words) >= least and (most is None or len(words) <= most):
                yield (" ".join(words),)

    return ("text",), rows()


def _triples(root: Path, spec: Recipe) -> Table:
    """Return the rows of a CSV file whose column order, not its header, decides the roles (methods 1.1)."""
    path = root / spec["file"]
    records = csv_records(path)
    _, header = next(records, (0, []))
    if len(header) not in (2, 3):
        problem = f"{len(header)} columns; expected anchor, positive and perhaps hard negative"
        raise BadInput(f"{path}:1: {problem}")

    def rows() -> Iterator[Row]:
        for number, record in records:
            if len(record) != len(header):
                problem = f"{len(record)} columns, but the header has {len(header)}"
                raise BadInput(f"{path}:{number}: {problem}; quote cells that hold commas")
            # An empty cell is a single space, as in the official loader (methods 1.1).
            yield tuple(one_spaced(cell) or " " for cell in record)

    return TRIPLE[: len(header)], rows()


def _nli_rows(files: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield premise, hypothesis and label of every labelled line of JSON-lines files."""
    for path in files:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                premise, hypothesis, label = (record[key] for key in ("sentence1", "sentence2", "gold_label"))
                premise, hypothesis = one_spaced(premise), one_spaced(hypothesis)
            except (ValueError, KeyError, TypeError, AttributeError):
                expected = "expected JSON with the texts sentence1, sentence2 and gold_label"
                raise BadInput(f"{path}:{number}: {expected}; mend the line") from None
            if label == NO_LABEL:
                continue
            if label not in NLI_LABELS:
                raise BadInput(f'{path}:{number}: gold_label is "{label}"{nearest(label, NLI_LABELS)}')
            yield premise, hypothesis, label


def _nli_label(label: Any, key: str) -> str:
    if label not in NLI_LABELS:
        raise BadInput(f'corpus {key} is "{label}"{nearest(label, NLI_LABELS)}')
    return label


def _nli(root: Path, spec: Recipe) -> Table:
    """Return, by premise, the first hypothesis of each wanted class; premises that lack one are dropped.

    Rows lacking a contradiction were dropped for the official triples too (methods 1.1). `neutral` adds a
    fourth column, the second block of hard negatives.
    """
    roles = {"positive": "entailment", "negative": "contradiction"}
    roles |= {role: spec[role] for role in ("positive", "negative", "neutral") if role in spec}
    labels = [_nli_label(label, role) for role, label in roles.items()]

    def rows() -> Iterator[Row]:
        by_premise: dict[str, dict[str, str]] = {}
        for premise, hypothesis, label in _nli_rows(_files(root, spec)):
            by_premise.setdefault(premise, {}).setdefault(label, hypothesis)
        for premise, hypotheses in by_premise.items():
            if all(label in hypotheses for label in labels):
                yield (premise, *(hypotheses[label] for label in labels))

    return ("anchor", *roles), rows()


def _nli_pairs(root: Path, spec: Recipe) -> Table:
    """Return premise and hypothesis of every line with one of the `labels` (methods 1.9)."""
    if isinstance(spec["labels"], str):
        raise BadInput(f'corpus labels is "{spec["labels"]}"; expected a list of labels')
    labels = {_nli_label(label, "labels") for label in spec["labels"]}
    rows = _nli_rows(_files(root, spec))
    return PAIR, ((premise, hypothesis) for premise, hypothesis, label in rows if label in labels)


def _qqp(root: Path, spec: Recipe) -> Table:
    """Return the duplicate pairs of Quora Question Pairs: tabs, a header, no quoting."""
    path = root / spec["file"]

    def rows() -> Iterator[Row]:
        for number, (first, second, label) in read_table(path, ("question1", "question2", "is_duplicate")):
            if label not in ("0", "1"):
                raise BadInput(f'{path}:{number}: is_duplicate is "{label}"; expected 0 or 1')
            if label == "1":
                yield one_spaced(first), one_spaced(second)

    return PAIR, rows()


def _pairs(root: Path, spec: Recipe) -> Table:
    """Return the first two fields of each line of a tab-separated file without header (ParaNMT)."""
    path = root / spec["file"]

    def rows() -> Iterator[Row]:
        for number, line in read_lines(path):
            if not line.strip():
                continue
            fields = [one_spaced(field) for field in line.split("\t")]
            if len(fields) < 2 or not all(fields[:2]):
                raise BadInput(f"{path}:{number}: expected two sentences, tab between them; mend the line")
            yield fields[0], fields[1]

    return PAIR, rows()


def _image_captions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield image and caption of each line `image#k<TAB>caption`."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        image, _, caption = line.partition("\t")
        image, mark, _ = image.rpartition("#")
        if not (mark and caption.strip()):
            raise BadInput(f"{path}:{number}: expected image#number, tab, caption; mend the line")
        yield image, one_spaced(caption)


def _captions(root: Path, spec: Recipe) -> Table:
    """Return all pairs of captions of one image: 10 where an image has five (methods 1.9)."""

    def rows() -> Iterator[Row]:
        by_image: dict[str, list[str]] = {}
        for image, caption in _image_captions(root / spec["file"]):
            by_image.setdefault(image, []).append(caption)
        for captions in by_image.values():
            yield from combinations(captions, 2)

    return PAIR, rows()


def _caption_lines(root: Path, spec: Recipe) -> Table:
    return ("text",), ((caption,) for _, caption in _image_captions(root / spec["file"]))


def _sts_sentences(root: Path, spec: Recipe) -> Table:
    """Return the sentences of a similarity set, both sides of a pair after each other."""
    subsets = load_sts(root, spec["task"], spec["split"])
    pairs = (pair for subset in subsets for pair in zip(subset.first, subset.second, strict=True))
    return ("text",), ((sentence,) for pair in pairs for sentence in pair)


FORMATS: dict[str, Format] = {
    "lines": Format(_lines, ("file",), ("min_words", "max_words")),
    "triples": Format(_triples, ("file",)),
    "nli": Format(_nli, ("files",), ("positive", "negative", "neutral")),
    "nli-pairs": Format(_nli_pairs, ("files", "labels")),
    "qqp": Format(_qqp, ("file",)),
    "pairs": Format(_pairs, ("file",)),
    "captions": Format(_captions, ("file",)),
    "caption-lines": Format(_caption_lines, ("file",)),
    "sts-sentences": Format(_sts_sentences, ("task", "split")),
}
