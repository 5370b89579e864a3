"""The verb that says what of a study is done, what runs and what is missing."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from replicse.cli.answers import answer, room, shortened, wrapped
from replicse.cli.arguments import add_items_argument, add_study_arguments
from replicse.cli.selected_study import own_study
from replicse.compile.job import Job
from replicse.compile.jobs import Jobs
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.judge.measurements import Measurements
from replicse.judge.study import study_machines
from replicse.printable import columns
from replicse.registry.artefacts import METRICS
from replicse.registry.digests import digest
from replicse.runtime.progress import progress_text

STATES = ("done", "running", "failed", "waiting")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse status\n  replicse status simcse/table3")
    add_items_argument(parser)


def run(arguments: Namespace) -> None:
    """Say how much of each item is there."""
    shown = own_study(arguments)
    if shown.measurements.paths.kept:
        raise BadInput(
            f"--study {arguments.study}: a committed study is complete; replicse show shows its items"
        )
    shown.announce(arguments.json)
    status, begun = status_of(shown.measurements)
    document = {"scale": shown.plan.scale.name, "study": shown.folder, **status}
    lines = wrapped([f"scale {shown.plan.scale.name}", *status_lines(status, begun)])
    units = {"items": "count of evaluations", "total": "count of evaluations and runs"}
    answer(arguments.json, document, lines, **units)


def status_of(measurements: Measurements) -> tuple[dict[str, Any], dict[Job, dict[str, Any] | None]]:
    """Return how much of a study is there as plain data, and its jobs that run (by heartbeat) or failed."""
    plan = measurements.study
    jobs = measurements.jobs or Jobs(plan)
    files = {item.id: plan.evaluation_files(item) for item in plan.items.values()}
    every = dict.fromkeys(file for evaluations in files.values() for file in evaluations)
    missing = [file for file in every if measurements.evaluation(file) is None]
    broken = {file: measurements.broken[file] for file in missing if file in measurements.broken}
    states = {file: "failed" if file in broken else jobs.state(file) for file in every}
    items = []
    for item, evaluations in files.items():
        counts = counted({file: states[file] for file in evaluations})
        items.append({"item": item, **counts, "tabulated": tabulated(plan, item)})
    trained = sum(not plan.paths.missing(plan.paths.run(run, METRICS)) for run in plan.runs)
    total = {**counted(states), "runs": len(plan.runs), "trained": trained}
    begun = {job: jobs.running(job) for job in jobs.all if jobs.began(job)}
    machines = study_machines(measurements)
    status = {
        "items": items,
        "machines": [{"machine": str(machine), "records": count} for machine, count in machines.items()],
        "broken": list(broken.values()),
        "running": [{"job": str(job), **beat} for job, beat in begun.items() if beat],
        "failed": [str(job) for job, beat in begun.items() if not beat],
        "total": total,
    }
    return status, begun


def tabulated(plan: Study, item: str) -> bool:
    """Return whether the table of an item is there, made with the config that the plan has now."""
    if plan.paths.missing(plan.paths.table(item)):
        return False
    try:
        made_with = read_json(plan.paths.item(item)).get("config")
    except BadInput:
        return False
    return made_with == digest(plan.config.bearing_on(item))


def status_lines(status: Mapping[str, Any], begun: Mapping[Job, Mapping[str, Any] | None]) -> Iterator[str]:
    """Yield a line per item, their total, what runs or failed, the machines, and what is broken."""
    total = status["total"]
    rows = [
        (row["item"], row, "tabulated" if row["tabulated"] else "not tabulated") for row in status["items"]
    ]
    trained = f"{total['trained']:,} of {total['runs']:,} runs trained"
    yield from columns(
        (name, f"{counts['done']} of {counts['evaluations']}", _others(counts, more))
        for name, counts, more in [*rows, ("total", total, trained)]
    )
    for job, beat in begun.items():
        where = f"running: {job} on {beat['host']}" if beat else f"failed: {job}"
        said = progress_text(beat or {}) or (job.tail[-1] if job.tail else "")
        line = f"{where}, {minutes(job.age)}: {said}"
        yield shortened(line, room()) if beat else line
    if machines := status["machines"]:
        yield f"mixed: made on {len(machines)} machines" if len(machines) > 1 else "made on one machine"
        lines = ((f"  {each['records']}", f"runs and evaluations: {each['machine']}") for each in machines)
        yield from columns(lines, numbers=(0,), width=room())
    yield from (f"broken: {problem}" for problem in status["broken"])


def _others(counts: Mapping[str, int], more: str) -> str:
    """Return how many evaluations run, failed or wait."""
    others = [f"{counts[state]} {state}" for state in STATES[1:] if counts[state]]
    return ", ".join(["evaluations", *others, more])


def counted(states: Mapping[str, str]) -> dict[str, int]:
    """Return how many evaluations there are, and how many in each state."""
    counts = Counter(states.values())
    return {"evaluations": len(states), **{state: counts[state] for state in STATES}}


def minutes(seconds: float) -> str:
    """Return how long ago something was, as `now` or `12 min ago`."""
    return f"{seconds / 60:,.0f} min ago" if seconds >= 60 else "now"
