"""The page "What reproduces": verdicts, orders, differences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter

from replicse.judge.report.report_types import JudgedItem, Report
from replicse.printable import standing
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Page
from replicse.show.content.numbers import effect_of_rows, printed_difference
from replicse.show.content.sheets import Columns, Sheet, verdict_counts
from replicse.show.content.texts import paragraphs
from replicse.show.pages.shape import shape_sheet

TITLE = "What reproduces"


def reproduces_page(report: Report) -> Page | None:
    """Build the page with sheets of verdicts, orders and differences.

    Args:
        report: The report of a study.

    Returns:
        The page, or None if all sheets are empty.
    """
    scale, comparable = report.study["scale"], report.study["comparable"]
    orders = report.study["judges_orders"]
    sheets = (
        (verdict_sheet(report.items), comparable),
        (shape_sheet(report), comparable or orders),
        (difference_sheet(report.items), comparable or orders),
    )
    text = paragraphs("reproduces", comparable, orders)
    titled = []
    for sheet, is_judged in sheets:
        if sheet.rows:
            titled.append(replace(sheet, title=f"{sheet.title} · {standing(scale, is_judged)}"))
    return Page(TITLE, text, tuple(titled)) if titled else None


def verdict_sheet(items: Sequence[JudgedItem]) -> Sheet:
    """Create a sheet with the number of cells of each verdict by item."""
    counted, total = [], Counter[str]()
    for item in items:
        count = verdict_counts([item])
        if count:
            counted.append((item.item, count))
            total += count
    columns: Columns = {"Item": lambda entry: entry[0]}
    for name in SYMBOLS:
        if total[name]:
            columns[f"{SYMBOLS[name]} {name}"] = partial(_counted, name)
    columns["cells"] = lambda entry: str(entry[1].total())
    return Sheet.of("Verdicts by item", counted, columns)


def _counted(verdict: str, entry: tuple[str, Counter[str]]) -> str:
    return str(entry[1][verdict])


def difference_sheet(items: Iterable[JudgedItem]) -> Sheet:
    """Create a sheet of the differences to baseline rows."""
    columns: Columns = {
        "Item": attrgetter("item"),
        "Column": attrgetter("column"),
        "Difference": attrgetter("difference"),
        "Printed": lambda effect: printed_difference(effect.printed),
        "Ours, paired by seed": effect_of_rows,
    }
    effects = chain.from_iterable(item.effects for item in items)
    return Sheet.of("Differences to the baseline row", effects, columns, *paragraphs("paired"))
