"""Methods by study: what every method of several studies came to, one next to the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from replicse.compile.requests import merge_requests
from replicse.judge.report import Effect, JudgedItem
from replicse.judge.shape import shape_columns
from replicse.judge.table import CellResult, ColumnHead
from replicse.spec.models import SOURCES
from replicse.spec.tables import Item


@dataclass(frozen=True)
class MethodsStudy:
    """A study of which methods are compared: its record, its items, and the method of each (item, row)."""

    name: str
    record: Mapping[str, Any]
    items: Sequence[JudgedItem]
    methods: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class MethodResult:
    """What a method came to in a study: its cell, and its effect against the shared method where there is one."""

    item: JudgedItem
    cell: CellResult
    effect: Effect | None = None


@dataclass
class Method:
    """A method by its recipe and the longest of its labels, with its results by study."""

    recipe: str
    label: str = ""
    results: dict[str, MethodResult] = field(default_factory=dict)


@dataclass(frozen=True)
class Methods:
    """Methods, those of most studies first, and the column that stands for each study; `shared` is the first one."""

    studies: Mapping[str, MethodsStudy]
    columns: Mapping[str, ColumnHead]
    methods: Sequence[Method]
    shared: Method


def recipes_of(items: Iterable[Item]) -> dict[tuple[str, str], str]:
    """Return the method of each (item, row): `simcse/unsup, dropout.hidden 0.0`, or the encoder that is not trained."""
    recipes = {}
    for item in items:
        for row in item.rows:
            asked = merge_requests(item.encoder, row.encoder).plain()
            source = next((key for key in SOURCES if key in asked), "")
            name = str(asked.pop(source, f"{item.name}/{row.id}"))
            own = not source or (source == "use" and "/" not in name)
            parts = [
                f"{item.paper}/{name}" if own else name,
                *_changes(asked.pop("run", {})),
                *_changes(asked),
            ]
            recipes[item.id, row.id] = ", ".join(parts)
    return recipes


def _changes(asked: Mapping[str, Any], below: str = "") -> Iterator[str]:
    """Yield `dropout.hidden 0.0` for each entry of a mapping and of those in it."""
    for key, value in asked.items():
        if isinstance(value, Mapping):
            yield from _changes(value, f"{below}{key}.")
        else:
            yield f"{below}{key} {value}"


def methods_by_study(studies: Iterable[MethodsStudy]) -> Methods | None:
    """Return all methods in the column that stands for each study; None where no study trains one.

    It is the average over STS where a study has it, else the first column whose shape is judged.
    """
    columns: dict[str, ColumnHead] = {}
    methods: dict[str, Method] = {}
    kept: dict[str, MethodsStudy] = {}
    for study in studies:
        column = _column(study.items)
        if column is None:
            continue
        kept[study.name], columns[study.name] = study, column
        for recipe, label, result in _results(study, column):
            method = methods.setdefault(recipe, Method(recipe))
            method.label = max(method.label, label, key=lambda text: sum(map(str.isalpha, text)))
            before = method.results.get(study.name)
            if before is None or (result.effect and not before.effect):
                method.results[study.name] = result
    ordered = sorted(methods.values(), key=lambda method: -len(method.results))
    return Methods(kept, columns, _against(ordered), ordered[0]) if ordered else None


def _column(items: Sequence[JudgedItem]) -> ColumnHead | None:
    """Return the average over STS of some items, else their first judged column of trained encoders."""
    trained = [item for item in items if any(value.run for cell in item.cells for value in cell.values)]
    judged = [column for item in trained for column in shape_columns(item)]
    averages = [column for column in judged if column.average and column.metric_path.startswith("sts/")]
    return next(iter([*averages, *judged]), None)


def _results(study: MethodsStudy, main: ColumnHead) -> Iterator[tuple[str, str, MethodResult]]:
    """Yield recipe, label and result of every row in the columns of a study that are measured as the main one is.

    Rows of the same encoders are one method, by the recipe of the first.
    """
    first: dict[tuple[str, ...], str] = {}
    for item in study.items:
        heads = [column for column in item.columns if column.metric_path == main.metric_path]
        effects = {effect.cell: effect for effect in item.effects}
        for row in item.rows:
            cell = item.described.get(item.id_at(row.id, heads[0])) if heads else None
            recipe = study.methods.get((item.item, row.id))
            if cell is not None and recipe and cell.reproduced is not None and not row.quoted:
                recipe = first.setdefault(cell.encoders, recipe)
                effect = effects.get(item.id_of(cell))
                yield recipe, row.label.lstrip("* "), MethodResult(item, cell, effect)


def _against(methods: Sequence[Method]) -> Sequence[Method]:
    """Return methods whose effects are those against the first of them; others are left out."""
    for method in methods:
        for name, result in method.results.items():
            base = methods[0].results.get(name)
            row = result.effect and result.item.described[result.effect.cell.at(result.item.baseline)]
            if not (base and row and base.cell.encoders == row.encoders):
                method.results[name] = replace(result, effect=None)
    return methods
