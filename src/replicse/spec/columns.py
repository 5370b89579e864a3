"""Columns of tables by kind, and the statistics over jobs and seeds."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from replicse.checked import Checked, Number, Text, UserMessage, Whole
from replicse.spec.cell_id import CellId
from replicse.spec.expression import Expression
from replicse.spec.models import EncoderRequest, run_path_problem

TEXT = "text"
Better = Literal["higher", "lower"]
ColumnId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .@_+-]*$", max_length=80, strict=True)]


MetricPath = Annotated[str, Field(strict=True)]


class Reducer(Checked):
    """The aggregation of values over jobs or seeds.

    `argmax` shows the value at a path of the run of the best job (`shows`) instead of the score. `best_by` shows the
    score of the job that is best in another column (`by`): the test score of the job with the best development score.
    The default statistic is the mean.

    Attributes:
        statistic: the name of the statistic.
        q: the percentile, from 0 to 100.
        shows: the path in the run of the best job whose value is shown instead of the score (`argmax`).
        by: the column by which the best job is chosen (`best_by`).
    """

    statistic: Literal["mean", "max", "min", "median", "percentile", "sd", "argmax", "best_by"] = "mean"
    q: Annotated[Number, Field(ge=0, le=100)] | None = None
    shows: Text | None = None
    by: ColumnId | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.statistic == "percentile") != (self.q is not None):
            raise ValueError("{percentile: 0 to 100}, or another statistic without a number")
        if (self.statistic == "argmax") != (self.shows is not None):
            raise ValueError("{argmax: section.key of the run}, or another statistic without a key")
        if (self.statistic == "best_by") != (self.by is not None):
            raise ValueError("{best_by: a column of the item}, or another statistic without a column")
        if self.shows is not None and (problem := run_path_problem(self.shows)):
            raise UserMessage(f'argmax is "{self.shows}"; expected {problem}')
        return self

    @property
    def name(self) -> str:
        """Return the name of the statistic for readers."""
        if self.by is not None:
            return f"score of the job best by {self.by}"
        return f"{self.q:g}th percentile" if self.statistic == "percentile" else self.statistic


def _reducer(value: object) -> object:
    """Expand `max`, `{percentile: 75}`, `{argmax: PATH}`, `{best_by: COLUMN}`."""
    if isinstance(value, str):
        return {"statistic": value}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, argument),) = value.items()
        return {
            "percentile": {"statistic": name, "q": argument},
            "argmax": {"statistic": name, "shows": argument},
            "best_by": {"statistic": name, "by": argument},
        }.get(name, value)
    return value


SHORT = BeforeValidator(_reducer, json_schema_input_type=Text | dict[Text, Any])


class Over(Checked):
    """The statistic over the jobs of a search, then over seeds.

    `jobs` is required for a search.

    Attributes:
        jobs: the statistic over the jobs of a search.
        seeds: the statistic over seeds.
    """

    jobs: Annotated[Reducer, SHORT] | None = None
    seeds: Annotated[Reducer, SHORT] = Reducer()

    @field_validator("seeds")
    @classmethod
    def _is_a_number(cls, value: Reducer) -> Reducer:
        if value.statistic in ("argmax", "best_by"):
            raise ValueError(f"a statistic of numbers; {value.statistic} is only for over.jobs")
        return value


class Subtrahend(Checked):
    """A reported number of another item.

    The default row is the row of the cell.

    Attributes:
        item: the item of the reported number.
        column: its column.
        metric: its metric.
        row: its row. The default is the row of the cell.
    """

    item: Text
    column: Text
    metric: Text
    row: Text | None = None

    def cell(self, row: str) -> CellId:
        """Return the cell to subtract in a row.

        Args:
            row: the id of the row, used if no row is specified.
        """
        return CellId(self.item, self.row or row, self.column, self.metric)


class _Column(Checked):
    """The keys of every kind of column.

    The default of `metric` is the metric of the table.

    Attributes:
        id: the id of the column.
        label: the label as the paper prints it.
        metric: the name of the metric. The default is the table's.
        better: whether a higher or a lower number is better.
        encoder: changes of the request of all cells in the column.
    """

    id: ColumnId
    label: str = ""
    metric: Text | None = None
    better: Better = "higher"
    encoder: EncoderRequest = EncoderRequest()


def _kind_may_be_left_out(schema: dict[str, Any]) -> None:
    schema["required"].remove("kind")


class Score(_Column):
    """A number of an evaluation.

    Rows can specify the path if the column does not.

    Attributes:
        kind: `score`, which may be left out.
        metric_path: the place of the number in an evaluation, as `suite/task/metric`. Rows may specify it instead.
        over: the statistic over jobs and seeds.
    """

    model_config = ConfigDict(json_schema_extra=_kind_may_be_left_out)

    kind: Literal["score"]
    metric_path: MetricPath = ""
    over: Over = Over()


class StepScore(Score):
    """A column of a trajectory: a training step, or the end (None).

    Attributes:
        step: the training step, or null for the end.
    """

    step: Whole | None = None


class Difference(_Column):
    """A number of an evaluation minus a reported number.

    Attributes:
        kind: `difference`.
        metric_path: the place of the number in an evaluation.
        over: the statistic over jobs and seeds.
        subtract: the reported number that is subtracted.
    """

    kind: Literal["difference"]
    metric_path: MetricPath = ""
    over: Over = Over()
    subtract: Subtrahend


class TextColumn(_Column):
    """Sentences of an evaluation.

    Attributes:
        kind: `text`.
        metric_path: the place of the sentences in an evaluation.
    """

    over: ClassVar[Over | None] = None
    kind: Literal["text"]
    metric_path: MetricPath = ""


class Derived(_Column):
    """A number computed from other columns for each seed.

    The formula contains names of columns, as in `({sst} + {paraphrase}) / 2`, or columns of another row, as in
    `{avg} - {unsup/avg}`.

    Attributes:
        kind: `derived`.
        formula: an expression in other columns, such as `({sst} + {paraphrase}) / 2`, or in columns of another row:
            `{avg} - {unsup/avg}`.
        over: the statistic over seeds.
    """

    metric_path: ClassVar[str] = ""
    kind: Literal["derived"]
    formula: Text
    over: Over = Over()

    @cached_property
    def parsed(self) -> Expression:
        """Return the parsed formula."""
        return Expression(self.formula)

    @cached_property
    def reads(self) -> dict[str, tuple[str, str]]:
        """Return a dict from names in the formula to rows and columns.

        The row is empty if it is the row of the cell.
        """
        parts = {name: name.rpartition("/") for name in self.parsed.names}
        return {name: (row, column) for name, (row, _, column) in parts.items()}

    @model_validator(mode="after")
    def _is_a_formula(self) -> Self:
        if not self.parsed.names:
            raise ValueError("a formula that uses a {column}")
        if self.over.jobs is not None:
            raise ValueError("a formula without over.jobs; set over.jobs in the columns of the formula")
        return self


AnyColumn = Score | Difference | TextColumn | Derived


def selection_column(column: AnyColumn) -> str | None:
    """Return the column used to select a job of a search.

    Args:
        column: a column of a search.

    Returns:
        The id of the other column; None without `best_by`.
    """
    return column.over.jobs.by if column.over and column.over.jobs else None


def _kind(value: object) -> object:
    """Set the default kind of a column, `score`."""
    if isinstance(value, Mapping) and "kind" not in value:
        return {"kind": "score", **value}
    return value


Column = Annotated[Annotated[AnyColumn, Field(discriminator="kind")], BeforeValidator(_kind)]
