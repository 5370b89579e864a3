"""Read your own tables (CSV, TSV, JSON, Parquet, Arrow) by heading."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.checked import excerpt
from replicse.data.delimited import COMMA, TAB, Record, check_headings, delimited_rows
from replicse.data.sts import filled_lines, one_spaced, read_lines
from replicse.errors import BadInput, MissingData, check_known, refusing
from replicse.files import parse_json, read_json
from replicse.registry.table_files import table_kind

AT_ONCE = 10_000  # rows of a Parquet file in memory at a time


def table_rows(
    file: str, headings: Sequence[str], values: Collection[str] = ()
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line number and cells of each row of a table.

    Rows are read one by one, so the memory does not depend on the size of the table. White space in cells
    becomes single spaces. For .json, Parquet and Arrow the line number is the row number.

    Args:
        file: The path of the table.
        headings: The headings of the columns.
        values: The headings of columns that can contain numbers or booleans in formats with types; all other
            cells should be strings. Default: none.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If a cell is empty or has the wrong type, a row does not have as many cells as the header,
            or bytes are not UTF-8. The message contains the line.
    """
    path, count = Path(file), 0
    if not path.is_file():
        raise MissingData(f"{path} does not exist; put it there, or use another file")
    for number, cells in READERS[table_kind(file)](path, headings, values):
        count += 1
        texts = tuple(map(one_spaced, cells))
        if "" in texts:
            heading = headings[texts.index("")]
            raise BadInput(f'{path}:{number}: "{heading}" is empty; fill the cell, or remove the row')
        yield number, texts
    if not count:
        raise BadInput(f"{path} does not contain rows; add some")


def _separated_rows(
    separator: str, path: Path, headings: Sequence[str], _: Collection[str]
) -> Iterator[Record]:
    return delimited_rows(path, separator, headings)


def _json_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield line number and cells of each row.

    A row is an object, a list below a first line of headings, or an element of a list of objects.
    """
    header: list[str] = []
    for number, line in filled_lines(path):
        try:
            row = parse_json(line, object_pairs_hook=_check_keys)
        except json.JSONDecodeError as error:
            remedy = "write one object per line, or a list of objects to a .json file"
            raise BadInput(f"{path}:{number}: cannot parse JSON ({error.msg}); {remedy}") from None
        except ValueError as error:
            raise BadInput(f"{path}:{number}: {error}") from None
        if not header and isinstance(row, list) and all(isinstance(each, str) for each in row):
            header = row
            check_headings(path, headings, header)
            continue
        for record in _json_records(row, header):
            yield number, _json_cells(f"{path}:{number}", record, headings, values)


def _json_cells(place: str, record: Any, headings: Sequence[str], values: Collection[str]) -> list[str]:
    """Return the requested cells of a JSON object."""
    if not isinstance(record, Mapping):
        raise BadInput(f"{place}: expected an object with the keys {', '.join(headings)}; fix the line")
    for heading in headings:
        check_known(heading, record, f'{place}: the key "{heading}" is missing')
    return _cells(place, record, headings, values)


def _json_records(row: Any, header: Sequence[str]) -> list[Any]:
    """Return the records of a line, which is an object or a list of objects."""
    if not isinstance(row, list):
        return [row]
    if row and all(isinstance(each, Mapping) for each in row):
        return row
    return [dict(zip(header, row, strict=True)) if len(row) == len(header) else row]


def _json_document(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield the number of each row, from 1, and the cells.

    The document is a list of objects, or an object with a list for each column. Some libraries also write JSON lines
    to .json.
    """
    text = "".join(line for _, line in read_lines(path, keep_ends=True))
    try:
        document = parse_json(text, object_pairs_hook=_check_keys)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            yield from _json_rows(path, headings, values)
            return
        problem = f"cannot parse JSON ({error.msg}); fix it, or write it again"
        raise BadInput(f"{path}:{error.lineno}: {problem}") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None
    rows = document
    if isinstance(document, Mapping):
        columns = list(document.values())
        if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
            raise BadInput(f"{path}: expected a list of objects, or an object with a list of each column")
        rows = [dict(zip(document, cells, strict=True)) for cells in zip(*columns, strict=True)]
    for number, record in enumerate(rows, 1):
        yield number, _json_cells(f"{path}:{number}", record, headings, values)


