"""Rows of CSV files, for each cell, value or job."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from replicse.judge.values.machines import count_machines, matching_names
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.spec.columns import TEXT

CONTRACT = (
    "row", "column", "metric", "protocol", "reported", "reproduced", "delta", "low", "high", "n_seeds", "verdict",
    "encoders",
)  # fmt: skip
FIELDS = (*CONTRACT, "borrowed", "reason", "pairs_low", "pairs_high", "p")
TIDY = (
    "paper", "item", "row", "column", "protocol", "seed", "metric", "value", "encoder", "run",
    "group", "machine", "package", "reported", "published_sd",
)  # fmt: skip
# The columns that `replicse.load` returns as floats or integers; other columns are strings.
NUMBERS = (
    "value", "reported", "reproduced", "delta", "low", "high", "pairs_low", "pairs_high", "p", "p_adjusted",
    "published_sd",
)  # fmt: skip
COUNTS = ("seed", "n_seeds", "job")
# The start of a formula. After a sign and a digit, only a reference, a call or a program makes a formula dangerous.
FORMULA = re.compile(r"[=@\t\r]|[+-](?!\.?\d)|[+-].*(\||!|\w\()", re.DOTALL)


def table_rows(result: ItemResult) -> Iterator[dict[str, str]]:
    """Yield the rows of an item's CSV file as dicts of strings.

    An item can be run alone. Until the whole paper is judged, the CSV file contains the verdict of each cell alone.

    Args:
        result: the result of the item.
    """
    for cell in result.cells:
        reason = cell.reason
        if cell.p is not None and cell.p_adjusted is None:
            reason = f"{reason}; p = {cell.p:.2g} for this cell by itself"
        yield {
            "row": cell.row,
            "column": cell.column,
            "metric": cell.metric,
            "protocol": cell.protocol,
            "reported": _reported_text(cell),
            "reproduced": cell.text if cell.metric == TEXT else _text(cell.reproduced),
            "n_seeds": str(cell.n_seeds) if cell.encoders else "",
            "verdict": cell.verdict,
            "encoders": ";".join(cell.encoders),
            "borrowed": "yes" if cell.borrowed else "",
            "reason": reason,
            "delta": _text(cell.delta),
            "low": _text(cell.low),
            "high": _text(cell.high),
            "pairs_low": _text(cell.pairs_low),
            "pairs_high": _text(cell.pairs_high),
            "p": _text(cell.p),
        }


def tidy_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield the rows of cells.csv, with a row for each value of each cell.

    Args:
        results: the results of the items.
    """
    cells = list(chain.from_iterable(result.cells for result in results))
    machines = count_machines(chain.from_iterable(cell.machines for cell in cells))
    for result in results:
        for cell in result.cells:
            for each in cell.values:
                yield {
                    **_address(result, cell),
                    "seed": _or_blank(each.seed),
                    "metric": cell.metric_path,
                    "value": _or_blank(each.value),
                    "encoder": each.encoder,
                    "run": each.run,
                    "group": each.group,
                    "machine": " | ".join(matching_names(cell.machines, machines)),
                    "package": " | ".join(cell.packages),
                    "reported": _reported_text(cell),
                    "published_sd": _text(cell.published_sd),
                }


JOBS = ("paper", "item", "row", "column", "protocol", "seed", "metric", "job", "value", "encoder", "run")


def job_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield a row with hyper-parameters for each job of each search.

    Args:
        results: the results of the items.
    """
    for result in results:
        for cell in result.cells:
            for each in cell.values:
                for number, job in enumerate(each.jobs):
                    yield {
                        **_address(result, cell),
                        "metric": cell.metric_path,
                        "seed": _or_blank(each.seed),
                        "job": number,
                        "value": _or_blank(job.value),
                        "encoder": job.encoder,
                        "run": job.run,
                        **job.settings,
                    }


def escape_formulas(row: Mapping[str, Any]) -> dict[str, Any]:
    """Mark strings that a spreadsheet would compute as formulas.

    A paper from somebody else can contain formulas, and formulas can run programs. With an apostrophe in front, a
    spreadsheet shows the string as it is. Numbers do not change.

    Args:
        row: a dict from columns to values.
    """
    escaped = dict(row)
    for name, value in row.items():
        if isinstance(value, str) and FORMULA.match(value):
            escaped[name] = f"'{value}"
    return escaped


def _address(result: ItemResult, cell: CellResult) -> dict[str, str]:
    """Return the fields that identify a cell of an item."""
    item = result.item.partition("/")[2]
    return {
        "paper": result.paper,
        "item": item,
        "row": cell.row,
        "column": cell.column,
        "protocol": cell.protocol,
    }


def _or_blank(value: float | str | None) -> float | str:
    """Return an empty string for a missing value."""
    return "" if value is None else value


def _reported_text(cell: CellResult) -> str:
    return cell.reported.value if cell.reported else ""


def _text(value: float | None) -> str:
    return "" if value is None else repr(float(value))
