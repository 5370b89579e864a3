"""Counts of printed numbers measured by others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from replicse.judge.verdicts.others import Others, RecordCount, RecordSummary, SourceFacts
from replicse.judge.verdicts.table import ItemResult
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
    """Count the measured numbers of the record, and list the sources.

    Args:
        papers: all papers by key; papers without a measured number are skipped.
        record: the record.
        results: the results of the measured items, with adjusted verdicts.
        others: dict from item to the measurements of all sources.
    """
    items = []
    for result in results:
        count = _count_item(result, others.get(result.item, {}))
        if count.measured:
            items.append(count)
    measured = {count.paper for count in items}
    counts = []
    for key, paper in papers.items():
        if key in measured:
            counts.append(_count_paper(paper, papers, items))
    return RecordSummary(papers=tuple(counts), items=tuple(items), sources=tuple(_sources(record)))


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
        decided = [each.verdict for each in sources if each.decides]
        other_setting += not decided
        judged += not JUDGED.isdisjoint(decided)
        verdicts.update(COUNTED[verdict] for verdict in decided if verdict in COUNTED)
    return RecordCount(
        result.item, result.paper, printed, measured, judged, other_setting=other_setting, **verdicts
    )


def _count_paper(paper: Paper, papers: Mapping[str, Paper], items: Sequence[RecordCount]) -> RecordCount:
    """Count the numbers of a paper, including items that nobody measured."""
    printed = sum(_count_printed(item, papers) for item in paper.items.values())
    counts = [count for count in items if count.paper == paper.key]
    sums = {}
    for field in fields(RecordCount)[3:]:
        sums[field.name] = sum(getattr(count, field.name) for count in counts)
    return RecordCount(paper.key, paper.key, printed, **sums)


def _count_printed(item: Item, papers: Mapping[str, Paper]) -> int:
    """Count the numbers of an item that are printed and not quoted."""
    count = 0
    for row in item.rows:
        for column in item.columns:
            if not row.quoted and column.kind != "text":
                printed = printed_in(papers, item.cell_id(row, column))
                count += printed is not None and printed.number is not None
    return count


def _sources(record: Record) -> Iterator[SourceFacts]:
    for name, source in record.sources.items():
        cells = [reading.cell for reading in record.readings if reading.source == name]
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
            values=len(cells),
            cells=len(set(cells)),
        )
