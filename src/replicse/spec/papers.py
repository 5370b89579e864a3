"""Load papers.

A paper has tables and figures, recipes of runs, claims, protocols, and reported numbers.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from replicse.checked import Checked, Id, Text, Whole, checked_yaml, read_text, read_yaml
from replicse.errors import BadInput, check_known, check_names, nearest
from replicse.registry.corpora import Corpus
from replicse.registry.encoders import Precision
from replicse.registry.sets import EvaluationSet, SetName
from replicse.registry.suites import range_of
from replicse.spec.cell_id import AS_DESCRIBED, TEXT_ITEM, CellId
from replicse.spec.claims import Claim, load_claims
from replicse.spec.columns import AnyColumn, Reducer
from replicse.spec.config import use_all_plugins
from replicse.spec.models import Recipe
from replicse.spec.printed import Reported, read_reported
from replicse.spec.protocols import AS_RUN, Protocol, load_protocols
from replicse.spec.tables import Item, Row, load_item
from replicse.workspace import is_own, looked_up

# Keys are wildcards and folders; items are named as printed, without dots.
PAPER_KEY, ITEM_NAME = re.compile(r"[a-z0-9]+"), re.compile(r"[A-Za-z0-9-]+")
# Next to tables, reported.csv and deviations.md.
FILES = [f"{name}.yaml" for name in ("paper", "recipes", "protocols", "claims", "text", "corpora", "sets")]
# A folder that contains one of these files is meant as a paper.
PARTS = {*FILES[1:], "paper.yml", "tables", "reported.csv", "deviations.md", "method.py"}
OTHERS = ("general", "text")  # headings of deviations.md that are not items


class About(Checked):
    """Facts about a paper.

    Papers are sorted by year and key; `first` marks the paper that the others build on. `order` is the order of the
    items, `elsewhere` the names of other places with reported numbers. `precision` is the precision of training, if
    code or text states it; `poolers` are the names of poolings in the evaluation script; `coverage` is a sentence for
    the report on numbers of the paper that are not transcribed.

    Attributes:
        title: the title of the paper.
        authors: the authors, as a citation lists them.
        year: the year of publication. Papers are sorted by year and key.
        venue: the conference or journal.
        url: the address of the paper.
        precision: the precision of training, if the code or the text states it.
        poolers: names of poolings in the authors' evaluation script, with the pooling that each one means here.
        first: whether the other papers build on this paper.
        order: the names of the items in the order of the paper.
        elsewhere: the names of other places with reported numbers.
        coverage: a sentence for the report about numbers of the paper that are not transcribed.
    """

    title: Text
    authors: Text
    year: Annotated[Whole, Field(ge=1900, le=2100)]
    venue: Text
    url: Annotated[str, Field(pattern=r"^https?://[^\s<>\"{}\\^`]+$", strict=True)]
    precision: Precision | None = None
    poolers: dict[Text, Text] = {}
    first: bool = False
    order: tuple[Id, ...] = ()
    elsewhere: tuple[Id, ...] = ()
    coverage: Text | None = None

    @property
    def cited(self) -> str:
        """Return authors and year as in a citation: `Gao et al. (2021)`.

        A single author has the full name.
        """
        names = [name.strip() for name in self.authors.split(",")]
        surnames = [name.split()[-1] for name in names]
        who = {1: names[0], 2: " and ".join(surnames)}.get(len(names), f"{surnames[0]} et al.")
        return f"{who} ({self.year})"


class Corpora(Checked):
    """The corpora of a paper.

    A corpus of the scale replaces a paper's corpus of the same name.

    Attributes:
        corpora: the corpora (training datasets) by name. A corpus of the scale replaces a corpus of the same name.
    """

    corpora: dict[Id, Corpus]


class Sets(Checked):
    """The evaluation datasets of a paper.

    Attributes:
        sets: the evaluation datasets by name.
    """

    sets: dict[SetName, EvaluationSet]


@dataclass(frozen=True)
class Paper:
    """A paper, loaded from a folder."""

    key: str
    folder: Path
    about: About
    recipes: Mapping[str, Recipe]
    items: Mapping[str, Item]
    protocols: tuple[Protocol, ...]
    claims: tuple[Claim, ...]
    reported: Mapping[CellId, Reported]
    corpora: Mapping[str, Corpus]
    sets: Mapping[str, EvaluationSet]

    @property
    def own(self) -> bool:
        """Return whether the paper is in the workspace, not in the workflow."""
        return is_own(self.folder)

    @cached_property
    def deviations(self) -> dict[str, str]:
        """Return a dict from headings of deviations.md to sections."""
        path = self.folder / "deviations.md"
        if not path.exists():
            return {}
        sections: dict[str, list[str]] = {}
        current: list[str] = []
        for line in read_text(path).splitlines():
            if line.startswith("## "):
                current = sections.setdefault(line[3:].strip(), [])
            else:
                current.append(line)
        return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def load_paper(folder: Path) -> Paper:
    """Load the paper in a folder.

    Args:
        folder: the folder, whose name is the key of the paper.

    Returns:
        The paper.

    Raises:
        BadInput: if a file is not valid; the error names file, row and key.
    """
    if not PAPER_KEY.fullmatch(folder.name):
        raise BadInput(
            f'{folder}: the key "{folder.name}" is a folder\'s name; use small letters and digits only'
        )
    for path in sorted({*folder.glob("[!.]*.y*ml")} - {*map(folder.joinpath, FILES)}):
        raise BadInput(f"{path}: not a file of a paper{nearest(path.name, FILES)}")
    about = checked_yaml(folder / "paper.yaml", About)
    recipes, claims = _recipes(folder / "recipes.yaml"), load_claims(folder / "claims.yaml")
    reported = read_reported(folder / "reported.csv")
    items = {}
    for path in sorted((folder / "tables").glob("[!.]*.y*ml")):
        if not ITEM_NAME.fullmatch(path.name.removesuffix(".yaml")) or path.stem == TEXT_ITEM:
            raise BadInput(
                f'{path}: the file name is not valid; use letters, digits and dashes, not "text", then .yaml'
            )
        items[path.stem] = load_item(path, folder.name)
    check_names(f"{folder / 'paper.yaml'}: order", about.order, items)
    for name in about.order:
        if about.order.count(name) > 1:
            raise BadInput(f'{folder / "paper.yaml"}: order names "{name}" twice; remove the duplicate')
    ordered = {name: items[name] for name in dict.fromkeys([*about.order, *items])}
    corpora, sets = folder / "corpora.yaml", folder / "sets.yaml"
    paper = Paper(
        key=folder.name,
        folder=folder,
        about=about,
        recipes=recipes,
        items=ordered,
        protocols=load_protocols(folder / "protocols.yaml", ordered, recipes),
        claims=claims,
        reported=reported,
        corpora=checked_yaml(corpora, Corpora).corpora if corpora.exists() else {},
        sets=checked_yaml(sets, Sets).sets if sets.exists() else {},
    )
    problem = next(itertools.chain(_reserved(paper), _misplaced(paper)), None)
    if problem:
        raise BadInput(problem)
    # A section with another heading would not be shown.
    check_names(
        f"{folder / 'deviations.md'}: the heading", paper.deviations, [*items, *about.elsewhere, *OTHERS]
    )
    return paper


def load_papers(workflow: Path, plugins: Iterable[str] = ()) -> dict[str, Paper]:
    """Load every paper, the papers' methods, and all plug-ins.

    A paper of the workspace replaces the workflow's paper of the same key.

    Args:
        workflow: the folder of papers and scales.
        plugins: plug-ins of the config, in addition to installed plug-ins and plug-ins of the workspace. Default:
            empty.

    Returns:
        A dict from keys to papers, sorted.

    Raises:
        BadInput: if a paper is not valid or paper.yaml does not exist.
    """
    use_all_plugins(plugins, workflow)
    for file in looked_up(workflow, "papers/*/*"):
        if file.name in PARTS and not (file.parent / "paper.yaml").exists():
            raise BadInput(
                f"{file.parent}: {file.name} exists, but paper.yaml does not; write paper.yaml, or move the folder away"
            )
    folders = {file.parent.name: file.parent for file in looked_up(workflow, "papers/*/paper.yaml")}
    return {key: load_paper(folders[key]) for key in sorted(folders)}


def _recipes(file: Path) -> dict[str, Recipe]:
    if not file.exists():
        return {}
    document = read_yaml(file)
    if not isinstance(document, Mapping):
        raise BadInput(f"{file}: expected a dict from names to recipes")
    for name in document:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name):
            raise BadInput(f'{file}: recipe "{name}"; use letters, digits, dots and dashes')
    return {name: Recipe.of(entry, f"{file}: {name}", file, (name,)) for name, entry in document.items()}


def _reserved(paper: Paper) -> Iterator[str]:
    """Yield a sentence for each encoder in `also` with a protocol's name."""
    names = (AS_DESCRIBED, AS_RUN, *(protocol.id for protocol in paper.protocols))
    for item in paper.items.values():
        for row in item.rows:
            for name in row.also:
                if name in names:
                    yield f'{item.file}: row {row.id}: also names "{name}", which is a protocol; choose another name'


