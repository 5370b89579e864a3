"""Load tables and figures: rows, columns and reported setting."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from replicse.checked import Checked, Count, Id, Text, Whole, read_yaml
from replicse.errors import BadInput, check_known, nearest
from replicse.registry.poolings import Pooling
from replicse.registry.run_options import Trajectory
from replicse.registry.suites import is_metric, known_paths, listed_paths
from replicse.spec.cell_id import AS_DESCRIBED, TEXT_ITEM, CellId
from replicse.spec.columns import (
    TEXT,
    AnyColumn,
    Column,
    ColumnId,
    Derived,
    Score,
    StepScore,
    selection_column,
)
from replicse.spec.models import EncoderRequest

OWN = "own"  # the group of rows that a config adds


class Row(Checked):
    """A row: encoder and labels.

    Attributes:
        id: the id of the row.
        label: the label as the paper prints it. The default is the id.
        group: the heading of a block of rows.
        quoted: whether the paper quotes the numbers from elsewhere. A quoted row is not run.
        note: a footnote of the label.
        encoder: the request for the encoder of the row.
        also: encoders for further protocols of the row, such as a released checkpoint.
        metric_paths: other metric paths by column.
        cells: changes of the request by column.
        printed: the reported number by column if it is in the running text, as `row/column` of the item `text`.
        final_only: whether the row has no steps of a trajectory.
    """

    id: Id
    label: str = ""
    group: str = ""
    quoted: bool = False
    note: str = ""
    encoder: EncoderRequest = EncoderRequest()
    also: dict[Id, EncoderRequest] = {}
    metric_paths: dict[ColumnId, Annotated[str, Field(strict=True)]] = {}
    cells: dict[ColumnId, EncoderRequest] = {}
    printed: dict[ColumnId, Text] = {}
    final_only: bool = False


class TrajectoryFigure(Trajectory):
    """The steps of a figure of checkpoints during training.

    Attributes:
        from: the first step that is shown.
        every: the number of steps between checkpoints.
        until: the last step.
    """

    start: Annotated[Whole, Field(ge=0)] = Field(0, alias="from")
    every: Count
    until: Count


class Setting(Checked):
    """The setting of the reported numbers.

    Attributes:
        metric: the metric, if the paper states it; so are the other keys.
        aggregation: how subsets are combined: `all` pairs together, their `mean`, or the weighted mean `wmean`.
        split: the split of the dataset.
        task: the task.
        pooling: the pooling.
    """

    metric: Text | None = None
    aggregation: Literal["all", "mean", "wmean"] | None = None
    split: Literal["train", "dev", "test"] | None = None
    task: Text | None = None
    pooling: Pooling | None = None


class Item(Checked):
    """A table or a figure of a paper.

    Attributes:
        id: the name of the item, `paper/item`.
        kind: whether the item is a table or a figure.
        figure: the kind of figure that is drawn; blank for a table without one.
        title: the title in the report.
        place: the place in the paper.
        setting: the setting of the reported numbers, as the paper states it.
        encoder: the request that all rows share.
        columns: the columns.
        trajectory: the steps of a figure of checkpoints during training.
        rows: the rows in the paper's order.
        baseline: the id of the row that the other rows are compared with.
        notes: sentences below the table.
    """

    id: Text
    kind: Literal["table", "figure"]
    figure: Literal[
        "",
        "trajectory",
        "scatter",
        "spectrum",
        "density",
        "density-own-scales",
        "profile",
        "bars",
        "heat",
        "effects",
    ] = ""
    title: Text
    place: Text
    setting: Setting = Setting()
    encoder: EncoderRequest = EncoderRequest()
    listed: tuple[Column, ...] = Field((), alias="columns")
    trajectory: TrajectoryFigure | None = None
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    baseline: str = ""
    notes: tuple[str, ...] = ()
    _file: Path = PrivateAttr(default=Path())

    @property
    def file(self) -> Path:
        """Return the file of the item."""
        return self._file

    @property
    def paper(self) -> str:
        """Return the key of the paper."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the name of the item within the paper."""
        return self.id.partition("/")[2]

    @property
    def target(self) -> str:
        """Return the name of the item's Snakemake target."""
        return f"{self.paper}_{self.name}"

    @cached_property
    def columns(self) -> tuple[AnyColumn, ...]:
        """Return the columns with their metrics, in order.

        The columns of a trajectory are the steps and the end.
        """
        if self.trajectory is not None:
            return tuple(_steps(self.trajectory))
        columns = []
        for column in self.listed:
            metric = column.metric or self.setting.metric or ""
            if column.kind == "text":
                metric = TEXT
            changes = {"label": column.label or column.id, "metric": metric}
            columns.append(column.model_copy(update=changes))
        return tuple(columns)

    def cell_id(self, row: Row, column: AnyColumn, protocol: str = AS_DESCRIBED) -> CellId:
        """Return the name of the cell of a row in a column.

        Args:
            row: the row.
            column: the column.
            protocol: the protocol. Default: as described.
        """
        return CellId(self.id, row.id, column.id, column.metric or "", protocol)

    def place_of(self, cell: CellId) -> tuple[Row, AnyColumn] | None:
        """Return the row and column of a cell, or None.

        Args:
            cell: the cell; the result is None if the item does not have it.
        """
        row = next((row for row in self.rows if row.id == cell.row), None)
        column = next(
            (each for each in self.columns if (each.id, each.metric) == (cell.column, cell.metric)), None
        )
        return (row, column) if row and column else None

    def path(self, row: Row, column: AnyColumn) -> str:
        """Return the metric path of a cell; empty if no number is measured.

        Args:
            row: the row.
            column: the column.
        """
        path = row.metric_paths.get(column.id, column.metric_path)
        return "" if row.final_only and path.startswith("trajectory/") else path

    def printed_at(self, row: Row, column: AnyColumn) -> CellId:
        """Return the cell of the reported number.

        It is the cell itself, or a number of the running text.

        Args:
            row: the row, whose `printed` contains numbers of the running text.
            column: the column.
        """
        cell = self.cell_id(row, column)
        if column.id not in row.printed:
            return cell
        line, _, name = row.printed[column.id].partition("/")
        return CellId(f"{self.paper}/{TEXT_ITEM}", line, name, cell.metric)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if bool(self.listed) == (self.trajectory is not None):
            raise ValueError("columns, or a trajectory")
        columns = [(column.id, column.metric) for column in self.columns]
        ids = [row.id for row in self.rows]
        row_twice = next((name for name in ids if ids.count(name) > 1), None)
        if row_twice:
            raise ValueError(f'unique rows; "{row_twice}" occurs twice')
        column_twice = next((column for column in columns if columns.count(column) > 1), None)
        if column_twice:
            raise ValueError(f'unique columns; "{column_twice[0]}" occurs twice')
        column_ids = [column.id for column in self.columns]
        for row in self.rows:
            for key in ("metric_paths", "cells", "printed"):
                for name in getattr(row, key):
                    problem = f'columns of the item in {key} of row {row.id}, not "{name}"'
                    check_known(name, column_ids, problem, ValueError)
        if self.baseline or self.figure == "effects":
            check_known(self.baseline, ids, f'a row as baseline, not "{self.baseline}"', ValueError)
        return self

    @model_validator(mode="after")
    def _reads_its_own_columns(self) -> Self:
        for column in self.columns:
            if column.kind == "derived":
                self._check_formula(column)
            by = selection_column(column)
            if by is not None:
                scores = [each for each in self.columns if each.kind == "score"]
                choices = [each.id for each in scores if selection_column(each) is None]
                problem = f'a column of scores in over.jobs.best_by of column {column.id}, not "{by}"'
                check_known(by, choices, problem, ValueError)
        return self

    def selecting_column(self, column: AnyColumn) -> Score | None:
        """Return the column by which another column selects a job of a search.

        Args:
            column: the other column; the result is None if it does not select a job.
        """
        by = selection_column(column)
        if by is None:
            return None
        return next((each for each in self.columns if each.id == by and isinstance(each, Score)), None)

    def _check_formula(self, column: Derived) -> None:
        numbers = [other.id for other in self.columns if other.kind in ("score", "difference")]
        rows = [row.id for row in self.rows]
        for name, (row, read) in column.reads.items():
            if row:
                problem = f'rows of the item in the formula of {column.id}, not "{row}"'
                check_known(row, rows, problem, ValueError)
            if numbers.count(read) != 1:
                problem = f"is not such a column{nearest(read, numbers)}"
                if read in numbers:
                    problem = "is the name of several columns"
                raise ValueError(f'columns of numbers in the formula of {column.id}; "{name}" {problem}')

    def with_rows(self, wanted: Sequence[str]) -> "Item":
        """Return the item with a subset of the rows, in order, and a note.

        Args:
            wanted: the ids of the rows.
        """
        rows = tuple(row for row in self.rows if row.id in wanted)
        note = f"This study asks for {len(rows)} of the {len(self.rows)} rows."
        baseline = self.baseline if self.baseline in wanted else ""
        return self.model_copy(update={"rows": rows, "baseline": baseline, "notes": (*self.notes, note)})

    def with_own(self, rows: Iterable[Row]) -> "Item":
        """Return the item with further rows to run and a note.

        The rows of the paper are quoted, not run.

        Args:
            rows: the rows of the user.
        """
        printed = tuple(row.model_copy(update={"quoted": True, "also": {}}) for row in self.rows)
        own = tuple(rows)
        names = " and ".join(row.id for row in own)
        note = f"Run here: {names}. The rows of the paper are shown as it prints them."
        update = {"rows": (*printed, *own), "baseline": "", "notes": (*self.notes, note)}
        return self.model_copy(update=update)


