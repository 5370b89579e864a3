"""The contents of a report: findings, sections, pages, provenance."""

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
    """An item and the parts of its entry in a report.

    Attributes:
        item: The judged item.
        grid: The table.
        name: The name in the paper, such as `Table 3`.
        facts: The item id, the page in the paper, and the setting.
        notes: Notes below the table, in Markdown.
        rest: The columns without a reproduced number. Default: None.
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
    """A paper and its items.

    Attributes:
        key: The key of the paper.
        title: The title.
        byline: Authors, venue and year.
        url: The URL of the paper, or "".
        entries: The items.
        coverage: A sentence with the number of cells that have a printed number. Default: "".
        notes: Sentences about claims of the paper that contradict other papers. Default: ().
    """

    key: str
    title: str
    byline: str
    url: str
    entries: tuple[ItemEntry, ...]
    coverage: str = ""
    notes: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """Return the name of the paper's HTML file."""
        return f"{self.key}.html"

    @property
    def items(self) -> list[JudgedItem]:
        """Return the items of all entries."""
        return [entry.item for entry in self.entries]


@dataclass(frozen=True)
class Bar:
    """A bar of a waterfall from `start` to `end`.

    Attributes:
        label: The label to the left of the bar.
        text: The text to the right of the bar.
        start: The number at which the bar begins.
        end: The number at which the bar ends.
        kind: The CSS class of the bar. Default: "variant".
        low: The lower bound of the end. Default: None.
        high: The upper bound of the end. Default: None.
    """

    label: str
    text: str
    start: float
    end: float
    kind: str = "variant"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Waterfall:
    """A chart of bars that add up, such as the effects of variants.

    If the bars explain a printed gap, the gap is the first bar.
    """

    title: str
    steps: tuple[Bar, ...]


@dataclass(frozen=True)
class Page:
    """A page about all papers, such as the claims.

    Attributes:
        title: The title.
        text: Paragraphs in Markdown.
        sheets: Tables of text.
        headline: The main result in a sentence. Default: "".
        waterfalls: Charts above the tables, if the format supports them. Default: ().
        file: The name of a separate HTML file. Default: "", for a section of the report.
        further: Sheets of papers outside the study, for a separate file. Default: ().
        lines: Whether the search index contains each line of the sheets. Default: False.
        of: The source of the numbers for captions. Default: "", for the study.
        notes: A dict from paper keys to sentences that the page of the paper also shows. Default: {}.
        pictures: Ids of items whose figures the page shows. Default: ().
        open: Whether the sheets are visible without a click. Default: False.
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
    """A sentence at the beginning of a report, with a line of details.

    Attributes:
        sentence: The finding.
        detail: Details such as an interval, the published number or the scale. Default: "".
        target: The link target: the name of a cell or an item, or the anchor of a page. Default: "".
    """

    sentence: str
    detail: str = ""
    target: str = ""


@dataclass(frozen=True)
class Surroundings:
    """Texts and links for the files around a document.

    Attributes:
        about: The README of the study in Markdown. Default: "".
        root: The URL of the folder of logs and records, if they exist. Default: "".
        json: The URL of the result of the item ITEM. Default: "".
        methods: The URL of the page "Methods by study". Default: "".
        studies: Committed studies as (name, title, URL). Default: ().
    """

    about: str = ""
    root: str = ""
    json: str = ""
    methods: str = ""
    studies: tuple[tuple[str, str, str], ...] = ()

    @property
    def findings(self) -> str:
        """Return the section Findings of `about` without the heading, or ""."""
        section = FINDINGS.search(self.about)
        if section is None:
            return ""
        return section[1].strip()

    @property
    def others(self) -> str:
        """Return `about` without the section Findings."""
        return FINDINGS.sub("", self.about)

    @property
    def parts(self) -> list[str]:
        """Split `others` before the first heading of the second level."""
        return re.split(r"^(?=## )", self.others, maxsplit=1, flags=re.MULTILINE)

    @property
    def headings(self) -> list[str]:
        """Return the headings of the second level in `others`."""
        return re.findall(r"^## (.*)$", self.others, re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """The complete contents of a report, which every format renders.

    Attributes:
        scale: The name of the scale.
        statement: A sentence about the scale.
        facts: Pairs of name and value that describe the study.
        findings: Sentences at the beginning of the report.
        counts: The number of cells by verdict.
        symbols: The legend of the verdicts.
        sections: The papers.
        pages: The pages about all papers.
        provenance: Sheets of versions, hardware, protocols and datasets.
        picture: The picture below the findings: `effects`, `deltas` or a waterfall. Default: "", for no picture.
        shapes: The orders of rows by column. Default: ().
        around: Texts and links for the files around the document.
        log: The path of a run's log, with RUN for the name of the run. Default: "".
        record: The path of a run's record, with RUN for the name of the run. Default: "".
        whose: The label of the numbers that are compared with published numbers. Default: "ours".

    The other attributes are strings that the report contains.
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
    """Build the document of a report.

    Args:
        report: The report of a study.
        pages: Pages about all papers, such as claims. Default: no pages.
        findings: Sentences at the beginning. Default: no findings.
        around: Texts and links for the files around the document.
        picture: A picture of the findings. Default: differences or effects, depending on the scale.

    Returns:
        A document with the papers and items in the order of the study.
    """
    study, items = report.study, report.items
    sections = []
    for key, about in study["papers"].items():
        own = [item for item in items if item.paper == key]
        if own:
            sections.append(_section(key, about, own, _notes(pages, key)))
    name, caveat = study["scale"], ""
    if items:
        name, caveat = items[0].kept or name, items[0].caveat
    title = f"{TITLE}: {name}"
    if study.get("incomplete"):
        title += ", incomplete"
    # The logs of a committed study are in the folder of the scale.
    paths = Paths(study["scale"])
    reading = paragraphs("reading")
    log, record, whose = f"{paths.logs}/train/RUN.log", paths.run("RUN", PROVENANCE), "ours"
    if report.record:
        log, record, whose = "", "", "others"
        reading = (*paragraphs("record_cells"), *reading)
    return Document(
        scale=study["scale"],
        statement=study["shows"],
        facts=study_facts(report),
        findings=tuple(findings),
        counts=counts_sheet({section.key: section.items for section in sections}),
        symbols=legend(),
        sections=tuple(sections),
        pages=tuple(pages),
        provenance=provenance_sheets(report),
        caveat=caveat,
        made_from=made_from(report),
        title=title,
        subtitle=study.get("title", ""),
        picture=picture or _default_picture(study),
        shapes=report.shapes,
        around=around,
        introduction=paragraphs("introduction")[0],
        reading=reading,
        log=log,
        record=record,
        whose=whose,
    )


