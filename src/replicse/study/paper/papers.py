"""Papers as data: tables and figures, recipes for runs, and the numbers the paper prints."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, MissingData, nearest
from replicse.study.paper.merging import merged
from replicse.study.paper.protocols import Protocol, load_protocols
from replicse.study.paper.validation import check, read_yaml

REPORTED_FIELDS = ["item", "row", "column", "metric", "value", "source", "note"]


@dataclass(frozen=True)
class Reported:
    """One printed number: its value as text, its place, and a note."""

    value: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class Column:
    """One column of an item: what is read (`read`, a suite path) and how it is shown.

    `minus` subtracts a printed number of another item; `choose` shows, instead of the score, the hyper-parameter
    of the best run of a grid.
    """

    id: str
    label: str
    metric: str
    read: str
    better: str = "higher"
    minus: Mapping[str, str] | None = None
    choose: str = ""
    subject: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One row of an item: the encoder it evaluates (`subject`) and how it is shown.

    `also` holds encoders for further protocols of the row (a released checkpoint, a variant); `read` replaces
    the suite path of single columns, `cells` what their encoders change. `printed` names, by column, a number
    of the running text that stands for the cell: `row/column` of the pseudo-item `text`. A row of a trajectory
    that is `final_only` has no steps.
    """

    id: str
    label: str
    group: str = ""
    quoted: bool = False
    note: str = ""
    subject: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    final_only: bool = False


@dataclass(frozen=True)
class Item:
    """A table or a figure of a paper."""

    paper: str
    name: str
    kind: str
    title: str
    place: str
    setting: Mapping[str, Any]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    subject: Mapping[str, Any]
    figure: str = ""
    baseline: str = ""
    notes: tuple[str, ...] = ()
    trajectory: Mapping[str, Any] | None = None
    file: Path = Path()

    @property
    def id(self) -> str:
        """Return `paper/item`."""
        return f"{self.paper}/{self.name}"

    @property
    def target(self) -> str:
        """Return the name of the item's Snakemake target."""
        return f"{self.paper}_{self.name}"


@dataclass(frozen=True)
class Paper:
    """A folder of data about one paper."""

    key: str
    folder: Path
    about: Mapping[str, Any]
    recipes: Mapping[str, Mapping[str, Any]]
    items: Mapping[str, Item]
    protocols: tuple[Protocol, ...] = ()

    @cached_property
    def reported(self) -> dict[tuple[str, str, str, str], Reported]:
        """Return the printed numbers by (item, row, column, metric)."""
        return read_reported(self.folder / "reported.csv")

    @cached_property
    def deviations(self) -> dict[str, str]:
        """Return the text of deviations.md by its second-level headings."""
        path = self.folder / "deviations.md"
        sections: dict[str, list[str]] = {}
        current: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            if line.startswith("## "):
                current = sections.setdefault(line[3:].strip(), [])
            else:
                current.append(line)
        return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def read_reported(path: Path) -> dict[tuple[str, str, str, str], Reported]:
    """Return reported.csv by (item, row, column, metric); BadInput names the line of a mistake."""
    if not path.exists():
        raise MissingData(f"{path}: no such file; every paper needs its printed numbers")
    result: dict[tuple[str, str, str, str], Reported] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        if reader.fieldnames != REPORTED_FIELDS:
            raise BadInput(f"{path}:1: header is {reader.fieldnames}; expected {','.join(REPORTED_FIELDS)}")
        for entry in reader:
            key = (entry["item"], entry["row"], entry["column"], entry["metric"])
            if None in entry or None in entry.values():
                raise BadInput(f"{path}:{reader.line_num}: expected {len(REPORTED_FIELDS)} fields")
            if key in result:
                raise BadInput(f"{path}:{reader.line_num}: {'/'.join(key)} is given twice; keep one line")
            if not entry["source"]:
                raise BadInput(f"{path}:{reader.line_num}: source is empty; say where the number is printed")
            result[key] = Reported(entry["value"], entry["source"], entry["note"])
    return result


