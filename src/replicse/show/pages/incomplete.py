"""The page of a study that did not run to its end: which items lack something, why, and what to do."""

from collections.abc import Sequence
from operator import attrgetter

from replicse.judge.incomplete import Incomplete
from replicse.show.content.cells import SYMBOLS
from replicse.show.content.contents import Page
from replicse.show.content.tables import Columns, Sheet
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
    "Job": str,
    "Log": attrgetter("log"),
    "Its last lines": lambda job: " ⏎ ".join(job.tail) or "(empty)",
}


def incomplete_page(lacking: Sequence[Incomplete], count: str) -> Page:
    """Return the page, with a sheet of the items and one of the jobs that failed."""
    failed = dict.fromkeys(job for one in lacking for job in one.failed)
    sheets = (Sheet.of("Items", lacking, ITEMS), Sheet.of("Failed jobs", failed, JOBS))
    return Page(TITLE, paragraphs("incomplete", count), tuple(sheet for sheet in sheets if sheet.rows))
