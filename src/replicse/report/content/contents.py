"""What a report says, before any format: front page, sections in the papers' order, provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from replicse.report.content.tables import Columns, Grid, Sheet, counts_sheet, grid_of, legend, remarks
from replicse.study.results.machines import distinct, mixture
from replicse.study.results.table import ItemResult

TITLE = "RepliCSE report"
INTRODUCTION = (
    "Tables and figures of the papers below, run again by one workflow. Each number is next to the one the paper"
    " prints, where it is known, with its uncertainty, a verdict, and the way back to the run it came from."
)
ANATOMY = "reported → reproduced ±half-width or {seeds} (difference) verdict"
READING = (
    "*Reported* is the number as the paper prints it; *reproduced* is the mean over our seeds, rounded like"
    " the printed number; the *difference* is reproduced minus reported.",
    "*±* is half the width of the 95% interval in which one more of our runs is expected, the rounding of the"
    " printed number included: the paper's number is taken for one more run, or for what it says that it is of"
    " several. An asterisk marks an interval that rests on a published spread, since there are fewer than five seeds."
    " Two seeds give no interval: *{a, b}* are the two themselves.",
    "At a scale that is not the papers' the difference carries its name, as in (−7.1 micro), and every table and figure"
    " says that it is not comparable. In tables with many columns the difference and ± are below."
    " A column marked ↓ is better"
    " when lower. What is missing is blank, and so is an average of which a part is missing.",
)
HASH = 16


@dataclass(frozen=True)
class Entry:
    """One item with its grid; `name` is as the paper prints it (`Table 3`), `facts` its page and setting."""

    item: ItemResult
    grid: Grid
    name: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Return the item's id as a link target."""
        return self.item.item.replace("/", "-")


@dataclass(frozen=True)
class Section:
    """One paper and its items; `coverage` says how many of its cells have a printed number."""

    key: str
    title: str
    byline: str
    url: str
    entries: tuple[Entry, ...]
    coverage: str = ""


@dataclass(frozen=True)
class Step:
    """One bar of a waterfall, from `start` to `end` with the bounds of its end; `kind` names its looks."""

    label: str
    text: str
    start: float
    end: float
    kind: str = "variant"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Waterfall:
    """How the effects of variants add up to a printed gap, which is the first step."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Page:
    """What follows the papers: a title, a few sentences, and tables of text such as the claims.

    `headline` is what the page found, in a sentence; `waterfalls` are drawn above the tables where a format can.
    """

    title: str
    text: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    headline: str = ""
    waterfalls: tuple[Waterfall, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What one page says in a line of the first screen; `anchor` is that page."""

    what: str
    text: str
    anchor: str


@dataclass(frozen=True)
class Report:
    """Everything a report holds; the formats differ in looks only."""

    scale: str
    statement: str
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    counts: Sheet
    symbols: Sheet
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    provenance: tuple[Sheet, ...]
    title: str = TITLE
    introduction: str = INTRODUCTION
    caveat: str = ""
    made_from: str = ""
    anatomy: str = ANATOMY
    reading: tuple[str, ...] = READING


def make_report(
    study: Mapping[str, Any],
    items: Sequence[ItemResult],
    pages: Sequence[Page] = (),
    findings: Sequence[Finding] = (),
) -> Report:
    """Return the contents of a report from the study record, with what `study_facts` adds to it.

    Papers are in the order of the record, items in the order given. `pages` hold what is drawn from all of
    them (claims, adjudication) and are before the papers; `findings` are what they say in a line each.
    """
    sections = [
        _section(key, about, [item for item in items if item.paper == key])
        for key, about in study["papers"].items()
    ]
    sections = [section for section in sections if section.entries]
    return Report(
        scale=study["scale"],
        statement=study["shows"],
        facts=_facts(study, items),
        findings=tuple(findings),
        counts=counts_sheet(
            [(section.key, [entry.item for entry in section.entries]) for section in sections]
        ),
        symbols=legend(),
        sections=tuple(sections),
        pages=tuple(pages),
        provenance=tuple(sheet for sheet in _provenance(study, items) if sheet.rows),
        caveat=items[0].caveat if items else "",
        made_from=_made_from(study, items),
        title=f"{TITLE}: incomplete" if study.get("incomplete") else TITLE,
    )


