"""Audit: the arithmetic of the printed numbers alone. Every rule is general and runs on all papers.

A printed number stands for all numbers that round to it, so sums are exact fractions and half a unit of the
last digit says what rounding can explain. What a set holds is in `workflow/datasets.yaml`.
"""

import itertools
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.judge.claims import contradicted_in_print, study_claims
from replicse.study.paper.cell_names import CellNames, is_measured, words
from replicse.study.paper.claims import Claim
from replicse.study.paper.config import checked_config
from replicse.study.paper.counterparts import CellKey, differences, printed_in
from replicse.study.paper.datasets import Average, Datasets, load_datasets
from replicse.study.paper.papers import TEXT_ITEM, Paper
from replicse.study.paper.printed import Reported, printed_number
from replicse.study.paper.running_text import COUNTED, Spoken, spoken_numbers
from replicse.study.paper.tables import Formula, Over
from replicse.study.plan.plan import Cell, Plan
from replicse.study.plan.planner import plan_of

CERTAIN = "certain"
CLAIM = "claim"
NOT_AUDITED = "not audited"  # a rule that names what the others could not read; pages do not count it
QUOTED = "quoted:"
UNROUNDED = "unless computed before rounding"
LINEAR = ("single", "mean")
ENDS = ("min", "max")
# A run lies outside of n others of its kind by chance in 2 of n + 1 cases; above this share that says nothing.
CHANCE = Fraction(1, 20)


LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finding:
    """One mistake in print: what stands where, and what follows instead.

    `place` is in a reader's words. `cells` are names `paper/item/row/column/metric`, the one in question first; a
    claim's `paper/id` stands first. `certainty` is "certain" where no rounding explains it, else it says what would.
    """

    paper: str
    rule: str
    place: str
    cells: tuple[str, ...]
    printed: str
    follows: str
    certainty: str
    note: str = ""

    def row(self) -> dict[str, str]:
        """Return the finding as text by field; cells are joined by `; `."""
        return {**asdict(self), "cells": "; ".join(self.cells)}


FIELDS = [entry.name for entry in fields(Finding)]


@dataclass(frozen=True)
class Printed:
    """An exact printed number and half a unit of its last digit."""

    value: Fraction
    half: Fraction

    def text(self, value: Fraction) -> str:
        """Return another number with as many decimals as this one is printed with."""
        unit = 2 * self.half
        decimals = max(0, round(-math.log10(unit)))
        return f"{float(round(value / unit) * unit):.{decimals}f}"

    def agrees(self, other: "Printed") -> bool:
        """Return whether the coarser of two prints is a rounding of the finer one."""
        return abs(self.value - other.value) <= max(self.half, other.half)

    def share_of(self, items: int) -> bool:
        """Return whether a whole number of `items` is this percentage."""
        nearest_count = round(self.value * items / 100)
        return abs(Fraction(100 * nearest_count, items) - self.value) <= self.half


def audit_plan(papers: dict[str, Paper], workflow: Path, cell: Cell | None = None) -> Plan:
    """Return the plan of all papers at their own scale: there equal encoders, and only those, have one id.

    All in one precision: a paper that trains in another prints numbers of the same recipe all the same. With `cell`,
    only the items that a finding on it may rest on. What cannot be planned is left out, and named in a warning.
    """
    items = _beside(papers, cell, load_datasets(workflow)) if cell else "all"
    config = checked_config({"scale": "paper", "papers": items, "seeds": [0], "precision": "fp32"}, "audit")
    plan = plan_of(config, papers, workflow, as_far_as_possible=True)
    if plan.unplanned:
        LOG.warning("not audited: %s (%s)", ", ".join(plan.unplanned), next(iter(plan.unplanned.values())))
    return plan


