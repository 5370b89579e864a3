"""The page of causes of wrong scores: symptoms, effects, fixes."""

from collections.abc import Mapping, Sequence

from replicse.judge.report.report_types import Report
from replicse.printable import minus
from replicse.registry.suites import VARIANTS
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.spec.causes import Cause, Measured


def causes_page(report: Report) -> Page | None:
    """Build the page; return None if no paper in the study has causes."""
    page = report.causes_page
    if page is None:
        return None
    titles = {cause.id: cause.title for cause in report.causes}
    sheets = [causes_sheet(report.causes)]
    if report.measured:
        sheets.append(measured_sheet(report.measured, page.measured, titles))
    of = "published threads and effects measured in committed studies"
    return Page(page.title, page.text, tuple(sheets), of=of)


def causes_sheet(causes: Sequence[Cause]) -> Sheet:
    """Create a sheet with one line for each cause."""
    columns: Columns = {
        "Cause": lambda cause: cause.title,
        "What happens": lambda cause: cause.sentence,
        "Reported symptoms": lambda cause: cause.seen,
        "Threads": threads_text,
        "How to fix": lambda cause: cause.fix,
    }
    return Sheet.of("Causes", causes, columns)


def threads_text(cause: Cause) -> str:
    """Count the threads about a cause, and how many only suspect it."""
    count = len(cause.threads)
    suspected = list(cause.threads.values()).count("suspected")
    if suspected:
        return f"{count}, {suspected} suspected"
    return str(count)


def measured_sheet(measured: Sequence[Measured], text: str, titles: Mapping[str, str]) -> Sheet:
    """Create a sheet with one line for each effect, the largest loss first.

    Args:
        measured: The measured effects.
        text: Text below the table.
        titles: A dict from the ids of causes to titles.
    """
    columns: Columns = {
        "Cause": lambda each: titles.get(each.cause, each.cause),
        "Variant": lambda each: VARIANTS.get(each.variant, each.variant.replace("-", " ")),
        "Encoder": lambda each: each.encoder,
        "Effect": effect_text,
    }
    ordered = sorted(measured, key=lambda each: (each.encoder, each.effect))
    return Sheet.of("Measured effects", ordered, columns, text)


def effect_text(each: Measured) -> str:
    """Format an effect with its interval, such as `−1.20 [−2.00, −0.40]`."""
    return minus(each.text)
