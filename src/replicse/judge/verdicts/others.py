"""Others' measurements of a cell: one entry for each source and setting."""

from dataclasses import dataclass, fields

from replicse.judge.verdicts.table import Verdict


@dataclass(frozen=True)
class SettingEffect:
    """The effect of a setting within one source.

    It is the mean in this setting minus the mean in the setting that it is compared with.

    Attributes:
        low, high: the 95% interval; None for fewer than three values on a side.
        n, n_base: how many values the two sides have.
        is_paired: both sides have the same seeds, and differences by seed were averaged.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    n_base: int
    is_paired: bool


@dataclass(frozen=True)
class SourceResult:
    """The measurements of one cell in one setting by one source.

    Attributes:
        source: the name of its files in the record.
        cited: its repository or thread.
        url: the repository at its commit, or the thread.
        difference: how the setting differs from the printed one; an empty string if it does not.
        trained: the values depend on a training seed.
        released: the values are of a released checkpoint, in a cell that the paper trains.
        values: the values as published.
        seeds: their seeds; None if they are not stated.
        links: the file or comment that contains each value.
        sd: the standard deviation; None for one value.
        effect: the effect of the setting, if it is not the printed one.
        decides: the verdict of this source is the verdict of the cell.
    """

    source: str
    cited: str
    who: str
    year: int
    url: str
    code: str
    setting: str
    difference: str
    trained: bool
    released: bool
    values: tuple[str, ...]
    seeds: tuple[int | None, ...]
    links: tuple[str, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    borrowed: bool
    reason: str
    effect: SettingEffect | None = None
    decides: bool = False

    @property
    def n(self) -> int:
        """Return the number of values."""
        return len(self.values)

    @property
    def is_printed(self) -> bool:
        """Return whether the setting is the printed one."""
        return not self.difference


Others = dict[str, tuple[SourceResult, ...]]


@dataclass(frozen=True)
class RecordCount:
    """Counts of printed numbers that others measured, with verdicts.

    Verdicts are in the printed setting. A number may have two verdicts: one of a released checkpoint (`equal`,
    `not_equal`), and one of encoders that were trained again (`within`, `higher`, `lower`, `undetermined`).

    Attributes:
        measured: printed numbers that are measured in any setting.
        judged: printed numbers with a verdict.
        other_setting: printed numbers that are measured in other settings only.
    """

    name: str
    paper: str
    printed: int
    measured: int
    judged: int = 0
    equal: int = 0
    not_equal: int = 0
    within: int = 0
    higher: int = 0
    lower: int = 0
    undetermined: int = 0
    other_setting: int = 0


@dataclass(frozen=True)
class SourceFacts:
    """A source of the record, and how many values and cells it has."""

    name: str
    who: str
    year: int
    cited: str
    url: str
    code: str
    stack: str
    gpus: str
    note: str
    values: int
    cells: int


@dataclass(frozen=True)
class RecordSummary:
    """The counts of the record by paper and by item, and its sources."""

    papers: tuple[RecordCount, ...] = ()
    items: tuple[RecordCount, ...] = ()
    sources: tuple[SourceFacts, ...] = ()

    @property
    def total(self) -> RecordCount:
        """Return the counts of all papers together."""
        sums = {}
        for field in fields(RecordCount)[2:]:
            sums[field.name] = sum(getattr(count, field.name) for count in self.papers)
        return RecordCount("all", "", **sums)