def _misplaced(paper: Paper) -> Iterator[str]:
    """Yield a sentence for each reported number without a cell of an item."""
    file = paper.folder / "reported.csv"
    others = (TEXT_ITEM, *paper.about.elsewhere)
    named = {cell.item_name for cell in paper.reported}
    for name in paper.about.elsewhere:
        if name not in named:
            yield f'{paper.folder / "paper.yaml"}: elsewhere names "{name}", but {file} does not contain {name}'
    for cell, printed in paper.reported.items():
        name = cell.item_name
        if name in others:
            continue
        if name not in paper.items:
            yield f'{file}: item "{name}" is not a table or figure of the paper{nearest(name, [*paper.items, *others])}'
            continue
        item = paper.items[name]
        place = item.place_of(cell)
        if place is None:
            yield _describe_misplaced(file, cell, item)
        else:
            row, column = place
            location = f"{file}: {name} {cell.place}"
            yield from _check_statistic(printed, column, location)
            yield from _check_range(printed, column, item.path(row, column), location)


def _describe_misplaced(file: Path, cell: CellId, item: Item) -> str:
    """Describe a reported number without a row, column or metric of the item."""
    cells = {item.cell_id(row, column) for row in item.rows for column in item.columns}
    problem = f'{file}: {item.name} has a number for "{cell.place}", but {item.file}'
    metrics = sorted(each.metric for each in cells if each.short == cell.short)
    if not metrics:
        return f"{problem} does not contain the cell{nearest(cell.place, [each.place for each in cells])}"
    if any(metrics):
        return f'{problem} has the metric "{" and ".join(metrics)}" there; use this metric'
    return f"{problem} does not specify a metric there; add setting: {{metric: {cell.metric}}}"


