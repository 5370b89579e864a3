"""Verbs that show what there is of a study: status and show. None of them imports torch."""

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from typing import Any

from replicse.commands import Action, coloured, room
from replicse.commands.shown import Shown, shown_study
from replicse.commands.study import UNCUT, add_study_arguments, chosen_config, shortened
from replicse.errors import BadInput, nearest
from replicse.runtime.progress import progress_text
from replicse.study.judge.study import read_results, results_of, study_machines
from replicse.study.paper.config import by_paper, checked_config
from replicse.study.paper.papers import load_papers
from replicse.study.plan.choose import chosen_items
from replicse.study.plan.jobs import Jobs
from replicse.study.plan.plan import Plan
from replicse.study.results.machines import Machine, distinct
from replicse.study.results.values import Evaluations

STATES = ("done", "running", "failed", "waiting")


def status_verb(parser: ArgumentParser) -> Action:
    """Say how much of each item is there."""
    add_study_arguments(parser, "replicse status")

    def action(arguments: Namespace) -> None:
        shown = shown_study(arguments)
        shown.announce(arguments.json)
        if shown.evaluations.paths.kept:
            print_committed(shown, arguments.json)
            return
        plan = shown.plan
        files = {item.id: plan.evaluation_files(item) for item in plan.items.values()}
        every = dict.fromkeys(file for own in files.values() for file in own)
        broken = {file: problem for file in every if (problem := broken_evaluation(plan, file))}
        jobs = Jobs(plan)
        states = {file: "failed" if file in broken else jobs.state(file) for file in every}
        rows: list[dict[str, Any]] = []
        for item, own in files.items():
            table = not plan.paths.missing(plan.paths.table(item))
            rows.append({"item": item, **counted({file: states[file] for file in own}), "tabulated": table})
        machines = study_machines(plan, Evaluations(plan))
        total = {
            **counted(states),
            "runs": len(plan.runs),
            "trained": sum(not plan.paths.missing(plan.paths.run(run, "metrics.json")) for run in plan.runs),
        }
        begun = {job: jobs.running(job) for job in jobs.all if jobs.began(job)}
        if arguments.json:
            made = [{"machine": str(machine), "records": count} for machine, count in machines.items()]
            told = {"items": rows, "machines": made, "broken": list(broken.values()), "total": total}
            told["running"] = [{"job": str(job), **beat} for job, beat in begun.items() if beat]
            told["failed"] = [str(job) for job, beat in begun.items() if not beat]
            print(json.dumps({"scale": plan.scale.name, "study": shown.folder, **told}, indent=1))
            return
        print(f"scale {plan.scale.name}")
        for row in rows:
            print(status_line(row["item"], row, "tabulated" if row["tabulated"] else "not tabulated"))
        print(status_line("total", total, f"{total['trained']:,} of {total['runs']:,} runs trained"))
        width = room()
        for job, beat in begun.items():
            state, last = "running" if beat else "failed", job.tail[-1] if job.tail else ""
            where = f" on {beat['host']}" if beat else ""
            latest = progress_text(beat or {}) or last
            print(shortened(f"{state}: {job}{where}, {minutes(job.age)}: {latest}", width))
        print_machines(machines, "runs and evaluations")
        for problem in broken.values():
            print(f"broken: {problem}")

    return action


def print_committed(shown: Shown, as_json: bool) -> None:
    """Print what is there of a committed study: of its evaluations no more than its cells is committed."""
    results = read_results(shown.plan, shown.evaluations.paths)
    rows: list[dict[str, Any]] = []
    every: dict[str, str] = {}
    for result in results:
        states: dict[str, str] = {}
        for cell in result.cells:
            there = all(each.value is not None for each in cell.values)
            states |= dict.fromkeys(
                cell.encoders, "done" if there else "failed" if cell.failure else "waiting"
            )
        every |= states
        rows.append({"item": result.item, **counted(states), "tabulated": True})
    machines = distinct(machine for result in results for cell in result.cells for machine in cell.machines)
    if as_json:
        made = [{"machine": str(machine), "cells": count} for machine, count in machines.items()]
        told = {"scale": shown.plan.scale.name, "study": shown.folder, "items": rows, "machines": made}
        print(json.dumps({**told, "total": counted(every)}, indent=1))
        return
    print(f"scale {shown.plan.scale.name}")
    for row in rows:
        print(status_line(row["item"], row, "committed"))
    print(status_line("total", counted(every), "committed"))
    print_machines(machines, "cells")


