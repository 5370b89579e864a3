"""The waterfall of the time that a study took."""

from replicse.judge.report.report_types import Seconds
from replicse.printable import several
from replicse.show.content.contents import Bar, Waterfall


def seconds_picture(took: Seconds) -> Waterfall:
    """Build a waterfall of the seconds of each part of a study."""
    steps, start = [], 0.0
    for label, seconds, jobs in took.parts:
        steps.append(Bar(label, f"{seconds:.0f} s, {jobs} jobs", start, start + seconds))
        start += seconds
    jobs_done = f"{several(took.runs, 'run')}, {several(took.evaluations, 'evaluation')}"
    return Waterfall(f"Training and evaluation took {start:.0f} s ({jobs_done})", tuple(steps))
