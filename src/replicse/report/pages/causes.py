"""The page "Why can't I reproduce SimCSE?": causes, what people saw, what was measured, how to test and to fix."""

from collections.abc import Sequence
from pathlib import Path

from replicse.report.content.cells import MINUS
from replicse.report.content.contents import Page
from replicse.report.content.tables import Columns, Sheet
from replicse.study.paper.causes import (
    Cause,
    Measured,
    load_causes,
    load_measured,
)
from replicse.study.results.table import ItemResult

TITLE = "Why can't I reproduce SimCSE?"
PAPERS = ("causes", "reruns")
INTRODUCTION = (
    "Often because of the seed. Unsupervised SimCSE on BERT-base prints 76.25; fifty published seeds have a mean of"
    " 75.11 and a standard deviation of 0.84: 74.84 is an ordinary result of the recipe. Five users who trained it"
    " again wrote of 73.47 to 75.99; who reaches the printed number writes nothing, so that threads are a selection.",
    "A larger difference may have a cause. `replicse diagnose NUMBER --item CELL` says whether the number is"
    " unusual, which of your settings are not the paper's, and what to try; with `--encoder FOLDER --data DIR` it"
    " scores your checkpoint as others score theirs.",
)
MEASURED = (
    "Effects in points of the STS average. MiniLM is the public all-MiniLM-L6-v2, exact; compact is unsupervised SimCSE"
    " on three chains of a two-layer encoder, shortened, a mean paired by seed with its 95% interval: sign and order"
    " carry over to BERT-base, sizes do not. Untrained is the same encoder before fine-tuning."
)


def causes_pages(items: Sequence[ItemResult], workflow: Path) -> list[Page]:
    """Return the page for a study that runs the causes or other people's reruns; none for any other."""
    if not any(item.paper in PAPERS for item in items):
        return []
    causes, measured = load_causes(workflow), load_measured(workflow)
    sheets = (causes_sheet(causes), *([measured_sheet(measured)] if measured else []))
    return [Page(TITLE, INTRODUCTION, sheets)]


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
    return Sheet.of("Measured effects", ordered, columns, MEASURED)


def effect_text(each: Measured) -> str:
    """Return an effect with its interval, `-1.20 [-2.00, -0.40]`."""
    return each.text.replace("-", MINUS)
