"""The sentences that a report begins with: what a study found, each with its numbers and the way to them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from replicse.judge.judgements import Finding, JudgedClaim
from replicse.judge.report import JudgedItem, Orders, Report, StrongEffect, StrongProtocol
from replicse.printable import several
from replicse.show.content.audited import audit_parts
from replicse.show.content.contents import Headline, Surroundings
from replicse.show.content.numbers import effect_text, plus_minus, printed_difference
from replicse.show.content.outcomes import probability_text
from replicse.show.content.sheets import verdict_counts
from replicse.show.pages.adjudication import headline
from replicse.show.pages.costs import seconds_picture

TESTED = ("supported", "contradicted", "for", "against", "undetermined")
MOST, MOST_TURNED = 6, 2


def findings(report: Report, around: Surroundings) -> list[Headline]:
    """Return what a report begins with, the most important first; what there is nothing of is left out."""
    study, items, scale = report.study, report.by_item, report.study["scale"]
    lines = (
        [Headline(f"Incomplete: {study['incomplete']}", "", "incomplete")] if study.get("incomplete") else []
    )
    if study["comparable"] or study["judges_orders"]:
        lines += _verdicts(report) if study["comparable"] else []
        lines += [_effect(strong, items[strong.effect.item], scale) for strong in report.effects]
        lines += _counted(report.items)
        lines += _claims(report.claims, scale)
        lines += [Headline(headline(report), "", "adjudication")] if report.gaps_known else []
        lines += [_protocol(strong, items[strong.explained.item], scale) for strong in report.protocols]
        lines += [_orders(report.orders, items, scale)] if report.orders else []
    else:
        lines += _machine(report, around)
    # The audit needs no run, so that it is never crowded out.
    found = _audit(report.audit, {item.paper for item in report.items})
    return [*lines[: MOST - len(found)], *found]


def _effect(strong: StrongEffect, item: JudgedItem, scale: str) -> Headline:
    effect, ours = strong.effect, strong.effect.ours
    where = "in both seeds" if ours.n == 2 else f"over {effect.over}"
    if effect.points:
        amount = _points(ours.mean, effect.column)
    else:
        amount = f"{'lowers' if ours.mean < 0 else 'raises'} {effect.column} by {abs(ours.mean):.2f}"
    printed = printed_difference(effect.printed)
    against = f"; the paper prints {printed}" * (effect.agrees is False)
    sentence = f"{strong.row} {amount} {where}{against}."
    over = f"95% interval over {effect.over}" if ours.low is not None else "the seeds themselves"
    chosen = _chosen(strong.bounds, strong.candidates)
    detail = [f"Paired by seed {effect_text(ours)} against {strong.base} ({over}{chosen})"]
    detail += [f"in print {printed}"] * bool(printed)
    detail.append(f"{effect.item}, scale {scale}")
    return Headline(sentence, "; ".join(detail), item.name_of(effect.cell))


def _chosen(bounds: tuple[float, float] | None, candidates: int) -> str:
    """Return the interval of an effect that was chosen as the strongest of several; blank without one."""
    if bounds is None or candidates == 1:
        return ""
    low, high = bounds
    zero = "" if low > 0 or high < 0 else ", which includes zero"
    return f"; as one of {candidates} [{plus_minus(low)}, {plus_minus(high)}], Bonferroni{zero}"


def _points(mean: float, column: str) -> str:
    return f"{'costs' if mean < 0 else 'adds'} {abs(mean):.1f} points on {column}"


def _verdicts(report: Report) -> Iterator[Headline]:
    counts, tests = verdict_counts(report.items), report.tests
    parts = [f"{count:,} {name}" for name, count in counts.most_common() if count]
    if parts:
        detail = tests and (
            f"{several(tests.cells, 'cell')} tested, {tests.found:,} higher or lower; at most about"
            f" {tests.false * tests.found:.1f} of these are expected to be false (Benjamini-Hochberg at"
            f" {tests.false:.0%} within each paper). Without it {tests.false * tests.cells:.1f} would be, if nothing"
            " differed"
        )
        yield Headline(f"{several(counts.total(), 'cell')}: {', '.join(parts)}.", detail or "", "counts")


def _claims(claims: Sequence[JudgedClaim], scale: str) -> Iterator[Headline]:
    """Yield how many claims the runs could test, and with it the one that they speak against most clearly."""
    counts = Counter(claim.ours for claim in claims)
    parts = [f"{counts[answer]} {answer}" for answer in TESTED if counts[answer]]
    if not parts:
        return
    tested = sum(counts[answer] for answer in TESTED)
    turned = [
        claim
        for claim in claims
        if claim.ours in ("against", "contradicted") and claim.reported == "supported"
    ]
    detail = ""
    if turned:
        first = min(turned, key=lambda claim: claim.probability or 1)
        holds = probability_text(first.probability)
        said = "Most clearly against" if holds else "Against, without a probability"
        detail = (
            f"{said}: “{first.text}” ({first.place}{f'; it holds with probability {holds}' * bool(holds)})"
        )
    yield Headline(
        f"The runs test {tested} of {several(len(claims), 'claim')} of the papers: {', '.join(parts)}.",
        f"{detail}; scale {scale}" if detail else f"Scale {scale}",
        "claims",
    )


def _orders(orders: Orders, items: Mapping[str, JudgedItem], scale: str) -> Headline:
    tau, parts = plus_minus(orders.tau), []
    if orders.signs:
        parts.append(f"{orders.signs_kept} of {several(orders.signs, 'effect')} have the printed sign")
    if orders.best:
        parts.append(
            f"the best row is the printed one in {orders.best_kept} of {several(orders.best, 'column')}"
        )
    sentence = "; ".join(parts) or f"The order of the rows agrees with print at Kendall's τ {tau}"
    detail = f"Median Kendall's τ {tau} over {several(orders.columns, 'column')}; scale {scale}"
    for turned in orders.turned[:MOST_TURNED]:
        names = items[turned.item].row_names
        in_print, here = (
            ", ".join(names[row].lstrip("* ") for row in rows)
            for rows in (turned.best.reported, turned.best.ours)
        )
        detail += f"; {turned.column}: best in print {in_print}, here {here}"
    return Headline(f"{sentence[0].upper()}{sentence[1:]}.", detail, "what-reproduces")


def _protocol(strong: StrongProtocol, item: JudgedItem, scale: str) -> Headline:
    row, ours = strong.explained, strong.ours
    label = next(column.label for column in item.columns if column.id == row.column)
    protocol = item.variants.get(row.protocol, row.protocol)
    return Headline(
        f"{protocol} {_points(ours.mean, label)} over {row.n_seeds} seeds.",
        f"Paired by seed {effect_text(ours)} against the row as described (95%"
        f" interval{_chosen(strong.bounds, strong.candidates)}); {item.item}, scale {scale}",
        item.name_of(row.cell),
    )


def _counted(items: Sequence[JudgedItem]) -> Iterator[Headline]:
    """Yield what an item counts on the data where its paper prints nothing: exact, and of no scale."""
    for item in items:
        cells = [cell for cell in item.cells if cell.metric_path.startswith("data/") and not cell.reported]
        if cells and len(cells) == len(item.cells):
            labels = {column.id: column.label for column in item.columns}
            parts = [
                f"{cell.reproduced:,.0f} ({labels[cell.column]})"
                for cell in cells
                if cell.reproduced is not None
            ]
            yield Headline(
                f"{item.title}: {', '.join(parts)}.", f"Counted on the data; {item.item}", item.item
            )


def _machine(report: Report, around: Surroundings) -> Iterator[Headline]:
    """Yield what a scale shows that says nothing of the papers: that the workflow runs, and where the time went."""
    items, counts = report.items, verdict_counts(report.items)
    lost = counts["failed"] + counts["not run"]
    numbers = sum(cell.reproduced is not None or bool(cell.text) for item in items for cell in item.cells)
    works = (
        "The workflow runs from end to end" if not lost else f"{several(lost, 'cell')} failed or were not run"
    )
    yield Headline(
        f"{works}: {several(numbers, 'number')} in {several(len(items), 'item')}.",
        f"Scale {report.study['scale']} shows that the workflow works; its numbers say nothing about the papers",
        "papers",
    )
    if report.seconds:
        fall = seconds_picture(report.seconds)
        yield Headline(
            f"{fall.title}.", "; ".join(f"{step.label} {step.text}" for step in fall.steps), "time"
        )
    if around.studies:
        yield Headline(
            f"Results on real data are in the committed studies: {', '.join(name for name, *_ in around.studies)}.",
            "Each has a report with findings, intervals and tables",
            "studies",
        )


def _audit(rows: Sequence[Finding], own: Collection[str]) -> list[Headline]:
    """Return how many certain contradictions the papers of the study print; nothing where they print none."""
    certain = {
        paper: sum(row.is_certain for row in part)
        for paper, part in audit_parts(rows).items()
        if paper in own
    }
    if not any(certain.values()):
        return []
    here = ", ".join(f"{each} in {paper}" for paper, each in certain.items() if each)
    total = several(sum(certain.values()), "certain contradiction")
    return [Headline(f"{total} between the printed numbers: {here}.", "No run was needed", "audit")]
