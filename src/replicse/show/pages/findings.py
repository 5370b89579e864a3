"""The first sentences of a report: verdicts, claims, orders."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from replicse.judge.report.judgements import JudgedClaim
from replicse.judge.report.report_types import ComparedRows, Effect, JudgedItem, Orders, Report
from replicse.printable import several
from replicse.show.content.contents import Headline
from replicse.show.content.numbers import effect_text, plus_minus, printed_difference
from replicse.show.content.outcomes import probability_text
from replicse.show.content.sheets import verdict_counts
from replicse.show.pages.costs import seconds_picture

OUTCOMES = ("supported", "contradicted", "for", "against", "undetermined")
MOST_NAMED, MOST_TURNED = 3, 2


def findings(report: Report) -> list[Headline]:
    """Summarise a report in a few sentences.

    Args:
        report: The report of a study.

    Returns:
        A list of sentences about verdicts, claims, and differences between rows, depending on the scale.
    """
    study = report.study
    lines = []
    if study.get("incomplete"):
        lines.append(Headline(f"Incomplete: {study['incomplete']}", "", "incomplete"))
    if study["comparable"]:
        lines += _verdicts(report)
    if study["comparable"] or study["judges_orders"]:
        lines += [*claim_headlines(report.claims, study["scale"]), *_orders(report)]
    else:
        lines += _workflow(report)
    return lines


def _verdicts(report: Report) -> Iterator[Headline]:
    counts, tests = verdict_counts(report.items), report.tests
    parts = [f"{count:,} {name}" for name, count in counts.most_common() if count]
    if not parts:
        return
    detail = ""
    if tests:
        detail = (
            f"{several(tests.cells, 'cell')} tested, {tests.found:,} higher or lower after Benjamini-Hochberg at"
            f" {tests.false:.0%} within each paper"
        )
    yield Headline(f"{several(counts.total(), 'cell')}: {', '.join(parts)}.", detail, "counts")


def claim_headlines(
    claims: Sequence[JudgedClaim], scale: str, who: str = "The runs", detail: str = ""
) -> Iterator[Headline]:
    """Count the tested claims by outcome and name the clearest counterexample.

    Args:
        claims: The judged claims.
        scale: Name of the scale.
        who: Subject of the sentence. Default: "The runs".
        detail: Text that is added to the details. Default: "".
    """
    counts = Counter(claim.ours for claim in claims)
    parts, tested = [], 0
    for outcome in OUTCOMES:
        if counts[outcome]:
            parts.append(f"{counts[outcome]} {outcome}")
            tested += counts[outcome]
    if not parts:
        return
    sentence = f"{who} test {tested} of {several(len(claims), 'claim')} of the papers: {', '.join(parts)}."
    details = filter(None, [_contradicted(claims), detail, f"scale {scale}"])
    yield Headline(sentence, _capital("; ".join(details)), "claims")


def _contradicted(claims: Sequence[JudgedClaim]) -> str:
    """Name the claim that the paper supports and our runs contradict most."""
    turned = []
    for claim in claims:
        if claim.ours in ("against", "contradicted") and claim.reported == "supported":
            turned.append(claim)
    if not turned:
        return ""
    first = min(turned, key=lambda claim: claim.probability or 1)
    holds = probability_text(first.probability)
    if not holds:
        return f"against, without a probability: “{first.text}” ({first.place})"
    return f"most clearly against: “{first.text}” ({first.place}; it is true with probability {holds})"


def _orders(report: Report) -> Iterator[Headline]:
    """Name significant differences and count the reproduced orders."""
    parts = [_significant(report.differences)] if report.differences else []
    if report.orders:
        parts += _kept(report.orders)
    if not parts:
        return
    sentence, *details = parts
    if report.orders:
        tau, columns = plus_minus(report.orders.tau), several(report.orders.columns, "column")
        details.append(f"median Kendall's τ {tau} over {columns}")
        details += _turned(report.orders, report.by_item)
    details.append(f"scale {report.study['scale']}")
    yield Headline(f"{_capital(sentence)}.", _capital("; ".join(details)), "what-reproduces")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _significant(differences: ComparedRows) -> str:
    tested, significant = differences.tested, differences.significant
    if not significant:
        return f"No difference between rows is significant among {tested} (Holm, 5%)"
    named = [_difference(effect) for effect in significant[:MOST_NAMED]]
    if len(significant) > MOST_NAMED:
        named.append(f"{len(significant) - MOST_NAMED} more")
    rest = tested - len(significant)
    text = f"Significant among {several(tested, 'difference')} between rows (Holm, 5%): {'; '.join(named)}"
    if rest:
        text += f". Not significant among {tested}: the other {rest}"
    return text


def _difference(effect: Effect) -> str:
    details = effect.over
    if effect.printed is not None:
        details += f"; in print {printed_difference(effect.printed)}"
    return f"{effect.difference} {effect_text(effect.ours)} on {effect.column} ({details})"


def _kept(orders: Orders) -> Iterator[str]:
    if orders.signs:
        verb = "has" if orders.signs == 1 else "have"
        yield f"{orders.signs_kept} of {several(orders.signs, 'difference')} {verb} the printed sign"
    if orders.best:
        yield f"the best row is as printed in {orders.best_kept} of {several(orders.best, 'column')}"


def _turned(orders: Orders, items: Mapping[str, JudgedItem]) -> Iterator[str]:
    """Yield the first columns whose best row differs from the paper's."""
    for turned in orders.turned[:MOST_TURNED]:
        names = items[turned.item].row_names
        printed, here = _row_names(names, turned.best.reported), _row_names(names, turned.best.ours)
        yield f"{turned.column}: best in print {printed}, here {here}"


def _row_names(names: Mapping[str, str], rows: Sequence[str]) -> str:
    return ", ".join(names[row].lstrip("* ") for row in rows)


def _workflow(report: Report) -> Iterator[Headline]:
    """Report whether the workflow ran and how long it took."""
    items, counts = report.items, verdict_counts(report.items)
    lost = counts["failed"] + counts["not run"]
    numbers = 0
    for item in items:
        numbers += sum(cell.reproduced is not None or bool(cell.text) for cell in item.cells)
    works = "The workflow runs from end to end"
    if lost:
        verb = "was" if lost == 1 else "were"
        works = f"{several(lost, 'cell')} failed or {verb} not run"
    yield Headline(
        f"{works}: {several(numbers, 'number')} in {several(len(items), 'item')}.",
        f"Scale {report.study['scale']} shows that the workflow works; the numbers are not evidence about the papers",
        "papers",
    )
    if report.seconds:
        took = seconds_picture(report.seconds)
        steps = [f"{step.label} {step.text}" for step in took.steps]
        yield Headline(f"{took.title}.", "; ".join(steps), "time")
