"""Verbs on the study as a whole: plan, validate, status, show, why. None of them imports torch."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from replicse.commands import Action
from replicse.errors import BadInput, nearest
from replicse.study.papers import Item
from replicse.study.plan import Cell, Plan, load_plan, read_config
from replicse.study.tabulate import Evaluations, tabulate


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments that choose a study."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument("--config", type=Path, default=Path("config.yaml"), help="default: config.yaml")
    parser.add_argument("--scale", help="use this scale instead of the config's")
    parser.add_argument("--workflow", type=Path, default=Path("workflow"), help="default: workflow")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def chosen_plan(arguments: Namespace) -> Plan:
    """Return the plan of the chosen config and scale."""
    config = read_config(arguments.config)
    if arguments.scale:
        config["scale"] = arguments.scale
    return load_plan(config, arguments.workflow, str(arguments.config))


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
        cells = sum(map(len, plan.cells.values()))
        text = {"scale": plan.scale.name, "items": len(plan.items), "cells": cells, "runs": len(plan.runs)}
        print(
            json.dumps(text)
            if arguments.json
            else f"ok: {text['items']} items, {cells} cells, {text['runs']} runs"
        )

    return action


def unprinted(plan: Plan, item: Item) -> list[str]:
    """Return a sentence for each reported number of an item that no cell shows: a row or column id is misspelt."""
    shown = {(cell.row.id, cell.column.id, cell.column.metric) for cell in plan.cells[item.id]}
    file = plan.papers[item.paper].folder / "reported.csv"
    return [
        f"{file}: {item.name} has a number for {'/'.join(key[1:])}, but {item.file} shows no such cell"
        for key in plan.papers[item.paper].reported
        if key[0] == item.name and key[1:] not in shown
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
        manifest = plan.manifest(item)
        cells = list(tabulate(manifest, Evaluations(plan.paths)))
        if arguments.json:
            print(json.dumps({"manifest": manifest, "cells": cells}, indent=1, ensure_ascii=False))
            return
        from replicse.report.document import render_item_text
        from replicse.report.items import make_item, result_of

        results = tuple(result_of(cell, item.id) for cell in cells)
        print(render_item_text(make_item(manifest, results, scale=plan.scale.name)))

    return action


def why_verb(parser: ArgumentParser) -> Action:
    """Tell where one cell comes from: printed place, runs, evaluations, values per seed, verdict."""
    add_study_arguments(parser, "replicse why simcse/table3/p0.1/stsb-dev")
    parser.add_argument("cell", help="paper/item/row/column[/metric]")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        cell = find_cell(plan, arguments.cell)
        story = cell_story(plan, cell)
        if arguments.json:
            print(json.dumps(story, indent=1, ensure_ascii=False))
            return
        for key, value in story.items():
            lines = value if isinstance(value, list) else [value]
            for number, line in enumerate(lines):
                print(f"{key if number == 0 else '':<12}{line}")

    return action


def find_cell(plan: Plan, name: str) -> Cell:
    """Return the cell `paper/item/row/column[/metric]`; BadInput names the nearest one."""
    parts = name.split("/")
    if len(parts) not in (4, 5):
        raise BadInput(
            f'cell "{name}": expected paper/item/row/column, for example simcse/table3/p0.1/stsb-dev'
        )
    item = plan.item("/".join(parts[:2]))
    known = {f"{item.id}/{cell.row.id}/{cell.column.id}": cell for cell in reversed(plan.cells[item.id])}
    known |= {
        f"{item.id}/{cell.row.id}/{cell.column.id}/{cell.column.metric}": cell for cell in plan.cells[item.id]
    }
    if name not in known:
        raise BadInput(f'no cell "{name}"{nearest(name, known)}')
    return known[name]


def cell_story(plan: Plan, cell: Cell) -> dict[str, Any]:
    """Return everything that stands behind one cell, as text by heading."""
    evaluations = Evaluations(plan.paths)
    record = next(
        entry
        for entry in tabulate(plan.manifest(cell.item), evaluations)
        if (entry["row"], entry["column"], entry["metric"])
        == (cell.row.id, cell.column.id, cell.column.metric)
    )
    seeds, specs = [], []
    for encoder in cell.encoders:
        value, failure = evaluations.value(encoder, cell.read)
        shown = failure or ("not run" if value is None else f"{value:.4f}")
        seeds.append(f"{shown}  {encoder}")
        source = plan.encoders[encoder].source
        if "run" in source and not specs:
            specs = _spec_lines(plan, source["run"])
    verdict = record["verdict"] or "no verdict"
    if verdict == "not comparable":
        verdict += f": the {plan.scale.name} scale is not the paper's setting"
    return {
        "cell": f"{cell.item.id} · {cell.row.label} · {cell.column.label}",
        "printed": f"{cell.reported.value}  ({cell.reported.source})"
        if cell.reported
        else "no number is printed",
        "read": cell.read + (f", minus the printed {cell.minus.value}" if cell.minus else ""),
        "seeds": seeds or ["quoted by the paper from elsewhere; not re-run"],
        "reproduced": _interval(record),
        "verdict": verdict,
        "run": specs or ["no training"],
        "files": plan.evaluation_files(cell.item)[:1]
        and [plan.paths.encoder(encoder, "evaluation") for encoder in cell.encoders[:3]],
    }


def _interval(record: dict[str, Any]) -> str:
    if not record["reproduced"]:
        return "nothing yet"
    text = f"{float(record['reproduced']):.4f}"
    if record["low"]:
        text += f", one more draw expected in {float(record['low']):.2f} to {float(record['high']):.2f}"
    return text + (f", delta {float(record['delta']):+.4f}" if record["delta"] else "")


def _spec_lines(plan: Plan, run_id: str) -> list[str]:
    lines, run = [], run_id
    while run:
        spec = plan.runs[run]
        lines.append(f"{run}  ({plan.paths.run(run)})")
        lines += [
            f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in spec.canonical().items()
        ]
        run = spec.init.get("run", "")
    return lines
