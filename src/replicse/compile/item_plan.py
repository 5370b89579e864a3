"""The plan of an item: facts about the cells before measuring."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from replicse.checked import Checked
from replicse.compile.cell import Cell
from replicse.compile.lines import described
from replicse.compile.paths import Paths
from replicse.compile.remarks import adjusted_text, cut_searches
from replicse.compile.searches import get_setting
from replicse.compile.study import Study, follow, kept_checkpoint
from replicse.errors import BadInput
from replicse.registry.suite_options import only_sets
from replicse.registry.suites import file_of
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.printed import Reported, Spread
from replicse.spec.protocols import AS_RUN, ON_BACKBONE
from replicse.spec.settings import setting_difference
from replicse.spec.tables import Item


@dataclass(frozen=True)
class CellFacts:
    """Facts of a study about a cell.

    Args:
        precision: the precision of the runs, and the paper's precision if it differs. Default: empty.
        why_not_comparable: why the cell cannot be compared with the published number. Default: empty, it can be
            compared.
        spread: a published standard deviation, measured in the setting of the cell. Default: None.
    """

    precision: str = ""
    why_not_comparable: str = ""
    spread: Spread | None = None


@dataclass(frozen=True, eq=False)
class ItemPlan:
    """An item with cells, and the facts about encoders for judging.

    A job loads it from the specification and does not compile the study.

    Args:
        item: the item, without requests for encoders.
        scale: the name of the scale.
        is_comparable: whether the scale is the papers' own.
        is_embedded: whether the datasets are generated.
        planned: the cells in the order of the study.
        facts: a dict from cell ids to facts.
        searched: a dict from paths in a run to the hyper-parameters of a search by encoder.
        runs: a dict from trained encoders to runs.
        depends: a dict from runs to their direct dependencies.
        readings: the description of the encoder in an evaluation file, by encoder and group of suites.
        own_sets: the user's evaluation datasets in the cells, by name.
        variants: the titles of protocols that are run only for adjudication.
        deviations: the text on deviations of the item.
        scale_notes: the changes of the scale in the item's recipes and searches, a clause each.
    """

    item: Item
    scale: str
    is_comparable: bool
    is_embedded: bool
    planned: tuple[Cell, ...]
    facts: Mapping[CellId, CellFacts]
    searched: Mapping[str, Mapping[str, Any]]
    runs: Mapping[str, str]
    depends: Mapping[str, Sequence[str]]
    readings: Mapping[str, Mapping[str, Any]]
    own_sets: Mapping[str, Any]
    variants: Mapping[str, str]
    deviations: str
    scale_notes: tuple[str, ...]

    @property
    def paths(self) -> Paths:
        """Return the paths of the scale."""
        return Paths(self.scale)

    @property
    def cells(self) -> Mapping[str, Sequence[Cell]]:
        """Return a dict from the item to the cells, as in a study."""
        return {self.item.id: self.planned}

    @cached_property
    def described(self) -> list[Cell]:
        """Return the cells as the paper describes them."""
        return [cell for cell in self.planned if cell.protocol == AS_DESCRIBED]

    def run_name(self, encoder: str) -> str:
        """Return the run of an encoder, or an empty string."""
        return self.runs.get(encoder, "")

    def chain(self, runs: Iterable[str]) -> set[str]:
        """Return runs and all of their dependencies."""
        return follow(runs, self.depends)

    def evaluated(self, encoder: str, group: str) -> Mapping[str, Any]:
        """Return the description of an encoder in an evaluation file.

        Args:
            encoder: the id of the encoder.
            group: the group of suites, or `trajectory`.

        Returns:
            A dict with the folder, pooling and post-processing; empty for counts of datasets.
        """
        reading: Mapping[str, Any] = self.readings.get(encoder, {}).get(group, {})
        return reading

    def plain(self) -> dict[str, Any]:
        """Return the plan as a dict for the specification of a job."""
        groups: dict[tuple[tuple[str, ...], ...], int] = {}
        cells = [_describe_cell(cell, groups) for cell in self.planned]
        facts = [_describe_facts(self.facts[cell.id]) for cell in self.planned]
        encoders = [list(map(list, group)) for group in groups]
        searched = {path: dict(values) for path, values in self.searched.items()}
        depends = {run: list(others) for run, others in self.depends.items()}
        readings = {name: dict(reading) for name, reading in self.readings.items()}
        return {
            "item": _without_requests(self.item),
            "scale": self.scale,
            "comparable": self.is_comparable,
            "embedded": self.is_embedded,
            "encoders": encoders,
            "cells": cells,
            "facts": facts,
            "searched": searched,
            "runs": dict(self.runs),
            "depends": depends,
            "readings": readings,
            "own_sets": dict(self.own_sets),
            "variants": dict(self.variants),
            "deviations": self.deviations,
            "scale_notes": list(self.scale_notes),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any], location: str) -> Self:
        """Parse a plan from the dict of `plain`.

        Args:
            document: the dict.
            location: the file in error messages.

        Raises:
            BadInput: if the item is not valid.
        """
        item = Item.of(document["item"], location)
        cells = tuple(_read_cell(item, cell, document["encoders"]) for cell in document["cells"])
        facts = {}
        for cell, known in zip(cells, document["facts"], strict=True):
            spread = _read_spread(known["spread"])
            facts[cell.id] = CellFacts(known["precision"], known["why_not_comparable"], spread)
        return cls(
            item=item,
            scale=document["scale"],
            is_comparable=document["comparable"],
            is_embedded=document["embedded"],
            planned=cells,
            facts=facts,
            searched=document["searched"],
            runs=document["runs"],
            depends=document["depends"],
            readings=document["readings"],
            own_sets=document["own_sets"],
            variants=document["variants"],
            deviations=document["deviations"],
            scale_notes=tuple(document["scale_notes"]),
        )


def plan_item(study: Study, item: Item) -> ItemPlan:
    """Create the plan of an item from the facts in a study.

    Args:
        study: the study.
        item: an item of the study.
    """
    cells = tuple(study.cells[item.id])
    measured: list[Cell] = []
    for cell in cells:
        measured += cell.operands or (cell,)
    runs: dict[str, str] = {}
    readings: dict[str, dict[str, Any]] = {}
    searched: dict[str, dict[str, Any]] = {}
    for cell in measured:
        for path in _searched_paths(cell):
            for encoder in cell.encoders:
                setting = get_setting(study.run_of(encoder), path)
                plain = setting.plain() if isinstance(setting, Checked) else setting
                searched.setdefault(path, {})[encoder] = plain
        if not cell.metric_path:
            continue
        group = file_of(cell.metric_path)
        for encoder in cell.encoders:
            if group not in readings.setdefault(encoder, {}):
                readings[encoder][group] = study.evaluated(encoder, group)
            if run := study.run_name(encoder):
                runs[encoder] = run
    depends = {run: study.depends[run] for run in sorted(study.chain(runs.values()))}
    return ItemPlan(
        item=item,
        scale=study.scale.name,
        is_comparable=study.scale.comparable,
        is_embedded=study.source == "embedded",
        planned=cells,
        facts={cell.id: _know_cell(study, cell) for cell in cells},
        searched=searched,
        runs=runs,
        depends=depends,
        readings=readings,
        own_sets=_list_own_sets(study, measured),
        variants=_variant_titles(study, item),
        deviations=study.papers[item.paper].deviations.get(item.name, ""),
        scale_notes=tuple(filter(None, (adjusted_text(study, [item]), cut_searches(study, item)))),
    )


def _searched_paths(cell: Cell) -> list[str]:
    """Return the run paths in the search of a cell."""
    over = cell.column.over
    if over is None or over.jobs is None:
        return []
    request, _ = described(cell.item, cell.row).asks(cell.column)
    paths = [*(request.grid or {})]
    if request.draw:
        paths += request.draw.domains
    if over.jobs.shows:
        paths.append(over.jobs.shows)
    return list(dict.fromkeys(paths))


def _list_own_sets(study: Study, cells: Iterable[Cell]) -> Mapping[str, Any]:
    """Return the user's evaluation datasets in the cells."""
    prefix = "sets/"
    read = [cell.metric_path.removeprefix(prefix) for cell in cells if cell.metric_path.startswith(prefix)]
    sets: Mapping[str, Any] = only_sets({"sets": study.own_sets}, read)["sets"]
    return sets


