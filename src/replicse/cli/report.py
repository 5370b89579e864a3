"""The verb `report`: write the report of a study, complete or not."""

import logging
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
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
    """Write the report of a study, and print missing results with reasons.

    The default is the study of the config. If --study is a committed study, the report of that study is written again.

    Returns:
        The exit code: 1 if results are missing, else 0.
    """
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
    rows = []
    for one in lacking:
        rows.append({"item": one.item, "state": one.state, "why": one.why, "remedy": one.remedy})
    head, *lines, foot = partial_lines(lacking, len(items), written)
    shown = on_a_screen(arguments, [head], [[line] for line in lines], "line", [foot])
    answer(arguments.json, {"report": str(written), "incomplete": rows}, shown)
    if lacking and arguments.json:
        first = lacking[0]
        print(f"replicse report: {head}; {first.item}: {first.why}; {first.remedy}", file=sys.stderr)
    return 1 if lacking else 0


def begun_items(study: Study) -> list[Item]:
    """Return the started items: with an evaluation or a failed job.

    If no item was started, all items are returned.
    """
    states = JobStates(study)
    begun = []
    for item in study.items.values():
        files = study.evaluation_files(item)
        if any(Path(file).exists() or states.failed(file) for file in files):
            begun.append(item)
    return begun or list(study.items.values())


def report_partly(plan: Study, items: Sequence[Item]) -> tuple[list[Incomplete], Path]:
    """Write a report of the existing results of items.

    Returns:
        A list of incomplete items, and the path of the HTML file.
    """
    measurements = Measurements(plan, JobStates(plan))
    lacking = incomplete_items(items, measurements)
    with warnings_alone():
        return lacking, write_partial(plan, items, measurements, lacking)


@contextmanager
def warnings_alone() -> Iterator[None]:
    """Log only warnings inside the block."""
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
    """Tabulate, judge, draw and report the existing results of items.

    The files are written to separate folders for partial results.

    Args:
        plan: the study.
        items: the items to report.
        measurements: the measurements of the study.
        lacking: the incomplete items.

    Returns:
        The path of the HTML file.
    """
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
    """Draw the figure of an item; log a warning if this fails."""
    from replicse.show.figures import NothingToDraw

    out.unlink(missing_ok=True)
    try:
        draw_item(item, out)
    except NothingToDraw:
        pass  # the report lists the item as incomplete
    except Exception as error:  # the report should be written even if a figure cannot be drawn
        log.warning("%s: cannot create the figure: %s", item.item, error)


def partial_lines(lacking: Sequence[Incomplete], planned: int, written: Path) -> Iterator[str]:
    """Yield incomplete items with reasons and remedies, then the report.

    Args:
        lacking: the incomplete items.
        planned: the number of items.
        written: the path of the report.
    """
    planned_items = several(planned, "item")
    if not lacking:
        yield f"{planned_items}: no evaluation is missing"
        yield f"report: {written}"
        return
    yield f"{len(lacking)} of {planned_items} incomplete"
    for job in dict.fromkeys(chain.from_iterable(one.failed for one in lacking)):
        yield f"{SYMBOLS['failed']} {job.name} failed, the end of {job.log}:"
        for line in job.tail or ("(empty)",):
            yield f"    {line}"
        yield f"  {job.remedy}"
    rows = []
    for one in lacking:
        missing = f"{one.missing} of {one.planned} evaluations missing: {one.why}"
        rows.append((f"  {SYMBOLS[one.state]} {one.item}", missing))
    yield from columns(rows)
    yield f"partial report: {written}"
