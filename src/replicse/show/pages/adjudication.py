"""The page on adjudication: for each gap, what every difference of protocol does to our number."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from replicse.judge.shape import shape_columns
from replicse.judge.statistics import paired_difference
from replicse.judge.table import ItemResult
from replicse.show.content.cells import MINUS, Rounding, in_braces, rounded, rounding_of, signed
from replicse.show.content.contents import Page, Step, Waterfall
from replicse.show.content.tables import Columns, Sheet
from replicse.show.content.texts import paragraphs
from replicse.spec.protocols import AS_RUN

TITLE = "Adjudication"
NOISE = "No printed gap is known to be larger than its noise, so nothing is said of what explains it."
SAID = {"explains": "explains", "in part": "explains in part"}
# As many rows are named in the headline.
NAMED = 3
Entry = Mapping[str, str]


def adjudication_page(
    rows: Sequence[Entry], items: Mapping[str, ItemResult], comparable: bool
) -> Page | None:
    """Return the page from the rows of adjudication.csv, a sheet per item; None where nothing is adjudicated."""
    parts = {item: list(part) for item, part in groupby(rows, key=lambda entry: entry["item"])}
    sheets = tuple(_sheet(items[item], part) for item, part in parts.items())
    falls = tuple(fall for item, part in parts.items() for fall in _waterfalls(items[item], part))
    text = paragraphs("adjudication", comparable)
    return Page(TITLE, text, sheets, headline(rows, items), falls) if sheets else None


def headline(rows: Sequence[Entry], items: Mapping[str, ItemResult]) -> str:
    """Return in a sentence which variant explains the most gaps, and how much of them; blank where there is no gap.

    Nothing is said of gaps that are not larger than their noise: they have no share.
    """
    gaps = [entry for entry in rows if entry["gap"]]
    if not any(entry["share"] for entry in gaps):
        return NOISE if gaps else ""
    shown = [
        entry
        for item, part in groupby(gaps, key=lambda entry: entry["item"])
        for entry in _chosen(items[item], list(part))
    ]
    outcome = next((each for each in SAID if any(entry["outcome"] == each for entry in shown)), "")
    explained: dict[tuple[str, str], list[Entry]] = {}
    for entry in shown:
        if outcome and entry["outcome"] == outcome:
            explained.setdefault((entry["item"], entry["protocol"]), []).append(entry)
    if not explained:
        return "No variant explains a gap that is larger than its noise."
    # Of two that explain as many it is the one that changes less.
    best = max(explained, key=lambda key: (len(explained[key]), key[1] != AS_RUN))
    item, entries = items[best[0]], explained[best]
    labels = {row.id: row.label for row in item.rows}
    names = list(dict.fromkeys(labels[entry["row"]] for entry in entries))
    which = f"{', '.join(names)} of" if len(names) <= NAMED else f"{len(entries)} gaps of"
    scale = "" if item.comparable else f" ({item.caveat})"
    variant = item.variants.get(best[1], best[1])
    return f"“{variant}” {SAID[outcome]} {which} {item.item}: {_pooled(entries)} of the gap{scale}."


def _pooled(entries: Sequence[Entry]) -> str:
    """Return the share of several gaps together, `102% [78, 125]`: all effects over all gaps, by seed."""
    if len(entries) == 1:
        return _share(entries[0])
    gaps = [float(entry["gap"]) for entry in entries]
    total = math.fsum(map(abs, gaps))
    by_seed = [[float(effect) for effect in entry["by_seed"].split("; ")] for entry in entries]
    if len(set(map(len, by_seed))) > 1:
        # A seed that failed in one of them leaves no pairs.
        by_seed = [[float(entry["effect"])] for entry in entries]
    shares = [
        math.fsum(math.copysign(effect, effect * gap) for effect, gap in zip(effects, gaps, strict=True))
        / total
        for effects in zip(*by_seed, strict=True)
    ]
    pooled = paired_difference(shares, [0.0] * len(shares))
    bounds = {"share_low": pooled.low, "share_high": pooled.high}
    return _share(
        {"share": str(pooled.mean)} | {name: "" if end is None else str(end) for name, end in bounds.items()}
    )


def _waterfalls(item: ItemResult, rows: Sequence[Entry]) -> Iterator[Waterfall]:
    """Yield the picture of each shown gap that is larger than its noise."""
    labels = {row.id: row.label for row in item.rows}
    names = _column_names(item)
    for (row, column, metric), part in groupby(_chosen(item, rows), key=_cell):
        entries = [entry for entry in part if entry["effect"] and not entry["note"]]
        if any(entry["share"] for entry in entries):
            title = f"{labels[row]}, {names[column, metric]} · {item.item} · {item.standing}"
            yield Waterfall(title, tuple(_steps(item, entries)))


def _steps(item: ItemResult, entries: Sequence[Entry]) -> Iterator[Step]:
    """Yield the gap, each variant's effect on top of those before it, and what all of the code does."""
    rounding = _rounding(entries[0])
    gap, place = float(entries[0]["gap"]), 0.0
    yield Step("Printed gap", signed(gap, rounding), 0.0, gap, "gap")
    for entry in sorted(entries, key=lambda entry: entry["protocol"] == AS_RUN):
        effect, whole = float(entry["effect"]), entry["protocol"] == AS_RUN
        if whole and len(entries) > 2:
            rest = signed(effect - place, rounding)
            yield Step("Together, beyond their sum", rest, place, effect, "rest")
        start = 0.0 if whole else place
        ends = (start + float(entry[name]) if entry[name] else None for name in ("low", "high"))
        label = item.variants.get(entry["protocol"], entry["protocol"])
        text = f"{_effect(entry, rounding)}, {_share(entry)}"
        yield Step(label, text, start, start + effect, "whole" if whole else "variant", *ends)
        place = start + effect
    if not whole:
        yield Step("Not explained", signed(gap - place, rounding), place, gap, "rest")


