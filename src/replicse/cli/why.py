"""The verb `why`: explain a cell."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.cli.answers import SCREEN, add_all_argument, answer, command, room, shortened
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import SelectedStudy, selected_study
from replicse.compile.cell import Cell
from replicse.compile.job_states import JobStates
from replicse.files import read_json
from replicse.judge.audit.audit_papers import audit, audit_plan
from replicse.judge.claims.judge_claims import cells_read, judge_claims, study_claims
from replicse.judge.report.build_report import judged_item
from replicse.judge.report.explain_cell import cell_facts, cell_story, find_cell, item_of
from replicse.judge.report.judge_study import adjust_item, claim_numbers, results_of, study_of_others
from replicse.judge.report.report_types import JudgedItem
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.origins import commits_in
from replicse.judge.verdicts.record_cells import others_in
from replicse.printable import columns
from replicse.registry.suites import unit_of
from replicse.show.content.cell_facts import run_command
from replicse.show.content.differences import p_text
from replicse.show.content.numbers import effect_text

DECIDED = ("for", "against", "supported", "contradicted")
MOST_COLUMNS = 10_000  # wide enough to avoid wrapping; these lines are shortened later


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse why simcse/table3/p0.1/stsb-dev")
    add_all_argument(parser)
    parser.add_argument("cell", help="paper/item/row/column[/metric][@protocol]")


def run(arguments: Namespace) -> None:
    """Print how a cell was computed and judged.

    The explanation contains the place in the paper, values by seed, verdict, variants, claims, audit and runs. By
    default it is shortened to one screen.
    """
    shown = selected_study(arguments, item_of(arguments.cell))
    shown.announce(arguments.json)
    story, facts = cell_story_of(shown, find_cell(shown.plan, arguments.cell))
    document = {"study": shown.folder, **facts, "story": story}
    unit = unit_of(facts["result"]["metric_path"])
    lines = list(story_lines(story, room()))
    if not arguments.all and len(lines) > SCREEN:
        lines = [*short_story(story, room(), SCREEN - 1), f"full output: {command(arguments, '--all')}"]
    answer(arguments.json, document, lines, result=unit, claims="1")


def cell_story_of(shown: SelectedStudy, cell: Cell) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the explanation of a cell as text and as data.

    Claims of papers outside the study are skipped.

    Args:
        shown: the selected study.
        cell: the cell.

    Returns:
        A dict from heading to lines, and a dict for JSON.
    """
    plan, measurements = shown.plan, shown.measurements
    (result,) = results_of([cell.item.id], measurements)
    result = adjust_item(measurements, result)
    names = {str(cell.id.described), cell.id.described.short}
    naming = [claim for claim in study_claims(plan.names, plan.papers) if names & set(claim.cells)]
    selected = plan.config.papers
    claims = [claim for claim in naming if selected == "all" or selected.get(claim.paper)]
    read = cells_read(claims, plan.names)
    others = {each.item for each in read} - {cell.item.id}
    beside = study_of_others(plan, others)
    made = measurements if measurements.paths.kept else Measurements(beside, JobStates(beside))
    results = [result, *results_of(others, made, read)]
    rows = list(judge_claims(plan, claims, results, claim_numbers(measurements)))
    rows.sort(key=lambda row: row.ours not in DECIDED)
    findings = audit(audit_plan(plan.workflow, cell, plan.config), naming)
    measured = others_in(measurements, result, is_controlled=True).get(str(cell.id.described), ())
    evidence = (cell, result, measurements, rows, findings, measured)
    story = cell_story(*evidence)
    if difference := difference_line(judged_item(result), cell):
        story = insert_after(story, "reproduced", {"difference": [difference]})
    facts = cell_facts(*evidence)
    if commit := commit_text(measurements, cell.item.id, facts["files"]):
        story["commit"] = [commit]
    if repeat := run_command(result):
        story["repeat"] = [repeat]
    return story, facts


def commit_text(measurements: Measurements, item: str, files: Sequence[str]) -> str:
    """Return the commit of the code used for a cell.

    Args:
        measurements: the measurements of the study.
        item: the id `paper/item` of the cell.
        files: the evaluation files of the cell; the record of the first file is used.

    Returns:
        The first 12 digits, or an empty string if no commit is recorded.
    """
    paths = measurements.paths
    file = Path(paths.record if paths.kept else next(iter(files), ""))
    if not file.is_file():
        return ""
    record = read_json(file)
    return commits_in(record.get("provenance") or record, item)


def difference_line(item: JudgedItem, cell: Cell) -> str:
    """Return the difference of a cell to the baseline row of the item.

    Args:
        item: the judged item.
        cell: a cell of the item.

    Returns:
        A string with interval and p value, or an empty string if there is no difference of several seeds.
    """
    for effect in item.effects:
        if effect.cell == cell.id.described and effect.ours.n > 1:
            return f"{effect_text(effect.ours)} to {effect.base}{p_text(effect.p)} ({effect.over})"
    return ""


def insert_after(
    story: Mapping[str, list[str]], heading: str, added: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Return an explanation with more headings after a given heading.

    Args:
        story: a dict from heading to lines.
        heading: the heading after which to insert.
        added: a dict from heading to lines.
    """
    longer: dict[str, list[str]] = {}
    for name, lines in story.items():
        longer[name] = lines
        if name == heading:
            longer.update(added)
    return longer


def short_story(story: Mapping[str, Sequence[str]], width: int, most: int) -> list[str]:
    """Shorten an explanation to the first lines under each heading.

    Args:
        story: a dict from heading to lines.
        width: the maximum length of a line.
        most: the maximum number of lines.
    """
    short: list[str] = []
    for count in range(most, 0, -1):
        cut = {heading: rows[:count] for heading, rows in story.items()}
        short = [shortened(line, width) for line in story_lines(cut, MOST_COLUMNS)]
        if len(short) <= most:
            break
    return short


def story_lines(story: Mapping[str, Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of an explanation next to their headings.

    Args:
        story: a dict from heading to lines.
        width: the width to which lines are wrapped.
    """
    rows: list[tuple[str, str]] = []
    for heading, lines in story.items():
        for place, line in enumerate(lines):
            rows.append(("" if place else heading, line))
    return columns(rows, width=width, hang=2)