def _steps(wanted: TrajectoryFigure) -> Iterator[StepScore]:
    """Yield alignment and uniformity columns for each step and the end."""
    steps = (step for step in wanted.steps() if step >= wanted.start)
    places = ((f"step {step}", f"trajectory/{step}", step) for step in steps)
    for name, path, step in (*places, ("final", "geometry", None)):
        for metric in ("alignment", "uniformity"):
            shown = {"id": name, "label": name, "metric": metric, "metric_path": f"{path}/{metric}"}
            yield StepScore(kind="score", better="lower", step=step, **shown)


def load_item(path: Path, paper: str) -> Item:
    """Load an item from a YAML file.

    Args:
        path: the file.
        paper: the key of the paper.

    Raises:
        BadInput: if the file is not valid; the error names file, row and key.
    """
    written = document = read_yaml(path)
    for key in ("rows", "columns"):
        if isinstance(document, Mapping) and isinstance(document.get(key), list):
            document = {**document, key: list(expand_blocks(document[key], key, {}, str(path)))}
    # The rows of an expanded block are not lines of the file.
    item = Item.of(document, str(path), path if document == written else None)
    if item.id != f"{paper}/{path.stem}":
        raise BadInput(f'{path}: id is "{item.id}"; expected "{paper}/{path.stem}"')
    for path_, location in _paths(item):
        if path_ and not is_metric(path_):
            near = nearest(path_, [*known_paths(), *listed_paths()])
            raise BadInput(f'{path}: {location} is "{path_}", which suites do not compute{near}')
        if path_.startswith("trajectory/"):
            raise BadInput(
                f'{path}: {location} is "{path_}"; steps belong in figures with a trajectory, without columns'
            )
    item._file = path
    return item


