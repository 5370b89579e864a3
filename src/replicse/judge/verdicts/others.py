"""Others' measurements of a cell, an entry for each source and setting."""

from dataclasses import dataclass, fields

from replicse.judge.verdicts.table import Verdict


@dataclass(frozen=True)
class SettingEffect:
    """The effect of a setting within a source.

    The effect is the mean in this setting minus the mean in the setting that it is compared with.

    Attributes:
        mean: the effect.
        low, high: the 95% interval; None for fewer than three values on a side.
        n, n_base: the number of values of both sides.
        is_paired: whether both sides have the same seeds, so that differences by seed were averaged.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    n_base: int
    is_paired: bool


@dataclass(frozen=True)
class SourceResult:
    """The measurements of a cell by one source in one setting.

    Attributes:
        source: the name of the source in the record.
        cited: the repository or thread.
        who, year: the author and the year.
        url: the repository at its commit, or the thread.
        setting: the name of the setting.
        difference: how the setting differs from the printed setting; an empty string for the printed setting.
        trained: whether the values depend on a training seed.
        released: whether the values are of a released checkpoint, in a cell that the paper trains.
        values: the values as published.
        seeds: the seed of each value; None if it is not stated.
        links: the file or comment that contains each value.
        mean: the mean of the values.
        sd: the standard deviation; None for a single value.
        low, high: the interval in which the printed number is expected.
        verdict: the verdict of this source.
        borrowed: whether the interval uses a published standard deviation.
        reason: the reason of the verdict.
        effect: the effect of the setting; None for the printed setting.
        decides: whether the verdict of this source is the verdict of the cell.
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
        """Return whether the setting is the printed setting."""
        return not self.difference


Others = dict[str, tuple[SourceResult, ...]]


@dataclass(frozen=True)
class RecordCount:
    """Counts of printed numbers measured by others, with verdicts.

    Verdicts are in the printed setting. A number may have two verdicts: a verdict of a released checkpoint (`equal`,
    `not_equal`), and a verdict of encoders that were trained again (`within`, `higher`, `lower`, `undetermined`). By
    default, no number has a verdict.

    Attributes:
        name: the paper or the item.
        paper: the key of the paper.
        printed: the number of printed numbers.
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
    """A source of the record, with the number of values and cells."""

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
    """The counts of the record by paper and by item, and the sources."""

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