def counted(states: Mapping[str, str]) -> dict[str, int]:
    """Return how many evaluations there are, and how many in each state."""
    counts = Counter(states.values())
    return {"evaluations": len(states), **{state: counts[state] for state in STATES}}


def print_machines(machines: Mapping[Machine, int], what: str) -> None:
    """Print each machine with how much of a study it made."""
    if machines:
        print(f"mixed: made on {len(machines)} machines" if len(machines) > 1 else "made on one machine")
    for machine, count in machines.items():
        line = f"{count:>6} {what}: {machine}"
        print(textwrap.fill(line, room(), subsequent_indent=" " * 8, break_on_hyphens=False))


def status_line(name: str, counts: dict[str, Any], more: str) -> str:
    """Return how many evaluations are done, and of the others how many run, failed or wait."""
    others = [f"{counts[state]} {state}" for state in STATES[1:] if counts[state]]
    done = f"{name:<18}{counts['done']:>5} of {counts['evaluations']:>4} evaluations"
    return ", ".join([done, *others, more])


def minutes(seconds: float) -> str:
    """Return how long ago something was, as `now` or `12 min ago`."""
    return f"{seconds / 60:,.0f} min ago" if seconds >= 60 else "now"


def broken_evaluation(plan: Plan, file: str) -> str:
    """Return the sentence that refuses an evaluation file; blank where it is sound, or not there yet."""
    try:
        Evaluations(plan).read(file)
    except BadInput as error:
        return str(error)
    return ""


def show_verb(parser: ArgumentParser) -> Action:
    """Print one item as text, from the evaluations that are there, or list the items of a paper."""
    add_study_arguments(parser, "replicse show simcse/table3")
    parser.add_argument("item", help="paper/item, for example simcse/table3; a paper lists its items")

    def action(arguments: Namespace) -> None:
        ((paper, names),) = by_paper([arguments.item]).items()
        if names == "all":
            print_items(arguments, paper)
            return
        item = f"{paper}/{names[0]}"
        shown = shown_study(arguments, item)
        shown.announce(arguments.json)
        (result,) = results_of(shown.plan, [item], shown.evaluations)
        if arguments.json:
            committed = bool(shown.evaluations.paths.kept)
            document = {"study": shown.folder, "committed": committed, "item": result.plain()}
            print(json.dumps(document, indent=1, ensure_ascii=False))
            return
        from replicse.report.formats.terminal import item_text

        print(item_text(result, room(100), coloured()), end="")

    return action


def print_items(arguments: Namespace, paper: str) -> None:
    """Print the items of a paper that the chosen study holds; BadInput names the nearest paper or item."""
    config, file = chosen_config(arguments)
    papers = load_papers(arguments.workflow)
    items = list(chosen_items(checked_config(config, file), papers, file))
    own = [item for item in items if item.paper == paper]
    if not own:
        known = [*dict.fromkeys(item.paper for item in items), *(item.id for item in items)]
        raise BadInput(f'no paper or item "{paper}" in this study{nearest(paper, known)}')
    if arguments.json:
        print(
            json.dumps(
                [{"item": item.id, "place": item.place, "title": item.title} for item in own], indent=1
            )
        )
        return
    print(f"{paper}: {papers[paper].about.title}")
    width = max(len(item.id) for item in own)
    for item in own:
        print(shortened(f"  {item.id:<{width}}  {item.title}", room(UNCUT)))
