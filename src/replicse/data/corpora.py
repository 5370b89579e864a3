"""Load training datasets of every format into columns of equal length.

`replicse.registry.corpora` contains the keys of a format and the module of the reader. A reader is a
generator of the rows of a corpus below a data root, in file order. It replaces white space by single spaces,
so that a cell is one line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from replicse.data.delimited import csv_records
from replicse.data.sts import filled_lines, load_sts, one_spaced, read_lines, read_table, score_of
from replicse.data.tables import table_rows
from replicse.errors import BadInput, nearest
from replicse.files import parse_json
from replicse.registry import corpora as registry
from replicse.registry.tables import Table

Row = tuple[str, ...]

NO_LABEL = "-"  # SNLI's label if the annotators did not agree


def read_corpus(root: Path, corpus: registry.Corpus | Mapping[str, Any]) -> dict[str, list[str]]:
    """Load the columns of a corpus, in file order.

    Args:
        root: The folder of the corpus's files.
        corpus: An entry of the registry, or a dict of the keys. `limit` keeps the first rows, `sample` random
            rows.

    Returns:
        A dict from column names to lists of equal length. A labelled corpus also has the column `label`.

    Raises:
        BadInput: If the corpus is not valid, a line is malformed, or the number of rows differs from the key
            `rows`.
        MissingData: If a file does not exist.
    """
    kind = registry.corpus_of(corpus)
    names = (*kind.columns, *["label"] * kind.is_labelled(kind.plain()))
    columns: dict[str, list[str]] = {}
    for row in corpus_rows(root, kind):
        if not columns:
            # A file of triples can omit the last column.
            columns = {name: [] for name in names[: len(row)]}
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(cell)
    return columns or {name: [] for name in names}


def corpus_rows(root: Path, corpus: registry.Corpus) -> Iterator[Row]:
    """Yield the rows of a corpus in file order.

    Args:
        root: The folder of the corpus's files.
        corpus: An entry of the registry.

    Raises:
        BadInput: At the end, if the number of rows differs from the key `rows`.
    """
    count = 0
    with corpus.name_in_errors():
        for row in _select_rows(corpus.made_by()(Path(root), corpus), corpus):
            count += 1
            yield row
    _check_rows(count, Path(root), corpus)


def check_corpus(root: Path, corpus: registry.Corpus) -> None:
    """Read a corpus row by row and raise the errors of `read_corpus`.

    Args:
        root: The folder of the corpus's files.
        corpus: An entry of the registry.

    Raises:
        BadInput: As `read_corpus`.
        MissingData: If a file does not exist.
    """
    rows = corpus.made_by()(Path(root), corpus)
    count = sum(1 for _ in islice(rows, corpus.limit))
    if corpus.sample:
        _check_sample(count, corpus.sample)
        count = corpus.sample.rows
    _check_rows(count, Path(root), corpus)


def _check_rows(count: int, root: Path, corpus: registry.Corpus) -> None:
    """Raise BadInput if a corpus does not have the expected number of rows."""
    if corpus.rows is None:
        return
    tolerance = 0.1 * corpus.rows if corpus.about else 0
    if abs(count - corpus.rows) <= tolerance:
        return
    source, remedy = corpus.origin(root)
    expected = f"{'about ' if corpus.about else ''}{corpus.rows:,}"
    name = f" of corpus {corpus.name}" if corpus.name else ""
    raise BadInput(f"{source}: {count:,} rows{name}; expected {expected}; {remedy}")


def labels_of(columns: Mapping[str, Sequence[str]]) -> list[float] | None:
    """Return the labels of a corpus.

    Args:
        columns: A dict of the columns of the corpus.

    Returns:
        A list of the labels, or None if the corpus has no labels.
    """
    return [float(label) for label in columns["label"]] if "label" in columns else None


def _select_rows(rows: Iterator[Row], corpus: registry.Corpus) -> Iterable[Row]:
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
        raise BadInput(f"corpus sample.rows is {sample.rows}, but there are {count}; lower it or use limit")


def lines(root: Path, corpus: registry.Lines) -> Iterator[Row]:
    """Yield one row per line.

    Empty lines, and lines with fewer than `min_words` or more than `max_words` words, are skipped. With
    `as_written` no line is skipped, as in the text loader of `datasets`; SimCSE's train.py replaces an empty
    text by a space.

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    for _, line in read_lines(root / corpus.file):
        if corpus.as_written:
            yield (line or " ",)
            continue
        words = line.split()
        if len(words) >= (corpus.min_words or 1) and len(words) <= (corpus.max_words or len(words)):
            yield (" ".join(words),)


def triples(root: Path, corpus: registry.Triples) -> Iterator[Row]:
    """Yield the rows of a CSV file.

    The order of the columns determines their roles, not the header (methods 1.1).

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.

    Raises:
        BadInput: If the number of columns is wrong, or the first column contains ids.
    """
    path = root / corpus.file
    records = csv_records(path)
    _, header = next(records, (0, []))
    if len(header) not in (2, 3):
        problem = f"{len(header)} columns; expected anchor, positive and perhaps hard negative"
        raise BadInput(f"{path}:1: {problem}")
    if header[0].strip().lower() in ("", "id", "idx", "index"):
        problem = (
            f'the first column is "{header[0]}"; expected the anchor, because the order of columns matters'
        )
        raise BadInput(f"{path}:1: {problem}; remove the column of numbers")
    for number, record in records:
        if len(record) != len(header):
            problem = f"{len(record)} columns, but the header has {len(header)}"
            raise BadInput(f"{path}:{number}: {problem}; quote cells that contain commas")
        # An empty cell becomes a single space, as in the official loader (methods 1.1).
        yield tuple(one_spaced(cell) or " " for cell in record)