def unplanned(plan: Plan) -> Iterator[Finding]:
    """Yield one line for each paper with items that are not audited, since they cannot be planned."""
    for key, paper in plan.papers.items():
        items = [item for item in paper.items.values() if item.id in plan.unplanned]
        if items:
            yield Finding(
                paper=key,
                rule=NOT_AUDITED,
                place=", ".join(item.place.partition(",")[0] for item in items),
                cells=tuple(item.id for item in items),
                printed="",
                follows=f"not planned at scale {plan.scale.name}: {plan.unplanned[items[0].id]}",
                certainty="",
            )


def _beside(papers: Mapping[str, Paper], cell: Cell, datasets: Datasets) -> dict[str, list[str]]:
    """Return by paper a cell's item, those that print differences to it, and those of its paper that read the same.

    An average counts as the same as its parts. Numbers of other papers bear on it where its paper or theirs prints the
    least and the most of several seeds.
    """
    wanted = {cell.item.id} | {key[0] for keys in differences(papers) if cell.key in keys for key in keys[:2]}
    related = datasets.related(cell.metric_path)
    own = {cell.item.paper}
    ends = {
        key
        for key, paper in papers.items()
        if any(printed.statistic in ENDS for printed in paper.reported.values())
    }
    near = papers if own & ends else own | ends
    for item in (item for key in near for item in papers[key].items.values()):
        paths = [getattr(column, "metric_path", "") for column in item.columns]
        paths += [path for row in item.rows for path in row.metric_paths.values()]
        if not related.isdisjoint(map(datasets.one_name, filter(None, paths))):
            wanted.add(item.id)
    found = {
        key: [name for name, item in paper.items.items() if item.id in wanted]
        for key, paper in papers.items()
    }
    return {key: names for key, names in found.items() if names}


def audit(plan: Plan, sentences: Sequence[Claim] | None = None) -> list[Finding]:
    """Return all findings on the items of a plan, by paper: the paper's own before quoted, certain before others.

    Of what the papers state all is judged, or some `sentences`, whose names are resolved.
    """
    datasets = load_datasets(plan.workflow)
    spoken = spoken_numbers(plan.papers, datasets)
    found = [finding for rule in RULES for finding in rule(plan, datasets)]
    found += [finding for rule in RULES_OF_TEXT for finding in rule(plan, datasets, spoken)]
    found += claims(plan, study_claims(plan.papers, plan.papers) if sentences is None else sentences)
    found += unplanned(plan)
    order = list(plan.papers)
    return sorted(
        found,
        key=lambda one: (order.index(one.paper), one.note.startswith(QUOTED), one.certainty != CERTAIN),
    )


def chosen(findings: Sequence[Finding], name: str, plan: Plan) -> list[Finding]:
    """Return the findings of a paper or of an item `paper/item`; BadInput names the nearest one."""
    known = [*plan.papers, *plan.items, *plan.unplanned]
    if name not in known:
        raise BadInput(f'no paper or item "{name}"{nearest(name, known)}')
    return _naming(findings, [name])


def of_items(findings: Iterable[Finding], items: Collection[str]) -> list[Finding]:
    """Return the findings that name a cell of some items, or a number of the running text of their papers."""
    papers = {item.partition("/")[0] for item in items}
    named = _naming(findings, [*items, *(f"{paper}/{TEXT_ITEM}" for paper in papers)])
    # A sentence that another one contradicts names no cell.
    return [
        one
        for one in findings
        if one in named or (one.paper in papers and len(one.cells) == 1 and one.rule == CLAIM)
    ]


def _naming(findings: Iterable[Finding], names: Sequence[str]) -> list[Finding]:
    starts = tuple(f"{name}/" for name in names)
    return [one for one in findings if any(f"{cell}/".startswith(starts) for cell in one.cells)]


def measured(plan: Plan, item: str = "") -> Iterator[tuple[Cell, Printed]]:
    """Yield the cells of one item or of all that print a number of their own, in the papers' order.

    Differences to another number and hyper-parameters that a score chose are none.
    """
    for name in [item] if item else plan.items:
        for cell in plan.described(name):
            own = is_measured(cell.column) and cell.column.kind != "difference"
            number = exact(cell.reported) if own else None
            if number is not None:
                yield cell, number


