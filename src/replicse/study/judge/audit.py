"""Audit: the arithmetic of the printed numbers alone. Every rule is general and runs on all papers.

A printed number stands for all numbers that round to it, so sums are exact fractions and half a unit of the
last digit says what rounding can explain. What a set holds is in `workflow/datasets.yaml`.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.files import write_rows
from replicse.study.judge.claims import contradicted_in_print
from replicse.study.paper.papers import Reported
from replicse.study.paper.validation import check, read_yaml
from replicse.study.plan.counterparts import cell_key, described, differences
from replicse.study.plan.plan import Cell, Plan
from replicse.study.plan.planner import load_plan
from replicse.study.results.verdict import printed_number

CERTAIN = "certain"
TEXT = "text"


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


@dataclass(frozen=True)
class Datasets:
    """The document of datasets.yaml: sizes, what averages and percentages are made of, paths to one number."""

    sizes: Mapping[str, int | Mapping[str, int]]
    averages: Mapping[str, Mapping[str, Any]]
    same: Sequence[Sequence[str]]
    percentages: Mapping[str, Sequence[Mapping[str, Any]]]

    def parts(self, read: str) -> Mapping[str, int]:
        """Return the sizes of the files of a set, the whole set under "" where it is a single one."""
        size = self.sizes.get(read, {})
        return {"": size} if isinstance(size, int) else size

    def readings(self, read: str) -> Sequence[Mapping[str, Any]]:
        """Return of how many items the number at a path may be a percentage; none where it is no share."""
        return next((entry for name, entry in self.percentages.items() if fnmatchcase(read, name)), ())

    def one_name(self, read: str) -> str:
        """Return the first of all paths that lead to the same number."""
        return next((group[0] for group in self.same if read in group), read)


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


def audit_plan(workflow: Path) -> Plan:
    """Return the plan of all papers at their own scale: there equal encoders, and only those, have one id."""
    papers = {file.parent.name: "all" for file in sorted((workflow / "papers").glob("*/paper.yaml"))}
    return load_plan({"scale": "paper", "papers": papers, "seeds": [0]}, workflow)


def load_datasets(workflow: Path) -> Datasets:
    """Return datasets.yaml; BadInput names a mistake in it."""
    file = workflow / "datasets.yaml"
    document = read_yaml(file)
    check(document, workflow / "schemas" / "datasets.schema.json", file)
    return Datasets(**document)


def audit(plan: Plan) -> list[Finding]:
    """Return all findings, by paper and rule, in the papers' order."""
    datasets = load_datasets(plan.study.workflow)
    found = [finding for rule in RULES for finding in rule(plan, datasets)]
    return [finding for paper in plan.papers for finding in found if finding.paper == paper]


def chosen(findings: Sequence[Finding], name: str, plan: Plan) -> list[Finding]:
    """Return the findings of a paper or of an item `paper/item`; BadInput names the nearest one."""
    known = [*plan.papers, *plan.items]
    if name not in known:
        raise BadInput(f'no paper or item "{name}"{nearest(name, known)}')
    return [one for one in findings if any(f"{cell}/".startswith(f"{name}/") for cell in one.cells)]


def write_audit(findings: Iterable[Finding], out: Path) -> None:
    """Write the findings as CSV."""
    write_rows(out, [entry.name for entry in fields(Finding)], (finding.row() for finding in findings))


def measured(plan: Plan, item: str = "") -> Iterator[tuple[Cell, Printed]]:
    """Yield the cells of one item or of all that print a number of their own, in the papers' order.

    Differences to another number and hyper-parameters that a score chose are none.
    """
    for name in [item] if item else plan.items:
        for cell in described(plan, name):
            shown = cell.column.metric != TEXT and not cell.column.minus and not cell.column.choose
            number = exact(cell.reported) if shown else None
            if number is not None:
                yield cell, number


