"""The page "The record": measurements of published numbers by others."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from replicse.judge.report.report_types import JudgedItem, Report
from replicse.judge.verdicts.others import (
    RecordCount,
    RecordSummary,
    SettingEffect,
    SourceFacts,
    SourceResult,
)
from replicse.judge.verdicts.table import CellResult
from replicse.printable import number, several
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Headline, Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs
from replicse.show.pages.findings import claim_headlines
from replicse.spec.columns import TEXT

TITLE, FILE = "The record", "record.html"
# A dict from verdicts to functions that return the count.
FOUND: dict[str, Callable[[RecordCount], int]] = {
    "equal": attrgetter("equal"),
    "not equal": attrgetter("not_equal"),
    "within seed spread": attrgetter("within"),
    "higher": attrgetter("higher"),
    "lower": attrgetter("lower"),
    "undetermined": attrgetter("undetermined"),
}


@dataclass(frozen=True)
class _Line:
    """The result of a source for a cell with a published number."""

    name: str
    printed: str
    result: SourceResult


def record_page(report: Report) -> Page | None:
    """Build the page; return None if the study is not the record."""
    summary = report.record
    if summary is None:
        return None
    deciding: list[_Line] = []
    effects: dict[tuple[object, ...], _Line] = {}
    for item in report.items:
        deciding += [line for line in _lines(item) if line.result.decides]
        for line in _averages(item):
            if line.result.effect:
                effects[_values_key(line)] = line
    first, *found = record_headlines(report)
    introduction = " ".join(line.sentence for line in found)
    sheets = (
        counts_sheet("By paper", "Paper", (*summary.papers, summary.total)),
        counts_sheet("By item", "Item", summary.items),
        deciding_sheet(deciding),
        effects_sheet(tuple(effects.values())),
        sources_sheet(summary.sources),
    )
    filled = tuple(sheet for sheet in sheets if sheet.rows)
    return Page(
        TITLE,
        (introduction, *paragraphs("record")),
        filled,
        headline=first.sentence,
        file=FILE,
        of="values that others published",
        pictures=tuple(item.item for item in report.items),
    )


def count_sentence(summary: RecordSummary) -> str:
    """Count the published numbers that have measurements and verdicts."""
    total = summary.total
    values = several(sum(source.values for source in summary.sources), "value")
    sources, papers = several(len(summary.sources), "source"), several(len(summary.papers), "paper")
    return (
        f"Others measured {total.measured:,} of the {total.printed:,} numbers that {papers} print"
        f" ({values} from {sources}); {total.judged:,} have a verdict."
    )


def record_headlines(report: Report) -> Iterator[Headline]:
    """Yield the first sentences of the record's report.

    Args:
        report: A report. If it is not the record, no sentence is yielded.
    """
    summary = report.record
    if summary is None:
        return
    total = {name: get(summary.total) for name, get in FOUND.items()}
    yield Headline(count_sentence(summary), "", "the-record")
    released = total["equal"] + total["not equal"]
    equal = f"{total['equal']} of {several(released, 'number')} equal the reported number."
    yield Headline(
        f"Released encoders, tested by others: {equal}",
        "Equal within half a printed digit and the rounding of the source",
        "the-record",
    )
    trained = total["within seed spread"] + total["higher"] + total["lower"]
    yield Headline(
        f"Encoders trained again by others: {total['within seed spread']} of {several(trained, 'number')} within seed"
        f" spread, {total['higher']} higher, {total['lower']} lower; {total['undetermined']} undetermined.",
        f"By the source with most seeds in the printed setting{_outside_alone(report)}",
        "the-record",
    )
    detail = "each in the values of one source; probabilities are not adjusted for the number of claims"
    yield from claim_headlines(report.claims, report.study["scale"], "The sources", detail)


def _outside_alone(report: Report) -> str:
    """Count the cells outside of an interval, also after correction."""
    tests = report.tests
    if tests is None:
        return ""
    outside = 0
    for item in report.items:
        outside += sum(cell.p is not None and cell.p < tests.false for cell in item.cells)
    return (
        f"; {outside} of {several(tests.cells, 'number')} outside of their intervals before and {tests.found} after"
        f" Benjamini-Hochberg at {tests.false:.0%} within each paper"
    )


def counts_sheet(title: str, kind: str, counts: Sequence[RecordCount]) -> Sheet:
    """Create a sheet with the counts of each paper or item.

    Args:
        title: The title.
        kind: The heading of the names, such as "Paper".
        counts: The counts.
    """
    columns: Columns = {
        kind: lambda count: count.name,
        "printed": lambda count: f"{count.printed:,}",
        "measured by others": lambda count: f"{count.measured:,}",
        "with a verdict": lambda count: f"{count.judged:,}",
    }
    for verdict, get in FOUND.items():
        columns[f"{SYMBOLS[verdict]} {verdict}"] = partial(_count_text, get)
    columns["other settings only"] = lambda count: str(count.other_setting)
    return Sheet.of(title, counts, columns)


def _count_text(get: Callable[[RecordCount], int], count: RecordCount) -> str:
    return str(get(count))


def deciding_sheet(lines: Sequence[_Line]) -> Sheet:
    """Create a sheet of published numbers and the sources that decide."""
    columns: Columns = {
        "Cell": lambda line: line.name,
        "Printed": lambda line: line.printed,
        "Others": lambda line: number(line.result.mean),
        "sd": lambda line: "" if line.result.sd is None else number(line.result.sd),
        "n": lambda line: str(line.result.n) if line.result.trained else "released",
        "Source": lambda line: line.result.source,
        "Verdict": lambda line: f"{SYMBOLS.get(line.result.verdict, '')} {line.result.verdict}".strip(),
        "Borrowed": lambda line: "spread of another source" * line.result.borrowed,
    }
    return Sheet.of("Printed numbers and the source that decides", lines, columns)


def effects_sheet(lines: Sequence[_Line]) -> Sheet:
    """Create a sheet of the effects of other settings."""
    columns: Columns = {
        "Cell": lambda line: line.name,
        "Source": lambda line: line.result.source,
        "What differs": lambda line: line.result.difference,
        "Effect": lambda line: effect_text(line.result.effect),
        "n": lambda line: _counts(line.result.effect),
    }
    return Sheet.of("What another setting changes", lines, columns)


def effect_text(effect: SettingEffect | None) -> str:
    """Format an effect, such as `-0.91 [-1.20, -0.62], paired`.

    Return "" for None.
    """
    if effect is None:
        return ""
    interval = ""
    if effect.low is not None and effect.high is not None:
        interval = f" [{number(effect.low, '+.2f')}, {number(effect.high, '+.2f')}]"
    return f"{number(effect.mean, '+.2f')}{interval}{', paired' * effect.is_paired}"


def sources_sheet(sources: Sequence[SourceFacts]) -> Sheet:
    """Create a sheet of the sources."""
    columns: Columns = {
        "Source": lambda source: source.name,
        "Who": lambda source: source.who,
        "Year": lambda source: str(source.year),
        "Address": lambda source: source.url,
        "Code": lambda source: source.code,
        "Stack": lambda source: source.stack,
        "GPUs": lambda source: source.gpus,
        "Values": lambda source: f"{source.values:,}",
        "Note": lambda source: source.note,
    }
    return Sheet.of("Sources", sources, columns)


def _counts(effect: SettingEffect | None) -> str:
    if effect is None:
        return ""
    return f"{effect.n} and {effect.n_base}"


def _lines(item: JudgedItem) -> Iterator[_Line]:
    """Yield the results of others for an item, without quoted rows."""
    quoted = {row.id for row in item.rows if row.quoted}
    for name, cell in item.described.items():
        if cell.metric != TEXT and cell.printed is not None and cell.row not in quoted:
            yield from _of_cell(item.name_of(name), cell, item.others.get(str(name), ()))


def _averages(item: JudgedItem) -> Iterator[_Line]:
    """Yield the results of others for the averages of an item.

    If there are no averages, yield the results for all numbers.
    """
    averages = {column.id for column in item.columns if column.average}
    for line in _lines(item):
        if not averages or line.name.split("/")[3] in averages:
            yield line


def _values_key(line: _Line) -> tuple[object, ...]:
    """Return a key that is equal if cells have the same measured values."""
    result = line.result
    return result.source, result.setting, result.values, result.links


def _of_cell(name: str, cell: CellResult, results: Iterable[SourceResult]) -> Iterator[_Line]:
    printed = cell.reported.value if cell.reported else ""
    for result in results:
        yield _Line(name, printed, result)
