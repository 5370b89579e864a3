"""Comparison of methods across studies.

There is one result for each method and study.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from replicse.compile.requests import merge_requests
from replicse.judge.report.report_types import Effect, JudgedItem
from replicse.judge.statistics.shape import shape_columns
from replicse.judge.verdicts.table import CellResult, ColumnHead
from replicse.spec.models import SOURCES
from replicse.spec.tables import Item


@dataclass(frozen=True)
class MethodsStudy:
    """A study to compare.

    Attributes:
        name: the name of the study.
        record: the record of the study.
        items: the items.
        methods: dict from (item, row) to the method.
    """

    name: str
    record: Mapping[str, Any]
    items: Sequence[JudgedItem]
    methods: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class MethodResult:
    """The result of a method in a study.

    Attributes:
        item: the item that contains the result.
        cell: the cell of the main metric.
        effect: the effect against the shared method. Default: None, if it was not measured.
    """

    item: JudgedItem
    cell: CellResult
    effect: Effect | None = None


@dataclass
class Method:
    """A method with recipe, longest label, and results by study."""

    recipe: str
    label: str = ""
    results: dict[str, MethodResult] = field(default_factory=dict)


@dataclass(frozen=True)
class Methods:
    """Methods with the column to show for each study.

    Attributes:
        studies: the studies by name.
        columns: the column to show, by name of the study.
        methods: the methods; methods with results in the most studies are first.
        shared: the first method.
    """

    studies: Mapping[str, MethodsStudy]
    columns: Mapping[str, ColumnHead]
    methods: Sequence[Method]
    shared: Method


def recipes_of(items: Iterable[Item]) -> dict[tuple[str, str], str]:
    """Return the method of each (item, row).

    A method is a recipe with changes, such as `simcse/unsup, dropout.hidden 0.0`, or an encoder that is not
    trained.

    Args:
        items: the items.
    """
    recipes = {}
    for item in items:
        for row in item.rows:
            request = merge_requests(item.encoder, row.encoder).plain()
            source = next((key for key in SOURCES if key in request), "")
            name = str(request.pop(source, f"{item.name}/{row.id}"))
            if not source or (source == "use" and "/" not in name):
                name = f"{item.paper}/{name}"
            parts = [name, *_changes(request.pop("run", {})), *_changes(request)]
            recipes[item.id, row.id] = ", ".join(parts)
    return recipes


def _changes(entries: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield `dropout.hidden 0.0` for each value in nested dicts."""
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield from _changes(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key} {value}"


def methods_by_study(studies: Iterable[MethodsStudy]) -> Methods | None:
    """Collect all methods with their results in one column of each study.

    The column is the average over STS. If a study has no such average, the first column whose shape is compared is
    used.

    Args:
        studies: the studies.

    Returns:
        The methods; None if no study trains an encoder.
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
    """Return the column to compare: the average over STS if it exists.

    Otherwise, it is the first column whose shape is compared. Only items with trained encoders are used.
    """
    columns: list[ColumnHead] = []
    for item in items:
        values = chain.from_iterable(cell.values for cell in item.cells)
        if any(value.run for value in values):
            columns += shape_columns(item)
    averages = [column for column in columns if column.average and column.metric_path.startswith("sts/")]
    return next(iter([*averages, *columns]), None)


def _results(study: MethodsStudy, main: ColumnHead) -> Iterator[tuple[str, str, MethodResult]]:
    """Yield recipe, label and result of each row with the main metric.

    Rows with the same encoders are the same method, named by the recipe of the first row.
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
    """Drop effects that are not against the first method."""
    for method in methods:
        for name, result in method.results.items():
            base = methods[0].results.get(name)
            row = result.effect and result.item.described[result.effect.cell.at(result.item.baseline)]
            if not (base and row and base.cell.encoders == row.encoders):
                method.results[name] = replace(result, effect=None)
    return methods
