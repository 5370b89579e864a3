"""The verb that asks which difference of protocol explains a gap."""

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from replicse.commands import Action
from replicse.commands.study import add_study_arguments, chosen_config, hours_text
from replicse.errors import BadInput
from replicse.study.judge.adjudicate import adjudicate, adjudicated, write_adjudication
from replicse.study.paper.papers import Item
from replicse.study.paper.protocols import AS_DESCRIBED, AS_RUN
from replicse.study.plan.plan import Plan
from replicse.study.plan.planner import load_plan
from replicse.study.results.manifest import manifest_of
from replicse.study.results.tabulate import Evaluations


def adjudicate_verb(parser: ArgumentParser) -> Action:
    """Plan the runs of every protocol of an item and print what each explains, from the evaluations there are."""
    add_study_arguments(parser, "replicse adjudicate repro/table4")
    parser.add_argument("item", nargs="?", help="paper/item; nothing: all that the config adjudicates")
    parser.add_argument("--out", type=Path, help="write the CSV of all adjudicated items instead of printing")

    def action(arguments: Namespace) -> None:
        config = chosen_config(arguments)
        if arguments.item:
            config["adjudicate"] = [arguments.item]
        plan = load_plan(config, arguments.workflow, str(arguments.config))
        items = [plan.item(arguments.item).id] if arguments.item else adjudicated(plan)
        evaluations = Evaluations(plan.paths)
        rows = [row for name in items for row in adjudicate(plan, name, evaluations)]
        if arguments.out:
            write_adjudication(rows, arguments.out)
            return
        if not rows:
            known = [paper.folder / "protocols.yaml" for paper in plan.papers.values() if paper.protocols]
            raise BadInput(
                f"{arguments.item or 'adjudicate'}: no protocol names a row of it; see"
                f" {', '.join(map(str, known))}"
            )
        if arguments.json:
            print(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False))
            return
        for name in items:
            print("\n".join(asked(plan, plan.items[name])))
        from replicse.report.formats.terminal import page_text
        from replicse.report.pages.adjudication import adjudication_page

        manifests = {name: manifest_of(plan, plan.items[name]) for name in items}
        texts = [
            {key: "" if value is None else str(value) for key, value in asdict(row).items()} for row in rows
        ]
        print(page_text(adjudication_page(texts, manifests, plan.scale.comparable)))

    return action


def asked(plan: Plan, item: Item) -> list[str]:
    """Return what each protocol of an item asks for: rows, runs of its own, runs not there yet, hours."""
    base = _runs(plan, item, AS_DESCRIBED)
    lines = [f"{item.id} at scale {plan.scale.name}, seeds {', '.join(map(str, plan.study.seeds))}"]
    lines.append(f"{'protocol':<28}{'rows':>6}{'runs':>6}{'to do':>7}{'hours':>8}")
    known = [AS_DESCRIBED, *(protocol.id for protocol in plan.papers[item.paper].protocols), AS_RUN]
    planned = {cell.protocol for cell in plan.cells[item.id]}
    for name in (name for name in known if name in planned):
        runs = _runs(plan, item, name) - (base if name != AS_DESCRIBED else set())
        todo = {run for run in runs if plan.paths.missing(plan.paths.run(run, "metrics.json"))}
        rows = len({cell.row.id for cell in plan.cells[item.id] if cell.protocol == name})
        lines.append(f"{name:<28}{rows:>6}{len(runs):>6}{len(todo):>7}{hours_text(plan.hours(todo)):>8}")
    if any(plan.paths.missing(file) for file in plan.evaluation_files(item)):
        lines.append(f"run them: snakemake --cores all --config 'adjudicate=[{item.id}]' -- {item.target}")
    return [*lines, ""]


def _runs(plan: Plan, item: Item, protocol: str) -> set[str]:
    return {
        plan.encoders[encoder].source["run"]
        for cell in plan.cells[item.id]
        if cell.protocol == protocol
        for encoder in cell.encoders
        if "run" in plan.encoders[encoder].source
    }
