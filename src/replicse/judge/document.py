"""The document of what a study found, from its items' results."""

from collections import Counter

from replicse.judge.effects import effects_of
from replicse.judge.report import JudgedItem
from replicse.judge.table import ItemResult


def judged_item(result: ItemResult) -> JudgedItem:
    """Return an item with what its rows change, and how many of its cells show each verdict."""
    quoted = {row.id for row in result.rows if row.quoted}
    verdicts = Counter(
        verdict
        for column in result.columns
        for cell in result.cells
        if (cell.column, cell.metric) == (column.id, column.metric) and cell.protocol not in result.variants
        if (verdict := cell.shown_verdict(result.comparable, cell.row in quoted))
    )
    found = {"effects": tuple(effects_of(result)), "verdicts": dict(verdicts)}
    return JudgedItem.model_construct(**{**dict(result), **found})
