"""The verb `status`: show the progress of a study."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.cli.answers import add_all_argument, answer, command, on_a_screen, room, shortened
from replicse.cli.arguments import add_items_argument, add_study_arguments
from replicse.cli.selected_study import own_study
from replicse.compile.job import Job
from replicse.compile.job_states import JobStates
from replicse.compile.specifications import Specifications, describe_outdated
from replicse.judge.values.measurements import Measurements, study_machines
from replicse.printable import columns
from replicse.registry.artefacts import METRICS
from replicse.runtime.progress import progress_text

STATES = ("done", "running", "failed", "waiting")
# The stages after the tables, and those of them that do not need the whole study.
PRESENTED, OF_ITEMS = ("figures", "judge", "report"), ("figures",)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse status\n  replicse status simcse/table3")
    add_items_argument(parser)
    add_all_argument(parser)


def run(arguments: Namespace) -> None:
    """Print the progress of a study, running and failed jobs, and machines."""
    shown = own_study(arguments, own=True)
    if shown.measurements.paths.kept:
        names = list(shown.plan.items)
        said = f"{shown.folder} is committed and complete: replicse show ITEM --study {arguments.study}"
        answer(arguments.json, {"study": shown.folder, "items": names, "complete": True}, [said, *names])
        return
    shown.announce(arguments.json)
    status, begun = status_of(shown.measurements, OF_ITEMS if arguments.items else PRESENTED)
    status = {"scale": shown.plan.scale.name, "study": shown.folder, **status}
    total = status["total"]
    head, parts, foot = [totals_text(status)], list[str](), list[str]()
    if not (begun or total["done"] or total["trained"]):
        head.append(f"not started yet; next: {command(arguments, verb='run')}")
    else:
        parts += job_lines(begun)
        for problem in status["broken"]:
            parts.append(f"broken: {problem}")
        parts += item_lines(status["items"], arguments.all or bool(arguments.items))
        parts += status["outdated"]
        foot += machine_lines(status["machines"])
        foot += next_lines(status, arguments)
    lines = on_a_screen(arguments, head, ([part] for part in parts), "line", foot)
    units = {"items": "count of evaluations", "total": "count of evaluations and runs"}
    answer(arguments.json, status, lines, **units)


def status_of(
    measurements: Measurements, presented: Sequence[str] = PRESENTED
) -> tuple[dict[str, Any], dict[Job, dict[str, Any] | None]]:
    """Return the progress of a study, and the running and failed jobs.

    Args:
        measurements: the measurements of the study.
        presented: the stages after the tables that are checked for changes of code and texts. Default: all.

    Returns:
        A dict with the content of `status --json`, and a dict from job to the last progress. The progress of a failed
        job is None.
    """
    plan = measurements.study
    jobs = measurements.jobs or JobStates(plan)
    files = {item.id: plan.evaluation_files(item) for item in plan.items.values()}
    states: dict[str, str] = {}
    broken: dict[str, str] = {}
    for file in dict.fromkeys(chain.from_iterable(files.values())):
        # Loading an evaluation adds it to `broken` if it cannot be used.
        if measurements.evaluation(file) is None and file in measurements.broken:
            broken[file] = measurements.broken[file]
            states[file] = "failed"
        else:
            states[file] = jobs.state(file)
    specifications = Specifications(plan)
    items = []
    for item, evaluations in files.items():
        counts = counted({file: states[file] for file in evaluations})
        items.append({"item": item, **counts, "tabulated": is_tabulated(specifications, item)})
    trained = sum(Path(plan.paths.run(run, METRICS)).exists() for run in plan.runs)
    total = {**counted(states), "runs": len(plan.runs), "trained": trained}
    begun = jobs.begun
    machines = study_machines(plan, measurements)
    running, failed = [], []
    for job, beat in begun.items():
        if beat:
            running.append({"job": str(job), **beat})
        else:
            failed.append(str(job))
    status = {
        "items": items,
        "machines": [{"machine": str(machine), "records": count} for machine, count in machines.items()],
        "broken": list(broken.values()),
        "running": running,
        "failed": failed,
        "outdated": list(describe_outdated(presented_changes(specifications, presented))),
        "total": total,
    }
    return status, begun


def is_tabulated(specifications: Specifications, item: str) -> bool:
    """Return whether the table of an item exists and is up to date."""
    job = specifications.jobs["tabulate", item]
    return job.done and not specifications.changes(job)


def presented_changes(specifications: Specifications, stages: Sequence[str]) -> dict[str, set[str]]:
    """Return the changes of code and texts since pages were written.

    Changes of tables are in `is_tabulated`.

    Args:
        specifications: the specifications of the study.
        stages: the stages whose finished jobs are checked.

    Returns:
        A dict from the names of jobs to sets of `PARTS`.
    """
    changes = {}
    for job in specifications.jobs.values():
        if job.stage in stages and job.copy.is_file():
            changes[str(job)] = specifications.changes(job) & {"code", "papers"}
    return changes


def totals_text(status: Mapping[str, Any]) -> str:
    """Format the total number of finished runs, evaluations and tables."""
    total, items = status["total"], status["items"]
    tabulated = sum(row["tabulated"] for row in items)
    trained = f"{total['trained']:,} of {total['runs']:,} runs trained"
    evaluated = f"{total['done']:,} of {total['evaluations']:,} evaluations"
    return f"scale {status['scale']}: {trained}, {evaluated}, {tabulated:,} of {len(items):,} tables"


def next_lines(status: Mapping[str, Any], arguments: Namespace) -> Iterator[str]:
    """Yield the command to run next, unless a job is running."""
    if not (status["outdated"] or any(map(left_of, status["items"]))):
        item = status["items"][0]["item"]
        yield f"complete; next: {command(arguments, item, verb='show', without=arguments.items)}"
    elif not status["running"]:
        yield f"next: {command(arguments, verb='run')}"


def left_of(row: Mapping[str, Any]) -> bool:
    """Return whether evaluations or the table of an item are missing."""
    return row["done"] < row["evaluations"] or not row["tabulated"]


def item_lines(rows: Sequence[Mapping[str, Any]], whole: bool) -> Iterator[str]:
    """Yield a line for each unfinished item, items with failed jobs first.

    Args:
        rows: the list `items` of the status.
        whole: whether to list all items in the order of the study.
    """
    shown = rows if whole else [row for row in rows if left_of(row)]
    if not whole:
        shown = sorted(shown, key=lambda row: [not row[state] for state in ("failed", "running", "done")])
    lines = []
    for row in shown:
        lines.append((row["item"], f"{row['done']} of {row['evaluations']}", _others(row)))
    if lines:
        yield from columns(lines)


def job_lines(begun: Mapping[Job, Mapping[str, Any] | None]) -> Iterator[str]:
    """Yield a line for each failed job, then for each running job."""
    for job, beat in sorted(begun.items(), key=lambda each: bool(each[1])):
        message = progress_text(beat or {}) or "".join(job.tail[-1:])
        if beat:
            line = f"running: {job} on {beat['host']}, {minutes(job.age)}: {message}"
            yield shortened(line, room())
        else:
            yield f"failed: {job}, {minutes(job.age)}: {message}"


def machine_lines(machines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the machines where the results were computed."""
    if len(machines) > 1:
        yield f"computed on {len(machines)} machines"
    for each in machines:
        yield shortened(
            f"{each['records']} runs and evaluations on {each['machine'] or 'an unknown machine'}", room()
        )


def _others(row: Mapping[str, Any]) -> str:
    """Format the number of unfinished evaluations of an item by state."""
    parts = ["evaluations"]
    for state in STATES[1:]:
        if row[state]:
            parts.append(f"{row[state]} {state}")
    if not row["tabulated"]:
        parts.append("table missing")
    return ", ".join(parts)


def counted(states: Mapping[str, str]) -> dict[str, int]:
    """Count evaluations in total and by state.

    Args:
        states: a dict from evaluation file to state.
    """
    counts = Counter(states.values())
    by_state = {state: counts[state] for state in STATES}
    return {"evaluations": len(states), **by_state}


def minutes(seconds: float) -> str:
    """Format an age in seconds as a string such as "now" or "12 min ago"."""
    return f"{seconds / 60:,.0f} min ago" if seconds >= 60 else "now"
