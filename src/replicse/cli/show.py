"""The verb `show`: print the table of an item."""

from argparse import ArgumentParser, Namespace

from replicse.cli.answers import SCREEN, add_all_argument, coloured, command, print_json, room
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_study
from replicse.errors import BadInput, nearest
from replicse.judge.report.build_report import judged_item
from replicse.judge.report.judge_study import adjust_item, results_of
from replicse.judge.verdicts.record_cells import others_in
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.suites import unit_of
from replicse.spec.config import by_paper


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse show simcse/table3")
    parser.add_argument("item", help="paper/item; replicse plan lists items")
    parser.add_argument("--columns", metavar="A,B", help="ids of columns to show; default: all that fit")
    add_all_argument(parser)


def run(arguments: Namespace) -> None:
    """Print the table of an item with differences to the paper.

    By default all columns are shown that fit on the screen.

    Args:
        arguments: the parsed arguments; `item` is paper/item, `columns` an optional list of column ids.
    """
    ((paper, names),) = by_paper([arguments.item]).items()
    if names == "all":
        raise BadInput(f'"{paper}" is not an item; expected paper/item, as listed by replicse plan')
    item = f"{paper}/{names[0]}"
    shown = selected_study(arguments, item)
    shown.announce(arguments.json)
    (result,) = results_of([item], shown.measurements)
    result = adjust_item(shown.measurements, result)
    if arguments.json:
        committed = bool(shown.measurements.paths.kept)
        document = {"study": shown.folder, "committed": committed, "item": result.plain()}
        print_json(document, **{column.id: unit_of(column.metric_path) for column in result.columns})
        return
    from replicse.show.formats.terminal import item_screen, item_text

    others = others_in(shown.measurements, result)
    judged, names = judged_item(result, others), columns_named(arguments.columns, result)
    if arguments.all:
        print(item_text(judged, room(), coloured(), names), end="")
        return
    text, left = item_screen(judged, room(), SCREEN - 1, coloured(), names)
    print(text, end="")
    if left:
        print(f"not shown: {', '.join(left)}; {command(arguments, '--all')}")
    elif not names:
        cell = result.id_of(result.cells[0]).short
        print(f"explain a cell: {command(arguments, cell, verb='why', without=[arguments.item])}")


def columns_named(text: str | None, item: ItemResult) -> list[str]:
    """Parse the column ids of --columns.

    Args:
        text: ids separated by commas, or None for all columns.
        item: the result of the item.

    Returns:
        The list of ids; empty for all columns.

    Raises:
        BadInput: if there is no such column; the message contains the nearest id.
    """
    names = text.split(",") if text else []
    known = [column.id for column in item.columns]
    for name in names:
        if name not in known:
            raise BadInput(f'--columns: column "{name}" is not in {item.item}{nearest(name, known)}')
    return names
