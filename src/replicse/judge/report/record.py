"""Parts of a study's record for the report."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from replicse.checked import Checked, Id, Text, Whole
from replicse.spec.papers import About

ItemName = Annotated[str, Field(pattern=r"^[a-z0-9]+/[A-Za-z0-9-]+$", strict=True)]


class RanProtocol(Checked):
    """A protocol of at least one cell that was run."""

    id: Text
    text: Text


class DataFile(Checked):
    """A dataset file; a missing file has no sha256.

    By default, the number of rows is not recorded.
    """

    model_config = ConfigDict(extra="ignore")

    name: Text
    sha256: Text = ""
    rows: Annotated[Whole, Field(ge=0)] | None = None
    missing: bool = False


class StudyPart(Checked):
    """Items of a study that were run together."""

    model_config = ConfigDict(extra="ignore")

    items: tuple[ItemName, ...]
    commit: str = ""
    generated: str = ""
    processor: str = ""


class StudyRecord(Checked):
    """The record of a study; keys of later versions are ignored."""

    model_config = ConfigDict(extra="ignore")

    scale: Id
    shows: Text
    comparable: bool
    judges_orders: bool
    seeds: tuple[Whole, ...]
    protocols: tuple[RanProtocol, ...]
    papers: dict[Id, About]
    items: tuple[ItemName, ...]
    left_out: str = ""
    commit: str = ""
    dirty: bool | None = None
    package_sha256: str = ""
    generated: str = ""
    incomplete: str = ""
    versions: dict[str, Any] = {}
    hardware: dict[str, Any] = {}
    data: tuple[DataFile, ...] = ()
    parts: tuple[StudyPart, ...] = ()
