"""The verb that reports what there is of a study, or a committed one again."""

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from replicse.cli.answers import add_all_argument, answer, on_a_screen
from replicse.cli.arguments import add_study_arguments
from replicse.cli.render import draw_item, study_facts, write_all, write_judgements, write_kept
from replicse.cli.selected_study import names_record, own_study, refuse_other_config
from replicse.cli.write_record import write_record
from replicse.compile.job_states import JobStates
from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.compile.study_record import describe_study
from replicse.files import read_json, write_json, write_rows
from replicse.judge.report.csv_rows import FIELDS, table_rows
from replicse.judge.report.incomplete import incomplete_items
from replicse.judge.report.judge_study import results_of
from replicse.judge.report.report_types import Incomplete
from replicse.judge.values.folder import committed
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.table import ItemResult
from replicse.printable import columns, several
from replicse.show.content.cells import SYMBOLS
from replicse.spec.tables import Item

log = logging.getLogger(__name__)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse report\n  replicse report --study compact")
    add_all_argument(parser)


def run(arguments: Namespace) -> int:
    """Report what there is of a study, and say what is missing and why; or write a committed study's report again."""
    if names_record(arguments.study):
        with warnings_alone():
            report = write_record(arguments.workflow)
        print(f"report of the record: {report}")
        return 0
    if arguments.study in committed():
        with warnings_alone():
            write_kept(arguments.study, arguments.workflow)
        print(f"report of the committed study: {Paths('', arguments.study).report('html')}")
        return 0
    plan = own_study(arguments, own=True).plan
    refuse_other_config(plan)
    items = begun_items(plan)
    whole = Path(Paths(plan.scale.name).report("html"))
    lacking = incomplete_items(items, Measurements(plan, JobStates(plan)))
    if lacking or len(items) < len(plan.items) or not whole.is_file():
        lacking, written = report_partly(plan, items)
    else:
        written = whole
    rows = [{key: getattr(one, key) for key in ("item", "state", "why", "remedy")} for one in lacking]
    head, *lines, foot = partial_lines(lacking, len(items), written)
    shown = on_a_screen(arguments, [head], [[line] for line in lines], "line", [foot])
    answer(arguments.json, {"report": str(written), "incomplete": rows}, shown)
    if lacking and arguments.json:
        first = lacking[0]
        print(f"replicse report: {head}; {first.item}: {first.why}; {first.remedy}", file=sys.stderr)
    return 1 if lacking else 0


def begun_items(study: Study) -> list[Item]:
    """Return the items of which an evaluation exists or a job has failed; all items if none has begun."""
    states = JobStates(study)
    begun = []
    for item in study.items.values():
        files = study.evaluation_files(item)
        if any(Path(file).exists() for file in files) or any(states.failed(file) for file in files):
            begun.append(item)
    return begun or list(study.items.values())


def report_partly(plan: Study, items: Sequence[Item]) -> tuple[list[Incomplete], Path]:
    """Write the report of what exists of items; return what is incomplete, and the HTML."""
    measurements = Measurements(plan, JobStates(plan))
    lacking = incomplete_items(items, measurements)
    with warnings_alone():
        return lacking, write_partial(plan, items, measurements, lacking)


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
    plan: Study, items: Sequence[Item], measurements: Measurements, lacking: Sequence[Incomplete]
) -> Path:
    """Tabulate, judge, draw and report what there is of some items, into folders of its own; return the HTML."""
    paths = Paths(plan.scale.name, partial=True)
    results = results_of([item.id for item in items], measurements)
    for result in results:
        write_json(paths.item(result.item), result.plain())
        write_rows(paths.table(result.item), FIELDS, table_rows(result))
        if result.figure:
            draw_if_possible(result, Path(paths.figure(result.item)))
    judgements = write_judgements(plan, results, paths.results)
    data = read_json(plan.paths.data) if Path(plan.paths.data).is_file() else {"files": []}
    incomplete = f"{len(lacking)} of {len(items)} items" * bool(lacking)
    study = {**study_facts(describe_study(plan), data), "incomplete": incomplete}
    report = Path(paths.report("html"))
    write_all(paths, study, results, report.parent, judgements, lacking)
    return report


def draw_if_possible(item: ItemResult, out: Path) -> None:
    """Draw what there is of an item's figure, or log why that cannot be done."""
    from replicse.show.figures import NothingToDraw

    out.unlink(missing_ok=True)
    try:
        draw_item(item, out)
    except NothingToDraw:
        pass  # the item is listed as incomplete
    except Exception as error:  # whatever it is: the report of what there is does not stop at one figure
        log.warning("%s is not drawn: %s", item.item, error)


def partial_lines(lacking: Sequence[Incomplete], planned: int, written: Path) -> Iterator[str]:
    """Yield what a terminal shows of a report: which items are not complete, why, what to do, and where it is."""
    planned_items = several(planned, "item")
    whole = f"no evaluation of the {planned_items} is missing"
    yield f"{len(lacking)} of {planned_items} incomplete" if lacking else whole
    for job in dict.fromkeys(job for one in lacking for job in one.failed):
        yield f"{SYMBOLS['failed']} {job.name} failed, the end of {job.log}:"
        yield from (f"    {line}" for line in job.tail or ("(empty)",))
        yield f"  {job.remedy}"
    yield from columns(
        (
            f"  {SYMBOLS[one.state]} {one.item}",
            f"{one.missing} of {one.planned} evaluations missing: {one.why}",
        )
        for one in lacking
    )
    yield f"report of what there is: {written}" if lacking else f"report: {written}"
