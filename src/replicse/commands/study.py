"""Verbs on the study as a whole: plan, validate, status, show, why. None of them imports torch."""

import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from replicse.commands import Action
from replicse.errors import BadInput
from replicse.study.judge.claims import study_claims
from replicse.study.paper.papers import Item
from replicse.study.plan.plan import Plan
from replicse.study.plan.planner import load_plan, read_config
from replicse.study.results.manifest import manifest_of
from replicse.study.results.tabulate import Evaluations, tabulate


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments that choose a study."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument("--config", type=Path, default=Path("config.yaml"), help="default: config.yaml")
    parser.add_argument("--scale", help="use this scale instead of the config's")
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def add_workflow_argument(parser: ArgumentParser) -> None:
    """Add the argument that names the folder of papers, scales and schemas; a job is told it by the workflow."""
    default = Path(os.environ.get("REPLICSE_WORKFLOW", "workflow"))
    parser.add_argument(
        "--workflow", type=Path, default=default, help="default: $REPLICSE_WORKFLOW, else workflow"
    )


def chosen_config(arguments: Namespace) -> dict[str, Any]:
    """Return the chosen config, with the scale of the command line where one is given."""
    config = read_config(arguments.config)
    return {**config, "scale": arguments.scale} if arguments.scale else config


def chosen_plan(arguments: Namespace) -> Plan:
    """Return the plan of the chosen config and scale."""
    return load_plan(chosen_config(arguments), arguments.workflow, str(arguments.config))


def plan_verb(parser: ArgumentParser) -> Action:
    """List items with their cells, runs and evaluations."""
    add_study_arguments(parser, "replicse plan --scale paper")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        rows = [
            {
                "item": item.id,
                "cells": len(plan.cells[item.id]),
                "runs": len(plan.runs_of(item)),
                "hours": plan.hours(plan.runs_of(item)),
                "evaluations": len(plan.evaluation_files(item)),
                "title": item.title,
            }
            for item in plan.items.values()
        ]
        totals = {
            "runs": len(plan.runs),
            "hours": plan.hours(plan.runs),
            "encoders": len(plan.encoders),
            "stores": len(plan.stores),
        }
        device = plan.scale.cost["device"]
        if arguments.json:
            document = {"scale": plan.scale.name, "seeds": plan.study.seeds, "device": device}
            print(json.dumps({**document, "items": rows, **totals}, indent=1))
            return
        print(f"scale {plan.scale.name}: {plan.scale.title}; seeds {', '.join(map(str, plan.study.seeds))}")
        print(f"{'item':<18}{'cells':>6}{'runs':>6}{'hours':>8}{'eval':>6}  title")
        for row in rows:
            numbers = f"{row['cells']:>6}{row['runs']:>6}{hours_text(row['hours']):>8}{row['evaluations']:>6}"
            print(f"{row['item']:<18}{numbers}  {row['title']}")
        asked = sum(row["runs"] for row in rows)
        print(
            f"{len(rows)} items ask for {asked} runs; {totals['runs']} are distinct, on {totals['stores']} tokenised"
            f" columns, evaluated as {totals['encoders']} encoders"
        )
        print(f"estimated training time of the distinct runs: {hours_text(totals['hours'])} h on {device}")

    return action


def hours_text(hours: float | None) -> str:
    """Return estimated hours as text; a question mark where a size is not known."""
    return "?" if hours is None else f"{hours:.2f}" if hours < 10 else f"{hours:,.0f}"


def validate_verb(parser: ArgumentParser) -> Action:
    """Check the config and all paper files, at every scale."""
    add_study_arguments(parser, "replicse validate")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        findings = [line for item in plan.items.values() for line in unprinted(plan, item)]
        if findings:
            raise BadInput("; ".join(findings[:5]))
        counts = {
            "items": len(plan.items),
            "cells": sum(map(len, plan.cells.values())),
            "runs": len(plan.runs),
            "claims": len(study_claims(plan)),
        }
        if arguments.json:
            print(json.dumps({"scale": plan.scale.name, **counts}))
        else:
            print("ok: " + ", ".join(f"{count} {what}" for what, count in counts.items()))

    return action


def unprinted(plan: Plan, item: Item) -> list[str]:
    """Return a sentence for each reported number of an item that no cell shows: a row or column id is misspelt."""
    shown = {(cell.row.id, cell.column.id, cell.column.metric) for cell in plan.cells[item.id]}
    left_out = {row.id for row in plan.papers[item.paper].items[item.name].rows} - {
        row.id for row in item.rows
    }
    file = plan.papers[item.paper].folder / "reported.csv"
    return [
        f"{file}: {item.name} has a number for {'/'.join(key[1:])}, but {item.file} shows no such cell"
        for key in plan.papers[item.paper].reported
        if key[0] == item.name and key[1] not in left_out and key[1:] not in shown
    ]


def status_verb(parser: ArgumentParser) -> Action:
    """Say how much of each item is there."""
    add_study_arguments(parser, "replicse status")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        rows = []
        for item in plan.items.values():
            files = plan.evaluation_files(item)
            done = sum(not plan.paths.missing(file) for file in files)
            table = not plan.paths.missing(plan.paths.table(item.id))
            rows.append({"item": item.id, "evaluations": len(files), "done": done, "tabulated": table})
        if arguments.json:
            print(json.dumps({"scale": plan.scale.name, "items": rows}, indent=1))
            return
        print(f"scale {plan.scale.name}")
        for row in rows:
            state = "tabulated" if row["tabulated"] else "not tabulated"
            print(f"{row['item']:<18}{row['done']:>5} of {row['evaluations']:>4} evaluations, {state}")

    return action


def show_verb(parser: ArgumentParser) -> Action:
    """Print one item as text, from the evaluations that are there."""
    add_study_arguments(parser, "replicse show simcse/table3")
    parser.add_argument("item", help="paper/item, for example simcse/table3")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        item = plan.item(arguments.item)
        manifest = manifest_of(plan, item)
        cells = list(tabulate(manifest, Evaluations(plan.paths)))
        if arguments.json:
            print(json.dumps({"manifest": manifest, "cells": cells}, indent=1, ensure_ascii=False))
            return
        from replicse.report.content.items import make_item, result_of
        from replicse.report.document import render_item_text

        results = tuple(result_of(cell, item.id) for cell in cells)
        print(render_item_text(make_item(manifest, results, scale=plan.scale.name)))

    return action
