"""Rules of the audit on the running text: numbers that others contradict, values that a search does not have."""

from collections.abc import Iterator, Mapping

from replicse.compile.study import Study
from replicse.judge.findings import (
    UNROUNDED,
    PrintedCell,
    finding,
    printed_cell,
    quotation,
)
from replicse.judge.judgements import CERTAIN, Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.datasets import Datasets
from replicse.spec.expression import Expression
from replicse.spec.papers import printed_in
from replicse.spec.printed import Reported, Rounded
from replicse.spec.running_text import COUNTED, NumberInText

Entries = Mapping[CellId, NumberInText]


def running_text(plan: Study, datasets: Datasets, names: CellNames, entries: Entries) -> Iterator[Finding]:
    """Yield numbers of the running text that are not what the numbers come to of which they speak (text.yaml)."""
    for cell, entry in entries.items():
        if entry.formula is None:
            continue
        paper, formula = cell.paper, Expression(entry.formula)
        cells = [name for name in formula.names if not name.startswith(COUNTED)]
        printed = {
            name: names.reported(name) if name in cells else _counted(name, datasets)
            for name in formula.names
        }
        operands = {name: each.number for name, each in printed.items() if each and each.number}
        reported = printed_in(plan.papers, cell)
        number = reported.number if reported else None
        if reported is None or number is None or len(operands) < len(printed):
            continue
        result = computed(formula, operands)
        gap = abs(number.exact - result.exact) - number.half
        coarse = any(operand.half > number.half for operand in operands.values())
        if gap > (result.half if coarse else 0):
            shown = _in_numbers(entry.formula, printed)
            alone = entry.formula == f"{{{formula.names[0]}}}"
            places = [names.words(names.cell(name), paper) for name in cells] or ["counted on the data"]
            places = list(dict.fromkeys(places))
            rounded = CERTAIN if gap > result.half else UNROUNDED
            yield Finding(
                paper=paper,
                rule="text",
                place=reported.source,
                cells=(str(cell), *(str(names.cell(name)) for name in cells)),
                printed=reported.value,
                follows=f"{shown if alone else f'{number.text(result.exact)}, which is {shown}'} ({'; '.join(places)})",
                certainty=f"unless {entry.unless}" if entry.unless else rounded,
                note="; ".join(filter(None, [quotation(reported), entry.note])),
                against=tuple(places),
            )


def _in_numbers(formula: str, printed: Mapping[str, Reported | None]) -> str:
    for name, each in printed.items():
        formula = formula.replace(f"{{{name}}}", each.value if each else "")
    return formula


def _counted(path: str, datasets: Datasets) -> Reported:
    return Reported(value=str(sum(datasets.parts(path).values())), source="counted on the data")


def computed(formula: Expression, operands: Mapping[str, Rounded]) -> Rounded:
    """Return what a formula comes to, and by how much rounding of its operands can have moved that at most."""
    values = {name: operand.value for name, operand in operands.items()}
    room = formula.rounding_error(values, {name: operand.half_digit for name, operand in operands.items()})
    return Rounded(*(float(f"{number:.12g}") for number in (formula(values), room)))


def searched(plan: Study, datasets: Datasets, names: CellNames, entries: Entries) -> Iterator[Finding]:
    """Yield tables that print as best a value of a parameter that the printed search over it does not have.

    A table of several values is an ablation, which may leave the values that were searched.
    """
    grids: dict[tuple[str, str], list[Reported]] = {}
    for cell, entry in entries.items():
        if entry.searched and (printed := printed_in(plan.papers, cell)):
            grids.setdefault((cell.paper, entry.searched), []).append(printed)
    for (paper, path), values in grids.items():
        grid = {reported.number.value for reported in values if reported.number}
        for item in plan.papers[paper].items:
            chosen = _values_chosen(plan, f"{paper}/{item}", path)
            outside = [each for each in chosen if each.number.value not in grid]
            if outside:
                yield finding(
                    plan,
                    "search",
                    outside,
                    f"none of the values searched: {', '.join(reported.value for reported in values)}"
                    f" ({values[0].source})",
                    CERTAIN,
                    printed=", ".join(cell.row.label or cell.row.id for cell, *_ in outside),
                    place=outside[0].place,
                    against=(values[0].source,),
                )


def _values_chosen(plan: Study, item: str, path: str) -> Iterator[PrintedCell]:
    """Yield the printed cells of an item that hold the best value of a parameter."""
    for cell in plan.described(item):
        jobs = cell.column.over.jobs if cell.column.over else None
        if jobs and jobs.shows == path and (printed := printed_cell(cell)):
            yield printed


RULES_OF_TEXT = (running_text, searched)