def printed_of(items: Iterable[ItemResult]) -> str:
    """Return how many cells of some items have a printed number, as `9 of 87`; quoted cells have one."""
    printed = [cell.reported is not None for item in items for cell in item.described.values()]
    return f"{sum(printed)} of {len(printed)}"


def coverage(about: Mapping[str, Any], items: Sequence[ItemResult]) -> str:
    """Return how many cells of some items of a paper have a printed number, and what is said of those without."""
    kinds = [[item for item in items if item.kind == kind] for kind in ("table", "figure")]
    parts = [f"{group[0].kind}s {printed_of(group)}" for group in kinds if group]
    apart = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    return f"{printed_of(items)} cells have a printed number{apart}. {about.get('coverage', '')}".strip()


def _made_from(study: Mapping[str, Any], items: Sequence[ItemResult]) -> str:
    """Return the commit of a study, and what of its numbers is not made by it alone; blank outside git."""
    others = _other_packages(study, items)
    parts = [
        f"commit {study['commit'][:12]}" if study.get("commit") else "",
        "with uncommitted changes" if study.get("dirty") else "",
        f"its numbers were made by {len(others)} other version{'s' * (len(others) > 1)} of the code"
        if others
        else "",
    ]
    return "; ".join(filter(None, [" ".join(filter(None, parts[:2])), parts[2]]))


def _other_packages(study: Mapping[str, Any], items: Sequence[ItemResult]) -> list[str]:
    """Return the digests of the package versions that made the items' numbers, but for that of the study itself."""
    packages = {package for item in items for cell in item.cells for package in cell.packages}
    return sorted(each for each in packages if not study.get("package_sha256", "").startswith(each))


def _section(key: str, about: Mapping[str, Any], items: Sequence[ItemResult]) -> Section:
    venue, year = about.get("venue", ""), str(about["year"])
    published = venue if year in venue else f"{venue} {year}".strip()
    return Section(
        key=key,
        title=about["title"],
        byline=". ".join(part for part in (about.get("authors", ""), published) if part),
        url=about.get("url", ""),
        entries=tuple(_entry(item) for item in items),
        coverage=coverage(about, items),
    )


def _entry(item: ItemResult) -> Entry:
    name, _, page = item.place.partition(", ")
    setting = [f"{key} {value}" for key, value in item.setting.items()]
    facts = (item.item, *([page] if page else []), *setting)
    return Entry(item, grid_of(item), name or item.item.rpartition("/")[2], facts, remarks(item))


def _facts(study: Mapping[str, Any], items: Sequence[ItemResult]) -> tuple[tuple[str, str], ...]:
    machines = distinct(machine for item in items for cell in item.cells for machine in cell.machines)
    commit = study.get("commit", "")[:12]
    facts = {
        "Scale": study["scale"],
        "Incomplete": study.get("incomplete", ""),
        "Left out": study.get("left_out", ""),
        "Seeds": ", ".join(map(str, study["seeds"])),
        "Mixed" if len(machines) > 1 else "Made on": mixture(machines) or " ".join(map(str, machines)),
        "Commit": f"{commit}, with uncommitted changes" if commit and study.get("dirty") else commit,
        "Package sha256": study.get("package_sha256", "")[:HASH],
        "Numbers made by": ", ".join(_other_packages(study, items)),
        "Generated": study.get("generated", ""),
    }
    return tuple((name, value) for name, value in facts.items() if value)


def _provenance(study: Mapping[str, Any], items: Sequence[ItemResult]) -> Iterable[Sheet]:
    yield Sheet("Study", ("", "Value"), _facts(study, items))
    for key in ("versions", "hardware"):
        rows = tuple((name, str(value)) for name, value in study.get(key, {}).items())
        yield Sheet(key.capitalize(), ("", "Value"), rows)
    columns: Columns = {"Protocol": itemgetter("id"), "What it is": itemgetter("text")}
    yield Sheet.of("Protocols", study["protocols"], columns)
    note = f"First {HASH} hexadecimal digits of each sha256."
    columns = {"Data": itemgetter("name"), "Rows": _rows, "sha256": _hash}
    yield Sheet.of("Data", study.get("data", ()), columns, note)


def _hash(entry: Mapping[str, Any]) -> str:
    """Return the start of a file's hash; a file that was not there when the data were recorded has none."""
    return "not there" if entry.get("missing") else entry["sha256"][:HASH]


def _rows(entry: Mapping[str, Any]) -> str:
    return "" if entry.get("rows") is None else f"{entry['rows']:,}"
