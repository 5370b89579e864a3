"""Rules of the audit on the running text: numbers that others contradict, values that a search does not have."""

from collections.abc import Iterator, Mapping

from replicse.compile.study import Cell, Study
from replicse.judge.findings import (
    UNROUNDED,
    finding,
    quotation,
    source_of,
)
from replicse.judge.judgements import CERTAIN, Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.datasets import Datasets
from replicse.spec.expression import Expression
from replicse.spec.papers import printed_in
from replicse.spec.printed import Reported, Rounded
from replicse.spec.running_text import COUNTED, NumberInText


def running_text(
    plan: Study, datasets: Datasets, entries: Mapping[CellId, NumberInText]
) -> Iterator[Finding]:
    """Yield numbers of the running text that are not what the numbers come to of which they speak (text.yaml)."""
    names = CellNames(plan.papers, chosen=True)
    for cell, entry in entries.items():
        if entry.formula is None:
            continue
        paper, formula = cell.paper, Expression(entry.formula)
        cells = [name for name in formula.names if not name.startswith(COUNTED)]
        operands = {
            name: names.reported(name) if name in cells else _counted(name, datasets)
            for name in formula.names
        }
        reported = printed_in(plan.papers, cell)
        number, result = reported.number, computed(formula, operands)
        gap = abs(number.exact - result.exact) - number.half
        coarse = any(operand.number.half > number.half for operand in operands.values())
        if gap > (result.half if coarse else 0):
            shown = entry.formula
            for name, operand in operands.items():
                shown = shown.replace(f"{{{name}}}", operand.value)
            alone = entry.formula == f"{{{formula.names[0]}}}"
            places = dict.fromkeys(names.words(names.cell(name), paper) for name in cells)
            where = "; ".join(places) or "counted on the data"
            rounded = CERTAIN if gap > result.half else UNROUNDED
            yield Finding(
                paper=paper,
                rule="text",
                place=reported.source,
                cells=(str(cell), *(str(names.cell(name)) for name in cells)),
                printed=reported.value,
                follows=f"{shown if alone else f'{number.text(result.exact)}, which is {shown}'} ({where})",
                certainty=f"unless {entry.unless}" if entry.unless else rounded,
                note="; ".join(filter(None, [quotation(reported), entry.note])),
            )


def _counted(path: str, datasets: Datasets) -> Reported:
    return Reported(value=str(sum(datasets.parts(path).values())), source="counted on the data")


def computed(formula: Expression, operands: Mapping[str, Reported]) -> Rounded:
    """Return what a formula comes to, and by how much rounding of its operands can have moved that at most."""
    values = {name: operand.number.value for name, operand in operands.items()}
    room = formula.room(values, {name: operand.number.half_digit for name, operand in operands.items()})
    return Rounded(*(float(f"{number:.12g}") for number in (formula(values), room)))


def searched(plan: Study, datasets: Datasets, entries: Mapping[CellId, NumberInText]) -> Iterator[Finding]:
    """Yield tables that print as best a value of a parameter that the printed search over it does not have.

    A table of several values is an ablation, which may leave the values that were searched.
    """
    grids: dict[tuple[str, str], list[Reported]] = {}
    for cell, entry in entries.items():
        if entry.searched:
            printed = printed_in(plan.papers, cell)
            grids.setdefault((cell.paper, entry.searched), []).append(printed)
    for (paper, path), values in grids.items():
        grid = {reported.number.value for reported in values}
        for item in plan.papers[paper].items:
            chosen = _values_chosen(plan, f"{paper}/{item}", path)
            outside = [cell for cell, value in chosen if value not in grid]
            if outside:
                yield finding(
                    plan,
                    "search",
                    outside,
                    f"none of the values searched: {', '.join(reported.value for reported in values)}"
                    f" ({values[0].source})",
                    CERTAIN,
                    printed=", ".join(cell.row.label or cell.row.id for cell in outside),
                    place=source_of(outside[0]),
                )


def _values_chosen(plan: Study, item: str, path: str) -> Iterator[tuple[Cell, object]]:
    """Yield the printed cells of an item that hold the best value of a parameter, with that value."""
    for cell in plan.described(item):
        jobs = cell.column.over.jobs if cell.column.over else None
        if jobs and jobs.shows == path and cell.reported and cell.reported.number:
            yield cell, cell.reported.number.value


RULES_OF_TEXT = (running_text, searched)
