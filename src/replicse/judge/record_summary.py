"""What the record comes to: printed numbers that others measured, by paper and item, and the sources."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from replicse.judge.others import Others, RecordCount, RecordSummary, SourceFacts
from replicse.judge.table import ItemResult
from replicse.spec.columns import TEXT
from replicse.spec.papers import Paper, printed_in
from replicse.spec.record import Record
from replicse.spec.tables import Item

# The field of a count for each verdict.
COUNTED = {
    "equal": "equal",
    "not equal": "not_equal",
    "within seed spread": "within",
    "higher": "higher",
    "lower": "lower",
    "undetermined": "undetermined",
}
JUDGED = frozenset(COUNTED) - {"undetermined"}


def record_summary(
    papers: Mapping[str, Paper],
    record: Record,
    results: Sequence[ItemResult],
    others: Mapping[str, Others],
) -> RecordSummary:
    """Return the counts and sources of the record.

    Args:
        papers: All papers by key; a paper without a measured number is left out.
        record: The record.
        results: The results of the measured items, their verdicts controlled.
        others: What every source measured, by item.
    """
    items = [_count_item(result, others.get(result.item, {})) for result in results]
    items = [count for count in items if count.measured]
    keys = [key for key in papers if any(count.paper == key for count in items)]
    return RecordSummary(
        papers=tuple(_count_paper(papers[key], papers, items) for key in keys),
        items=tuple(items),
        sources=tuple(_sources(record)),
    )


def _count_item(result: ItemResult, others: Others) -> RecordCount:
    quoted = {row.id for row in result.rows if row.quoted}
    verdicts: Counter[str] = Counter()
    printed = measured = judged = other_setting = 0
    for name, cell in result.described.items():
        if cell.metric == TEXT or cell.printed is None or cell.row in quoted:
            continue
        printed += 1
        sources = others.get(str(name), ())
        if not sources:
            continue
        measured += 1
        decided = [each for each in sources if each.decides]
        other_setting += not decided
        judged += any(each.verdict in JUDGED for each in decided)
        verdicts.update(COUNTED[each.verdict] for each in decided if each.verdict in COUNTED)
    return RecordCount(
        result.item, result.paper, printed, measured, judged, other_setting=other_setting, **verdicts
    )


def _count_paper(paper: Paper, papers: Mapping[str, Paper], items: Sequence[RecordCount]) -> RecordCount:
    """Return the counts of a paper, its items that nobody measured included."""
    printed = sum(_printed_numbers(item, papers) for item in paper.items.values())
    own = [count for count in items if count.paper == paper.key]
    counted = [field.name for field in fields(RecordCount)][4:]
    sums = {name: sum(getattr(count, name) for count in own) for name in counted}
    return RecordCount(paper.key, paper.key, printed, sum(count.measured for count in own), **sums)


def _printed_numbers(item: Item, papers: Mapping[str, Paper]) -> int:
    """Return how many numbers an item prints that are its paper's own."""
    cells = (
        item.cell_id(row, column)
        for row in item.rows
        if not row.quoted
        for column in item.columns
        if column.kind != "text"
    )
    printed = (printed_in(papers, cell) for cell in cells)
    return sum(each is not None and each.number is not None for each in printed)


def _sources(record: Record) -> Iterator[SourceFacts]:
    for name, source in record.sources.items():
        readings = [reading for reading in record.readings if reading.source == name]
        yield SourceFacts(
            name=name,
            who=source.who,
            year=source.year,
            cited=source.repository or source.thread or name,
            url=source.url,
            code=source.code,
            stack=source.stack or "",
            gpus=source.gpus or "",
            note=source.note or "",
            values=len(readings),
            cells=len({reading.cell for reading in readings}),
        )
