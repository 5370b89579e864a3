"""Training corpora: every format of text file becomes columns of lines, all of the same length.

A format's keys and its reader's place are in `replicse.registry.corpora`. A reader is a generator of the rows of a
corpus below a data root, in file order; white space in them becomes single spaces, so that a cell is one line.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.delimited import csv_records
from replicse.data.sts import filled_lines, load_sts, one_spaced, read_lines, read_table, score_of
from replicse.data.tables import table_rows
from replicse.errors import BadInput, nearest
from replicse.registry import corpora as registry
from replicse.registry.tables import Table

Row = tuple[str, ...]

NO_LABEL = "-"  # SNLI's mark where the annotators did not agree


def read_corpus(root: Path, corpus: registry.Corpus | Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of a corpus, all of the same length, in file order.

    Args:
        root: the folder that the files of the corpus are named below.
        corpus: a model of the registry, or plain data of one. `limit` keeps the first rows, `sample` random ones; a
            labelled one has the column `label` too.

    Raises:
        BadInput: for what the registry refuses, for malformed lines and for other `rows` than the recipe expects.
        MissingData: for an absent file.
    """
    kind = registry.corpus_of(corpus)
    names = (*kind.columns, *["label"] * kind.labelled(kind.plain()))
    columns: dict[str, list[str]] = {}
    for row in corpus_rows(root, kind):
        if not columns:
            # A file of triples may leave the last column out.
            columns = {name: [] for name in names[: len(row)]}
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(cell)
    return columns or {name: [] for name in names}


def corpus_rows(root: Path, corpus: registry.Corpus) -> Iterator[Row]:
    """Yield the rows of a corpus, in file order; at the end BadInput for another number than its recipe expects."""
    count = 0
    for row in _selected(corpus.made_by()(Path(root), corpus), corpus):
        count += 1
        yield row
    _check_rows(count, Path(root), corpus)


def check_corpus(root: Path, corpus: registry.Corpus) -> None:
    """Read all that `read_corpus` reads, row by row, and raise what it raises."""
    rows = corpus.made_by()(Path(root), corpus)
    count = sum(1 for _ in islice(rows, corpus.limit))
    if corpus.sample:
        _check_sample(count, corpus.sample)
        count = corpus.sample.rows
    _check_rows(count, Path(root), corpus)


def _check_rows(count: int, root: Path, corpus: registry.Corpus) -> None:
    """Raise BadInput where a corpus has not the rows that its recipe expects."""
    if corpus.rows is None or abs(count - corpus.rows) <= (0.1 * corpus.rows if corpus.about else 0):
        return
    source, remedy = corpus.origin(root)
    expected = f"{'about ' if corpus.about else ''}{corpus.rows:,}"
    raise BadInput(f"{source}: {count:,} rows of corpus {corpus.name}; expected {expected}; {remedy}")


def labels_of(columns: Mapping[str, Sequence[str]]) -> list[float] | None:
    """Return the labels of a corpus that was read; None where it has none."""
    return [float(label) for label in columns["label"]] if "label" in columns else None


def _selected(rows: Iterator[Row], corpus: registry.Corpus) -> Iterable[Row]:
    """Return the rows that `limit` or `sample` keeps, in file order."""
    if corpus.sample is None:
        return islice(rows, corpus.limit)
    every = list(rows)
    _check_sample(len(every), corpus.sample)
    generator = np.random.default_rng(corpus.sample.seed)
    chosen = generator.choice(len(every), corpus.sample.rows, replace=False)
    return [every[i] for i in np.sort(chosen)]


def _check_sample(count: int, sample: registry.Sample) -> None:
    if sample.rows > count:
        raise BadInput(f"corpus sample asks for {sample.rows} rows of {count}; lower rows or use limit")


def lines(root: Path, corpus: registry.Lines) -> Iterator[Row]:
    """Yield one line a row; blank lines, and lines outside `min_words` to `max_words`, are dropped.

    With `as_written` none is dropped, as by the text loader of `datasets`; SimCSE's train.py makes a space of no text.
    """
    for _, line in read_lines(root / corpus.file):
        if corpus.as_written:
            yield (line or " ",)
            continue
        words = line.split()
        if len(words) >= (corpus.min_words or 1) and len(words) <= (corpus.max_words or len(words)):
            yield (" ".join(words),)


def triples(root: Path, corpus: registry.Triples) -> Iterator[Row]:
    """Yield the rows of a CSV file whose column order, not its header, decides the roles (methods 1.1)."""
    path = root / corpus.file
    records = csv_records(path)
    _, header = next(records, (0, []))
    if len(header) not in (2, 3):
        problem = f"{len(header)} columns; expected anchor, positive and perhaps hard negative"
        raise BadInput(f"{path}:1: {problem}")
    if header[0].strip().lower() in ("", "id", "idx", "index"):
        problem = f'the first of the columns is "{header[0]}"; expected the anchor, for the order of columns decides'
        raise BadInput(f"{path}:1: {problem}; take the numbers out of the file")
    for number, record in records:
        if len(record) != len(header):
            problem = f"{len(record)} columns, but the header has {len(header)}"
            raise BadInput(f"{path}:{number}: {problem}; quote cells that hold commas")
        # An empty cell is a single space, as in the official loader (methods 1.1).
        yield tuple(one_spaced(cell) or " " for cell in record)


def table(root: Path, corpus: Table) -> Iterator[Row]:
    """Yield the named columns of a table in the working directory; an empty cell is refused with its line."""
    values = [corpus.label] if corpus.label else []
    for number, cells in table_rows(corpus.file, corpus.headings, values):
        if values:
            score_of(cells[-1], Path(corpus.file), number)
        yield cells


