"""Audit: the arithmetic of the printed numbers alone. Every rule is general and runs on all papers.

A printed number stands for all numbers that round to it, so sums are exact fractions and half a unit of the
last digit says what rounding can explain. What a set holds is in `workflow/datasets.yaml`.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.judge.claims import contradicted_in_print
from replicse.study.paper.cell_names import is_measured
from replicse.study.paper.config import checked_config
from replicse.study.paper.counterparts import differences
from replicse.study.paper.datasets import Average, Datasets, load_datasets
from replicse.study.paper.papers import TEXT_ITEM, Paper
from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Over
from replicse.study.plan.plan import Cell, Plan
from replicse.study.plan.planner import plan_of

CERTAIN = "certain"
LINEAR = ("single", "mean")


@dataclass(frozen=True)
class Finding:
    """One mistake in print: what stands where, and what follows instead.

    `cells` are names `paper/item/row/column/metric`, the one in question first; a claim's `paper/id` stands first.
    `certainty` is "certain" where no rounding explains it, else it says what would.
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

    With `cell`, only the items that a finding on it may rest on.
    """
    items = _beside(papers, cell, load_datasets(workflow)) if cell else "all"
    return plan_of(
        checked_config({"scale": "paper", "papers": items, "seeds": [0]}, "audit"), papers, workflow
    )


def _beside(papers: Mapping[str, Paper], cell: Cell, datasets: Datasets) -> dict[str, list[str]]:
    """Return by paper a cell's item, those that print differences to it, and those of its paper that read the same.

    An average counts as the same as its parts. Columns of one name do too: a number of the running text is held
    against all of them.
    """
    wanted = {cell.item.id} | {key[0] for keys in differences(papers) if cell.key in keys for key in keys[:2]}
    related = datasets.related(cell.metric_path)
    for item in papers[cell.item.paper].items.values():
        named = any((column.id, column.metric) == cell.key[2:] for column in item.columns)
        paths = [getattr(column, "metric_path", "") for column in item.columns]
        paths += [path for row in item.rows for path in row.metric_paths.values()]
        if named or not related.isdisjoint(map(datasets.one_name, filter(None, paths))):
            wanted.add(item.id)
    found = {
        key: [name for name, item in paper.items.items() if item.id in wanted]
        for key, paper in papers.items()
    }
    return {key: names for key, names in found.items() if names}


def audit(plan: Plan) -> list[Finding]:
    """Return all findings on the items of a plan, by paper and rule, in the papers' order."""
    datasets = load_datasets(plan.workflow)
    found = [finding for rule in RULES for finding in rule(plan, datasets)]
    return [finding for paper in plan.papers for finding in found if finding.paper == paper]


def chosen(findings: Sequence[Finding], name: str, plan: Plan) -> list[Finding]:
    """Return the findings of a paper or of an item `paper/item`; BadInput names the nearest one."""
    known = [*plan.papers, *plan.items]
    if name not in known:
        raise BadInput(f'no paper or item "{name}"{nearest(name, known)}')
    return [one for one in findings if any(f"{cell}/".startswith(f"{name}/") for cell in one.cells)]


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
    number = reported.number if reported else None
    return Printed(Fraction(repr(number.value)), Fraction(repr(number.half_digit))) if number else None


def quotation(reported: Reported) -> str:
    """Return "quoted: whom" of a number that the paper takes from elsewhere, as its note says; else nothing."""
    return reported.note.partition(";")[0] if reported.note.startswith("quoted:") else ""


def statistic(cell: Cell) -> tuple[object, ...]:
    """Return which statistic of how many runs is printed: two numbers of one encoder may be its worst and best run."""
    return cell.reported.statistic, cell.reported.q, cell.reported.seeds, cell.column.over


def place_of(cell: Cell) -> str:
    """Return where a cell is printed, and its item."""
    return f"{cell.reported.source} ({cell.item.id})"


def finding(
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
        place=place or place_of(first),
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
                certainty = CERTAIN if gap > room else "unless averaged before rounding"
                yield finding("average", [cell, *(part for part, _ in parts)], follows, certainty)


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
                "difference",
                [cell, own],
                f"{sign}{delta.text(follows)}, which is {own.reported.value} less {cell.subtracted.value}",
                CERTAIN if gap > minuend.half else "unless subtracted before rounding",
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
            "equal",
            [cell for cell, _ in group],
            "one number: the same encoder, read alike",
            CERTAIN if certain else "unless rounded differently",
            printed=", ".join(f"{cell.reported.value} ({cell.reported.source})" for cell, _ in group),
            place="; ".join(dict.fromkeys(place_of(cell) for cell, _ in group)),
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
            "percentage",
            [cell],
            f"{shares[0]} or {shares[1]}: {below} or {below + 1} of {items} {what}",
            _escape(number, items),
            note=f"a share of {' or of '.join(others)}" if others else "",
        )


def _escape(number: Printed, items: int) -> str:
    """Return what could make an impossible percentage possible: a further zero, cutting off, several tests."""
    shorter = Printed(number.value, 10 * number.half)
    if number.value % (2 * shorter.half) == 0 and shorter.share_of(items):
        return f"unless a zero was added to {shorter.text(number.value)}"
    cut_off = Printed(number.value + number.half, number.half)
    if cut_off.share_of(items):
        return "unless cut off instead of rounded"
    runs = next(runs for runs in itertools.count(2) if number.share_of(items * runs))
    return f"unless averaged over {runs} or more tests"


def sizes(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed sizes of sets that are not those of the data."""
    for cell, number in measured(plan):
        parts = datasets.parts(cell.metric_path)
        counted = sum(parts.values())
        if parts and abs(number.value - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.value]
            note = f"the size of {' or '.join(alike)} alone" if alike else ""
            yield finding("size", [cell], f"{counted:,}, counted on the data", CERTAIN, note=note)


def running_text(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of the running text that have row, column and metric of cells but agree with none of them."""
    tables: dict[tuple[str, ...], list[tuple[Cell, Printed]]] = {}
    for cell, number in measured(plan):
        _, *place = cell.key
        tables.setdefault((cell.item.paper, *place), []).append((cell, number))
    for key, paper in plan.papers.items():
        for (item, *place), reported in paper.reported.items():
            meant = tables.get((key, *place), []) if item == TEXT_ITEM else []
            number = exact(reported) if meant else None
            if number and not any(number.agrees(printed) for _, printed in meant):
                yield finding(
                    "text",
                    [cell for cell, _ in meant],
                    " or ".join(f"{cell.reported.value} ({cell.reported.source})" for cell, _ in meant),
                    CERTAIN,
                    printed=reported.value,
                    place=f"{reported.source} ({key})",
                )


def claims(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield sentences of the papers that their own printed numbers contradict."""
    for claim, outcome in contradicted_in_print(plan.papers):
        yield Finding(
            paper=claim.paper,
            rule="claim",
            place=f"{claim.place} ({claim.paper})",
            cells=(claim.name, *outcome.decided_by),
            printed=claim.text,
            follows=outcome.reason,
            certainty="unless the sentence is read otherwise",
            note=claim.note,
        )


Rule = Callable[[Plan, Datasets], Iterator[Finding]]
RULES: tuple[Rule, ...] = (averages, printed_differences, equals, percentages, sizes, running_text, claims)
