"""CSV and TSV files with a header.

This module detects whether quotes are part of the text, and recognises formats of other programs.
docs/own-data.md explains the rules.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from replicse.data.sts import open_binary, read_lines, refusing_broken_archive
from replicse.errors import BadInput, check_known

Record = tuple[int, list[str]]  # the number of the first line, and the cells
COMMA, TAB, SEMICOLON = ",", "\t", ";"
SEPARATORS = {COMMA: "commas", TAB: "tabs", SEMICOLON: "semicolons"}
LONGEST_CELL = 1 << 24  # characters; Python's own limit is 131,072
# Excel reads the separator from a first line such as `sep=;`.
DECLARED = re.compile(r'"?sep=(?P<separator>.)"?[,;\t]*\s*', re.IGNORECASE)
QUOTED = re.compile(r'"(?:[^"]|"")*"')
PART_OF_QUOTED = re.compile(r'"?(?:[^"]|"")*"?')  # a line of a cell with several lines


def delimited_rows(path: Path, separator: str, headings: Sequence[str]) -> Iterator[Record]:
    """Yield line number and requested cells of each row of a CSV or TSV file.

    Args:
        path: The file.
        separator: The expected separator.
        headings: The list of the headings of the requested columns.

    Raises:
        BadInput: If the separator or encoding is different (the message contains the command that converts
            the file), if a heading is missing, if a row does not have as many cells as the header, or if
            quotes are not closed.
    """
    with refusing_broken_archive(path):
        skipped = _check_format(path, separator)
    options: dict[str, Any] = {"skipinitialspace": True}
    if separator == TAB and quotes_are_text(_texts(path, skipped), TAB):
        options = {"quoting": csv.QUOTE_NONE}
        _check_one_column(path, skipped)
    records = csv_records(path, separator, skipped, **options)
    header = [cell.strip() for cell in next(records, (0, []))[1]]
    if not header:
        raise BadInput(f"{path} is empty; add a header and rows")
    wanted = [heading.strip() for heading in headings]
    check_headings(path, wanted, header)
    places = [header.index(heading) for heading in wanted]
    for number, record in records:
        if len(record) != len(header):
            problem = f"{len(record)} columns, but the header has {len(header)}"
            raise BadInput(f"{path}:{number}: {problem}; quote cells that contain {SEPARATORS[separator]}")
        if separator == TAB and any(TAB in cell and "\n" in cell for cell in record):
            problem = (
                "a cell in quotes contains tabs and line ends; double the quote if it is part of the text"
            )
            raise BadInput(f"{path}:{number}: {problem}, or save the table as JSON lines")
        yield number, [record[place] for place in places]


def csv_records(path: Path, separator: str = COMMA, skipped: int = 0, **options: Any) -> Iterator[Record]:
    """Yield the first line number and the cells of each record.

    Empty lines are skipped.

    Args:
        path: The file.
        separator: The separator. Default: a comma.
        skipped: The number of lines before the header. Default: 0.
        **options: Options of `csv.reader`.

    Raises:
        BadInput: If the file is not valid CSV.
    """
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(_texts(path, skipped), delimiter=separator, strict=True, **options)
    while True:
        number = skipped + reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise BadInput(f"{path}:{number}: {_csv_problem(error, separator)}") from None
        if record is None:
            return
        if record:
            yield number, record


def _csv_problem(error: csv.Error, separator: str) -> str:
    if "field limit" in str(error):
        return f"a cell has more than {LONGEST_CELL:,} characters; close the quotes at its start"
    hint = ""
    if separator == TAB:
        hint = ", or if quotes are part of the text, each line needs as many cells as the header"
    remedy = "check the quotes from this line on: double quotes inside a quoted cell"
    return f"cannot parse CSV ({error}); {remedy}{hint}"


def quotes_are_text(lines: Iterable[str], separator: str) -> bool:
    """Return whether quotes are part of the text.

    This is the case in files that were not written by the rules of CSV. A CSV writer quotes each cell that
    contains a quote, doubles the quotes inside, and quotes a cell for a reason: because it contains a quote
    or separator (in Excel also a comma), or because the writer quotes all cells. So quotes are text if every
    line has as many cells as the header, and either some cell breaks these rules or no quoted cell has a
    reason.

    Args:
        lines: The lines of the file.
        separator: The separator.
    """
    header: list[str] = []
    unclosed = doubled = quoted_comma = bare_comma = False
    for line in lines:
        cells = line.rstrip("\r\n").split(separator)
        if cells == [""]:
            continue
        header = header or cells
        if len(cells) != len(header):
            return False  # a quoted cell contains a separator or a line end
        if '"' not in line and (bare_comma or COMMA not in line):
            continue
        for cell in cells:
            if not PART_OF_QUOTED.fullmatch(cell):
                return True
            is_quoted = QUOTED.fullmatch(cell) is not None
            unclosed |= '"' in cell and not is_quoted
            doubled |= is_quoted and '""' in cell[1:-1]
            quoted_comma |= is_quoted and COMMA in cell
            bare_comma |= not is_quoted and COMMA in cell
    if unclosed:
        return True
    quotes_all = all(map(QUOTED.fullmatch, header))
    return not (doubled or quotes_all or (quoted_comma and not bare_comma))


def _check_one_column(path: Path, skipped: int) -> None:
    """Raise BadInput if it is not clear whether quotes are text.

    A file of one column can be text with quotes, or CSV with line ends in the cells.
    """
    if any(TAB in line for line in _texts(path, skipped)):
        return
    lines = sum(1 for line in _texts(path, skipped) if line.strip())
    try:
        numbers = [number for number, _ in csv_records(path, TAB, skipped)]
    except BadInput:
        return
    if len(numbers) < lines:
        problem = "quotes may be part of the text, or enclose cells of several lines"
        raise BadInput(f"{path}: {problem}; save the table as JSON lines")


def check_headings(path: Path, headings: Sequence[str], header: Sequence[str]) -> None:
    """Check that a table has exactly one column for each heading.

    Args:
        path: The file, for the message.
        headings: The requested headings.
        header: The headings of the table.

    Raises:
        BadInput: If a table has no column for a heading, or two.
    """
    for heading in headings:
        check_known(heading, header, f'{path}:1: column "{heading}" does not exist')
        if header.count(heading) > 1:
            raise BadInput(f'{path}:1: two columns are named "{heading}"; rename a column')


def _texts(path: Path, skipped: int) -> Iterator[str]:
    """Return the lines of a file after the skipped ones, with line ends."""
    return (text for number, text in read_lines(path, keep_ends=True) if number > skipped)


def _check_format(path: Path, separator: str) -> int:
    """Return the number of lines before the header.

    Raises:
        BadInput: If separator or encoding are different; the message ends with the command that converts the
            file.
    """
    encoding = _encoding(path)
    with TextIOWrapper(open_binary(path), encoding, newline="") as stream:
        first = stream.readline()
        declared = DECLARED.fullmatch(first)
        header = stream.readline() if declared else first
    found = declared["separator"] if declared else max((separator, *SEPARATORS), key=header.count)
    if found == separator and encoding == "utf-8-sig":
        return 1 if declared else 0
    raise BadInput(f"{path}: {_conversion(path, encoding, found, declared is not None)}")


def _encoding(path: Path) -> str:
    """Return the encoding of a file.

    It is UTF-8 with or without a byte order mark, UTF-16 with a mark, otherwise cp1252.
    """
    with open_binary(path) as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        stream.seek(0)
        try:
            for line in stream:
                line.decode()
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def _conversion(path: Path, encoding: str, separator: str, is_declared: bool) -> str:
    """Describe the format of a file, and the command that converts it to CSV."""
    options = {"sep": separator, "encoding": encoding, "keep_default_na": False}
    if separator == SEMICOLON:
        options["decimal"] = COMMA
    if is_declared:
        options["skiprows"] = 1
    if separator == TAB:
        with TextIOWrapper(open_binary(path), encoding, newline="") as stream:
            lines = islice(stream, int(is_declared), None)
            if quotes_are_text(lines, TAB):
                options["quoting"] = csv.QUOTE_NONE
    # Python strings in double quotes, because the shell command is in single quotes.
    source, target = _python(str(path)), _python(str(path.with_suffix(".utf8.csv")))
    words = ", ".join(f"{name}={_python(value)}" for name, value in options.items())
    code = f"import pandas; pandas.read_csv({source}, {words}).to_csv({target}, index=False)"
    columns = f"columns separated by {SEPARATORS.get(separator, separator)}"
    kind = "utf-8" if encoding == "utf-8-sig" else encoding
    begin = " below a line sep=" if is_declared else ""
    return f"{columns}{begin}, text in {kind}; this writes commas and utf-8: python -c {quote(code)}"


def _python(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