def exact(reported: Reported | None) -> Printed | None:
    """Return a printed number without the error of binary fractions; None where none is printed."""
    return _exact(reported.value) if reported else None


@cache
def _exact(text: str) -> Printed | None:
    number = printed_number(text)
    return Printed(Fraction(repr(number.value)), Fraction(repr(number.half_digit))) if number else None


def quotation(reported: Reported) -> str:
    """Return "quoted: whom" of a number that the paper takes from elsewhere, as its note says; else nothing."""
    return reported.note.partition(";")[0] if reported.note.startswith(QUOTED) else ""


def statistic(cell: Cell) -> tuple[object, ...]:
    """Return which statistic of how many runs is printed: two numbers of one encoder may be its worst and best run."""
    return cell.reported.statistic, cell.reported.q, cell.reported.seeds, cell.column.over


def finding(
    plan: Plan,
    rule: str,
    cells: Sequence[Cell],
    follows: str,
    certainty: str,
    *,
    printed: str = "",
    place: str = "",
    note: str = "",
    further: tuple[str, ...] = (),
) -> Finding:
    """Return a finding on printed cells: it stands where the first one does, and is about its number."""
    first = cells[0]
    return Finding(
        paper=first.item.paper,
        rule=rule,
        place=place or words(plan.papers, first.key, first.item.paper),
        cells=(*("/".join(cell.key) for cell in cells), *further),
        printed=printed or first.reported.value,
        follows=follows,
        certainty=certainty,
        note="; ".join(filter(None, [quotation(first.reported), note])),
    )