def _check_statistic(printed: Reported, column: AnyColumn, location: str) -> Iterator[str]:
    """Yield a sentence if the reported and the column's statistic differ."""
    over = Reducer() if column.kind == "text" else column.over.seeds
    if printed.statistic != "single" and (printed.statistic, printed.q) != (over.statistic, over.q):
        q = "" if printed.q is None else f" {printed.q:g}"
        yield f"{location} reports a {printed.statistic}{q}, but the column has the {over.name} over seeds"


def _check_range(printed: Reported, column: AnyColumn, path: str, location: str) -> Iterator[str]:
    """Yield a sentence if a reported number is outside of the metric's range."""
    shows_score = column.kind == "score" and (column.over.jobs or Reducer()).statistic != "argmax"
    limits = range_of(path) if shows_score else None
    if limits and printed.number and not limits.holds(printed.number.value):
        yield f'{location} is "{printed.value}"; expected {limits}'


def printed_in(papers: Mapping[str, Paper], cell: CellId) -> Reported | None:
    """Return the reported number of a cell.

    Args:
        papers: a dict from keys to papers.
        cell: the cell of a table, a figure or the running text.

    Returns:
        The reported number; None if the cell has no reported number.
    """
    item = papers[cell.paper].items.get(cell.item_name)
    place = item.place_of(cell) if item else None
    if item and place:
        cell = item.printed_at(*place)
    return papers[cell.paper].reported.get(cell)


def printed_of(papers: Mapping[str, Paper], item: Item, row: Row, column: AnyColumn) -> Reported | None:
    """Return the reported number of a cell.

    Args:
        papers: a dict from keys to papers.
        item: the item of the cell.
        row: the row.
        column: the column.

    Returns:
        The reported number; None if the cell has no reported number.

    Raises:
        BadInput: if the row names a number of the running text that does not exist.
    """
    printed, cell = papers[item.paper].reported, item.printed_at(row, column)
    if column.id in row.printed and cell not in printed:
        places = [f"{other.row}/{other.column}" for other in printed if other.item_name == TEXT_ITEM]
        wanted = row.printed[column.id]
        raise BadInput(f'{item.file}: row {row.id}: printed names "{wanted}"{nearest(wanted, places)}')
    return printed.get(cell)


def subtracted_of(papers: Mapping[str, Paper], item: Item, row: Row, column: AnyColumn) -> Reported | None:
    """Return the reported number subtracted in a difference.

    Args:
        papers: a dict from keys to papers.
        item: the item of the cell.
        row: the row.
        column: the column.

    Returns:
        The reported number; None for other columns.

    Raises:
        BadInput: if the column names an item, row or column that does not exist.
    """
    if column.kind != "difference":
        return None
    wanted, location = column.subtract, f"{item.file}: column {column.id}: subtract"
    items = {}
    for paper in papers.values():
        for other in paper.items.values():
            items[other.id] = paper, other
    check_known(wanted.item, items, f'{location}.item is "{wanted.item}"')
    paper, other = items[wanted.item]
    name = f"{wanted.column}, {wanted.metric}"
    columns = {f"{each.id}, {each.metric}" for each in other.columns}
    check_known(name, columns, f'{location} names column and metric "{name}" of {wanted.item}')
    rows = {each.id for each in other.rows}
    if wanted.row:
        check_known(wanted.row, rows, f'{location}.row is "{wanted.row}"')
    return paper.reported.get(wanted.cell(row.id))
