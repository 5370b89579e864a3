"""The sentences that a report begins with: what a study found, each with its numbers and the way to them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from replicse.judge.highlights import strong_effects
from replicse.judge.multiplicity import FALSE
from replicse.judge.report import JudgedItem, Paired, StrongEffect
from replicse.judge.shape import shapes
from replicse.judge.statistics import among
from replicse.judge.table import CellResult
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.show.content.cells import effect_text, plus_minus, printed_difference
from replicse.show.content.contents import Headline
from replicse.show.content.tables import cell_name, verdict_counts
from replicse.show.pages.adjudication import NOISE, headline
from replicse.show.pages.audit import audit_parts, is_certain
from replicse.show.pages.claims import probability_text
from replicse.spec.cell_id import CellId

Rows = Sequence[Mapping[str, str]]
TESTED = ("supported", "contradicted", "for", "against", "undetermined")
MOST, MOST_TURNED = 6, 2


def findings(
    study: Mapping[str, Any], items: Sequence[JudgedItem], claims: Rows, audit: Rows, explained: Rows
) -> list[Headline]:
    """Return what a report begins with, the most important first; what there is nothing of is left out."""
    lines = (
        [Headline(f"Incomplete: {study['incomplete']}", "", "incomplete")] if study.get("incomplete") else []
    )
    scale = study["scale"]
    if study["comparable"] or study["judges_orders"]:
        lines += _verdicts(items) if study["comparable"] else []
        lines += _effects(items, scale)
        lines += _counted(items)
        lines += _claims(claims, scale)
        lines += _gaps(explained, items)
        lines += _protocols(explained, items, scale)
        lines += _orders(items, scale)
    else:
        lines += _machine(study, items)
    # The audit needs no run, so that it is never crowded out.
    found = _audit(audit, items)
    return [*lines[: MOST - len(found)], *found]


def _effects(items: Sequence[JudgedItem], scale: str) -> Iterator[Headline]:
    by_item = {item.item: item for item in items}
    for strong in strong_effects(items):
        yield _effect_headline(strong, by_item[strong.effect.item], scale)


def _effect_headline(strong: StrongEffect, item: JudgedItem, scale: str) -> Headline:
    effect, ours = strong.effect, strong.effect.ours
    where = "in both seeds" if ours.n == 2 else f"over {ours.n} seeds"
    if effect.points:
        amount = _points(ours.mean, effect.column)
    else:
        amount = f"{'lowers' if ours.mean < 0 else 'raises'} {effect.column} by {abs(ours.mean):.2f}"
    printed = printed_difference(effect.printed)
    sentence = f"{strong.row} {amount} {where}{f'; the paper prints {printed}' * (effect.agrees is False)}."
    over = f"95% interval over {ours.n} seeds" if ours.low is not None else "the seeds themselves"
    chosen = _chosen(strong.bounds, strong.candidates)
    detail = [f"Paired by seed {effect_text(ours)} against {strong.base} ({over}{chosen})"]
    if effect.crossed:
        values = [value for line in effect.crossed for value in line]
        crossed = plus_minus(sum(values) / len(values))
        detail.append(f"{crossed} over {len(values)} pairs of backbone and seed")
    detail += [f"in print {printed}"] * bool(printed)
    detail.append(f"{effect.item}, scale {scale}")
    return Headline(sentence, "; ".join(detail), cell_name(item, item.described[effect.cell]))


def _chosen(bounds: tuple[float, float] | None, candidates: int) -> str:
    """Return the interval of an effect that was chosen as the strongest of several; blank without one."""
    if bounds is None or candidates == 1:
        return ""
    low, high = map(plus_minus, bounds)
    return f"; as the strongest of {candidates} [{low}, {high}], Bonferroni"


def _points(mean: float, column: str) -> str:
    return f"{'costs' if mean < 0 else 'adds'} {abs(mean):.1f} points on {column}"


def _verdicts(items: Sequence[JudgedItem]) -> Iterator[Headline]:
    counts = verdict_counts(items)
    parts = [f"{count:,} {name}" for name, count in counts.most_common() if count]
    if parts:
        tested = [cell for item in items for cell in item.described.values() if cell.p is not None]
        found = sum(cell.verdict in ("higher", "lower") for cell in tested)
        detail = (
            f"{several(len(tested), 'cell')} tested, {found:,} higher or lower; at most about {FALSE * found:.1f} of"
            f" these are expected to be false (Benjamini-Hochberg at {FALSE:.0%} within each paper). Without it"
            f" {FALSE * len(tested):.1f} would be, if nothing differed"
        )
        sentence = f"{several(counts.total(), 'cell')}: {', '.join(parts)}."
        yield Headline(sentence, detail if tested else "", "counts")


def _claims(rows: Rows, scale: str) -> Iterator[Headline]:
    """Yield how many claims the runs could test, and with it the one that they speak against most clearly."""
    counts = Counter(row["ours"] for row in rows)
    parts = [f"{counts[answer]} {answer}" for answer in TESTED if counts[answer]]
    if not parts:
        return
    tested = sum(counts[answer] for answer in TESTED)
    against = [
        row for row in rows if row["ours"] in ("against", "contradicted") and row["reported"] == "supported"
    ]
    against.sort(key=lambda row: float(row["probability"] or 1))
    detail = ""
    if against and against[0]["probability"]:
        first = against[0]
        holds = probability_text(first["probability"])
        detail = (
            f"Most clearly against: “{first['text']}” ({first['place']}; it holds with probability {holds})"
        )
    elif against:
        detail = f"Against, without a probability: “{against[0]['text']}” ({against[0]['place']})"
    yield Headline(
        f"The runs test {tested} of {several(len(rows), 'claim')} of the papers: {', '.join(parts)}.",
        f"{detail}; scale {scale}" if detail else f"Scale {scale}",
        "claims",
    )


def _orders(items: Sequence[JudgedItem], scale: str) -> Iterator[Headline]:
    every = [shape for item in items for shape in shapes(item)]
    if not every:
        return
    best = [shape.best.kept for shape in every if shape.best is not None]
    signs = [sign.agrees for shape in every for sign in shape.signs if sign.agrees is not None]
    tau = plus_minus(median(shape.rank.tau for shape in every))
    parts = [f"{sum(signs)} of {several(len(signs), 'effect')} have the printed sign"] if signs else []
    parts += (
        [f"the best row is the printed one in {sum(best)} of {several(len(best), 'column')}"] if best else []
    )
    sentence = "; ".join(parts) or f"The order of the rows agrees with print at Kendall's τ {tau}"
    detail = f"Median Kendall's τ {tau} over {several(len(every), 'column')}; scale {scale}"
    names = {item.item: item.row_names for item in items}
    turned = [(shape, shape.best) for shape in every if shape.best is not None and not shape.best.kept]
    for shape, sides in turned[:MOST_TURNED]:
        labels = (
            [names[shape.item][row].lstrip("* ") for row in rows] for rows in (sides.reported, sides.ours)
        )
        in_print, here = map(", ".join, labels)
        detail += f"; {shape.label}: best in print {in_print}, here {here}"
    yield Headline(f"{sentence[0].upper()}{sentence[1:]}.", detail, "what-reproduces")


def _gaps(rows: Rows, items: Sequence[JudgedItem]) -> Iterator[Headline]:
    said = headline(rows, {item.item: item for item in items})
    if said and said != NOISE:
        yield Headline(said, "", "adjudication")


def _protocols(rows: Rows, items: Sequence[JudgedItem], scale: str) -> Iterator[Headline]:
    """Yield the strongest effects in points of protocols where nothing is printed that they could explain."""
    by_item = {item.item: item for item in items}
    rows = [row for row in rows if not row["gap"] and row["low"] and row["item"] in by_item]
    measured = [(row, _measured(row)) for row in rows if is_percentage(_described(row, by_item).metric_path)]
    decided = [(row, ours) for row, ours in measured if ours.resolved]
    decided.sort(key=lambda entry: entry[1].strength, reverse=True)
    # Of a protocol the column in which it is strongest.
    strongest: dict[tuple[str, str], tuple[Mapping[str, str], Paired]] = {}
    for row, ours in decided:
        strongest.setdefault((row["item"], row["protocol"]), (row, ours))
    for row, ours in list(strongest.values())[:MOST_TURNED]:
        item = by_item[row["item"]]
        label = next(column.label for column in item.columns if column.id == row["column"])
        protocol = item.variants.get(row["protocol"], row["protocol"])
        yield Headline(
            f"{protocol} {_points(ours.mean, label)} over {row['n_seeds']} seeds.",
            f"Paired by seed {effect_text(ours)} against the row as described (95%"
            f" interval{_chosen(among(ours, len(measured)), len(measured))}); {item.item}, scale {scale}",
            cell_name(item, _described(row, by_item)),
        )


def _described(row: Mapping[str, str], items: Mapping[str, JudgedItem]) -> CellResult:
    """Return the cell whose protocol a row of adjudication.csv is of, as the paper describes it."""
    return items[row["item"]].described[CellId(row["item"], row["row"], row["column"], row["metric"])]


def _measured(row: Mapping[str, str]) -> Paired:
    """Return the effect of a protocol as a row of adjudication.csv has it."""
    mean, low, high = (float(row[name]) for name in ("effect", "low", "high"))
    return Paired(mean, low, high, tuple(map(float, row["by_seed"].split("; "))))


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


def _machine(study: Mapping[str, Any], items: Sequence[JudgedItem]) -> Iterator[Headline]:
    """Yield what a scale shows that says nothing of the papers: that the workflow runs, and where the time went."""
    counts = verdict_counts(items)
    lost = counts["failed"] + counts["not run"]
    numbers = sum(cell.reproduced is not None or bool(cell.text) for item in items for cell in item.cells)
    works = (
        "The workflow runs from end to end" if not lost else f"{several(lost, 'cell')} failed or were not run"
    )
    yield Headline(
        f"{works}: {several(numbers, 'number')} in {several(len(items), 'item')}.",
        f"Scale {study['scale']} shows the machine only; its numbers say nothing about the papers",
        "papers",
    )
    fall = study.get("seconds")
    if fall:
        yield Headline(f"{fall.title}.", "; ".join(f"{step.label} {step.text}" for step in fall.steps), "")
    committed = study.get("committed", ())
    if committed:
        yield Headline(
            f"Results on real data are in the committed studies: {', '.join(name for name, *_ in committed)}.",
            "Each has a report with findings, intervals and tables",
            "studies",
        )


def _audit(rows: Rows, items: Sequence[JudgedItem]) -> list[Headline]:
    count = sum(map(is_certain, rows))
    if not rows:
        return []
    papers = len({row["paper"] for row in rows if is_certain(row)})
    own = {item.paper for item in items}
    counts = {paper: sum(map(is_certain, part)) for paper, part in audit_parts(rows).items()}
    here = ", ".join(f"{each} in {paper}" for paper, each in counts.items() if paper in own and each)
    contradictions = several(count, "certain contradiction")
    where = f" of {several(papers, 'paper')}" if papers else ""
    sentence = f"{contradictions} between the printed numbers{where}."
    return [
        Headline(
            sentence,
            f"{f'Of them {here}' if here else 'None of them in the papers of this study'}; no run was needed",
            "audit",
        )
    ]
