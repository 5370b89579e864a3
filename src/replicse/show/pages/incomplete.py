"""The page "Incomplete": items with missing results."""

from itertools import chain
from operator import attrgetter

from replicse.judge.report.report_types import Report
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "Incomplete"
ITEMS: Columns = {
    "": lambda item: SYMBOLS[item.state],
    "Item": attrgetter("item"),
    "Missing evaluations": lambda item: f"{item.missing} of {item.planned}",
    "Why": attrgetter("why"),
    "How to fix": attrgetter("remedy"),
}
JOBS: Columns = {
    "Job": attrgetter("name"),
    "Log": attrgetter("log"),
    "Last lines": lambda job: " ⏎ ".join(job.tail) or "(empty)",
}


def incomplete_page(report: Report) -> Page | None:
    """Build the page with sheets of incomplete items and of failed jobs.

    Return None if the study is complete.
    """
    if not report.study.get("incomplete"):
        return None
    failed = dict.fromkeys(chain.from_iterable(item.failed for item in report.incomplete))
    sheets = (Sheet.of("Items", report.incomplete, ITEMS), Sheet.of("Failed jobs", failed, JOBS))
    text = paragraphs("incomplete", report.study["incomplete"])
    return Page(TITLE, text, tuple(sheet for sheet in sheets if sheet.rows))