def _parquet_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield the number of each row, from 1, and the cells."""
    from pyarrow import ArrowException, parquet

    with refusing(f"{path}: not Parquet", "write the file again", (ArrowException, OSError)):
        file = parquet.ParquetFile(path)
        check_headings(path, headings, file.schema_arrow.names)
        batches = file.iter_batches(AT_ONCE, columns=list(headings))
        yield from _batch_rows(path, batches, headings, values)


def _arrow_rows(path: Path, headings: Sequence[str], values: Collection[str]) -> Iterator[Record]:
    """Yield the number of each row, from 1, and the cells.

    The file is a stream, as the library datasets writes it.
    """
    from pyarrow import ArrowException, ipc, memory_map

    with refusing(f"{path}: not a stream of Arrow", "write the file again", (ArrowException, OSError)):
        stream = ipc.open_stream(memory_map(str(path)))
        check_headings(path, headings, stream.schema.names)
        batches = (batch.select(list(headings)) for batch in stream)
        yield from _batch_rows(path, batches, headings, values)


def _batch_rows(
    path: Path, batches: Iterable[Any], headings: Sequence[str], values: Collection[str]
) -> Iterator[Record]:
    records = chain.from_iterable(batch.to_pylist() for batch in batches)
    for number, record in enumerate(records, 1):
        yield number, _cells(f"{path}:{number}", record, headings, values)


READERS: dict[str, Callable[[Path, Sequence[str], Collection[str]], Iterator[Record]]] = {
    ".csv": partial(_separated_rows, COMMA),
    ".tsv": partial(_separated_rows, TAB),
    ".jsonl": _json_rows,
    ".json": _json_document,
    ".parquet": _parquet_rows,
    ".arrow": _arrow_rows,
}


def find_saved_table(folder: Path) -> Path:
    """Return the file of a dataset that `datasets.save_to_disk` saved.

    Args:
        folder: The folder of the dataset.

    Raises:
        BadInput: If the folder does not contain a dataset in a single file.
    """
    splits = folder / "dataset_dict.json"
    if splits.is_file():
        names = [str(folder / name) for name in read_json(splits)["splits"]]
        raise BadInput(f"{folder}: contains several splits; use one of {', '.join(names)}")
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise BadInput(
            f"{folder}: not a saved dataset; use a file, or a folder that datasets.save_to_disk wrote"
        )
    if len(files) > 1:
        raise BadInput(f"{folder}: the dataset is in {len(files)} files; save it with num_shards=1")
    return files[0]


def _cells(
    place: str, record: Mapping[str, Any], headings: Sequence[str], values: Collection[str]
) -> list[str]:
    cells = []
    for heading in headings:
        try:
            cells.append(_cell(record[heading], heading in values))
        except (TypeError, ValueError) as error:
            wanted = "a string, a number or a boolean" if heading in values else "a string"
            problem = f'"{heading}" is {error}; expected {wanted}'
            raise BadInput(f"{place}: {problem}; change the cell, or remove the row") from None
    return cells


def _cell(value: object, is_value: bool) -> str:
    """Return a cell as a string, the same string for equal numbers.

    Raises:
        TypeError, ValueError: If the cell is something else; the message describes the cell.
    """
    if isinstance(value, bytes):
        value = _decode(value)
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, Decimal) and value.is_finite():
        value = float(value)
    if is_value and isinstance(value, bool | int | float):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return json.dumps(value)
    raise TypeError(_kind(value))


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None


def _check_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair") from None
    return value


def _kind(value: object) -> str:
    """Describe a cell that has the wrong type."""
    if value is None:
        return "null"
    names: dict[type, str] = {list: "a list", dict: "a dict", int: "a number", float: "a number"}
    name = names.get(type(value), f"of type {type(value).__name__}")
    return f"{excerpt(value)}, {name}"


def _check_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; ValueError if a key occurs twice."""
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f'the key "{key}" occurs twice; remove one of them')
        record[key] = value
    return record
