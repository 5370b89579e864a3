"""The last lines of a run: pages, your own rows next to the paper's, and differences to the baseline row."""

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
    """Print where the pages of items are; for a whole study, where its report is.

    A dry run that was requested after `--` has written no pages.
    """
    paths = Paths(scale)
    pages = {item: paths.page(item) for item in items}
    pages |= {f"{item} as LaTeX": paths.page(item, "tex") for item in items}
    if whole:
        pages["report"] = paths.report("html")
    for name, page in pages.items():
        if Path(page).is_file():
            print(f"{name}: {page}")


def print_results(items: Sequence[str], scale: str) -> None:
    """Print your own rows of items, and the differences of their rows to the baseline row."""
    for item in items:
        file = Path(Paths(scale).item(item))
        if file.is_file():
            result = ItemResult.read(str(file))
            lines = [*own_row_lines(result), *difference_notes(judged_item(result))]
            for line in wrapped(lines):
                print(line)


def own_row_lines(result: ItemResult) -> Iterator[str]:
    """Yield, for each of your own rows, its score, the nearest printed row, and the row as LaTeX.

    Scores on the embedded sentences are not compared with the paper's.
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
            yield f"{row.label}: no number yet; replicse show {result.item}"
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
    """Return label, cell and number of the printed row that is nearest to a value; rows of others do not count."""
    rows = []
    for row in result.rows:
        cell = _cell(result, row.id, head)
        if row.group == OWN or row.quoted or cell is None or cell.printed is None:
            continue
        name = result.id_at(row.id, head).short
        rows.append((abs(cell.printed - value), row.label.lstrip("* "), name, cell.printed))
    return min(rows)[1:] if rows else None


def latex_row(result: ItemResult, row: str, label: str, heads: Sequence[ColumnHead]) -> str:
    r"""Return a row as one line of LaTeX: `mine & 37.99 & 41.20 \\`."""
    parts = [latex_text(label)]
    for head in heads:
        cell = _cell(result, row, head)
        has_number = cell is not None and cell.reproduced is not None
        parts.append(latex_text(show(cell).reproduced) if has_number else "")
    return " & ".join(parts) + r" \\"


def _cell(result: ItemResult, row: str, head: ColumnHead) -> CellResult | None:
    return result.described.get(result.id_at(row, head))
