"""The verb that prints one item with its differences."""

from argparse import ArgumentParser, Namespace

from replicse.cli.answers import coloured, print_json, room
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_study
from replicse.errors import BadInput
from replicse.judge.document import judged_item
from replicse.judge.study import controlled_item, results_of
from replicse.registry.suites import unit_of
from replicse.spec.config import by_paper


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse show simcse/table3")
    parser.add_argument("item", help="paper/item, as replicse plan lists them")


def run(arguments: Namespace) -> None:
    """Print one item as text, from the evaluations that are there."""
    ((paper, names),) = by_paper([arguments.item]).items()
    if names == "all":
        raise BadInput(f'"{paper}" is no item; expected paper/item, as replicse plan lists them')
    item = f"{paper}/{names[0]}"
    shown = selected_study(arguments, item)
    shown.announce(arguments.json)
    (result,) = results_of([item], shown.measurements)
    result = controlled_item(shown.plan, result)
    if arguments.json:
        committed = bool(shown.measurements.paths.kept)
        document = {"study": shown.folder, "committed": committed, "item": result.plain()}
        print_json(document, **{column.id: unit_of(column.metric_path) for column in result.columns})
        return
    from replicse.show.formats.terminal import item_text

    print(item_text(judged_item(result), room(), coloured()), end="")
