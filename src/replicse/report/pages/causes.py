"""The page "Why can't I reproduce SimCSE?": causes, what people saw, what was measured, how to test and to fix."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from replicse.registry.suites import VARIANTS
from replicse.report.content.cells import MINUS
from replicse.report.content.contents import Page
from replicse.report.content.tables import Columns, Sheet
from replicse.study.paper.causes import (
    Cause,
    Confirmed,
    Measured,
    Report,
    address,
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


def effect_records(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return what the picture of effects draws: a panel for each encoder."""
    return [
        {"group": each.encoder, "row": each.variant, "value": each.effect, "low": each.low, "high": each.high}
        for each in measured
    ]


# The page of the documentation


def causes_markdown(
    causes: Sequence[Cause],
    measured: Sequence[Measured],
    checked: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> str:
    """Return the page as Markdown; `checked` are threads with the facts that list their confirmed cause."""
    return "\n".join(_lines(causes, measured, checked, pictures)) + "\n"


def _lines(
    causes: Sequence[Cause],
    measured: Sequence[Measured],
    checked: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> Iterator[str]:
    yield f"# {TITLE}"
    yield "\n<!-- Written by `python workflow/causes.py` from workflow/causes*.yaml and workflow/causes*.csv. -->"
    yield from (f"\n{paragraph}" for paragraph in INTRODUCTION)
    yield f"\n![Printed numbers among published seeds and reruns]({pictures['strip']})"
    yield "\nNo number is repeated to the second decimal on another machine. Before you look for a mistake:"
    yield "\n1. Test the released checkpoint with your own command. If it gives the printed number, your test is right."
    yield "2. Train two more seeds and compare means."
    yield "3. Ask `replicse diagnose`, and paste `--markdown` into your issue: it says what you would be asked."
    yield "\n## The causes\n"
    yield "| cause | threads | reported, in points | measured, in points |"
    yield "| --- | --- | --- | --- |"
    for cause in causes:
        ours = [each for each in measured if each.cause == cause.id]
        yield (
            f"| [{cause.title}](#{cause.id}) | {threads_text(cause)} | {_range(_reported(cause)) or '-'} |"
            f" {_range([each.effect for each in ours]) or '-'} |"
        )
    if measured:
        yield f"\n![Measured effects with their intervals]({pictures['effects']})"
        yield f"\n{MEASURED}"
    for cause in causes:
        yield from _of_cause(cause, [each for each in measured if each.cause == cause.id])
    yield from _of_checked(checked)


def _reported(cause: Cause) -> list[float]:
    return [delta for _, delta in cause.deltas]


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = (f"{value:+.2f}".replace("-", MINUS) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _of_cause(cause: Cause, measured: Sequence[Measured]) -> Iterator[str]:
    yield f'\n<a id="{cause.id}"></a>\n\n### {cause.title}\n\n{cause.sentence}'
    yield f"\n**What people saw.** {cause.seen}"
    if cause.confirmed:
        yield "\n| thread | model | quantity | printed | got |\n| --- | --- | --- | --: | --: |"
        yield from (f"| {' | '.join(_report(report))} |" for report in cause.confirmed)
    if measured:
        yield "\n**What we measured.**"
        yield "\n| variant | what it is | encoder | effect |\n| --- | --- | --- | --: |"
        for each in measured:
            what = VARIANTS.get(each.variant, "in training")
            yield f"| {each.variant} | {what} | {each.encoder} | {effect_text(each)} |"
    yield f"\n**How to test.** `{cause.test}`"
    yield f"\n**How to fix.** {cause.mend}"
    unconfirmed = {"measured here": "Measured here", "suspected": "Only suspected"}
    for who in get_args(Confirmed):
        threads = [thread for thread, confirmed in cause.threads.items() if confirmed == who]
        links = ", ".join(f"[{thread}]({address(thread)})" for thread in threads)
        yield from ([f"\n{unconfirmed.get(who, f'Confirmed by {who}')}: {links}."] if links else [])


def _report(report: Report) -> tuple[str, ...]:
    """Return what one thread reports: where, of what, printed and obtained."""
    link = f"[{report.thread}]({address(report.thread)})"
    printed = "" if report.printed is None else f"{report.printed:g}"
    got = ", ".join(f"{value:g}" for value in report.got)
    beside = ", ".join(f"{value:+g} from print" for value in report.delta)
    return link, report.model, report.quantity, printed, got or beside


def _of_checked(checked: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    agreed = [entry for entry in checked if entry["agreed"]]
    further = [entry for entry in checked if entry not in agreed]
    yield "\n## How well stated facts find the cause"
    yield (
        "\nA number alone finds no cause: a ranking by the size of the difference had the right one among its first"
        " three as often as chance. So `replicse diagnose` lists the causes that a stated setting bears on, and without"
        f" one puts no cause before another. In {len(agreed)} threads a maintainer named the cause, the asker agreed,"
        f" and a score had been missed. What the first post states lists the confirmed cause in {_hits(agreed)}."
    )
    yield from _threads(agreed)
    if further:
        yield (
            f"\nIn {len(further)} further threads a cause was named or suspected, and not agreed. A stated fact"
            f" lists it in {_hits(further)}."
        )
        yield from _threads(further)


def _hits(checked: Sequence[Mapping[str, Any]]) -> str:
    silent = sum(not entry["stated"] for entry in checked)
    return f"{sum(bool(entry['listed_by']) for entry in checked)} of {len(checked)}; {silent} state nothing of the kind"


def _threads(checked: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "\n| thread | what was written | named cause | listed by |\n| --- | --- | --- | --- |"
    for entry in checked:
        link = f"[{entry['thread']}]({address(entry['thread'])})"
        by = ", ".join(entry["listed_by"]) or ("another cause" if entry["stated"] else "nothing stated")
        yield f"| {link} | {entry['written']} | {entry['cause']} | {by} |"
