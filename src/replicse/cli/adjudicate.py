"""The verb that says which difference of protocol explains a gap."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from replicse.cli.answers import coloured, print_json, room
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_items, selected_study
from replicse.compile.compiler import compile_study
from replicse.compile.jobs import Jobs
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.judge.adjudicate import adjudicate, adjudicated
from replicse.judge.document import report
from replicse.judge.judgements import Explained, Judgements
from replicse.judge.measurements import Measurements
from replicse.judge.study import results_of
from replicse.registry.suites import unit_of
from replicse.spec.printed import printed_number


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse adjudicate repro/table4")
    parser.add_argument(
        "item", nargs="?", help="a paper or an item paper/item; nothing: all that the config adjudicates"
    )


def run(arguments: Namespace) -> None:
    """Print what each protocol of an item explains, from the evaluations there are; say how the others are run."""
    named: list[str] = []
    if arguments.item is not None:
        shown, named = selected_items(arguments, arguments.item)
    else:
        shown = selected_study(arguments)
    shown.announce(arguments.json)
    plan, measurements = shown.plan, shown.measurements
    committed = measurements.paths.kept
    if named and not committed:
        config = plan.config.model_copy(update={"adjudicate": tuple(named)})
        plan = compile_study(
            config, plan.workflow, only=named[0] if len(named) == 1 else "", papers=plan.papers
        )
        measurements = Measurements(plan, Jobs(plan))
    asked_for = [item for item in adjudicated(plan) if not named or item in named]
    results = {result.item: result for result in results_of(asked_for, measurements)}
    rows = [row for result in results.values() for row in adjudicate(plan.papers, result)]
    if not rows and committed:
        raise BadInput(f"{shown.folder}: no variant of {arguments.item or 'an item'} was run in this study")
    if not rows:
        files = [str(plan.papers[paper].folder / "protocols.yaml") for paper in plan.studied]
        raise BadInput(
            f"{arguments.item or 'adjudicate'}: no protocol names a row of it; write one in {' or '.join(files)}"
        )
    if arguments.json:
        variants = [variant_facts(row, plan) for row in rows]
        document = {"scale": plan.scale.name, "study": shown.folder, "variants": variants}
        print_json(document, share="1", n_seeds="count")
        return
    for name in () if committed else results:
        if any(map(plan.paths.missing, plan.evaluation_files(plan.items[name]))):
            print(f"not all is run: replicse run {name} --config 'adjudicate=[{name}]'")
    from replicse.show.formats.terminal import page_text
    from replicse.show.pages.adjudication import adjudication_page

    judged = report(plan.record, list(results.values()), Judgements(adjudication=tuple(rows)))
    if page := adjudication_page(judged):
        print(page_text(page, room(), coloured()))


def variant_facts(row: Explained, plan: Study) -> dict[str, Any]:
    """Return a variant as plain data: printed numbers and those by seed as numbers, and the unit of all of them."""
    read = {name: printed_number(getattr(row, name)) for name in ("reported", "reported_other")}
    printed = {name: number and float(number.exact) for name, number in read.items()}
    column = next(each for each in plan.items[row.item].columns if each.id == row.column)
    return {**asdict(row), **printed, "unit": unit_of(column.metric_path)}