def table(root: Path, corpus: Table) -> Iterator[Row]:
    """Yield the specified columns of a table in the working directory.

    Args:
        root: Not used, because the table is in the working directory.
        corpus: The keys of the corpus.

    Raises:
        BadInput: If a cell is empty. The message contains the line.
    """
    values = [corpus.label] if corpus.label else []
    for number, cells in table_rows(corpus.file, corpus.headings, values):
        if values:
            score_of(cells[-1], Path(corpus.file), number)
        yield cells


def _nli_rows(root: Path, files: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield premise, hypothesis and label of JSON lines that have a label."""
    for file in files:
        path = root / file
        for number, line in filled_lines(path):
            try:
                record = parse_json(line)
                label = record["gold_label"]
                premise, hypothesis = one_spaced(record["sentence1"]), one_spaced(record["sentence2"])
            except (ValueError, KeyError, TypeError, AttributeError):
                expected = "expected JSON with the strings sentence1, sentence2 and gold_label"
                raise BadInput(f"{path}:{number}: {expected}; fix the line") from None
            if label == NO_LABEL:
                continue
            if label not in registry.NLI_LABELS:
                raise BadInput(
                    f'{path}:{number}: gold_label is "{label}"{nearest(label, registry.NLI_LABELS)}'
                )
            yield premise, hypothesis, label


def nli(root: Path, corpus: registry.Nli) -> Iterator[Row]:
    """Yield each premise with the first hypothesis of each requested class.

    Premises without one of the classes are skipped; the official triples have no premises without a
    contradiction either (methods 1.1).

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    labels = [getattr(corpus, role) for role in corpus.columns[1:]]
    return by_premise(_nli_rows(root, corpus.files), labels)


def by_premise(rows: Iterable[tuple[str, str, str]], labels: Sequence[str]) -> Iterator[Row]:
    """Yield each premise with the first hypothesis of each label.

    Args:
        rows: Tuples of premise, hypothesis and label.
        labels: The labels that a premise must have.
    """
    premises: dict[str, dict[str, str]] = {}
    for premise, hypothesis, label in rows:
        premises.setdefault(premise, {}).setdefault(label, hypothesis)
    for premise, hypotheses in premises.items():
        if all(label in hypotheses for label in labels):
            yield (premise, *(hypotheses[label] for label in labels))


def nli_pairs(root: Path, corpus: registry.NliPairs) -> Iterator[Row]:
    """Yield premise and hypothesis of each line whose label is in `labels`.

    Methods 1.9 has the details.

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    for premise, hypothesis, label in _nli_rows(root, corpus.files):
        if label in corpus.labels:
            yield premise, hypothesis


def pairs(root: Path, corpus: registry.Pairs) -> Iterator[Row]:
    """Yield the first two fields of each line of a tab-separated file.

    The file has no header (ParaNMT).

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.

    Raises:
        BadInput: If a line does not contain two sentences.
    """
    path = root / corpus.file
    for number, line in filled_lines(path):
        fields = [one_spaced(field) for field in line.split("\t")]
        if len(fields) < 2 or not all(fields[:2]):
            raise BadInput(f"{path}:{number}: expected two sentences separated by a tab; fix the line")
        yield fields[0], fields[1]


def image_captions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield image and caption of each line `image#k<TAB>caption`.

    Args:
        path: The file.

    Raises:
        BadInput: If a line is malformed.
    """
    for number, line in filled_lines(path):
        image, _, caption = line.partition("\t")
        image, mark, _ = image.rpartition("#")
        if not (mark and caption.strip()):
            raise BadInput(f"{path}:{number}: expected image#number, tab, caption; fix the line")
        yield image, one_spaced(caption)


def captions(root: Path, corpus: registry.Captions) -> Iterator[Row]:
    """Yield all pairs of captions of the same image.

    An image with five captions has 10 pairs (methods 1.9).

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    by_image: dict[str, list[str]] = {}
    for image, caption in image_captions(root / corpus.file):
        by_image.setdefault(image, []).append(caption)
    for together in by_image.values():
        yield from combinations(together, 2)


def labelled(root: Path, corpus: registry.Labelled) -> Iterator[Row]:
    """Yield the sentences of each row and the label as a string.

    If the corpus has a `part`, only the rows of the part are returned.

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    path = root / corpus.file
    rows = [tuple(row) for row in _labelled_rows(path, corpus)]
    if corpus.part is None:
        return iter(rows)
    held_out = _held_out(rows, corpus.part)
    wanted = corpus.part.keep == "held-out"
    return compress(rows, held_out == wanted)


def _labelled_rows(path: Path, corpus: registry.Labelled) -> Iterator[list[str]]:
    names = (*corpus.sentences, corpus.label)
    for number, (*texts, label) in read_table(path, names, quoted=corpus.quoted):
        score_of(label, path, number)
        if not all(map(str.strip, texts)):
            raise BadInput(f"{path}:{number}: a sentence is empty; fix the line")
        yield [*map(one_spaced, texts), label]


def _held_out(rows: Sequence[Row], part: registry.Part) -> np.ndarray:
    """Return which rows are held out, as a boolean array.

    Groups of rows that share sentences are drawn until the share is reached.
    """
    from scipy.cluster.hierarchy import DisjointSet  # importing it takes 0.5 s, and only this format needs it

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
    """Yield the sentences of an STS dataset, the two of a pair in turn.

    Args:
        root: The data root, a folder of datasets.
        corpus: The keys of the corpus.
    """
    for subset in load_sts(root, corpus.task, corpus.split):
        for pair in zip(subset.first, subset.second, strict=True):
            for sentence in pair:
                yield (sentence,)
