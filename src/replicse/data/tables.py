"""Tables of your own: CSV, TSV, JSON lines and Parquet, read by their headings."""

import csv
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from replicse.data.sts import filled_lines, one_spaced, read_lines
from replicse.errors import BadInput, MissingData, check_known, refusing

Record = tuple[int, list[str]]  # number of its first line, cells
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}


def table_rows(
    file: str, headings: Sequence[str], values: Collection[str] = ()
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line and cells, with single spaces, of each row of a table; of Parquet, which has no lines, the row.

    A cell is text; below the headings of `values`, where the format tells them apart, also a number or yes and no.
    Raises MissingData for an absent file; BadInput names the line of an empty cell, of another number of cells than
    the header has, and of bytes that are no UTF-8.
    """
    path, count = Path(file), 0
    if not path.is_file():
        raise MissingData(f"{path}: no such file; put it there, or name another one")
    for number, cells in READERS[path.suffix.lower()](path, headings, values):
        count += 1
        texts = tuple(map(one_spaced, cells))
        if "" in texts:
            heading = headings[texts.index("")]
            raise BadInput(f'{path}:{number}: "{heading}" is empty; fill the cell, or take the row out')
        yield number, texts
    if not count:
        raise BadInput(f"{path}: no rows; put some into it")


def csv_records(path: Path, separator: str = ",") -> Iterator[Record]:
    """Yield the number of the first line and the cells of each record; blank lines are skipped."""
    lines = (text for _, text in read_lines(path, keep_ends=True))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            problem = (
                f"not CSV ({error}); check the quotes from there on, those inside a quoted cell are doubled"
            )
            raise BadInput(f"{path}:{number}: {problem}") from None
        if record is None:
            return
        if record:
            yield number, record


def _separated_rows(
    separator: str, path: Path, headings: Sequence[str], _: Collection[str]
) -> Iterator[Record]:
    _check_saved(path, separator)
    records = csv_records(path, separator)
    header = next(records, (0, []))[1]
    if not header:
        raise BadInput(f"{path}: it is empty; give it a header, and rows below")
    _check_headings(path, headings, header)
    for number, record in records:
        if len(record) != len(header):
            problem = f"{len(record)} columns, but the header has {len(header)}"
            raise BadInput(f"{path}:{number}: {problem}; quote cells that hold {SEPARATORS[separator]}")
        yield number, [record[header.index(heading)] for heading in headings]


def _check_saved(path: Path, separator: str) -> None:
    """Refuse a table of another separator or encoding, in one sentence with the command that writes it again."""
    with path.open("rb") as stream:
        header, encoding = stream.readline(), "utf-8"
        try:
            for line in (header, *stream):
                line.decode()
        except UnicodeDecodeError:
            encoding = "utf-16" if header.startswith((b"\xff\xfe", b"\xfe\xff")) else "cp1252"
    text = header.decode(encoding, errors="ignore")
    found = max((separator, *SEPARATORS), key=text.count)
    if found == separator and encoding == "utf-8":
        return
    # In double quotes, so that the shell's single ones hold the command as it is.
    texts = (str(path), str(path.with_suffix(".utf8.csv")), found)
    old, new, sep = map(partial(json.dumps, ensure_ascii=False), texts)
    decimal = ', decimal=","' if found == ";" else ""
    read = f'read_csv({old}, sep={sep}, encoding="{encoding}", keep_default_na=False{decimal})'
    command = f"python -c {quote(f'import pandas; pandas.{read}.to_csv({new}, index=False)')}"
    expected = f"{SEPARATORS[separator]} and utf-8, which this writes: {command}"
    raise BadInput(
        f"{path}: columns separated by {SEPARATORS[found]}, text in {encoding}; expected {expected}"
    )


def _json_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    for number, line in filled_lines(path):
        try:
            record = json.loads(line, object_pairs_hook=_once)
            cells = [_cell(record[heading], heading in values) for heading in headings]
        except (ValueError, KeyError, TypeError):
            texts = ", ".join(heading for heading in headings if heading not in values)
            beside = "".join(f" and the value {heading}" for heading in headings if heading in values)
            raise BadInput(
                f"{path}:{number}: expected JSON with the texts {texts}{beside}, each key once; fix the line"
            ) from None
        yield number, cells


def _parquet_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield the number of each row, the first being 1, and its cells."""
    from pyarrow import ArrowException, parquet

    with refusing(f"{path}: not Parquet", "write the file again", (ArrowException, OSError)):
        file = parquet.ParquetFile(path)
        _check_headings(path, headings, file.schema_arrow.names)
        columns = file.read(columns=list(headings)).to_pydict()
    for number, cells in enumerate(zip(*(columns[heading] for heading in headings), strict=True), start=1):
        try:
            texts = [_cell(cell, name in values) for name, cell in zip(headings, cells, strict=True)]
        except (TypeError, ValueError):
            raise BadInput(f"{path}:{number}: no text in {' or '.join(headings)}; take the row out") from None
        yield number, texts


READERS: dict[str, Callable[[Path, Sequence[str], Collection[str]], Iterator[Record]]] = {
    ".csv": partial(_separated_rows, ","),
    ".tsv": partial(_separated_rows, "\t"),
    ".jsonl": _json_rows,
    ".parquet": _parquet_rows,
}


def _cell(value: object, is_value: bool) -> str:
    """Return a cell as text, one text for what is one value; TypeError or ValueError for what is none."""
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair, as JSON can escape it, is no text
        return value
    if is_value and isinstance(value, bool | int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    raise TypeError


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of JSON's keys and values; ValueError for a key that is given twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError
    return record


def _check_headings(path: Path, headings: Sequence[str], header: Sequence[str]) -> None:
    for heading in headings:
        check_known(heading, header, f'{path}:1: no column "{heading}"')
        if header.count(heading) > 1:
            raise BadInput(f'{path}:1: two columns are named "{heading}"; rename one')
