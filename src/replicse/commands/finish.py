"""The verb that reports what there is of a study that did not run to its end."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from replicse.commands import Action, print_json
from replicse.commands.render import draw_item, pages, study_facts, surroundings
from replicse.commands.study import add_study_arguments, chosen_plan
from replicse.errors import BadInput
from replicse.files import read_json, write_json, write_rows
from replicse.printable import columns
from replicse.report.content.cells import SYMBOLS
from replicse.study.judge.study import judge_study
from replicse.study.paper.tables import Item
from replicse.study.plan.jobs import Jobs
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Plan
from replicse.study.results.incomplete import AsFarAsDone, Incomplete, incomplete_items
from replicse.study.results.table import ItemResult
from replicse.study.results.tabulate import FIELDS, item_result, table_rows

log = logging.getLogger(__name__)


def finish_verb(parser: ArgumentParser) -> Action:
    """Write the report of a study that did not run to its end, from what there is, and say what is missing and why."""
    add_study_arguments(parser, "replicse finish --study results/micro/config.json")
    parser.add_argument("--item", action="append", default=[], help="this item only; repeatable")
    parser.add_argument(
        "--since", type=float, default=0.0, help="seconds of the epoch: a log from before is of no failure"
    )

    def action(arguments: Namespace) -> int:
        plan = chosen_plan(arguments)
        items = [plan.item(name) for name in arguments.item] or list(plan.items.values())
        evaluations = AsFarAsDone(plan, Jobs(plan, arguments.since))
        lacking = incomplete_items(plan, items, evaluations)
        with warnings_alone():
            written = write_partial(plan, items, evaluations, lacking)
        if arguments.json:
            keys = ("item", "state", "why", "remedy")
            rows = [{key: getattr(one, key) for key in keys} for one in lacking]
            print_json({"report": str(written), "incomplete": rows})
        else:
            print("\n".join(incomplete_lines(lacking, len(items))))
            print(f"report of what there is: {written}")
        return 1 if lacking else 0

    return action


@contextmanager
def warnings_alone() -> Iterator[None]:
    """Keep what writes a report from telling each step."""
    package = logging.getLogger("replicse")
    before = package.level
    package.setLevel(logging.WARNING)
    try:
        yield
    finally:
        package.setLevel(before)


def write_partial(
    plan: Plan, items: Sequence[Item], evaluations: AsFarAsDone, lacking: Sequence[Incomplete]
) -> Path:
    """Tabulate, judge, draw and report what there is of some items, into folders of its own; return the HTML."""
    from replicse.report.document import write_report
    from replicse.report.pages.incomplete import incomplete_page

    paths = Paths(plan.scale.name, partial=True)
    results = [item_result(plan, item, evaluations) for item in items]
    drawings: dict[str, Path] = {}
    for result in results:
        write_json(paths.item(result.item), result.plain())
        write_rows(paths.table(result.item), FIELDS, table_rows(result))
        stem = Path(paths.figure(result.item)).with_suffix("")
        if result.figure and drawn(result, stem):
            drawings[result.item] = stem
    for name, (fields, rows) in judge_study(plan, results).items():
        write_rows(paths.judged(name), fields, rows)
    try:
        data = read_json(plan.paths.data)
    except BadInput:
        data = {"files": []}
    study = {**study_facts(plan.record, data), "incomplete": f"{len(lacking)} of {len(items)} items"}
    report = Path(paths.report("html"))
    study |= surroundings(study, results, paths, report.parent)
    shown, findings = pages(study, results, paths)
    shown = [incomplete_page(lacking, study["incomplete"]), *shown]
    write_report(report.parent, study, results, shown, drawings, findings)
    return report


def drawn(item: ItemResult, stem: Path) -> bool:
    """Draw what there is of an item's figure and return whether that could be done."""
    try:
        draw_item(item, stem.with_suffix(".svg"))
    except (BadInput, ValueError) as error:
        log.info("%s is not drawn: %s", item.item, error)
        return False
    return True


def incomplete_lines(lacking: Sequence[Incomplete], planned: int) -> Iterator[str]:
    """Yield what a terminal shows of the items that are not complete: which, why, and what to do."""
    if not lacking:
        yield f"no evaluation of the {planned} items is missing"
        return
    yield f"{len(lacking)} of {planned} items incomplete"
    yield from columns(
        (
            f"  {SYMBOLS[one.state]} {one.item}",
            f"{one.missing} of {one.planned} evaluations missing: {one.why}",
        )
        for one in lacking
    )
    for job in dict.fromkeys(job for one in lacking for job in one.failed):
        yield f"{SYMBOLS['failed']} {job} failed, the end of {job.log}:"
        yield from (f"    {line}" for line in job.tail or ("(empty)",))
        yield f"  {job.remedy}"
