"""The shape of each tabulated column beside the paper's: what is judged at every scale, and all that compact judges."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replicse.study.results.agreement import TableAgreement, table_agreement
from replicse.study.results.tabulate import Evaluations, described_cell
from replicse.study.results.verdict import printed_number

FEWEST_ROWS = 3  # an order of two rows is one sign


@dataclass(frozen=True)
class ColumnShape:
    """The agreement of one column of an item with the numbers it prints."""

    item: str
    column: str
    label: str
    agreement: TableAgreement


def shapes(manifest: Mapping[str, Any], evaluations: Evaluations) -> Iterator[ColumnShape]:
    """Yield the agreement of every column that has printed numbers and ours in at least three rows."""
    columns = shape_columns(manifest["columns"])
    for column in columns:
        reported, ours = column_values(manifest, column, evaluations)
        if len(reported) < FEWEST_ROWS:
            continue
        baseline = manifest["baseline"] if manifest["baseline"] in reported else None
        agreement = table_agreement(reported, ours, baseline=baseline, better=column["better"])
        if agreement.rank is not None:
            alone = sum(other["label"] == column["label"] for other in columns) == 1
            label = column["label"] if alone else f"{column['label']}, {column['metric']}"
            yield ColumnShape(manifest["item"], column["id"], label, agreement)


def is_average(column: Mapping[str, Any]) -> bool:
    """Return whether a column reads an average over tasks, and no difference of one."""
    return column["read"].rpartition("/")[2].startswith("avg") and not column["minus"]


def shape_columns(columns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the columns whose shape is judged: an average stands for its parts, the end for a trajectory."""
    numbers = [
        column
        for column in columns
        if column["metric"] != "text" and not column["choose"] and not column["minus"]
    ]
    averages = [column for column in numbers if is_average(column)]
    return averages or [column for column in numbers if not column["read"].startswith("trajectory/")]


def column_values(
    manifest: Mapping[str, Any], column: Mapping[str, Any], evaluations: Evaluations
) -> tuple[dict[str, str], dict[str, list[float | None]]]:
    """Return printed text and our value per seed by row, for rows that have both and are not quoted."""
    reported: dict[str, str] = {}
    ours: dict[str, list[float | None]] = {}
    for row in manifest["rows"]:
        printed, values = described_cell(manifest, row, column, evaluations)
        if printed_number(printed) and any(value is not None for value in values):
            reported[row["id"]] = printed
            ours[row["id"]] = values
    return reported, ours
