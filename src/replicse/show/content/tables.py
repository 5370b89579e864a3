"""The grid of every rendered table: the paper's rows, groups and rules with cells as text."""

import math
import shlex
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

from replicse.compile.paths import Paths
from replicse.judge.report import JudgedItem
from replicse.judge.table import QUOTED, CellResult, ColumnHead, ItemResult, RowHead
from replicse.printable import several
from replicse.registry.suites import is_percentage
from replicse.show.content.cells import (
    MEANINGS,
    SYMBOLS,
    Part,
    Shown,
    effect_text,
    printed_difference,
    show,
)
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.printed import Reported

# Beyond this many columns a cell is stacked on two lines instead of written out with its verdict in words.
WRITTEN_OUT = 2
# Runs or encoders of a cell that are named.
NAMED = 3
Kind = Literal["label", "result", "prose"]
# What a cell is measured by that has a better and a worse, beside percentages.
PLANE = ("alignment", "uniformity")
STATISTICS = {"max": "maximum", "min": "minimum", "sd": "standard deviation"}


@dataclass(frozen=True)
class GridCell:
    """A cell and what a reader may ask about it: (name, value) pairs; `address` is where a link finds it.

    `indent` and `mark`, a note's letter, are of the name of a row.
    """

    shown: Shown
    facts: tuple[tuple[str, str], ...] = ()
    address: str = ""
    indent: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a grid: a cell for each of its lines, which formats draw by its `kind`.

    A `label` names the row and is in every panel, a `result` is drawn in its parts, `prose` wraps.
    """

    heading: str
    kind: Kind
    cells: tuple[GridCell, ...]

    def longest(self, part: str, stacked: bool = False) -> str:
        """Return the longest `part` (a field of Shown) of the cells; of `wide` the longest of its lines.

        Where cells are stacked, what is on a line of its own has no part in the others.
        """
        shown = [cell.shown for cell in self.cells]
        if part == "wide":
            return max((text for each in shown for text in each.wide), key=len, default="")
        if stacked and part in ("delta", "spread"):
            shown = [each for each in shown if not each.wide]
        return max((getattr(each, part) for each in shown), key=len, default="")


@dataclass(frozen=True)
class Line:
    """A row under one protocol; `indent` marks a further one of the row above."""

    row: RowHead
    protocol: str = AS_DESCRIBED
    rule: bool = False
    indent: bool = False

    @property
    def label(self) -> str:
        """Return the name of the row, with its protocol where that is not the paper's text."""
        if self.protocol == AS_DESCRIBED:
            return self.row.label
        return self.protocol if self.indent else f"{self.row.label} ({self.protocol})"


@dataclass(frozen=True)
class Heading:
    """The heading that the paper prints above a block of rows; a rule is drawn above it."""

    text: str
    rule: bool = True


@dataclass(frozen=True)
class Grid:
    """A table ready for any format: columns, the labels first, over the lines of a body.

    `footnotes` are (mark, text) of the labels with a mark; `caption` names item and scale.
    """

    columns: tuple[Column, ...]
    body: tuple[Line | Heading, ...]
    footnotes: tuple[tuple[str, str], ...] = ()
    caption: str = ""

    @property
    def results(self) -> list[Column]:
        """Return the columns apart from the labels."""
        return [column for column in self.columns if column.kind != "label"]

    @property
    def rows(self) -> Iterator[tuple[Line | Heading, list[tuple[Column, GridCell]]]]:
        """Yield each entry of the body with its cells, each with its column; a heading has none."""
        cells = zip(*(column.cells for column in self.columns), strict=True)
        for entry in self.body:
            here = () if isinstance(entry, Heading) else next(cells)
            yield entry, list(zip(self.columns, here, strict=False))

    @property
    def stacked(self) -> bool:
        """Return whether cells are stacked on two lines, because there are many columns."""
        return len(self.results) > WRITTEN_OUT