def _sheet(item: ItemResult, rows: Sequence[Entry]) -> Sheet:
    shown = _chosen(item, rows)
    cell_columns, columns = _known_columns(item, shown), _variant_columns(item)
    left_out = len({_cell(entry) for entry in rows}) - len({_cell(entry) for entry in shown})
    note = f"Further cells of the item in adjudication.csv: {left_out}." if left_out else ""
    # A column that says the same in every line is said once, in the title.
    one = "" if "Column" in cell_columns or not shown else f", {_column_names(item)[_cell(shown[0])[1:]]}"
    title = f"{item.item}: {item.title}{one} · {item.standing}"
    sheet = Sheet.of(title, shown, cell_columns | columns, note)
    # What is known of a cell is said in the first of its lines.
    first = [place == 0 or _cell(shown[place - 1]) != _cell(entry) for place, entry in enumerate(shown)]
    lines = zip(sheet.rows, first, strict=True)
    blank = ("",) * sum(name in cell_columns for name in sheet.header)
    return replace(sheet, rows=tuple(row if new else blank + row[len(blank) :] for row, new in lines))


def _known_columns(item: ItemResult, shown: Sequence[Entry]) -> Columns:
    """Return the columns of what is known of a cell before any variant."""
    labels, names = {row.id: row.label for row in item.rows}, _column_names(item)
    columns: Columns = {"Row": lambda entry: labels[entry["row"]]}
    if len({_cell(entry)[1:] for entry in shown}) > 1:
        columns["Column"] = lambda entry: names[_cell(entry)[1:]]
    for paper in dict.fromkeys(_paper(entry) for entry in shown if entry["other"]):
        columns[f"Printed by {paper}"] = partial(_printed_by, paper)
    return columns | {
        f"Printed by {item.paper}": lambda entry: entry["reported"].replace("-", MINUS),
        "Gap": lambda entry: _signed(entry["gap"], _rounding(entry)),
        "As described": lambda entry: _number(entry["described"], _rounding(entry)),
    }


def _variant_columns(item: ItemResult) -> Columns:
    """Return the columns of what a variant does to a cell."""
    return {
        "Variant": lambda entry: item.variants.get(entry["protocol"], entry["protocol"]),
        "Ours": lambda entry: _number(entry["ours"], _rounding(entry)) or "not run",
        "Effect": lambda entry: _effect(entry, _rounding(entry)),
        "Share of the gap": _share,
        "Explains it?": lambda entry: _outcome(entry, item),
    }


def _printed_by(paper: str, entry: Entry) -> str:
    return entry["reported_other"] if _paper(entry) == paper else ""


def _rounding(entry: Entry) -> Rounding:
    """Return as many decimals as the most exact of a cell's printed numbers."""
    printed = [entry[field] for field in ("reported", "reported_other") if entry[field]]
    return max(map(rounding_of, printed), default=rounding_of(""))


def _chosen(item: ItemResult, rows: Sequence[Entry]) -> list[Entry]:
    """Return the cells that are shown: averages stand for their parts, the end for a trajectory.

    Of what is left, cells that another paper prints too; all where no cell has such a counterpart.
    """
    columns = {(column.id, column.metric) for column in shape_columns(item)}
    shown = [entry for entry in rows if (entry["column"], entry["metric"]) in columns]
    return [entry for entry in shown if entry["other"]] or shown


def _column_names(item: ItemResult) -> dict[tuple[str, ...], str]:
    """Return the name of each column by its id and metric; that of several with one id says the metric."""
    several = Counter(column.id for column in item.columns)
    return {
        (column.id, column.metric): column.label
        if several[column.id] == 1
        else f"{column.label}, {column.metric}"
        for column in item.columns
    }


def _cell(entry: Entry) -> tuple[str, str, str]:
    return entry["row"], entry["column"], entry["metric"]


def _paper(entry: Entry) -> str:
    """Return the other paper that prints a cell; blank where none does."""
    return entry["other"].partition("/")[0]


def _number(text: str, rounding: Rounding) -> str:
    return rounded(float(text), rounding) if text else ""


def _signed(text: str, rounding: Rounding) -> str:
    return signed(float(text), rounding) if text else ""


def _effect(entry: Entry, rounding: Rounding) -> str:
    effect, low, high = (_signed(entry[name], rounding) for name in ("effect", "low", "high"))
    if low:
        return f"{effect} [{low}, {high}]"
    each = [_signed(text, rounding) for text in entry["by_seed"].split("; ")]
    return f"{effect} {in_braces(each)}" if len(each) > 1 else effect


def _outcome(entry: Entry, item: ItemResult) -> str:
    """Return what a variant explains, with a scale that is not the papers'; what is the same run explains nothing."""
    if entry["note"] or not entry["outcome"] or item.comparable:
        return entry["note"] or entry["outcome"]
    return f"{entry['outcome']} ({item.scale})"


def _share(entry: Entry) -> str:
    whole = Rounding(0)
    share, low, high = (
        rounded(100 * float(entry[name]), whole) if entry[name] else ""
        for name in ("share", "share_low", "share_high")
    )
    return f"{share}% [{low}, {high}]" if low else f"{share}%" if share else ""
