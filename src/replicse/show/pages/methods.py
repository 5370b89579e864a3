"""The page "Methods by study"."""

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
    """Build the table of methods (lines) by studies (columns)."""
    every = methods.methods
    columns = [Column("", "label", tuple(GridCell(Shown(each.label)) for each in every))]
    for name, head in methods.columns.items():
        results = [each.results.get(name) for each in every]
        cells = (_cell(name, head, result, methods.shared.label) for result in results)
        columns.append(Column(f"{name}: {head.label}", "result", tuple(cells)))
    columns.append(Column("Recipe", "prose", tuple(GridCell(Shown(each.recipe)) for each in every)))
    body = tuple(GridLine(RowHead(id=each.recipe, label=each.label)) for each in every)
    return Grid(tuple(columns), body)


def study_lines(methods: Methods) -> list[tuple[str, str]]:
    """Return the name and description of each study."""
    heads = {name: methods.columns[name].label for name in methods.studies}
    records = {name: study.record for name, study in methods.studies.items()}
    seeds = {name: several(len(record["seeds"]), "seed") for name, record in records.items()}
    return [(name, f"{heads[name]}, {seeds[name]}, scale {records[name]['scale']}") for name in heads]


def _cell(study: str, head: ColumnHead, result: MethodResult | None, shared: str) -> GridCell:
    if result is None:
        return GridCell(Shown())
    item, cell, effect = result.item, result.cell, result.effect
    rounding = Rounding(1 if is_percentage(cell.metric_path) else 2)
    half = half_width(cell.low, cell.high)
    few = in_braces(rounded(value, rounding) for value in cell.few) if cell.few else ""
    less = effect_of_rows(effect, partial(signed, rounding=rounding)) if effect else ""
    shown = Shown(
        reproduced=rounded(cell.reproduced or 0.0, rounding),
        spread=f"±{rounded(half, rounding)}" if half is not None else few,
        delta=less,
        scale=item.scale,
    )
    name = item.name_of(item.id_of(cell))
    known = facts(item, head, shown, cell, (f"less {shared}", less) if less else None)
    return GridCell(shown, (("cell", name), ("study", study), *known), cell_address(f"{study}/{name}"))