def _nli_rows(root: Path, files: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield premise, hypothesis and label of every labelled line of JSON-lines files."""
    for path in (root / file for file in files):
        for number, line in filled_lines(path):
            try:
                record = json.loads(line)
                premise, hypothesis, label = (record[key] for key in ("sentence1", "sentence2", "gold_label"))
                premise, hypothesis = one_spaced(premise), one_spaced(hypothesis)
            except (ValueError, KeyError, TypeError, AttributeError):
                expected = "expected JSON with the texts sentence1, sentence2 and gold_label"
                raise BadInput(f"{path}:{number}: {expected}; fix the line") from None
            if label == NO_LABEL:
                continue
            if label not in registry.NLI_LABELS:
                raise BadInput(
                    f'{path}:{number}: gold_label is "{label}"{nearest(label, registry.NLI_LABELS)}'
                )
            yield premise, hypothesis, label


def nli(root: Path, corpus: registry.Nli) -> Iterator[Row]:
    """Yield, by premise, the first hypothesis of each wanted class; premises that lack one are dropped.

    Rows lacking a contradiction were dropped for the official triples too (methods 1.1).
    """
    labels = [getattr(corpus, role) for role in corpus.columns[1:]]
    return by_premise(_nli_rows(root, corpus.files), labels)


def by_premise(rows: Iterable[tuple[str, str, str]], labels: Sequence[str]) -> Iterator[Row]:
    """Yield each premise with its first hypothesis of every label; `rows` are premise, hypothesis, label."""
    premises: dict[str, dict[str, str]] = {}
    for premise, hypothesis, label in rows:
        premises.setdefault(premise, {}).setdefault(label, hypothesis)
    for premise, hypotheses in premises.items():
        if all(label in hypotheses for label in labels):
            yield (premise, *(hypotheses[label] for label in labels))


def nli_pairs(root: Path, corpus: registry.NliPairs) -> Iterator[Row]:
    """Yield premise and hypothesis of every line with one of the `labels` (methods 1.9)."""
    rows = _nli_rows(root, corpus.files)
    return ((premise, hypothesis) for premise, hypothesis, label in rows if label in corpus.labels)


def pairs(root: Path, corpus: registry.Pairs) -> Iterator[Row]:
    """Yield the first two fields of each line of a tab-separated file without header (ParaNMT)."""
    path = root / corpus.file
    for number, line in filled_lines(path):
        fields = [one_spaced(field) for field in line.split("\t")]
        if len(fields) < 2 or not all(fields[:2]):
            raise BadInput(f"{path}:{number}: expected two sentences, tab between them; fix the line")
        yield fields[0], fields[1]


def image_captions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield image and caption of each line `image#k<TAB>caption`."""
    for number, line in filled_lines(path):
        image, _, caption = line.partition("\t")
        image, mark, _ = image.rpartition("#")
        if not (mark and caption.strip()):
            raise BadInput(f"{path}:{number}: expected image#number, tab, caption; fix the line")
        yield image, one_spaced(caption)


def captions(root: Path, corpus: registry.Captions) -> Iterator[Row]:
    """Yield all pairs of captions of one image: 10 where an image has five (methods 1.9)."""
    by_image: dict[str, list[str]] = {}
    for image, caption in image_captions(root / corpus.file):
        by_image.setdefault(image, []).append(caption)
    for together in by_image.values():
        yield from combinations(together, 2)


def labelled(root: Path, corpus: registry.Labelled) -> Iterator[Row]:
    """Yield the sentences of each row and its number as text; of a `part`, its rows only."""
    path = root / corpus.file
    rows = [tuple(row) for row in _labelled_rows(path, corpus)]
    if corpus.part is None:
        return iter(rows)
    held_out = _held_out(rows, corpus.part)
    wanted = corpus.part.keep == "held-out"
    return (row for row, out in zip(rows, held_out, strict=True) if out == wanted)


def _labelled_rows(path: Path, corpus: registry.Labelled) -> Iterator[list[str]]:
    names = (*corpus.sentences, corpus.label)
    for number, (*texts, label) in read_table(path, names, quoted=corpus.quoted):
        score_of(label, path, number)
        if not all(map(str.strip, texts)):
            raise BadInput(f"{path}:{number}: a sentence is empty; fix the line")
        yield [*map(one_spaced, texts), label]


def _held_out(rows: Sequence[Row], part: registry.Part) -> np.ndarray:
    """Return which rows are held out: groups of rows that share sentences, drawn until the share is reached."""
    from scipy.cluster.hierarchy import DisjointSet  # half a second that no other corpus needs

    group: dict[str, int] = {}
    groups = DisjointSet(range(len(rows)))
    for place, (*sentences, _) in enumerate(rows):
        for sentence in sentences:
            groups.merge(group.setdefault(sentence.lower(), place), place)
    subsets = sorted(sorted(subset) for subset in groups.subsets())
    chosen = np.zeros(len(rows), dtype=bool)
    for place in np.random.default_rng(part.seed).permutation(len(subsets)):
        if chosen.sum() >= part.share * len(rows):
            break
        chosen[subsets[place]] = True
    return chosen


def sts_sentences(root: Path, corpus: registry.StsSentences) -> Iterator[Row]:
    """Yield the sentences of a similarity set, both sides of a pair after each other."""
    for subset in load_sts(root, corpus.task, corpus.split):
        for pair in zip(subset.first, subset.second, strict=True):
            yield from ((sentence,) for sentence in pair)
