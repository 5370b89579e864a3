"""What a report says, before any format: front page, sections in the papers' order, provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replicse.report.content.items import Item
from replicse.report.content.tables import Grid, Sheet, counts_sheet, grid_of, legend

TITLE = "RepliCSE report"
INTRODUCTION = (
    "Every table and figure of the papers below, run again by one workflow. Each number stands beside the one"
    " the paper prints, with its uncertainty, a verdict, and the way back to the run it came from."
)
SCALES = {
    "micro": (
        "An embedded world of generated English and tiny encoders. It shows that the machine works; it never"
        " gives a verdict on a paper."
    ),
    "compact": (
        "Real English text and a compact encoder. It can show orderings, signs and shapes only: absolute"
        " numbers are not comparable with the papers', and no cell gets a verdict."
    ),
    "paper": "The papers' own models, data, steps and seeds. Every comparable cell that ran is judged.",
}
ANATOMY = "reported → reproduced ±half-width (difference) verdict"
READING = (
    "*Reported* is the number as the paper prints it; *reproduced* is the mean over our seeds, rounded like"
    " the printed number; the *difference* is reproduced minus reported.",
    "*±* is half the width of the 95% interval in which one more of our runs is expected, the rounding of the"
    " printed number included: the paper's number is taken for one more run. An asterisk marks an interval"
    " that rests on a published spread, since there are fewer than five seeds.",
    "In tables with many columns the difference and ± stand on a second line. A column marked ↓ is better"
    " when lower. What is missing is blank, and so is an average of which a part is missing.",
)
HASH = 16


@dataclass(frozen=True)
class Entry:
    """One item with its grid; `name` is as the paper prints it (`Table 3`), `facts` its page and setting."""

    item: Item
    grid: Grid
    name: str
    facts: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Return the item's id as a link target."""
        return self.item.id.replace("/", "-")


@dataclass(frozen=True)
class Section:
    """One paper and its items."""

    key: str
    title: str
    byline: str
    url: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Page:
    """What stands behind the papers: a title, a few sentences, and tables of text such as the claims."""

    title: str
    text: tuple[str, ...]
    sheets: tuple[Sheet, ...]


@dataclass(frozen=True)
class Report:
    """Everything a report holds; the formats differ in looks only."""

    scale: str
    statement: str
    facts: tuple[tuple[str, str], ...]
    counts: Sheet
    symbols: Sheet
    sections: tuple[Section, ...]
    pages: tuple[Page, ...]
    provenance: tuple[Sheet, ...]
    title: str = TITLE
    introduction: str = INTRODUCTION
    anatomy: str = ANATOMY
    reading: tuple[str, ...] = READING


def make_report(study: Mapping[str, Any], items: Sequence[Item], pages: Sequence[Page] = ()) -> Report:
    """Return the contents of a report.

    Papers stand in the order of the study record, items in the order given. `pages` hold what is drawn from
    all of them (claims, adjudication) and stand before the papers. The record's `shows`, where it is given, says
    what the scale can show.
    """
    papers = study.get("papers") or {}
    keys = [*papers, *(item.paper for item in items if item.paper not in papers)]
    sections = [
        _section(key, papers.get(key) or {}, [item for item in items if item.paper == key])
        for key in dict.fromkeys(keys)
    ]
    sections = [section for section in sections if section.entries]
    scale = str(study["scale"])
    return Report(
        scale=scale,
        statement=study.get("shows") or SCALES.get(scale, "Not the papers' scale: no cell gets a verdict."),
        facts=_facts(study),
        counts=counts_sheet(
            [(section.key, [entry.item for entry in section.entries]) for section in sections]
        ),
        symbols=legend(),
        sections=tuple(sections),
        pages=tuple(pages),
        provenance=tuple(_provenance(study)),
    )


def _section(key: str, paper: Mapping[str, Any], items: Iterable[Item]) -> Section:
    authors = paper.get("authors", "")
    if not isinstance(authors, str):
        authors = ", ".join(authors)
    byline = [authors, " ".join(str(paper[name]) for name in ("venue", "year") if paper.get(name))]
    return Section(
        key=key,
        title=paper.get("title", key),
        byline=". ".join(part for part in byline if part),
        url=paper.get("url", ""),
        entries=tuple(_entry(item) for item in items),
    )


def _entry(item: Item) -> Entry:
    name, _, page = item.place.partition(", ")
    setting = [f"{key} {_plain(value)}" for key, value in item.setting.items()]
    facts = (item.id, *([page] if page else []), *setting)
    return Entry(item, grid_of(item), name or item.id.rpartition("/")[2], facts)


def _facts(study: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    commit = str(study.get("commit") or "")[:12]
    if commit and study.get("dirty"):
        commit += ", with uncommitted changes"
    facts = {
        "Scale": study["scale"],
        "Seeds": _plain(study.get("seeds") or ""),
        "Commit": commit,
        "Package sha256": str(study.get("package_sha256") or "")[:HASH],
        "Generated": study.get("generated") or "",
    }
    return tuple((name, str(value)) for name, value in facts.items() if value)


def _provenance(study: Mapping[str, Any]) -> Iterable[Sheet]:
    yield Sheet("Study", ("", "Value"), _facts(study))
    for title, key in (("Versions", "versions"), ("Hardware", "hardware")):
        rows = tuple((str(name), _plain(value)) for name, value in (study.get(key) or {}).items())
        if rows:
            yield Sheet(title, ("", "Value"), rows)
    protocols = tuple(_protocol(entry) for entry in study.get("protocols") or ())
    if protocols:
        yield Sheet("Protocols", ("Protocol", "What it is"), protocols)
    data = tuple(
        (str(entry["name"]), f"{entry['rows']:,}" if entry.get("rows") is not None else "", _hash(entry))
        for entry in study.get("data") or ()
    )
    if data:
        note = f"First {HASH} hexadecimal digits of each sha256."
        yield Sheet("Data", ("Data", "Rows", "sha256"), data, note=note)


def _protocol(entry: str | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(entry, str):
        return entry, ""
    return str(entry["id"]), str(entry.get("text") or entry.get("title") or "")


def _hash(entry: Mapping[str, Any]) -> str:
    return str(entry.get("sha256") or "")[:HASH]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(entry) for entry in value)
    return str(value)