def _paths(item: Item) -> Iterator[tuple[str, str]]:
    """Yield every metric path of an item with a key for errors."""
    for column in item.listed:
        yield column.metric_path, f"column {column.id}: metric_path"
    for row in item.rows:
        for name, path in row.metric_paths.items():
            yield path, f"row {row.id}: metric_paths.{name}"


def expand_blocks(entries: Sequence[Any], key: str, names: Mapping[str, Any], location: str) -> Iterator[Any]:
    """Yield rows or columns, with every block expanded.

    A block is `{for_each: [{name: value}, ...], rows: [...]}`.

    Args:
        entries: rows or columns, and blocks, which can be nested.
        key: `rows` or `columns`, the key of the entries of a block.
        names: a dict from names in braces to their values.
        location: the file in error messages.
    """
    for entry in entries:
        if not isinstance(entry, Mapping) or "for_each" not in entry:
            yield fill_names(entry, names) if names else entry
            continue
        blocks, inner = entry["for_each"], entry.get(key)
        is_block = set(entry) == {"for_each", key} and isinstance(blocks, list) and blocks
        if not is_block or not isinstance(inner, list):
            problem = f"a block of {key} is {sorted(map(str, entry))}"
            raise BadInput(f"{location}: {problem}; expected for_each and {key}, two lists")
        for block in blocks:
            if not isinstance(block, Mapping):
                raise BadInput(
                    f"{location}: for_each contains {block!r}; expected a dict from names to values"
                )
            yield from expand_blocks(inner, key, {**names, **block}, location)


def fill_names(value: Any, names: Mapping[str, Any]) -> Any:
    """Replace `{name}` in the strings of nested dicts and lists.

    Other braces are not changed. A string that consists of one `{name}` becomes the value itself, so a number remains
    a number.
    """
    if isinstance(value, Mapping):
        return {key: fill_names(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [fill_names(entry, names) for entry in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{(\w+)\}", value)
    if whole and whole[1] in names:
        return names[whole[1]]
    return re.sub(r"\{(\w+)\}", lambda match: str(names.get(match[1], match[0])), value)
