"""What a report says, before any format: findings, sections in the papers' order, appendices, provenance."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replicse.compile.paths import Paths
from replicse.judge.report.report_types import ColumnShape, JudgedItem, Report
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import PROVENANCE
from replicse.show.content.grids import Grid
from replicse.show.content.provenance import made_from, provenance_sheets, study_facts
from replicse.show.content.sheets import Sheet, counts_sheet, legend
from replicse.show.content.tables import folded, folded_note, grid_of, remarks
from replicse.show.content.texts import paragraphs

TITLE = "RepliCSE report"
FINDINGS = re.compile(r"^## Findings\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
OVER_ALL = "Over all items of the study:"
ANATOMY = "reported → reproduced ±half-width or {seeds} (difference) verdict"


@dataclass(frozen=True)
class ItemEntry:
    """One item with its grid; `name` is as the paper prints it (`Table 3`), `facts` its page and setting.

    `rest` holds the columns without a number of ours.
    """

    item: JudgedItem
    grid: Grid
    name: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]
    rest: Grid | None = None

    @property
    def anchor(self) -> str:
        """Return the item's id as a link target."""
        return self.item.item.replace("/", "-")


@dataclass(frozen=True)
class Section:
    """One paper and its items; `coverage` says how many cells have a printed number, `notes` what it disputes."""

    key: str
    title: str
    byline: str
    url: str
    entries: tuple[ItemEntry, ...]
    coverage: str = ""
    notes: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """Return the HTML file of the paper."""
        return f"{self.key}.html"


@dataclass(frozen=True)
class Bar:
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
    steps: tuple[Bar, ...]


@dataclass(frozen=True)
class Page:
    """What is drawn from all papers: a title, a few sentences, and tables of text such as the claims.

    `headline` is what the page found, in a sentence; `waterfalls` are drawn above the tables where a format can. A page
    with a `file` is an HTML page of its own, which also holds the `further` sheets: those of papers outside the study.
    The search finds the single `lines` of some pages. `notes` are sentences that the pages of single papers show too.
    `of` says what its tables are of, where that is not the study; `pictures` names items whose figures it shows.
    An `open` page shows its sheets without a click.
    """

    title: str
    text: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    headline: str = ""
    waterfalls: tuple[Waterfall, ...] = ()
    file: str = ""
    further: tuple[Sheet, ...] = ()
    lines: bool = False
    of: str = ""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    open: bool = False


@dataclass(frozen=True)
class Headline:
    """One of the sentences that a report begins with, and a line of details: interval, print, scale.

    `target` is what it is of: the name of a cell or an item, or the anchor of a page.
    """

    sentence: str
    detail: str = ""
    target: str = ""


@dataclass(frozen=True)
class Surroundings:
    """What a document says of the files around it, and links to.

    `about` is what people wrote of the study, `root` leads from the document to logs and records where they are there,
    `json` to the result of the item ITEM, `methods` to the page of methods by study; `studies` are committed ones as
    (name, title, address).
    """

    about: str = ""
    root: str = ""
    json: str = ""
    methods: str = ""
    studies: tuple[tuple[str, str, str], ...] = ()

    @property
    def findings(self) -> str:
        """Return the section Findings of what people wrote, without its heading; blank without one."""
        section = FINDINGS.search(self.about)
        return section[1].strip() if section else ""

    @property
    def others(self) -> str:
        """Return what people wrote without the section Findings."""
        return FINDINGS.sub("", self.about)

    @property
    def parts(self) -> list[str]:
        """Return `others` before its first heading of a second level, and the rest if there is one."""
        return re.split(r"^(?=## )", self.others, maxsplit=1, flags=re.MULTILINE)

    @property
    def headings(self) -> list[str]:
        """Return the headings of the second level in `others`."""
        return re.findall(r"^## (.*)$", self.others, re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """Everything a report holds; the formats differ in looks only.

    `picture` is what the findings are drawn from: `effects`, `deltas` or a waterfall; `shapes` are the orders of
    columns; `whose` numbers are next to print. `log` and `record` are the paths of a run's log and record, with RUN in
    place of its name.
    """

    scale: str
    statement: str
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Headline, ...]
    counts: Sheet
    symbols: Sheet
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    provenance: tuple[Sheet, ...]
    title: str = TITLE
    subtitle: str = ""
    introduction: str = ""
    caveat: str = ""
    made_from: str = ""
    anatomy: str = ANATOMY
    over_all: str = OVER_ALL
    reading: tuple[str, ...] = ()
    picture: str | Waterfall = ""
    shapes: tuple[ColumnShape, ...] = ()
    around: Surroundings = Surroundings()
    log: str = ""
    record: str = ""
    whose: str = "ours"