def exact(reported: Reported | None) -> Printed | None:
    """Return a printed number without the error of binary fractions; None where none is printed."""
    number = printed_number(reported.value) if reported else None
    return Printed(Fraction(repr(number.value)), Fraction(repr(number.half_digit))) if number else None


def quotation(reported: Reported) -> str:
    """Return "quoted: whom" of a number that the paper takes from elsewhere, as its note says; else nothing."""
    return reported.note.partition(";")[0] if reported.note.startswith("quoted:") else ""


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
        cells=(*("/".join(cell_key(cell)) for cell in cells), *further),
        printed=printed or first.reported.value,
        follows=follows,
        certainty=certainty,
        note="; ".join(filter(None, [quotation(first.reported), note])),
    )


def averages(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed averages that are not the mean of the printed parts of their row.

    The papers' code averages two-decimal scores (methods 2.2), so the mean of the printed parts is exact; an
    average of unrounded scores has room for their rounding, as has one of parts printed coarser than itself.
    """
    for item in plan.items:
        cells = list(measured(plan, item))
        for cell, average in cells:
            wanted = datasets.averages.get(cell.read)
            if wanted is None:
                continue
            parts = [
                (other, number)
                for other, number in cells
                if other.row.id == cell.row.id and fnmatchcase(other.read, wanted["of"])
            ]
            if len(parts) != wanted["parts"]:
                continue
            mean = sum(number.value for _, number in parts) / len(parts)
            room = sum(number.half for _, number in parts) / len(parts)
            gap = abs(average.value - mean) - average.half
            coarse = any(number.half > average.half for _, number in parts)
            if gap > (room if coarse else 0):
                follows = f"{average.text(mean)}, the mean of the {len(parts)} printed parts"
                certainty = CERTAIN if gap > room else "unless averaged before rounding"
                yield finding("average", [cell, *(part for part, _ in parts)], follows, certainty)


def printed_differences(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield printed differences that are not minuend less subtrahend, both as printed."""
    cells = {cell_key(cell): cell for name in plan.items for cell in described(plan, name)}
    for difference, minuend_key, other in differences(plan.papers):
        cell, own = cells[difference], cells[minuend_key]
        delta, minuend, subtrahend = exact(cell.reported), exact(own.reported), exact(cell.minus)
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
                f"{sign}{delta.text(follows)}, which is {own.reported.value} less {cell.minus.value}",
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
        if who and cell.read:
            read = datasets.one_name(cell.read)
            key = (cell.item.paper, who, read, cell.column.metric, source)
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
        readings = datasets.readings(cell.read)
        if not readings or number.share_of(readings[0]["items"]):
            continue
        items, what = readings[0]["items"], readings[0]["what"]
        below = math.floor(number.value * items / 100)
        shares = [number.text(Fraction(100 * count, items)) for count in (below, below + 1)]
        others = [
            f"{entry['items']} {entry['what']}" for entry in readings[1:] if number.share_of(entry["items"])
        ]
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
        parts = datasets.parts(cell.read)
        counted = sum(parts.values())
        if parts and abs(number.value - counted) > number.half:
            alike = [name for name, size in parts.items() if name and size == number.value]
            note = f"the size of {' or '.join(alike)} alone" if alike else ""
            yield finding("size", [cell], f"{counted:,}, counted on the data", CERTAIN, note=note)


def running_text(plan: Plan, datasets: Datasets) -> Iterator[Finding]:
    """Yield numbers of the running text that have row, column and metric of cells but agree with none of them."""
    tables: dict[tuple[str, ...], list[tuple[Cell, Printed]]] = {}
    for cell, number in measured(plan):
        _, *place = cell_key(cell)
        tables.setdefault((cell.item.paper, *place), []).append((cell, number))
    for key, paper in plan.papers.items():
        for (item, *place), reported in paper.reported.items():
            meant = tables.get((key, *place), []) if item == TEXT else []
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
    for claim, outcome in contradicted_in_print(plan):
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
