"""The page of a study that did not run to its end: which items lack something, why, and what to do."""

from collections.abc import Sequence

from replicse.report.content.cells import SYMBOLS
from replicse.report.content.contents import Page
from replicse.report.content.tables import Sheet
from replicse.study.results.incomplete import Incomplete

TITLE = "Incomplete"
TEXT = (
    "This report was written from what there was when the study stopped: *{count}* lack evaluations. Their cells are"
    " blank: ✗ where a job behind them failed, ○ where none was started. Claims, orders and averages that need them"
    " are open."
)
ITEMS = ("", "Item", "Missing evaluations", "Why", "What to do")
JOBS = ("Job", "Log", "Its last lines")


def incomplete_page(lacking: Sequence[Incomplete], count: str) -> Page:
    """Return the page, with a sheet of the items and one of the jobs that failed."""
    rows = [
        (SYMBOLS[one.state], one.item, f"{one.missing} of {one.planned}", one.why, one.remedy)
        for one in lacking
    ]
    jobs = dict.fromkeys(job for one in lacking for job in one.failed)
    failed = [(str(job), job.log, " ⏎ ".join(job.tail) or "(empty)") for job in jobs]
    sheets = (Sheet("Items", ITEMS, tuple(rows)), Sheet("Failed jobs", JOBS, tuple(failed)))
    return Page(TITLE, (TEXT.format(count=count),), tuple(sheet for sheet in sheets if sheet.rows))
