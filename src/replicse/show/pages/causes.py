"""The page "Why can't I reproduce SimCSE?": causes, what people saw, what was measured, how to test and to fix."""

from collections.abc import Sequence
from pathlib import Path

from replicse.judge.table import ItemResult
from replicse.show.content.cells import MINUS
from replicse.show.content.contents import Page
from replicse.show.content.tables import Columns, Sheet
from replicse.show.content.texts import paragraphs
from replicse.spec.causes import (
    Cause,
    Measured,
    load_causes,
    load_measured,
)

TITLE = "Why can't I reproduce SimCSE?"
PAPERS = ("causes", "reruns")


def causes_pages(items: Sequence[ItemResult], workflow: Path) -> list[Page]:
    """Return the page for a study that runs the causes or other people's reruns; none for any other."""
    if not any(item.paper in PAPERS for item in items):
        return []
    causes, measured = load_causes(workflow), load_measured(workflow)
    sheets = (causes_sheet(causes), *([measured_sheet(measured)] if measured else []))
    return [Page(TITLE, paragraphs("causes"), sheets)]


def causes_sheet(causes: Sequence[Cause]) -> Sheet:
    """Return one line per cause."""
    columns: Columns = {
        "Cause": lambda cause: cause.title,
        "What happens": lambda cause: cause.sentence,
        "What people saw": lambda cause: cause.seen,
        "Threads": threads_text,
        "How to fix": lambda cause: cause.mend,
    }
    return Sheet.of("Causes", causes, columns)


def threads_text(cause: Cause) -> str:
    """Return how many threads met a cause, and in how many of them it was only suspected."""
    suspected = list(cause.threads.values()).count("suspected")
    return f"{len(cause.threads)}" + (f", {suspected} suspected" if suspected else "")


def measured_sheet(measured: Sequence[Measured]) -> Sheet:
    """Return one line per measured variant, the largest loss first."""
    columns: Columns = {
        "Cause": lambda each: each.cause,
        "Variant": lambda each: each.variant,
        "Encoder": lambda each: each.encoder,
        "Effect": effect_text,
    }
    ordered = sorted(measured, key=lambda each: (each.encoder, each.effect))
    return Sheet.of("Measured effects", ordered, columns, *paragraphs("measured"))


def effect_text(each: Measured) -> str:
    """Return an effect with its interval, `-1.20 [-2.00, -0.40]`."""
    return each.text.replace("-", MINUS)
