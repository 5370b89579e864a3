"""The last lines of `replicse run`: pages, own rows and differences."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from replicse.cli.answers import wrapped
from replicse.compile.paths import Paths
from replicse.judge.report.build_report import judged_item
from replicse.judge.verdicts.table import CellResult, ColumnHead, ItemResult
from replicse.printable import number
from replicse.show.content.cells import show
from replicse.show.content.differences import difference_notes
from replicse.show.formats.prose import latex_text
from replicse.spec.tables import OWN


def print_pages(items: Sequence[str], whole: bool, scale: str) -> None:
    """Print the paths of pages, and of the report of a whole study.

    Missing pages are skipped, for example after a dry run with an option after `--`.

    Args:
        items: names of items, such as "simcse/table3".
        whole: whether the whole study was run.
        scale: the name of the scale.
    """
    paths = Paths(scale)
    pages = {item: paths.page(item) for item in items}
    for item in items:
        pages[f"{item} as LaTeX"] = paths.page(item, "tex")
    if whole:
        pages["report"] = paths.report("html")
    for name, page in pages.items():
        if Path(page).is_file():
            print(f"{name}: {page}")


def print_results(items: Sequence[str], scale: str) -> None:
    """Print the user's own rows of items, and differences to baselines.

    Args:
        items: names of items; items without results are skipped.
        scale: the name of the scale.
    """
    for item in items:
        file = Path(Paths(scale).item(item))
        if file.is_file():
            result = ItemResult.read(str(file))
            lines = [*own_row_lines(result), *difference_notes(judged_item(result))]
            for line in wrapped(lines):
                print(line)


def own_row_lines(result: ItemResult) -> Iterator[str]:
    """Yield score, nearest printed row and LaTeX code of each own row.

    The score is the first average of the table, or the last column if there is no average.

    Args:
        result: the result of an item; scores on generated datasets are not compared with the paper.
    """
    heads = [column for column in result.columns if column.kind in ("score", "derived")]
    averages = [column for column in heads if column.average]
    if not heads:
        return
    head = (averages or heads[-1:])[0]
    for row in result.rows:
        if row.group != OWN:
            continue
        ours = _cell(result, row.id, head)
        if ours is None or ours.reproduced is None:
            yield f"{row.label}: not computed yet; replicse show {result.item}"
            continue
        value = f"{row.label}: {head.label} {ours.reproduced:.2f}"
        nearest = None if result.is_embedded else nearest_row(result, head, ours.reproduced)
        if nearest is None:
            yield f"{value} ({result.standing})"
        else:
            label, cell, printed = nearest
            less = number(ours.reproduced - printed, "+.2f")
            yield f"{value}, {less} to the nearest printed row, {label} {printed:g}"
            yield f"why: replicse diagnose {ours.reproduced:.2f} --item {cell}"
        yield f"LaTeX: {latex_row(result, row.id, row.label, heads)}"


def nearest_row(result: ItemResult, head: ColumnHead, value: float) -> tuple[str, str, float] | None:
    """Return label, cell and number of the printed row nearest to a value.

    Args:
        result: the result of an item.
        head: the column to compare.
        value: the value.

    Returns:
        None if no row has a printed number. Rows that the paper quotes from other papers are skipped.
    """
    rows = []
    for row in result.rows:
        cell = _cell(result, row.id, head)
        if row.group == OWN or row.quoted or cell is None or cell.printed is None:
            continue
        name = result.id_at(row.id, head).short
        rows.append((abs(cell.printed - value), row.label.lstrip("* "), name, cell.printed))
    return min(rows)[1:] if rows else None


def latex_row(result: ItemResult, row: str, label: str, heads: Sequence[ColumnHead]) -> str:
    r"""Return a row as a line of LaTeX such as `mine & 37.99 & 41.20 \\`.

    Args:
        result: the result of an item.
        row: the id of the row.
        label: the first cell of the line.
        heads: the columns to use; missing values are empty.
    """
    parts = [latex_text(label)]
    for head in heads:
        cell = _cell(result, row, head)
        has_number = cell is not None and cell.reproduced is not None
        parts.append(latex_text(show(cell).reproduced) if has_number else "")
    return " & ".join(parts) + r" \\"


def _cell(result: ItemResult, row: str, head: ColumnHead) -> CellResult | None:
    return result.described.get(result.id_at(row, head))