def _know_cell(study: Study, cell: Cell) -> CellFacts:
    """Return the facts of a study about a cell."""
    return CellFacts(
        precision=_precision(study, cell),
        why_not_comparable=explain_not_comparable(study, cell),
        spread=find_spread(study, cell),
    )


def _precision(study: Study, cell: Cell) -> str:
    """Return the precision of a cell's runs, and the paper's if it differs."""
    ours = ", ".join(sorted({study.runs[run].precision for run in study.trained_runs([cell])}))
    theirs = study.printed_precision(cell.item.paper)
    return f"{ours}; the paper: {theirs}" if ours and theirs not in (None, ours) else ours


def explain_not_comparable(study: Study, cell: Cell) -> str:
    """Return why a cell cannot be compared with the published number.

    Args:
        study: the study.
        cell: the cell.

    Returns:
        A clause; an empty string if the cell can be compared.
    """
    if not study.scale.comparable:
        return f"the {study.scale.name} scale is not the paper's setting"
    poolings = {study.encoders[name].pooling for name in cell.encoders if name != "data"}
    pooling = poolings.pop() if len(poolings) == 1 else None
    return setting_difference(cell.item.setting, cell.metric_path, pooling)


def find_spread(study: Study, cell: Cell) -> Spread | None:
    """Return the published spread of a cell.

    Args:
        study: the study.
        cell: the cell.

    Returns:
        The spread; None unless all runs of the cell were trained in the setting of the published spread.
    """
    described = study.scale.comparable and cell.protocol == AS_DESCRIBED
    if not described or cell.column.kind not in ("score", "difference") or cell.column.over.jobs:
        return None
    spreads = {_published_spread(study, encoder, cell.metric_path) for encoder in cell.encoders}
    return spreads.pop() if len(spreads) == 1 else None


