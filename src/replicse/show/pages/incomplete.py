"""The page "Incomplete": items with missing results."""

from operator import attrgetter

from replicse.judge.report.report_types import Report
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.show.content.texts import paragraphs

TITLE = "Incomplete"
ITEMS: Columns = {
    "": lambda one: SYMBOLS[one.state],
    "Item": attrgetter("item"),
    "Missing evaluations": lambda one: f"{one.missing} of {one.planned}",
    "Why": attrgetter("why"),
    "What to do": attrgetter("remedy"),
}
JOBS: Columns = {
    "Job": attrgetter("name"),
    "Log": attrgetter("log"),
    "Its last lines": lambda job: " ⏎ ".join(job.tail) or "(empty)",
}


def incomplete_page(report: Report) -> Page | None:
    """Build the page with a sheet of items and one of failed jobs.

    None if the study is complete.
    """
    if not report.study.get("incomplete"):
        return None
    failed = dict.fromkeys(job for one in report.incomplete for job in one.failed)
    sheets = (Sheet.of("Items", report.incomplete, ITEMS), Sheet.of("Failed jobs", failed, JOBS))
    text = paragraphs("incomplete", report.study["incomplete"])
    return Page(TITLE, text, tuple(sheet for sheet in sheets if sheet.rows))
