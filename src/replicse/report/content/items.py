"""What is reported: an item's manifest joined with its tabulated cells."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData, nearest
from replicse.study.plan.specs import build
from replicse.study.results.tabulate import CONTRACT
from replicse.study.results.verdict import VERDICTS

KINDS = ("table", "figure")
TEXT = "text"
FIGURES = ("trajectory", "scatter", "spectrum", "density", "profile", "bars")
NEEDED = ("item", "paper", "kind", "title", "columns", "rows")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: `decimals` rounds where the paper prints no number to copy the rounding from.

    The metric `text` makes it a column of sentences.
    """

    id: str
    label: str
    metric: str = ""
    decimals: int = 2
    better: str = "higher"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: `group` is the heading of its block, `rule` draws a line above it."""

    id: str
    label: str
    group: str = ""
    quoted: bool = False
    note: str = ""
    rule: bool = False


@dataclass(frozen=True, kw_only=True)
class Result:
    """One tabulated cell; None or blank is missing. `borrowed` marks an interval from a published spread.

    `text` is what was found in a column of sentences, `source` where the reported number is printed;
    `pairs_low` and `pairs_high` bound a correlation over resampled test pairs.
    """

    row: str
    column: str
    metric: str = ""
    protocol: str = "as-described"
    reported: str = ""
    reproduced: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    n_seeds: int | None = None
    verdict: str = ""
    encoders: tuple[str, ...] = ()
    borrowed: bool = False
    reason: str = ""
    text: str = ""
    source: str = ""
    pairs_low: float | None = None
    pairs_high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """A table or figure of a paper with its cells; `picture` is the path of its drawn files, no suffix.

    `variants` holds the titles of protocols that were run to adjudicate: their cells are no lines of the table.
    """

    id: str
    paper: str
    kind: str
    title: str
    scale: str
    figure: str = ""
    caption: str = ""
    place: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    deviations: str = ""
    variants: Mapping[str, str] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    picture: Path | None = None


def make_item(
    document: Mapping[str, Any],
    results: tuple[Result, ...],
    *,
    scale: str,
    picture: Path | None = None,
    where: str = "results",
) -> Item:
    """Return an item from plain data; every result must name a row and a column of the manifest.

    The manifest's `cells`, where it has them, say where each reported number is printed.
    """
    name = document.get("item", "manifest")
    missing = [key for key in NEEDED if key not in document]
    if missing:
        raise BadInput(f"{name}: {', '.join(missing)} must be given")
    if document["kind"] not in KINDS:
        raise BadInput(f'{name}: kind is "{document["kind"]}"{nearest(document["kind"], KINDS)}')
    figure = document.get("figure") or ""
    if figure and figure not in FIGURES:
        raise BadInput(f'{name}: figure is "{figure}"{nearest(figure, FIGURES)}')
    item = Item(
        id=name,
        paper=document["paper"],
        kind=document["kind"],
        title=document["title"],
        scale=scale,
        figure=figure,
        caption=document.get("caption") or "",
        place=document.get("place") or "",
        setting=document.get("setting") or {},
        columns=tuple(
            build(Column, _shown(Column, entry), f"{name}: columns") for entry in document["columns"]
        ),
        rows=tuple(build(Row, _shown(Row, entry), f"{name}: rows") for entry in document["rows"]),
        notes=tuple(document.get("notes") or ()),
        deviations=document.get("deviations") or "",
        variants=document.get("variants") or {},
        results=tuple(_with_source(result, document.get("cells") or {}) for result in results),
        picture=picture,
    )
    rows = {row.id for row in item.rows}
    columns = {(column.id, column.metric) for column in item.columns}
    for result in results:
        if result.row not in rows:
            raise BadInput(f'{where}: row "{result.row}" is not in {name}{nearest(result.row, rows)}')
        if (result.column, result.metric) not in columns:
            known = [f"{column}, {metric}" for column, metric in columns]
            given = f"{result.column}, {result.metric}"
            raise BadInput(f'{where}: column and metric "{given}" are not in {name}{nearest(given, known)}')
    return item


def _with_source(result: Result, cells: Mapping[str, Mapping[str, Any]]) -> Result:
    facts = cells.get(f"{result.row}|{result.column}|{result.metric}", {})
    return replace(result, source=facts["source"]) if "source" in facts else result


def _shown(kind: type, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a manifest entry that are shown; the others tell tabulate what to read."""
    return {shown.name: entry[shown.name] for shown in fields(kind) if entry.get(shown.name) is not None}


def read_results(path: Path) -> tuple[Result, ...]:
    """Return the cells of a tabulated CSV; BadInput names the line of a mistake.

    Beyond the contract's columns, `borrowed` (yes or blank) and `reason` are read where they are given.
    """
    if not path.exists():
        raise MissingData(f"{path}: no such file; tabulate the item first")
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        missing = [name for name in CONTRACT if name not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(f"{path}:1: the header lacks {', '.join(missing)}; expected {','.join(CONTRACT)}")
        return tuple(result_of(entry, f"{path}:{reader.line_num}") for entry in reader)


def result_of(entry: Mapping[str, str], where: str) -> Result:
    """Return a cell from a tabulated record of text; BadInput says `where` and what is wrong."""
    if None in entry or None in entry.values():
        raise BadInput(f"{where}: wrong number of fields; expected {len(entry)}")
    if entry["verdict"] and entry["verdict"] not in VERDICTS:
        raise BadInput(f'{where}: verdict is "{entry["verdict"]}"{nearest(entry["verdict"], VERDICTS)}')
    seeds = _number(entry["n_seeds"], "n_seeds", where)
    is_text = entry["metric"] == TEXT
    numbers = ("delta", "low", "high") if is_text else ("reproduced", "delta", "low", "high")
    return Result(
        **{name: entry[name] for name in ("row", "column", "metric", "protocol", "reported", "verdict")},
        **{name: _number(entry[name], name, where) for name in numbers},
        text=entry["reproduced"] if is_text else "",
        n_seeds=None if seeds is None else int(seeds),
        encoders=tuple(name for name in entry["encoders"].split(";") if name),
        borrowed=entry.get("borrowed", "") == "yes",
        reason=entry.get("reason", ""),
        **{name: _number(entry.get(name, ""), name, where) for name in ("pairs_low", "pairs_high")},
    )


def _number(text: str, name: str, where: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise BadInput(f'{where}: {name} is "{text}"; expected a number or nothing') from None