def load_paper(folder: Path, schemas: Path) -> Paper:
    """Return the paper in `folder`; every file is checked against its schema."""
    about = read_yaml(folder / "paper.yaml")
    check(about, schemas / "paper.schema.json", folder / "paper.yaml")
    recipes_file = folder / "recipes.yaml"
    recipes = read_yaml(recipes_file) if recipes_file.exists() else {}
    check(recipes, schemas / "recipes.schema.json", recipes_file)
    items = {}
    for path in sorted((folder / "tables").glob("*.yaml")):
        document = read_yaml(path)
        check(document, schemas / "table.schema.json", path)
        item = _item(document, folder.name, path)
        items[item.name] = item
    order = [name for name in about.get("order", []) if name in items]
    ordered = {name: items[name] for name in [*order, *(name for name in items if name not in order)]}
    rows = {name: [row.id for row in item.rows] for name, item in ordered.items()}
    protocols = load_protocols(folder / "protocols.yaml", schemas, rows)
    return Paper(folder.name, folder, about, recipes, ordered, protocols)


def _item(document: Mapping[str, Any], paper: str, path: Path) -> Item:
    name = document["id"].removeprefix(f"{paper}/")
    if name != path.stem or not document["id"].startswith(f"{paper}/"):
        raise BadInput(f'{path}: id is "{document["id"]}"; expected "{paper}/{path.stem}"')
    metric = document.get("setting", {}).get("metric", "")
    rows = tuple(
        Row(
            id=row["id"],
            label=row.get("label", row["id"]),
            group=row.get("group", ""),
            quoted=row.get("quoted", False),
            note=row.get("note", ""),
            subject=row.get("encoder", {}),
            also=row.get("also", {}),
            read=row.get("read", {}),
            cells=row.get("cells", {}),
            printed=row.get("printed", {}),
            final_only=row.get("final_only", False),
        )
        for row in document["rows"]
    )
    columns = (
        _trajectory_columns(document["trajectory"])
        if "trajectory" in document
        else tuple(
            Column(
                id=column["id"],
                label=column.get("label", column["id"]),
                metric=column.get("metric", metric),
                read=column["read"],
                better=column.get("better", "higher"),
                minus=column.get("minus"),
                choose=column.get("choose", ""),
                subject=column.get("encoder", {}),
            )
            for column in document["columns"]
        )
    )
    for kind, entries in (("rows", rows), ("columns", columns)):
        keys = [(entry.id, getattr(entry, "metric", "")) for entry in entries]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice:
            raise BadInput(f'{path}: {kind} name "{twice[0]}" twice; ids must differ')
    baseline = document.get("baseline", "")
    if baseline and baseline not in {row.id for row in rows}:
        raise BadInput(f'{path}: baseline is "{baseline}"{nearest(baseline, [row.id for row in rows])}')
    return Item(
        paper=paper,
        name=name,
        kind=document["kind"],
        title=document["title"],
        place=document["place"],
        setting=document.get("setting", {}),
        columns=columns,
        rows=rows,
        subject=document.get("encoder", {}),
        figure=document.get("figure", ""),
        baseline=baseline,
        notes=tuple(document.get("notes", ())),
        trajectory=document.get("trajectory"),
        file=path,
    )


def _trajectory_columns(wanted: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return alignment and uniformity columns for each kept step and for the final encoder."""
    steps = range(wanted.get("from", 0), wanted["until"] + 1, wanted["every"])
    places = [(f"step {step}", f"trajectory/{step}") for step in steps] + [("final", "geometry")]
    return tuple(
        Column(id=name, label=name, metric=metric, read=f"{path}/{metric}", better="lower")
        for name, path in places
        for metric in ("alignment", "uniformity")
    )


def recipe_of(papers: Mapping[str, Paper], paper: str, name: str, where: str) -> dict[str, Any]:
    """Return a recipe (`name` or `other-paper/name`) with what it is `like` merged below it."""
    owner, _, short = name.rpartition("/")
    home = papers.get(owner or paper)
    if home is None or short not in home.recipes:
        known = [f"{key}/{entry}" for key, value in papers.items() for entry in value.recipes]
        raise BadInput(f'{where}: recipe "{name}" is unknown{nearest(name, known)}')
    recipe = dict(home.recipes[short])
    parent = recipe.pop("like", None)
    return merged(recipe_of(papers, home.key, parent, where), recipe) if parent else recipe
