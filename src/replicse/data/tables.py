"""Tables of your own: CSV, TSV, JSON lines and Parquet, read by their headings."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from replicse.checked import excerpt
from replicse.data.delimited import COMMA, TAB, Record, check_headings, delimited_rows
from replicse.data.sts import filled_lines, one_spaced
from replicse.errors import BadInput, MissingData, refusing

AT_ONCE = 10_000  # rows of Parquet that are held at once


def table_rows(
    file: str, headings: Sequence[str], values: Collection[str] = ()
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line and cells, with single spaces, of each row of a table; of Parquet, which has no lines, the row.

    A cell is text; below the headings of `values`, if the format tells them apart, also a number or yes and no. Rows
    are read one after another: memory does not grow with the table.

    Raises:
        MissingData: the file is absent.
        BadInput: names the line of an empty cell, of a cell of another kind, of another number of cells than the
            header has, and of bytes that are not UTF-8.
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


def _separated_rows(
    separator: str, path: Path, headings: Sequence[str], _: Collection[str]
) -> Iterator[Record]:
    return delimited_rows(path, separator, headings)


def _json_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield line and cells of each row: an object; a list below a first line of headings; or a list of objects."""
    header: list[str] = []
    for number, line in filled_lines(path):
        try:
            row = json.loads(line, object_pairs_hook=_check_keys)
        except ValueError:
            raise BadInput(f"{path}:{number}: {_expected_keys(headings, values)}; fix the line") from None
        if not header and isinstance(row, list) and all(isinstance(each, str) for each in row):
            header = row
            check_headings(path, headings, header)
            continue
        for record in _json_records(row, header):
            if not isinstance(record, Mapping) or not all(heading in record for heading in headings):
                raise BadInput(f"{path}:{number}: {_expected_keys(headings, values)}; fix the line")
            yield number, _cells(f"{path}:{number}", record, headings, values)


def _json_records(row: Any, header: Sequence[str]) -> list[Any]:
    """Return the records of a line: one, or those of a list of objects."""
    if not isinstance(row, list):
        return [row]
    if row and all(isinstance(each, Mapping) for each in row):
        return row
    return [dict(zip(header, row, strict=True)) if len(row) == len(header) else row]


def _expected_keys(headings: Sequence[str], values: Collection[str]) -> str:
    texts = ", ".join(heading for heading in headings if heading not in values)
    beside = "".join(f" and the value {heading}" for heading in headings if heading in values)
    return f"expected JSON with the texts {texts}{beside}, each key once"


def _parquet_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield the number of each row, the first being 1, and its cells."""
    from pyarrow import ArrowException, parquet

    names, number = list(headings), 0
    with refusing(f"{path}: not Parquet", "write the file again", (ArrowException, OSError)):
        file = parquet.ParquetFile(path)
        check_headings(path, headings, file.schema_arrow.names)
        for batch in file.iter_batches(AT_ONCE, columns=names):
            for record in batch.to_pylist():
                number += 1
                yield number, _cells(f"{path}:{number}", record, headings, values)


READERS: dict[str, Callable[[Path, Sequence[str], Collection[str]], Iterator[Record]]] = {
    ".csv": partial(_separated_rows, COMMA),
    ".tsv": partial(_separated_rows, TAB),
    ".jsonl": _json_rows,
    ".parquet": _parquet_rows,
}


def _cells(
    place: str, record: Mapping[str, Any], headings: Sequence[str], values: Collection[str]
) -> list[str]:
    cells = []
    for heading in headings:
        try:
            cells.append(_cell(record[heading], heading in values))
        except (TypeError, ValueError) as error:
            wanted = "a text, a number, or yes or no" if heading in values else "a text"
            problem = f'"{heading}" is {error}; expected {wanted}'
            raise BadInput(f"{place}: {problem}; change the cell, or take the row out") from None
    return cells


def _cell(value: object, is_value: bool) -> str:
    """Return a cell as text, the same text for equal numbers; TypeError or ValueError says what else a cell is."""
    if isinstance(value, bytes):
        value = _decode(value)
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, Decimal) and value.is_finite():
        value = float(value)
    if is_value and isinstance(value, bool | int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    raise TypeError(_kind(value))


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError("no text in UTF-8") from None


def _check_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair") from None
    return value


def _kind(value: object) -> str:
    """Return in words what a cell is that is neither text nor, if that is expected, a number."""
    if value is None:
        return "null"
    names: dict[type, str] = {list: "a list", dict: "a mapping", int: "a number", float: "a number"}
    name = names.get(type(value), f"of type {type(value).__name__}")
    return f"{excerpt(value)}, {name}"


def _check_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of JSON's keys and values; ValueError for a key that is there twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError
    return record