def _notes(pages: Iterable[Page], paper: str) -> tuple[str, ...]:
    """Return the notes of all pages about a paper."""
    notes: list[str] = []
    for page in pages:
        notes += page.notes.get(paper, ())
    return tuple(notes)


def _default_picture(study: Mapping[str, Any]) -> str:
    if study.get("comparable"):
        return "deltas"
    if study.get("judges_orders"):
        return "effects"
    return ""


def printed_of(items: Iterable[ItemResult]) -> str:
    """Count the cells with a printed number, such as `9 of 87`.

    Quoted cells have a printed number.
    """
    printed = cells = 0
    for item in items:
        cells += len(item.described)
        printed += sum(cell.reported is not None for cell in item.described.values())
    return f"{printed} of {cells}"


def coverage(about: Mapping[str, Any], items: Sequence[ItemResult]) -> str:
    """Describe the number of cells that have a printed number.

    Args:
        about: The paper, as in paper.yaml; `coverage` is a sentence about missing printed numbers.
        items: The items of the paper.

    Returns:
        A sentence with the count, by tables and figures if there are both.
    """
    parts = []
    for kind in ("table", "figure"):
        group = [item for item in items if item.kind == kind]
        if group:
            parts.append(f"{kind}s {printed_of(group)}")
    text = f"{printed_of(items)} cells have a printed number"
    if len(parts) > 1:
        text += f" ({', '.join(parts)})"
    return f"{text}. {about.get('coverage', '')}".strip()


def _section(
    key: str, about: Mapping[str, Any], items: Sequence[JudgedItem], notes: tuple[str, ...]
) -> Section:
    venue, year = about.get("venue", ""), str(about["year"])
    published = venue if year in venue else f"{venue} {year}".strip()
    return Section(
        key=key,
        title=about["title"],
        byline=". ".join(filter(None, (about.get("authors", ""), published))),
        url=about.get("url", ""),
        entries=tuple(_entry(item, key) for item in items),
        coverage=coverage(about, items),
        notes=notes,
    )


def _entry(item: JudgedItem, key: str) -> ItemEntry:
    name, _, page = item.place.partition(", ")
    facts = [item.item, page] if page else [item.item]
    facts += [f"{key} {value}" for key, value in item.setting.items()]
    grid, rest = folded(grid_of(item))
    notes = remarks(item)
    if rest:
        notes += (folded_note(rest),)
    return ItemEntry(
        item=item,
        grid=grid,
        name=name or item.item.rpartition("/")[2],
        facts=tuple(facts),
        notes=notes,
        rest=rest,
    )
