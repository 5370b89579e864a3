"""The page "Adjudication": effects of differences between protocols."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter

from replicse.judge.report.judgements import Explained
from replicse.judge.report.report_types import AdjudicatedItem, Report
from replicse.judge.verdicts.table import ItemResult
from replicse.printable import minus
from replicse.show.content.contents import Bar, Page, Waterfall
from replicse.show.content.numbers import effect_text, finest_rounding, rounded, signed
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs
from replicse.spec.printed import Rounding
from replicse.spec.protocols import AS_RUN

TITLE = "Adjudication"
NOISE = "The gaps do not exceed noise, so they are not explained."
EXPLAINS = {"explains": "explains", "in part": "explains in part"}
# The maximum number of rows in the headline.
NAMED = 3


def adjudication_page(report: Report) -> Page | None:
    """Build the page with a sheet for each adjudicated item.

    Args:
        report: The report of a study.

    Returns:
        The page, or None if no item is adjudicated.
    """
    if not report.adjudication:
        return None
    items = report.by_item
    sheets: list[Sheet] = []
    waterfalls: list[Waterfall] = []
    for part in report.adjudication:
        item = items[part.item]
        sheets.append(_sheet(item, part))
        waterfalls += _waterfalls(item, part)
    text = paragraphs("adjudication", report.study["comparable"])
    return Page(TITLE, text, tuple(sheets), headline(report), tuple(waterfalls))


def headline(report: Report) -> str:
    """Name the variant that explains the most gaps, and the share.

    Return "" if no gap is adjudicated.
    """
    best = report.gap_explained
    if report.gaps_known is None:
        return ""
    if not report.gaps_known:
        return NOISE
    if best is None:
        return "No variant explains a gap that exceeds noise."
    item = report.by_item[best.item]
    which = ", ".join(best.rows) if len(best.rows) <= NAMED else f"{best.gaps} gaps"
    scale = "" if item.comparable else f" ({item.caveat})"
    variant, share = item.variants.get(best.protocol, best.protocol), _share(best.share, best.low, best.high)
    return f"“{variant}” {EXPLAINS[best.outcome]} {which} of {best.item}: {share} of the gap{scale}."


def _waterfalls(item: ItemResult, part: AdjudicatedItem) -> Iterator[Waterfall]:
    """Yield a waterfall for each listed gap that is larger than the noise."""
    labels, names = _row_labels(item), _column_names(item)
    for cell, rows in groupby(part.shown, key=attrgetter("cell")):
        entries = [entry for entry in rows if entry.effect is not None and not entry.note]
        if any(entry.share is not None for entry in entries):
            title = f"{labels[cell.row]}, {names[cell.column, cell.metric]} · {item.item} · {item.standing}"
            yield Waterfall(title, tuple(_steps(item, entries)))


def _steps(item: ItemResult, entries: Sequence[Explained]) -> Iterator[Bar]:
    """Yield the bars of a waterfall: gap, variants, code as run."""
    rounding = _rounding(entries[0])
    gap, place = entries[0].gap or 0.0, 0.0
    yield Bar("Printed gap", signed(gap, rounding), 0.0, gap, "gap")
    for entry in sorted(entries, key=lambda entry: entry.protocol == AS_RUN):
        effect, whole = entry.effect or 0.0, entry.protocol == AS_RUN
        if whole and len(entries) > 2:
            rest = signed(effect - place, rounding)
            yield Bar("Interaction of the variants", rest, place, effect, "rest")
        start, kind = place, "variant"
        if whole:
            start, kind = 0.0, "whole"
        ends = (_sum_if_known(start, entry.low), _sum_if_known(start, entry.high))
        label = item.variants.get(entry.protocol, entry.protocol)
        text = f"{_effect(entry)}, {_share_of(entry)}"
        yield Bar(label, text, start, start + effect, kind, *ends)
        place = start + effect
    if not whole:
        yield Bar("Not explained", signed(gap - place, rounding), place, gap, "rest")


def _sum_if_known(start: float, end: float | None) -> float | None:
    if end is None:
        return None
    return start + end


def _sheet(item: ItemResult, part: AdjudicatedItem) -> Sheet:
    shown = part.shown
    cell_columns, columns = _known_columns(item, shown), _variant_columns(item)
    note = ""
    if part.left_out:
        note = f"Further cells of the item in adjudication.csv: {part.left_out}."
    title = f"{item.item}: {item.title}"
    # If all lines have the same column, only the title contains the name.
    if shown and "Column" not in cell_columns:
        title += f", {_column_names(item)[shown[0].column, shown[0].metric]}"
    title += f" · {item.standing}"
    sheet = Sheet.of(title, shown, cell_columns | columns, note)
    # Only the first line of a cell contains the columns that all lines of the cell share.
    empty = ("",) * sum(name in cell_columns for name in sheet.header)
    rows = list(sheet.rows)
    for place, (before, entry) in enumerate(pairwise(shown), start=1):
        if before.cell == entry.cell:
            rows[place] = empty + rows[place][len(empty) :]
    return replace(sheet, rows=tuple(rows))


def _known_columns(item: ItemResult, shown: Sequence[Explained]) -> Columns:
    """Return the columns of a cell that are equal for all variants."""
    labels, names = _row_labels(item), _column_names(item)
    columns: Columns = {"Row": lambda entry: labels[entry.row]}
    if len({(entry.column, entry.metric) for entry in shown}) > 1:
        columns["Column"] = lambda entry: names[entry.column, entry.metric]
    for paper in dict.fromkeys(entry.other_paper for entry in shown if entry.other):
        columns[f"Printed by {paper}"] = partial(_printed_by, paper)
    return columns | {
        f"Printed by {item.paper}": lambda entry: minus(entry.reported),
        "Gap": lambda entry: _signed(entry.gap, _rounding(entry)),
        "As described": lambda entry: _number(entry.described, _rounding(entry)),
    }


def _variant_columns(item: ItemResult) -> Columns:
    """Return the columns with the effect of a variant on a cell."""
    return {
        "Variant": lambda entry: item.variants.get(entry.protocol, entry.protocol),
        "Ours": lambda entry: _number(entry.ours, _rounding(entry)) or "not run",
        "Effect": _effect,
        "Share of the gap": _share_of,
        "Explains it?": lambda entry: _outcome(entry, item),
    }


def _printed_by(paper: str, entry: Explained) -> str:
    if entry.other_paper != paper:
        return ""
    return entry.reported_other


def _rounding(entry: Explained) -> Rounding:
    """Return the finer rounding of the two published numbers of a cell."""
    return finest_rounding((entry.reported, entry.reported_other))


def _row_labels(item: ItemResult) -> dict[str, str]:
    return {row.id: row.label for row in item.rows}


def _column_names(item: ItemResult) -> dict[tuple[str, ...], str]:
    """Return a dict from id and metric to the name of a column.

    If columns have the same id, the name contains the metric.
    """
    counts = Counter(column.id for column in item.columns)
    names: dict[tuple[str, ...], str] = {}
    for column in item.columns:
        name = column.label
        if counts[column.id] > 1:
            name += f", {column.metric}"
        names[column.id, column.metric] = name
    return names


def _number(value: float | None, rounding: Rounding) -> str:
    if value is None:
        return ""
    return rounded(value, rounding)


def _signed(value: float | None, rounding: Rounding) -> str:
    if value is None:
        return ""
    return signed(value, rounding)


def _effect(entry: Explained) -> str:
    if entry.paired is None:
        return ""
    return effect_text(entry.paired, partial(signed, rounding=_rounding(entry)))


def _outcome(entry: Explained, item: ItemResult) -> str:
    """Format the outcome of a variant, with a scale if not the papers'."""
    if entry.note or not entry.outcome or item.comparable:
        return entry.note or entry.outcome
    return f"{entry.outcome} ({item.scale})"


def _share_of(entry: Explained) -> str:
    return _share(entry.share, entry.share_low, entry.share_high)


def _share(share: float | None, low: float | None, high: float | None) -> str:
    if share is None:
        return ""
    text = f"{_percentage(share)}%"
    if low is not None and high is not None:
        text += f" [{_percentage(low)}, {_percentage(high)}]"
    return text


def _percentage(share: float) -> str:
    return rounded(100 * share, Rounding(0))