# By heading, what says a column's text of an entry.
Columns = dict[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Sheet:
    """A plain table of text, such as verdict counts, claims or provenance."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @classmethod
    def of(
        cls,
        title: str,
        entries: Iterable[object],
        columns: Columns,
        note: str = "",
    ) -> Self:
        """Return a sheet of one row per entry; `columns` say its texts, those without any are left out."""
        rows = [tuple(text(entry) for text in columns.values()) for entry in entries]
        kept = [place for place in range(len(columns)) if not rows or any(row[place] for row in rows)]
        header, *rows = (tuple(row[place] for place in kept) for row in (tuple(columns), *rows))
        return cls(title, header, tuple(rows), note)

    def __post_init__(self) -> None:
        width = len(self.header)
        uneven = next((row for row in self.rows if len(row) != width), None)
        if uneven is not None:
            raise ValueError(f"sheet {self.title!r}: row {uneven} has {len(uneven)} fields; expected {width}")

    @cached_property
    def numeric(self) -> set[int]:
        """Return the places of the columns that hold numbers and nothing else; pages ask for them at each field."""
        columns = list(zip(*self.rows, strict=True))
        return {place for place, texts in enumerate(columns) if all(map(_is_number, filter(None, texts)))}


def grid_of(item: JudgedItem) -> Grid:
    """Return the grid of an item; a trajectory keeps its ends, its figure shows the rest."""
    heads = _heads(item)
    results = item.by_id
    effects = _effects(item)
    notes = _row_notes(item)
    body = _body(item, heads, results)
    lines = [entry for entry in body if isinstance(entry, Line)]
    # A column more here is one more in every format.
    columns = [Column("", "label", tuple(_label(line, notes) for line in lines))]
    for head in heads:
        cells = [results.get(item.id_at(line.row.id, head, line.protocol)) for line in lines]
        best = _best(item, head, filter(None, cells))
        shown = (
            _cell(item, line.row, head, cell, best, effects) for line, cell in zip(lines, cells, strict=True)
        )
        kind: Kind = "prose" if head.kind == "text" else "result"
        columns.append(Column(_heading(item, head), kind, tuple(shown)))
    return Grid(tuple(columns), tuple(body), tuple(notes.values()), f"{item.item} · {item.standing}")


def folded(grid: Grid) -> tuple[Grid, Grid | None]:
    """Return a grid without the columns in which no cell has a number of ours, and these by themselves.

    Where no column has one, or all have, nothing is folded.
    """
    empty = [column for column in grid.results if not any(cell.shown.reproduced for cell in column.cells)]
    if not empty or len(empty) == len(grid.results):
        return grid, None
    labels = tuple(column for column in grid.columns if column.kind == "label")
    kept = tuple(column for column in grid.columns if column not in empty)
    return replace(grid, columns=kept), replace(grid, columns=(*labels, *empty))


def folded_note(rest: Grid) -> str:
    """Return what is said of the columns that are folded away."""
    names = "; ".join(column.heading for column in rest.results)
    why = Counter(
        cell.shown.verdict for column in rest.results for cell in column.cells if cell.shown.verdict
    )
    reasons = ", ".join(
        f"{several(count, 'cell')}: {reason}" for reason, count in why.items() if reason != QUOTED
    )
    said = f" ({reasons})" if reasons else ""
    return f"Columns without a number of ours: {names}{said}. Their printed numbers are in the CSV."


def remarks(item: ItemResult) -> tuple[str, ...]:
    """Return the item's notes, which columns show another statistic than the mean, and a mark of mixed machines."""
    other = {column.label: column.statistic for column in item.columns if column.statistic != "mean"}
    said = [f"{label}: ours is the {_over_seeds(name)}." for label, name in other.items()]
    said += [f"Cells that are {item.mixture}: {len(item.mixed)} of {len(item.cells)}."] if item.mixed else []
    return (*filter(None, [item.outdated]), *item.notes, *said)


def panels(grid: Grid, most: int) -> list[Grid]:
    """Return the grid cut into runs of at most `most` columns apart from the labels, as evenly as possible."""
    results = grid.results
    labels = [column for column in grid.columns if column.kind == "label"]
    count = max(1, math.ceil(len(results) / max(1, most)))
    size = max(1, math.ceil(len(results) / count))
    starts = range(0, max(1, len(results)), size)
    return [replace(grid, columns=(*labels, *results[start : start + size])) for start in starts]


def verdict_counts(items: Iterable[JudgedItem]) -> Counter[str]:
    """Return how many cells of some items show each verdict; quoted cells are counted as such."""
    return sum((Counter(item.verdicts) for item in items), Counter())


def counts_sheet(papers: Sequence[tuple[str, Sequence[JudgedItem]]]) -> Sheet:
    """Return the number of cells by verdict, one column per (paper, items) and one for all; no rows without cells."""
    counts = [verdict_counts(items) for _, items in papers]
    columns = [*counts, sum(counts, Counter())]
    rows = [
        (f"{symbol} {name}", *(str(column[name]) for column in columns))
        for name, symbol in SYMBOLS.items()
        if columns[-1][name]
    ]
    total = ("cells", *(str(column.total()) for column in columns))
    header = ("Verdict", *(name for name, _ in papers), "all")
    return Sheet("Cells by verdict", header, (*rows, total) if rows else ())


def legend() -> Sheet:
    """Return the meaning of every symbol."""
    rows = [(symbol, name, MEANINGS[name]) for name, symbol in SYMBOLS.items()]
    star = (
        "*",
        "borrowed spread",
        "The interval rests on a published spread, pooled with that of our seeds.",
    )
    return Sheet("Symbols", ("", "Verdict", "Meaning"), (*rows, star))


def _heads(item: ItemResult) -> tuple[ColumnHead, ...]:
    steps = [column.step for column in item.columns if column.step is not None]
    if item.figure != "trajectory" or not steps:
        return item.columns
    return tuple(column for column in item.columns if column.step in (steps[0], -1, None))


def _heading(item: ItemResult, column: ColumnHead) -> str:
    twice = sum(other.id == column.id for other in item.columns) > 1
    label = f"{column.metric.rpartition('/')[2]}, {column.label}" if twice else column.label
    return f"{label} ↓" if column.better == "lower" and not column.chosen else label


def _row_notes(item: ItemResult) -> dict[str, tuple[str, str]]:
    """Return (mark, text) of footnotes by row: what its folder says of it, and which rows it shares its runs with."""
    names = item.row_names
    texts = {}
    for row in item.rows:
        merged = " and ".join(names[other] for other in row.merged)
        parts = [row.note, f"Shares its runs with {merged} at this scale." if merged else ""]
        texts[row.id] = " ".join(part for part in parts if part)
    noted = [row for row, text in texts.items() if text]
    return {row: (_letter(place), texts[row]) for place, row in enumerate(noted)}


def _label(line: Line, notes: Mapping[str, tuple[str, str]]) -> GridCell:
    """Return the name of a line; the first line of a row that has a note carries its mark."""
    mark, _ = notes.get(line.row.id, ("", ""))
    return GridCell(Shown(line.label), indent=line.indent, mark="" if line.indent else mark)


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ...: the letter of a note."""
    letters = string.ascii_lowercase
    return (letters[place // 26 - 1] if place >= 26 else "") + letters[place % 26]


def _body(
    item: ItemResult,
    heads: Sequence[ColumnHead],
    results: Mapping[CellId, CellResult],
) -> list[Line | Heading]:
    """Return headings and lines: each row under every protocol that has a cell of it; an empty row keeps one line."""
    protocols = dict.fromkeys([AS_DESCRIBED, *(cell.protocol for cell in item.cells)])
    shown = [name for name in protocols if name not in item.variants]
    body: list[Line | Heading] = []
    group = ""
    for row in item.rows:
        if row.group and row.group != group:
            body.append(Heading(row.group, rule=bool(body)))
        ends_group = bool(group) and not row.group
        group = row.group
        there = [name for name in shown if any(item.id_at(row.id, head, name) in results for head in heads)]
        first, *further = there or [AS_DESCRIBED]
        body.append(Line(row, first, rule=ends_group))
        body += [Line(row, name, indent=True) for name in further]
    return body


def _cell(
    item: ItemResult,
    row: RowHead,
    column: ColumnHead,
    cell: CellResult | None,
    best: Mapping[Part, float],
    effects: Mapping[CellId, tuple[str, str]],
) -> GridCell:
    shown = show(cell, scale="" if item.comparable else item.scale, quoted=row.quoted)
    if not cell or not shown.text:
        return GridCell(shown)
    if best:
        numbers = _numbers(cell)
        shown = replace(shown, best=tuple(part for part, number in best.items() if numbers[part] == number))
    effect = effects.get(item.id_of(cell))
    return GridCell(shown, _facts(item, column, shown, cell, effect), cell_address(cell_name(item, cell)))


def _numbers(cell: CellResult) -> dict[Part, float | None]:
    return {"reported": cell.printed, "reproduced": cell.reproduced}


def _best(item: ItemResult, head: ColumnHead, cells: Iterable[CellResult]) -> dict[Part, float]:
    """Return the best printed and the best reproduced number of a column; none of what is no score, or all alike."""
    scored = is_percentage(head.metric_path) or head.metric_path.rpartition("/")[2] in PLANE
    if item.kind != "table" or not head.is_score or head.chosen or not scored:
        return {}
    extreme = max if head.better == "higher" else min
    sides: dict[Part, list[float]] = {"reported": [], "reproduced": []}
    for cell in cells:
        for part, number in _numbers(cell).items():
            sides[part] += [] if number is None else [number]
    return {part: extreme(numbers) for part, numbers in sides.items() if len(set(numbers)) > 1}


def _effects(item: JudgedItem) -> dict[CellId, tuple[str, str]]:
    """Return what a row changes against the baseline row, by cell: (name, value) of a fact; none of a single seed."""
    return {
        effect.cell: (
            f"less {effect.base}",
            "; in print ".join(
                filter(
                    None, [f"{effect_text(effect.ours)}, paired by seed", printed_difference(effect.printed)]
                )
            ),
        )
        for effect in item.effects
        if effect.ours.n > 1
    }


def cell_name(item: ItemResult, cell: CellResult) -> str:
    """Return `simcse/table3/p0.1/stsb-dev`, with its metric where its column has several, and its protocol's name."""
    several = sum(column.id == cell.column for column in item.columns) > 1
    name = item.id_of(cell)
    return str(name) if several else name.short


def cell_address(name: str) -> str:
    """Return a cell's name as a link target: `simcse-table3--p0.1--stsb-dev`."""
    paper, item, *rest = name.replace("@", "/").split("/")
    return "--".join([f"{paper}-{item}", *rest])


def _facts(
    item: ItemResult, column: ColumnHead, shown: Shown, cell: CellResult, effect: tuple[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """Return what a reader may ask about a cell, as (name, value); what there is nothing to say of is left out.

    The caption says once that a table is not comparable.
    """
    printed = cell.reported
    by_seed = _by_seed(cell)
    source = printed.source if printed and printed.source else item.place
    facts = {
        "verdict": shown.word,
        "because": (cell.reason if shown.word == cell.verdict else cell.failure) if shown.word else "",
        "or": cell.best_of_ten if shown.word == cell.verdict else "",
        "reported": f"{shown.reported} ({source})" if shown.reported and source else shown.reported,
        "printed as": _statistic(printed) if printed and shown.reported else "",
    }
    if shown.verdict != QUOTED:
        runs = tuple(dict.fromkeys(entry.run for entry in cell.values if entry.run))
        facts |= {
            "reproduced": "" if cell.reproduced is None else f"{cell.reproduced:.6g}",
            "ours is": "" if column.statistic == "mean" else _over_seeds(column.statistic),
            "interval": _between(cell.low, cell.high, ".6g"),
            **dict([effect] if effect else ()),
            "over pairs": _between(cell.pairs_low, cell.pairs_high, ".2f"),
            "spread": "borrowed from a publication" if cell.borrowed else "",
            "seeds": "" if by_seed else str(cell.n_seeds),
            "by seed": by_seed,
            "precision": cell.precision,
            "mixed": cell.mixture,
            "protocol": "" if cell.protocol == AS_DESCRIBED else cell.protocol,
            **({"runs": _some(runs)} if runs else {"encoders": _some(cell.encoders)}),
            "why": why_command(item, cell),
        }
    return tuple((name, value) for name, value in facts.items() if value)


def _some(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are; `replicse why` shows them all."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def run_command(item: ItemResult) -> str:
    """Return the command that runs an item again with the config that made it; blank where its runs would be others."""
    config = Paths(item.scale, item.kept).config
    return "" if item.outdated else f"replicse run {item.item} --config {config}"


def why_command(item: ItemResult, cell: CellResult) -> str:
    """Return the command that shows where a cell comes from, in the study that it is of."""
    study = f"--study {item.kept}" if item.kept else f"--scale {item.scale}"
    return f"replicse why {shlex.quote(cell_name(item, cell))} {study}"


def _statistic(printed: Reported) -> str:
    """Return `mean of 50 runs, sd 0.84`; nothing for a single run without a spread."""
    name = STATISTICS.get(printed.statistic, printed.statistic)
    if printed.q is not None:
        name = f"{printed.q:g}th {name}"
    runs = f"{name} of {printed.seeds} runs" if printed.seeds else name
    spread = "" if printed.sd is None else f"sd {printed.sd:g}"
    return ", ".join(part for part in ("" if runs == "single" else runs, spread) if part)


def _over_seeds(statistic: str) -> str:
    return f"{STATISTICS.get(statistic, statistic)} over seeds"


def _by_seed(cell: CellResult) -> str:
    """Return `0: 75.21, 1: 75.9`; nothing where no encoder has a seed, or where they gave sentences."""
    numbers = [entry for entry in cell.values if entry.seed is not None and not isinstance(entry.value, str)]
    return ", ".join(
        f"{entry.seed}: {'missing' if entry.value is None else format(entry.value, '.6g')}"
        for entry in numbers
    )


def _between(low: float | None, high: float | None, how: str) -> str:
    return "" if low is None or high is None else f"{low:{how}} to {high:{how}}"


def _is_number(text: str) -> bool:
    return text.translate(str.maketrans("", "", ",.%+−")).isdigit()
