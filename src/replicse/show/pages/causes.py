"""The page of causes: what they are, what people saw, what was measured, how to test and to fix."""

from collections.abc import Mapping, Sequence

from replicse.judge.report import Report
from replicse.printable import minus
from replicse.registry.suites import VARIANTS
from replicse.show.content.contents import Page
from replicse.show.content.sheets import Columns, Sheet
from replicse.spec.causes import Cause, Measured


def causes_page(report: Report) -> Page | None:
    """Return the page for a study of one of its papers; None for any other."""
    page = report.causes_page
    if page is None:
        return None
    titles = {cause.id: cause.title for cause in report.causes}
    measured = [measured_sheet(report.measured, page.measured, titles)] if report.measured else []
    of = "published threads and effects measured in committed studies"
    return Page(page.title, page.text, (causes_sheet(report.causes), *measured), of=of)


def causes_sheet(causes: Sequence[Cause]) -> Sheet:
    """Return one line per cause."""
    columns: Columns = {
        "Cause": lambda cause: cause.title,
        "What happens": lambda cause: cause.sentence,
        "What people saw": lambda cause: cause.seen,
        "Threads": threads_text,
        "How to fix": lambda cause: cause.fix,
    }
    return Sheet.of("Causes", causes, columns)


def threads_text(cause: Cause) -> str:
    """Return how many threads met a cause, and in how many of them it was only suspected."""
    suspected = list(cause.threads.values()).count("suspected")
    return f"{len(cause.threads)}" + (f", {suspected} suspected" if suspected else "")


def measured_sheet(measured: Sequence[Measured], text: str, titles: Mapping[str, str]) -> Sheet:
    """Return one line per measured variant, the largest loss first, below a paragraph of text.

    Causes are named by their `titles`, variants by what they do.
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
    """Return an effect with its interval, `-1.20 [-2.00, -0.40]`."""
    return minus(each.text)