def averages(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed averages that are not the mean of the printed parts of their row, or of their encoder elsewhere.

    The papers' code averages two-decimal scores (methods 2.2), so the mean of the printed parts is exact; an
    average of unrounded scores has room for their rounding, as has one of parts printed coarser than itself.
    """
    everywhere = list(measured(plan))
    for item in plan.items:
        cells = list(measured(plan, item))
        for cell, average in cells:
            wanted = datasets.averages.get(cell.metric_path)
            # Other statistics than a mean do not pass from parts to their average.
            if wanted is None or cell.reported.statistic not in LINEAR or cell.column.over != Over():
                continue
            parts = [
                (other, number)
                for other, number in cells
                if other.row.id == cell.row.id
                and statistic(other) == statistic(cell)
                and other.metric_path in wanted.paths
            ] or _parts_elsewhere(cell, wanted, everywhere)
            if len(parts) != wanted.parts:
                continue
            mean = sum(number.value for _, number in parts) / len(parts)
            room = sum(number.half for _, number in parts) / len(parts)
            gap = abs(average.value - mean) - average.half
            coarse = any(number.half > average.half for _, number in parts)
            if gap > (room if coarse else 0):
                follows = f"{average.text(mean)}, the mean of the {len(parts)} printed parts"
                certainty = (
                    CERTAIN if gap > room else "unless the parts were averaged before they were rounded"
                )
                yield finding(plan, "average", [cell, *(part for part, _ in parts)], follows, certainty)


def _parts_elsewhere(
    cell: Cell, wanted: Average, cells: Sequence[tuple[Cell, Printed]]
) -> list[tuple[Cell, Printed]]:
    """Return the parts of an average that its paper prints in other tables: one of each, of the same encoder."""
    found = {
        other.metric_path: (other, number)
        for other, number in cells
        if other.metric_path in wanted.paths
        and (other.item.paper, other.encoders) == (cell.item.paper, cell.encoders)
        and other.encoders
        and statistic(other) == statistic(cell)
    }
    return list(found.values())


def printed_differences(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed differences that are not minuend less subtrahend, both as printed."""
    cells = {cell.key: cell for name in plan.items for cell in plan.described(name)}
    for difference, minuend_key, other in differences(plan.papers):
        if difference not in cells or minuend_key not in cells:
            continue
        cell, own = cells[difference], cells[minuend_key]
        delta, minuend, subtrahend = exact(cell.reported), exact(own.reported), exact(cell.subtracted)
        if delta is None or minuend is None or subtrahend is None:
            continue
        follows = minuend.value - subtrahend.value
        gap = abs(delta.value - follows) - delta.half
        if gap > 0:
            sign = "+" if follows > 0 else ""
            # The other paper's number is known as printed only, so its rounding explains nothing.
            yield finding(
                plan,
                "difference",
                [cell, own],
                f"{sign}{delta.text(follows)}, which is {own.reported.value} less {cell.subtracted.value}",
                CERTAIN if gap > minuend.half else UNROUNDED,
                further=("/".join(other),),
            )


def equals(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of one encoder, read alike, that one paper prints differently.

    A number quoted from elsewhere may differ from the paper's own measurement, but not from the same quotation.
    """
    groups: dict[tuple[Any, ...], list[tuple[Cell, Printed]]] = {}
    for cell, number in measured(plan):
        source = quotation(cell.reported)
        who = cell.encoders or (source and (cell.row.id, cell.row.label))
        if who and cell.metric_path:
            read = datasets.one_name(cell.metric_path)
            key = (cell.item.paper, who, read, cell.column.metric, source, statistic(cell))
            groups.setdefault(key, []).append((cell, number))
    for group in groups.values():
        numbers = sorted((number for _, number in group), key=lambda number: number.value)
        if all(first.agrees(second) for first, second in itertools.combinations(numbers, 2)):
            continue
        low, high = numbers[0], numbers[-1]
        certain = high.value - low.value > high.half + low.half
        yield finding(
            plan,
            "equal",
            [cell for cell, _ in group],
            "one number: the same encoder, read alike",
            CERTAIN if certain else "unless one number was rounded in two ways",
            printed=", ".join(f"{cell.reported.value} ({_source(cell)})" for cell, _ in group),
        )


def percentages(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield percentages that no whole number of the test items gives."""
    for cell, number in measured(plan):
        readings = datasets.readings(cell.metric_path)
        single = cell.reported.statistic == "single" and cell.column.over == Over()
        if not readings or not single or number.share_of(readings[0].items):
            continue
        items, what = readings[0].items, readings[0].what
        below = math.floor(number.value * items / 100)
        shares = [number.text(Fraction(100 * count, items)) for count in (below, below + 1)]
        others = [f"{other.items} {other.what}" for other in readings[1:] if number.share_of(other.items)]
        yield finding(
            plan,
            "percentage",
            [cell],
            f"{shares[0]} or {shares[1]}, which are {below} and {below + 1} of {items} {what}",
            _escape(number, items),
            note=f"possible for {' or '.join(others)}" if others else "",
        )


def _escape(number: Printed, items: int) -> str:
    """Return what could make an impossible percentage possible: a further zero, cutting off, several runs."""
    shorter = Printed(number.value, 10 * number.half)
    if number.value % (2 * shorter.half) == 0 and shorter.share_of(items):
        return f"unless {shorter.text(number.value)} was printed with a zero behind it"
    cut_off = Printed(number.value + number.half, number.half)
    if cut_off.share_of(items):
        return "unless cut off instead of rounded"
    runs = next(runs for runs in itertools.count(2) if number.share_of(items * runs))
    return f"unless it is the average of {runs} or more runs"


def sizes(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed sizes of sets that are not those of the data."""
    for cell, number in measured(plan):
        parts = datasets.parts(cell.metric_path)
        counted = sum(parts.values())
        if parts and abs(number.value - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.value]
            note = f"the size of {' or '.join(alike)} alone" if alike else ""
            yield finding(plan, "size", [cell], f"{counted:,}, counted on the data", CERTAIN, note=note)


def running_text(plan: Plan, datasets: Datasets, told: Mapping[CellKey, Spoken]) -> Iterator[Finding]:
    """Yield numbers of the running text that are not what the numbers come to of which they speak (text.yaml)."""
    names = CellNames(plan.papers, chosen=True)
    for key, spoken in told.items():
        if spoken.formula is None:
            continue
        paper, formula = key[0].partition("/")[0], Formula(spoken.formula)
        cells = [name for name in formula.columns if not name.startswith(COUNTED)]
        operands = {
            name: names.reported(name) if name in cells else _counted(name, datasets)
            for name in formula.columns
        }
        reported = printed_in(plan.papers, key)
        number, result = exact(reported), computed(formula, operands)
        gap = abs(number.value - result.value) - number.half
        coarse = any(exact(operand).half > number.half for operand in operands.values())
        if gap > (result.half if coarse else 0):
            shown = spoken.formula
            for name, operand in operands.items():
                shown = shown.replace(f"{{{name}}}", operand.value)
            alone = spoken.formula == f"{{{formula.columns[0]}}}"
            places = dict.fromkeys(words(plan.papers, names.key(name), paper) for name in cells)
            where = "; ".join(places) or "counted on the data"
            yield Finding(
                paper=paper,
                rule="text",
                place=reported.source,
                cells=("/".join(key), *("/".join(names.key(name)) for name in cells)),
                printed=reported.value,
                follows=f"{shown if alone else f'{number.text(result.value)}, which is {shown}'} ({where})",
                certainty=CERTAIN if gap > result.half else UNROUNDED,
                note="; ".join(filter(None, [quotation(reported), spoken.note])),
            )


def _counted(path: str, datasets: Datasets) -> Reported:
    return Reported(value=str(sum(datasets.parts(path).values())), source="counted on the data")


def computed(formula: Formula, operands: Mapping[str, Reported]) -> Printed:
    """Return what a formula comes to, and by how much rounding of its operands can have moved that at most."""
    numbers = {name: exact(operand) for name, operand in operands.items()}
    value = formula({name: float(number.value) for name, number in numbers.items()})
    ends = [(float(each.value - each.half), float(each.value + each.half)) for each in numbers.values()]
    corners = [formula(dict(zip(numbers, corner, strict=True))) for corner in itertools.product(*ends)]
    room = max(abs(corner - value) for corner in corners)
    return Printed(Fraction(f"{value:.12g}"), Fraction(f"{room:.12g}"))


def spoken_counts(plan: Plan) -> Counter[str]:
    """Return how many numbers of the running texts are compared, judged with a sentence, searched, or alone."""
    said = {
        "formula": "compared with other numbers",
        "claim": "judged with their sentence",
        "searched": "the values of a search",
        "alone": "alone, for the reason in text.yaml",
    }
    spoken = spoken_numbers(plan.papers, load_datasets(plan.workflow)).values()
    return Counter(next(told for name, told in said.items() if getattr(one, name)) for one in spoken)


def searched(plan: Plan, datasets: Datasets, told: Mapping[CellKey, Spoken]) -> Iterator[Finding]:
    """Yield tables with values of a parameter that the printed search over it does not have.

    A table shows values of a parameter where it is a profile over it, or where it prints the value that was best.
    """
    grids: dict[tuple[str, str], list[Reported]] = {}
    for key, spoken in told.items():
        if spoken.searched:
            place = (key[0].partition("/")[0], spoken.searched)
            grids.setdefault(place, []).append(printed_in(plan.papers, key))
    for (paper, path), values in grids.items():
        known = {reported.number.value for reported in values}
        for item in plan.papers[paper].items:
            shown = _values_shown(plan, f"{paper}/{item}", path)
            outside = [cell for cell, value in shown if value not in known]
            if outside:
                yield finding(
                    plan,
                    "search",
                    outside,
                    f"none of the values searched: {', '.join(reported.value for reported in values)}"
                    f" ({values[0].source})",
                    CERTAIN,
                    printed=", ".join(cell.row.label or cell.row.id for cell in outside),
                    place=_source(outside[0]),
                )


def _values_shown(plan: Plan, item: str, path: str) -> list[tuple[Cell, object]]:
    """Return the printed cells of an item and their values of a parameter, where it shows any."""
    columns: dict[tuple[str, ...], list[tuple[Cell, object]]] = {}
    chosen: list[tuple[Cell, object]] = []
    for cell in plan.described(item):
        jobs = getattr(getattr(cell.column, "over", None), "jobs", None)
        number = exact(cell.reported) if cell.column.kind != "text" else None
        if number and jobs and jobs.shows == path:
            chosen.append((cell, float(number.value)))
        elif number and not jobs and len(cell.encoders) == 1:
            value = plan.hyperparameter(cell.encoders[0], path)
            # A loss that is left out is one of weight 0.
            value = 0.0 if value is None and path.endswith(".weight") else value
            columns.setdefault(cell.key[2:], []).append((cell, value))
    profile = plan.papers[item.partition("/")[0]].items[item.partition("/")[2]].figure == "profile"
    varied = (shown for shown in columns.values() if profile and len({value for _, value in shown}) > 2)
    return chosen or next(varied, [])


def _source(cell: Cell) -> str:
    return cell.reported.source.partition(";")[0]


def seeds(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of a single run that lie outside of all the seeds of the same training that are printed."""
    groups: dict[tuple[Any, ...], list[tuple[Cell, Printed]]] = {}
    for cell, number in measured(plan):
        if cell.encoders and cell.metric_path and not quotation(cell.reported):
            key = (cell.encoders, datasets.one_name(cell.metric_path), cell.column.metric)
            groups.setdefault(key, []).append((cell, number))
    for group in groups.values():
        ends = {cell.reported.statistic: (cell, number) for cell, number in group}
        if not {"min", "max"} <= set(ends) or Fraction(2, ends["min"][0].reported.seeds + 1) > CHANCE:
            continue
        (least, low), (most, high) = ends["min"], ends["max"]
        singles = [(cell, number) for cell, number in group if cell.reported.statistic == "single"]
        for cell, number in singles:
            if low.value <= number.value <= high.value:
                continue
            others = [
                f"{other.reported.value} is printed in {words(plan.papers, other.key, cell.item.paper)}"
                for other, print_ in singles
                if print_.value != number.value
            ]
            yield finding(
                plan,
                "seeds",
                [cell, least, most],
                f"{least.reported.value} to {most.reported.value} over {least.reported.seeds} seeds"
                f" ({words(plan.papers, least.key, cell.item.paper).rpartition(', ')[0]})",
                "unless more than the seed differs",
                note="; ".join(others),
            )


def claims(plan: Plan, sentences: Iterable[Claim]) -> Iterator[Finding]:
    """Yield sentences of the papers that their own printed numbers contradict."""
    names = CellNames(plan.papers)
    items = {item.id: item for paper in plan.papers.values() for item in paper.items.values()}
    for claim, outcome in contradicted_in_print(plan.papers, sentences):
        reason = names.spelt_out(outcome.reason, claim.paper)
        for name, item in items.items():
            reason = re.sub(rf"{re.escape(name)}\b", item.place.partition(",")[0], reason)
        yield Finding(
            paper=claim.paper,
            rule=CLAIM,
            place=claim.place,
            cells=(claim.name, *outcome.decided_by),
            printed=claim.text,
            follows=reason,
            certainty="unless the sentence is read otherwise",
            note=claim.note,
        )


RULES: tuple[Callable[[Plan, Datasets], Iterator[Finding]], ...] = (
    averages,
    printed_differences,
    equals,
    percentages,
    sizes,
    seeds,
)
RULES_OF_TEXT = (running_text, searched)
