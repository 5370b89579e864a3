"""Numbers of the running text, each with an explanation.

An explanation is a formula, a claim, a search, or a sentence on why no other number is related.
"""

import re
from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Id, Text, checked_entries, one_of
from replicse.errors import BadInput, check_known, nearest
from replicse.spec.cell_id import TEXT_ITEM, CellId
from replicse.spec.cell_names import CellNames
from replicse.spec.datasets import Datasets
from replicse.spec.expression import Expression
from replicse.spec.models import run_path_problem
from replicse.spec.papers import Paper
from replicse.spec.printed import Reported

FILE = "text.yaml"
COUNTED = "data/"  # prefix of sizes in datasets.yaml


class NumberInText(Checked):
    """Numbers of the running text with a common explanation.

    A number is `row/column[/metric]`.

    `is` is a formula of reported numbers and counted sizes, both in braces; `claim` is the claim that contains the
    number and is judged as a whole; `searched` is a path of a run whose values in a search are the numbers; `alone`
    explains why no other number is related. `unless` is a possible reason for a difference to the formula.
    """

    numbers: tuple[Text, ...] = Field(min_length=1)
    formula: Text | None = Field(None, alias="is")
    claim: Id | None = None
    searched: Text | None = None
    alone: Text | None = None
    unless: str = ""
    note: str = ""

    _speaks_of_one_thing = one_of("formula", "claim", "searched", "alone")

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.formula and not Expression(self.formula).names:
            raise ValueError("a formula that uses a {name}")
        problem = run_path_problem(self.searched) if self.searched else ""
        if problem:
            raise ValueError(problem)
        return self


def numbers_in_text(names: CellNames, datasets: Datasets) -> dict[CellId, NumberInText]:
    """Load the explanation of each number of the running texts.

    Args:
        names: the names of the cells of all papers.
        datasets: the sizes of datasets.

    Returns:
        A dict from cells to explanations; names in formulas are full names.

    Raises:
        BadInput: if a number has no entry or two, or an entry names a number, cell, size or claim that does not exist.
    """
    entries: dict[CellId, NumberInText] = {}
    for paper in names.papers.values():
        entries.update(_list_entries(paper, names, datasets))
    return entries


def _list_entries(
    paper: Paper, names: CellNames, datasets: Datasets
) -> Iterator[tuple[CellId, NumberInText]]:
    file = paper.folder / FILE
    home = f"{paper.key}/{TEXT_ITEM}"
    left = {cell: printed for cell, printed in paper.reported.items() if cell.item == home and printed.number}
    for entry in checked_entries(file, NumberInText):
        location = f"{file}: {entry.numbers[0]}"
        full = _resolve_formula(entry, paper, names, datasets, location)
        for number in entry.numbers:
            (name,) = names.full_names(f"{home}/{number}", paper.key, location)
            cell = names.cell(name)
            if cell not in left:
                raise BadInput(f'{location}: "{number}" is described twice; remove an entry')
            _check_sentence(entry, number, left.pop(cell), paper, location)
            yield cell, full
    if left:
        number = next(iter(left)).place
        raise BadInput(
            f'{file}: "{number}" of reported.csv is not explained; add is, claim, searched or alone'
        )


def _resolve_formula(
    entry: NumberInText, paper: Paper, names: CellNames, datasets: Datasets, location: str
) -> NumberInText:
    """Return an entry with full names in the formula.

    Raises:
        BadInput: if a name has no number.
    """
    text = entry.formula
    if not text:
        return entry
    for name in Expression(text).names:
        if name.startswith(COUNTED):
            if not datasets.parts(name):
                raise BadInput(
                    f'{location}: datasets.yaml does not contain size "{name}"{nearest(name, datasets.sizes)}'
                )
            continue
        (full,) = names.full_names(name, paper.key, location)
        printed = names.reported(full)
        if printed is None or printed.number is None:
            raise BadInput(f'{location}: cell "{name}" does not have a reported number; use another cell')
        text = text.replace(f"{{{name}}}", f"{{{full}}}")
    return entry.model_copy(update={"formula": text})


def _check_sentence(entry: NumberInText, number: str, printed: Reported, paper: Paper, location: str) -> None:
    """Raise BadInput unless the claim of an entry contains the number."""
    if entry.claim is None:
        return
    texts = {claim.id: claim.text for claim in paper.claims}
    check_known(entry.claim, texts, f'{location}: claim "{entry.claim}" does not exist')
    value = re.escape(printed.value.lstrip("+-−"))
    if not re.search(rf"(?<![\d.]){value}(?!\.?\d)", texts[entry.claim]):
        raise BadInput(
            f"{location}: claim {entry.claim} does not contain {printed.value}, the value of {number};"
            " use another claim"
        )