def make_document(
    report: Report,
    pages: Sequence[Page] = (),
    findings: Sequence[Headline] = (),
    around: Surroundings = Surroundings(),
    picture: str | Waterfall = "",
) -> Document:
    """Return the contents of a report.

    Papers keep the order of the record, items that of the report. `pages` hold what is drawn from all of them (claims,
    adjudication); `findings` are the sentences that it begins with, drawn in a `picture` where no other is fitting.
    """
    study, items = report.study, report.items
    sections = [
        _section(
            key,
            about,
            [item for item in items if item.paper == key],
            tuple(note for page in pages for note in page.notes.get(key, ())),
        )
        for key, about in study["papers"].items()
    ]
    sections = [section for section in sections if section.entries]
    kept = items[0].kept if items else ""
    # A committed study was made in the folder of its scale.
    made_in = Paths(study["scale"])
    drawn = "deltas" if study.get("comparable") else "effects" if study.get("judges_orders") else ""
    return Document(
        scale=study["scale"],
        statement=study["shows"],
        facts=study_facts(report),
        findings=tuple(findings),
        counts=counts_sheet(
            [(section.key, [entry.item for entry in section.entries]) for section in sections]
        ),
        symbols=legend(),
        sections=tuple(sections),
        pages=tuple(pages),
        provenance=provenance_sheets(report),
        caveat=items[0].caveat if items else "",
        made_from=made_from(report),
        title=f"{TITLE}: {kept or study['scale']}" + (", incomplete" if study.get("incomplete") else ""),
        subtitle=study.get("title", ""),
        picture=picture or drawn,
        shapes=report.shapes,
        around=around,
        introduction=paragraphs("introduction")[0],
        reading=(*(paragraphs("record_cells") if report.record else ()), *paragraphs("reading")),
        log="" if report.record else f"{made_in.logs}/train/RUN.log",
        record="" if report.record else made_in.run("RUN", PROVENANCE),
        whose="others" if report.record else "ours",
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


def _section(
    key: str, about: Mapping[str, Any], items: Sequence[JudgedItem], notes: tuple[str, ...]
) -> Section:
    venue, year = about.get("venue", ""), str(about["year"])
    published = venue if year in venue else f"{venue} {year}".strip()
    return Section(
        key=key,
        title=about["title"],
        byline=". ".join(part for part in (about.get("authors", ""), published) if part),
        url=about.get("url", ""),
        entries=tuple(_entry(item, key) for item in items),
        coverage=coverage(about, items),
        notes=notes,
    )


def _entry(item: JudgedItem, key: str) -> ItemEntry:
    name, _, page = item.place.partition(", ")
    setting = [f"{key} {value}" for key, value in item.setting.items()]
    facts = (item.item, *([page] if page else []), *setting)
    grid, rest = folded(grid_of(item))
    return ItemEntry(
        item=item,
        grid=grid,
        name=name or item.item.rpartition("/")[2],
        facts=facts,
        notes=(*remarks(item), *([folded_note(rest)] if rest else [])),
        rest=rest,
    )
