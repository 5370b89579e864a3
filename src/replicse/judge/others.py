"""What others measured of a cell, as typed values: one entry for each source and setting."""

from dataclasses import dataclass, fields

from replicse.judge.table import Verdict


@dataclass(frozen=True)
class SettingEffect:
    """What a setting changes in one source: its mean less the mean in the setting it is compared with.

    `low` and `high` are a 95% interval, None with fewer than three values on a side. `is_paired` says that both sides
    have the same seeds and the differences by seed were averaged.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    n_base: int
    is_paired: bool


@dataclass(frozen=True)
class SourceResult:
    """What one source measured of one cell in one setting.

    `source` is the name of its files in the record, `cited` its repository or thread, `url` that at its commit.
    `difference` says how the setting differs from the printed one, blank when it does not. `trained` says that the
    values depend on a training seed, `released` that they are of a checkpoint of a cell that the paper trains. `values`
    are as published, `seeds` None when not stated, `links` the file or comment that holds each value. `sd` is None for
    one value. `decides` marks the source whose verdict is that of the cell.
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
    """How many printed numbers of an item or a paper others measured, and what came out, in the printed setting.

    `measured` counts printed numbers with a reading in any setting, `judged` the ones with a verdict, `other_setting`
    the ones with a reading in other settings only. A number may have two verdicts: one of a released checkpoint
    (`equal`, `not_equal`), one of encoders that were trained again (`within`, `higher`, `lower`, `undetermined`).
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
    """One source of the record: who measured what with which code, and how many values of how many cells it gives."""

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
    """What the record holds: counts by paper and by item, and its sources."""

    papers: tuple[RecordCount, ...] = ()
    items: tuple[RecordCount, ...] = ()
    sources: tuple[SourceFacts, ...] = ()

    @property
    def total(self) -> RecordCount:
        """Return the counts of all papers together."""
        names = [field.name for field in fields(RecordCount)][2:]
        sums = {name: sum(getattr(count, name) for count in self.papers) for name in names}
        return RecordCount("all", "", **sums)