def _published_spread(study: Study, encoder: str, metric_path: str) -> Spread | None:
    spec, run = study.encoders[encoder], study.run_of(encoder)
    spreads = study.measured.get(spec.source.run or "", {})
    if metric_path not in spreads or spec.postprocess or run is None:
        return None
    as_trained = (spec.pooling, spec.checkpoint) == (run.pooling.test, kept_checkpoint(run))
    return spreads[metric_path] if as_trained else None


def _variant_titles(study: Study, item: Item) -> dict[str, str]:
    """Return the titles of protocols only used for adjudication."""
    run = {cell.protocol for cell in study.cells[item.id]}
    titles = {}
    for protocol in study.papers[item.paper].protocols:
        if protocol.id in run and item.name not in protocol.in_table:
            titles[protocol.id] = protocol.title
    for name in sorted(run):
        if name.startswith(ON_BACKBONE):
            titles[name] = f"On the backbone of seed {name.removeprefix(ON_BACKBONE)}"
    if AS_RUN in run:
        titles[AS_RUN] = "All of the released code"
    return titles


def _without_requests(item: Item) -> dict[str, Any]:
    """Return an item as a dict without the requests for encoders."""
    document = item.plain()
    document.pop("encoder", None)
    for row in document["rows"]:
        for key in ("encoder", "also", "cells"):
            row.pop(key, None)
    for column in document.get("columns", ()):
        column.pop("encoder", None)
    return document


def _describe_facts(facts: CellFacts) -> dict[str, Any]:
    return {
        "precision": facts.precision,
        "why_not_comparable": facts.why_not_comparable,
        "spread": _describe_spread(facts.spread),
    }


def _describe_spread(spread: Spread | None) -> list[float | None] | None:
    """Return a standard deviation and its degrees of freedom (None: infinite)."""
    if spread is None:
        return None
    if math.isinf(spread.degrees):
        return [spread.sd, None]
    return [spread.sd, spread.degrees]


def _read_spread(document: Sequence[Any] | None) -> Spread | None:
    if document is None:
        return None
    sd, degrees = document
    return Spread(sd, math.inf if degrees is None else degrees)


def _describe_cell(cell: Cell, groups: dict[tuple[tuple[str, ...], ...], int]) -> dict[str, Any]:
    """Return a cell as a dict; `groups` numbers shared encoders."""
    document: dict[str, Any] = {
        "row": cell.row.id,
        "column": cell.column.id,
        "metric": cell.column.metric,
        "protocol": cell.protocol,
        "metric_path": cell.metric_path,
        "seeds": list(cell.seeds),
        "encoders": groups.setdefault(cell.jobs, len(groups)),
    }
    if cell.reported:
        document["reported"] = cell.reported.plain()
    if cell.subtracted:
        document["subtracted"] = cell.subtracted.plain()
    if cell.operands:
        document["operands"] = [_describe_cell(operand, groups) for operand in cell.operands]
    return document


def _read_cell(item: Item, document: Mapping[str, Any], groups: Sequence[Any]) -> Cell:
    cell_id = CellId(item.id, document["row"], document["column"], document["metric"])
    place = item.place_of(cell_id)
    if place is None:
        raise BadInput(
            f"{cell_id}: the item in the specification does not contain this cell; run the study again"
        )
    row, column = place
    printed: dict[str, Reported | None] = {"reported": None, "subtracted": None}
    for name in printed:
        if name in document:
            printed[name] = Reported.of(document[name], str(cell_id))
    operands = tuple(_read_cell(item, operand, groups) for operand in document.get("operands", ()))
    return Cell(
        item=item,
        row=row,
        column=column,
        metric_path=document["metric_path"],
        jobs=tuple(map(tuple, groups[document["encoders"]])),
        seeds=tuple(document["seeds"]),
        protocol=document["protocol"],
        operands=operands,
        **printed,
    )
