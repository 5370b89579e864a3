"""Audit of the numbers in the running text."""

from collections.abc import Iterator, Mapping

from replicse.compile.study import Study
from replicse.judge.audit.findings import (
    UNROUNDED,
    PrintedCell,
    finding,
    printed_cell,
    quotation,
)
from replicse.judge.report.judgements import CERTAIN, Finding
from replicse.spec.cell_id import CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.datasets import Datasets
from replicse.spec.expression import Expression
from replicse.spec.papers import printed_in
from replicse.spec.printed import Reported, Rounded
from replicse.spec.running_text import COUNTED, NumberInText

Entries = Mapping[CellId, NumberInText]


def running_text(study: Study, datasets: Datasets, names: CellNames, entries: Entries) -> Iterator[Finding]:
    """Yield numbers of the text that other printed numbers contradict.

    `text.yaml` contains the formula of each number.
    """
    for cell, entry in entries.items():
        if entry.formula is None:
            continue
        formula = Expression(entry.formula)
        operands = {name: _operand(name, datasets, names) for name in formula.names}
        numbers = {}
        for name, each in operands.items():
            if each and each.number:
                numbers[name] = each.number
        reported = printed_in(study.papers, cell)
        if reported is None or reported.number is None or len(numbers) < len(operands):
            continue
        number = reported.number
        result = apply_formula(formula, numbers)
        gap = abs(number.exact - result.exact) - number.half
        has_coarse_operand = any(operand.half > number.half for operand in numbers.values())
        if gap <= (result.half if has_coarse_operand else 0):
            continue
        follows = _fill_formula(entry.formula, operands)
        if entry.formula != f"{{{formula.names[0]}}}":
            follows = f"{number.text(result.exact)}, which is {follows}"
        certainty = CERTAIN if gap > result.half else UNROUNDED
        if entry.unless:
            certainty = f"unless {entry.unless}"
        cells = [names.cell(name) for name in formula.names if not name.startswith(COUNTED)]
        places = list(dict.fromkeys(names.words(each, cell.paper) for each in cells))
        places = places or ["counted on the data"]
        yield Finding(
            paper=cell.paper,
            rule="text",
            place=reported.source,
            cells=tuple(map(str, (cell, *cells))),
            printed=reported.value,
            follows=f"{follows} ({'; '.join(places)})",
            certainty=certainty,
            note="; ".join(filter(None, [quotation(reported), entry.note])),
            against=tuple(places),
        )


def _operand(name: str, datasets: Datasets, names: CellNames) -> Reported | None:
    """Return the printed number of a cell, or a count of a dataset."""
    if not name.startswith(COUNTED):
        return names.reported(name)
    count = sum(datasets.parts(name).values())
    return Reported(value=str(count), source="counted on the data")


def _fill_formula(formula: str, operands: Mapping[str, Reported | None]) -> str:
    """Replace the names in a formula by printed values."""
    for name, each in operands.items():
        formula = formula.replace(f"{{{name}}}", each.value if each else "")
    return formula


def apply_formula(formula: Expression, operands: Mapping[str, Rounded]) -> Rounded:
    """Compute a formula, and the effect of rounding on the result.

    Args:
        formula: the formula.
        operands: dict from each name in the formula to a rounded number.

    Returns:
        The result; its half digit is the largest error that rounding of the operands can cause.
    """
    values, half_digits = {}, {}
    for name, operand in operands.items():
        values[name] = operand.value
        half_digits[name] = operand.half_digit
    result, room = formula(values), formula.rounding_error(values, half_digits)
    return Rounded(float(f"{result:.12g}"), float(f"{room:.12g}"))


def searched_values(
    study: Study, datasets: Datasets, names: CellNames, entries: Entries
) -> Iterator[Finding]:
    """Yield tables with a best value that the paper did not search.

    A table of several values is an ablation, which can contain other values.
    """
    grids: dict[tuple[str, str], list[Reported]] = {}
    for cell, entry in entries.items():
        printed = printed_in(study.papers, cell)
        if entry.searched and printed:
            grids.setdefault((cell.paper, entry.searched), []).append(printed)
    for (paper, path), values in grids.items():
        grid = {reported.number.value for reported in values if reported.number}
        for item in study.papers[paper].items:
            chosen = _chosen_values(study, f"{paper}/{item}", path)
            outside = [each for each in chosen if each.number.value not in grid]
            if outside:
                listed = ", ".join(reported.value for reported in values)
                yield finding(
                    study,
                    "search",
                    outside,
                    f"not one of the searched values: {listed} ({values[0].source})",
                    CERTAIN,
                    printed=", ".join(cell.row.label or cell.row.id for cell, *_ in outside),
                    place=outside[0].place,
                    against=(values[0].source,),
                )


def _chosen_values(study: Study, item: str, path: str) -> Iterator[PrintedCell]:
    """Yield the cells of an item with the best value of a hyper-parameter."""
    for cell in study.described(item):
        over = cell.column.over
        if over and over.jobs and over.jobs.shows == path:
            printed = printed_cell(cell)
            if printed:
                yield printed


RULES_OF_TEXT = (running_text, searched_values)
