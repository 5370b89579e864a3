"""The record: measurements of the reported numbers by others.

A source is a repository or a thread.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from replicse.checked import Checked, Count, Id, Number, Share, Text, Whole, checked_yaml
from replicse.errors import BadInput, check_known
from replicse.files import numbered_rows
from replicse.registry.poolings import PoolingParameters
from replicse.registry.suites import range_of
from replicse.spec.causes import Thread, address
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.papers import Paper
from replicse.spec.printed import Rounded, parse_number
from replicse.spec.protocols import AS_RUN
from replicse.workspace import looked_up

RECORD, LEFT_OUT = "record", "left-out.csv"
PRINTED = "printed"  # the setting of the printed number
READING_FIELDS = ("cell", "setting", "seed", "value", "place")
Repository = Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$", strict=True)]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$", strict=True)]
VALUE = re.compile(r"-?\d+(\.\d+)?")
WHOLE = re.compile(r"-?\d+")
OTHER_COMMIT = re.compile(r"(?P<commit>[0-9a-f]{40}):(?P<path>.+)")


class Facts(Checked):
    """Differences to the reported setting, with the values in the source.

    The names are the facts of `replicse diagnose`. By default, a fact does not differ from the reported setting.
    """

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    devices: Count | None = None
    batch: Count | None = None
    accumulation: Count | None = None
    learning_rate: Number | None = None
    epochs: Number | None = None
    length: Count | None = None
    dropout: Share | None = None
    corpus: Text | None = None
    precision: Literal["fp32", "bf16", "fp16"] | None = None
    pooling: Text | None = None
    steps: Literal["best", "last"] | None = None
    aggregation: Literal["all", "mean", "wmean"] | None = None
    split: Literal["train", "dev", "test"] | None = None
    read_from: Literal["training", "test"] | None = None
    versions: Literal["same", "other"] | None = None
    template: Literal["yes", "no", "other"] | None = None
    prompt: Literal["yes", "no", "other"] | None = None


class SourceSetting(Checked):
    """A setting of a source, compared with the setting of the reported number.

    `as` is `printed`, or a protocol of the paper. Otherwise `differs` contains the facts that differ, and `other`
    short sentences on differences without a fact in `replicse diagnose`. `encoder` is whether a released checkpoint
    was evaluated or an encoder trained again; `read_off` is the form of the values in the source.
    """

    encoder: Literal["released", "retrained"]
    read_off: Literal["machine-file", "table", "sentence"]
    as_: Id | None = Field(None, alias="as")
    differs: Facts = Facts()
    other: tuple[Text, ...] = ()

    @property
    def is_printed(self) -> bool:
        """Return whether it is the setting of the reported number."""
        return self.as_ == PRINTED

    @property
    def facts(self) -> dict[str, Any]:
        """Return a dict of the facts that differ from the reported setting.

        The names are the facts of `replicse diagnose`.
        """
        return self.differs.plain()

    @model_validator(mode="after")
    def _is_printed_or_differs(self) -> Self:
        if (self.as_ is None) != bool(self.facts or self.other):
            raise ValueError("as, or facts in differs or other")
        return self


class Source(Checked):
    """A repository or thread with measured values.

    `code` describes the code with which they were measured.
    """

    who: Text
    repository: Repository | None = None
    commit: Commit | None = None
    thread: Thread | None = None
    year: Annotated[Whole, Field(ge=2020, le=2100)]
    code: Text
    stack: Text | None = None
    gpus: Text | None = None
    settings: Annotated[dict[Id, SourceSetting], Field(min_length=1)]
    note: Text | None = None
    _file: Path = PrivateAttr(default=Path())

    @property
    def file(self) -> Path:
        """Return the YAML file of the source."""
        return self._file

    @property
    def name(self) -> str:
        """Return the name of the source and of both files."""
        return self._file.stem

    @property
    def url(self) -> str:
        """Return the address of the repository at the commit, or of the thread."""
        if self.thread:
            return address(self.thread)
        return f"https://github.com/{self.repository}/tree/{self.commit}"

    def link(self, place: str) -> str:
        """Return the address of a file of the repository, or of the thread.

        Args:
            place: a path at the commit of the source, `COMMIT:path` for another commit, or a comment of the thread.
        """
        if self.thread:
            return self.url
        commit, path = self.locate(place)
        return f"https://github.com/{self.repository}/blob/{commit}/{path}".replace(" ", "%20")

    def locate(self, place: str) -> tuple[str, str]:
        """Return commit and path of a place in the repository.

        Args:
            place: a path at the commit of the source, or `COMMIT:path` for another commit.
        """
        other = OTHER_COMMIT.fullmatch(place)
        return (other["commit"], other["path"]) if other else (str(self.commit), place)

    @model_validator(mode="after")
    def _is_repository_or_thread(self) -> Self:
        if bool(self.thread) == bool(self.repository) or bool(self.repository) != bool(self.commit):
            raise ValueError("repository and commit, or thread")
        return self


class SourceReading(Checked):
    """A value of a cell in a source, with the decimals of the source.

    By default, the source does not mention a seed.
    """

    source: str
    cell: Text
    setting: Id
    seed: Whole | None = None
    value: Annotated[str, Field(pattern=VALUE.pattern)]
    place: Text
    line: int

    @property
    def number(self) -> Rounded:
        """Return the value with half a unit of the last digit."""
        number = parse_number(self.value)
        assert number is not None
        return number


class Record(Checked):
    """All sources by name, and their readings in the order of the files."""

    sources: dict[str, Source] = {}
    readings: tuple[SourceReading, ...] = ()

    def of_cell(self, cell: CellId) -> tuple[SourceReading, ...]:
        """Return the readings of a cell for any protocol.

        Args:
            cell: the cell; readings can omit the metric.
        """
        described = cell.described
        return (*self._by_cell.get(described.short, ()), *self._by_cell.get(str(described), ()))

    def setting(self, reading: SourceReading) -> SourceSetting:
        """Return the setting of a reading."""
        return self.sources[reading.source].settings[reading.setting]

    def link(self, reading: SourceReading) -> str:
        """Return the address of the file or thread of a reading."""
        return self.sources[reading.source].link(reading.place)

    def location(self, reading: SourceReading) -> str:
        """Return the file and line of a reading, as prefix of an error."""
        return f"{self.sources[reading.source].file.with_suffix('.csv')}:{reading.line}"

    @cached_property
    def _by_cell(self) -> dict[str, list[SourceReading]]:
        by_cell: dict[str, list[SourceReading]] = {}
        for reading in self.readings:
            by_cell.setdefault(reading.cell, []).append(reading)
        return by_cell


def load_record(workflow: Path) -> Record:
    """Load every source of the record.

    A source of the workspace replaces the workflow's source of the same name.

    Args:
        workflow: the folder of papers and scales.

    Returns:
        The record; empty without sources.

    Raises:
        BadInput: if a file is broken, a source has only one file, a setting is missing, a seed is not an integer, or a
            reading is duplicated. `check_record` checks the cells.
    """
    files = {file.stem: file for file in looked_up(workflow, f"{RECORD}/*.yaml")}
    for file in looked_up(workflow, f"{RECORD}/*.csv"):
        if file.name != LEFT_OUT and not file.with_suffix(".yaml").exists():
            raise BadInput(f"{file}: {file.stem}.yaml is missing; create it with the source of these values")
    sources, readings = {}, []
    for name, file in sorted(files.items()):
        source = checked_yaml(file, Source)
        source._file = file
        sources[name] = source
        readings += list(_read_readings(source))
    return Record(sources=sources, readings=tuple(readings))


def check_record(record: Record, papers: Mapping[str, Paper]) -> None:
    """Check the cells, values and protocols of the record.

    A possible value is in the range of the metric.

    Args:
        record: the record.
        papers: a dict from keys to papers.

    Raises:
        BadInput: if a cell does not exist, a value is outside of its metric's range, or a setting has an unknown
            pooling or a protocol that the paper of the cell does not have. The error names the file and the line or
            key.
    """
    for source in record.sources.values():
        _check_poolings(source)
    names = CellNames(papers)
    for reading in record.readings:
        location = record.location(reading)
        _check_cell(reading, names, location)
        _check_protocol(reading, record.setting(reading), papers, location)


def _read_readings(source: Source) -> Iterator[SourceReading]:
    """Yield the readings of a source; BadInput names the line of a mistake."""
    file = source.file.with_suffix(".csv")
    first_line: dict[tuple[str, ...], int] = {}
    for line, row in numbered_rows(file):
        location = f"{file}:{line}"
        if tuple(row) != READING_FIELDS:
            header = ",".join(row)
            raise BadInput(f'{file}:1: the header is "{header}"; write {",".join(READING_FIELDS)}')
        reading = _read_reading(source, row, line, location)
        # Without a seed, two runs of a setting are two readings unless everything else is equal.
        key = [reading.cell, reading.setting, row["seed"] or f"{reading.value} {reading.place}"]
        earlier = first_line.setdefault(tuple(key), line)
        if earlier != line:
            raise BadInput(f"{location}: the same reading as in line {earlier}; remove the duplicate")
        yield reading


def _read_reading(source: Source, row: Mapping[str, str], line: int, location: str) -> SourceReading:
    """Return the reading of a row; BadInput names the mistake."""
    for field in ("cell", "setting", "value", "place"):
        if not row[field].strip():
            raise BadInput(f"{location}: {field} is empty; fill it in, or leave out the line")
    check_known(row["setting"], source.settings, f'{location}: setting is "{row["setting"]}"')
    if not VALUE.fullmatch(row["value"]):
        raise BadInput(f'{location}: value is "{row["value"]}"; write a number as published, as in 75.30')
    if row["seed"] and not WHOLE.fullmatch(row["seed"]):
        raise BadInput(
            f'{location}: seed is "{row["seed"]}"; write an integer, or leave it empty if the seed is not stated'
        )
    seed = int(row["seed"]) if row["seed"] else None
    values = {**row, "seed": seed, "source": source.name, "line": line}
    return SourceReading.of(values, location)


def _check_poolings(source: Source) -> None:
    """Raise BadInput for a setting whose pooling is not known."""
    for name, setting in source.settings.items():
        pooling = setting.differs.pooling
        if pooling is not None:
            location = f"{source.file}: settings.{name}.differs.pooling"
            check_known(pooling, PoolingParameters.known(), f'{location} is "{pooling}"')


def _check_cell(reading: SourceReading, names: CellNames, location: str) -> None:
    """Check the cell of a reading, and the value by the metric's range."""
    if "*" in reading.cell:
        raise BadInput(f'{location}: cell is "{reading.cell}"; write a line for each cell, without *')
    (name,) = names.full_names(reading.cell, "", location)
    cell = names.cell(name)
    item = names.papers[cell.paper].items.get(cell.item_name)
    place = item.place_of(cell) if item else None
    if item is None or place is None:
        return
    limits = range_of(item.path(*place))
    if limits and not limits.holds(reading.number.value):
        raise BadInput(
            f"{location}: value is {reading.value}; expected {limits}, scores x 100: correct the value or the cell"
        )


def _check_protocol(
    reading: SourceReading, setting: SourceSetting, papers: Mapping[str, Paper], location: str
) -> None:
    """Raise BadInput if the paper of a cell lacks the protocol of a setting."""
    paper = papers[reading.cell.partition("/")[0]]
    protocols = [PRINTED, AS_DESCRIBED, AS_RUN, *(protocol.id for protocol in paper.protocols)]
    if setting.as_ is not None:
        problem = f'{location}: setting {reading.setting} is "{setting.as_}", which is not a protocol of {paper.key}'
        check_known(setting.as_, protocols, problem)
