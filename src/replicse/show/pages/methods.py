"""The page "Methods by study": methods of all committed studies."""

from functools import partial

from replicse.judge.report.methods import MethodResult, Methods
from replicse.judge.verdicts.table import ColumnHead, RowHead
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.show.content.cell_facts import cell_address, facts
from replicse.show.content.cells import Shown
from replicse.show.content.grids import Column, Grid, GridCell, GridLine
from replicse.show.content.numbers import effect_of_rows, half_width, in_braces, rounded, signed
from replicse.spec.printed import Rounding

TITLE = "Methods by study"


def methods_grid(methods: Methods) -> Grid:
    """Build the grid of methods (lines) by studies (columns)."""
    labels, recipes, body = [], [], []
    for method in methods.methods:
        labels.append(GridCell(Shown(method.label)))
        recipes.append(GridCell(Shown(method.recipe)))
        body.append(GridLine(RowHead(id=method.recipe, label=method.label)))
    columns = [Column("", "label", tuple(labels))]
    for name, head in methods.columns.items():
        cells = []
        for method in methods.methods:
            cells.append(_cell(name, head, method.results.get(name), methods.shared.label))
        columns.append(Column(f"{name}: {head.label}", "result", tuple(cells)))
    columns.append(Column("Recipe", "prose", tuple(recipes)))
    return Grid(tuple(columns), tuple(body))


def study_lines(methods: Methods) -> list[tuple[str, str]]:
    """Return a list of (name, description) of the studies."""
    lines = []
    for name, study in methods.studies.items():
        seeds = several(len(study.record["seeds"]), "seed")
        lines.append((name, f"{methods.columns[name].label}, {seeds}, scale {study.record['scale']}"))
    return lines


def _cell(study: str, head: ColumnHead, result: MethodResult | None, shared: str) -> GridCell:
    if result is None:
        return GridCell(Shown())
    item, cell, effect = result.item, result.cell, result.effect
    rounding = Rounding(1 if is_percentage(cell.metric_path) else 2)
    half = half_width(cell.low, cell.high)
    spread = ""
    if half is not None:
        spread = f"±{rounded(half, rounding)}"
    elif cell.few:
        spread = in_braces(rounded(value, rounding) for value in cell.few)
    less = effect_of_rows(effect, partial(signed, rounding=rounding)) if effect else ""
    shown = Shown(
        reproduced=rounded(cell.reproduced or 0.0, rounding), spread=spread, delta=less, scale=item.scale
    )
    name = item.name_of(item.id_of(cell))
    known = facts(item, head, shown, cell, (f"less {shared}", less) if less else None)
    return GridCell(shown, (("cell", name), ("study", study), *known), cell_address(f"{study}/{name}"))
