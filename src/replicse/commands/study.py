"""Verbs on the study as a whole: plan, validate, status, show, schemas. None of them imports torch."""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replicse.commands import Action
from replicse.errors import BadInput
from replicse.files import read_json, write_json
from replicse.locks import at_work
from replicse.study.judge.claims import study_claims
from replicse.study.judge.study import study_machines
from replicse.study.paper.config import Config, checked_config, read_config
from replicse.study.paper.datasets import load_datasets
from replicse.study.paper.papers import Paper, load_papers
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.paper.running_text import spoken_numbers
from replicse.study.paper.scales import load_scale
from replicse.study.paper.tables import Item
from replicse.study.plan.jobs import Jobs
from replicse.study.plan.needs import amounts, amounts_text, needs
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Plan
from replicse.study.plan.planner import (
    check_parts,
    chosen_items,
    chosen_scale,
    load_plan,
    load_scales,
    plan_of,
)
from replicse.study.results.table import ItemResult
from replicse.study.results.tabulate import item_result, table_rows
from replicse.study.results.values import Evaluations

CONFIG = Path("config.yaml")
# No line of a file or a pipe is shortened.
UNCUT = 10_000


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments that choose a study."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument(
        "--config", "--configfile", action="append", default=[], metavar="FILE or KEY=VALUE",
        help="a file that is laid over config.yaml, or one key's value above all files; repeatable",
    )  # fmt: skip
    parser.add_argument("--study", type=Path, help="the config.json of a study that was started, instead")
    parser.add_argument("--scale", help="use this scale instead of the config's")
    parser.add_argument("--seeds", type=int, help="so many seeds, from 0, instead of the config's")
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def add_workflow_argument(parser: ArgumentParser) -> None:
    """Add the argument that names the folder of papers and scales; a job is told it by the workflow."""
    default = Path(os.environ.get("REPLICSE_WORKFLOW", "workflow"))
    parser.add_argument(
        "--workflow", type=Path, default=default, help="default: $REPLICSE_WORKFLOW, else workflow"
    )


def chosen_config(arguments: Namespace) -> tuple[dict[str, Any], str]:
    """Return the chosen config and the file that a mistake in it stands in."""
    files, settings = config_layers(arguments)
    config = read_config(files, arguments.scale, arguments.seeds, settings)
    return config, str(files[-1])


def config_layers(arguments: Namespace) -> tuple[list[Path], dict[str, str]]:
    """Return the files of the chosen config, each laid over the one before, and what stands above them by key."""
    if arguments.seeds is not None and arguments.seeds < 1:
        raise BadInput(f"--seeds is {arguments.seeds}; expected at least 1")
    settings = dict(word.split("=", 1) for word in arguments.config if "=" in word)
    files = [Path(word) for word in arguments.config if "=" not in word]
    own = [arguments.study] if arguments.study else [CONFIG, *(file for file in files if file != CONFIG)]
    return own, settings


def chosen_plan(arguments: Namespace, only: str = "") -> Plan:
    """Return the plan of the chosen study, or of one of its items alone."""
    config, file = chosen_config(arguments)
    return load_plan(config, arguments.workflow, file, only)


def plan_verb(parser: ArgumentParser) -> Action:
    """List items with their cells, runs and evaluations."""
    add_study_arguments(parser, "replicse plan --scale paper --seeds 5")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        rows = [
            {
                "item": item.id,
                "cells": len(plan.cells[item.id]),
                "runs": len(runs := plan.runs_of(item)),
                "hours": plan.hours(runs),
                "evaluations": len(plan.evaluation_files(item)),
                "title": item.title,
            }
            for item in plan.items.values()
        ]
        wanted = list(needs(plan))
        download, disk, _ = amounts(wanted)
        totals = {
            "runs": len(plan.runs),
            "hours": plan.hours(plan.runs),
            "searched": {"runs": len(searched := plan.searched()), "hours": plan.hours(searched)},
            "released": len(plan.downloaded()),
            "encoders": len(plan.encoders),
            "stores": len(plan.stores),
            "download_bytes": download,
            "disk_bytes": disk,
        }
        device = plan.scale.cost.device
        if arguments.json:
            document = {"scale": plan.scale.name, "seeds": plan.seeds, "device": device}
            print(json.dumps({**document, "items": rows, **totals}, indent=1))
            return
        from replicse.report.formats.terminal import room

        print(f"scale {plan.scale.name}: {plan.scale.title}; seeds {', '.join(map(str, plan.seeds))}")
        print(f"{'item':<18}{'cells':>6}{'runs':>6}{'hours':>8}{'eval':>6}  title")
        for row in rows:
            numbers = f"{row['cells']:>6}{row['runs']:>6}{hours_text(row['hours']):>8}{row['evaluations']:>6}"
            print(shortened(f"{row['item']:<18}{numbers}  {row['title']}", room(UNCUT)))
        asked = sum(row["runs"] for row in rows)
        print(
            f"{len(rows)} items ask for {asked} runs; {totals['runs']} are distinct, on {totals['stores']} tokenised"
            f" columns, evaluated as {totals['encoders']} encoders"
        )
        print(f"estimated training time of the distinct runs: {hours_text(totals['hours'])} h on {device}")
        if searched:
            hours = hours_text(plan.hours(plan.runs.keys() - searched))
            print(f"without the {len(searched)} runs that only searches ask for: {hours} h")
        if totals["released"]:
            print(
                f"without any training: {totals['released']} encoders as others released them (snakemake released)"
            )
        if wanted:
            print(f"{amounts_text(wanted)} (replicse fetch --dry-run lists it)")
        print("\n".join(notes(plan)), end="\n" if plan.unpinned else "")

    return action


def hours_text(hours: float | None) -> str:
    """Return estimated hours as text; a question mark where a size is not known."""
    return "?" if hours is None else f"{hours:.2f}" if hours < 10 else f"{hours:,.0f}"


def notes(plan: Plan) -> Iterator[str]:
    """Yield what a person should know of a plan: hub artefacts that no commit is known of."""
    if plan.unpinned:
        names = ", ".join(sorted(plan.unpinned))
        yield f"not pinned to a commit (run replicse lock --write): {names}"


def validate_verb(parser: ArgumentParser) -> Action:
    """Check the config, all papers and all scales, and plan everything at every scale."""
    add_study_arguments(parser, "replicse validate")

    def action(arguments: Namespace) -> None:
        workflow = arguments.workflow
        papers = load_papers(workflow)
        spoken_numbers(papers, load_datasets(workflow))
        scales = [load_scale(file) for file in load_scales(workflow).values()]
        check_configs(arguments, papers)
        claims = study_claims(papers, papers)
        for scale in scales:
            check_parts(scale, papers, workflow)
        for scale in scales:
            everything = Config(scale=scale.name, papers="all", seeds=(0,), adjudicate="all")
            plan = plan_of(everything, papers, workflow)
            if scale.comparable:
                problem = next(unchanged_variants(plan), None)
                if problem:
                    raise BadInput(problem)
        plan = chosen_plan(arguments)
        counts = {
            "papers": len(papers),
            "items": sum(len(paper.items) for paper in papers.values()),
            "cells": sum(map(len, plan.cells.values())),
            "runs": len(plan.runs),
            "claims": len(claims),
        }
        if arguments.json:
            print(json.dumps({"scale": plan.scale.name, **counts}))
        else:
            told = ", ".join(f"{count} {what}" for what, count in counts.items())
            print("\n".join([f"ok: {told}", *notes(plan)]))

    return action


def check_configs(arguments: Namespace, papers: dict[str, Paper]) -> None:
    """Check the config as each of its files leaves it, so that a mistake is told of the file it stands in."""
    files, settings = config_layers(arguments)
    for count, file in enumerate(files, 1):
        config = checked_config(
            read_config(files[:count], arguments.scale, arguments.seeds, settings), str(file)
        )
        chosen_scale(config, arguments.workflow, str(file))
        list(chosen_items(config, papers, str(file)))


def unchanged_variants(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each protocol that changes nothing in a row: its runs are those of the text."""
    for item, cells in plan.cells.items():
        described = {cell.key: cell for cell in cells if cell.protocol == AS_DESCRIBED}
        paper = plan.papers[plan.items[item].paper]
        for protocol in paper.protocols:
            own = [cell for cell in cells if cell.protocol == protocol.id and cell.jobs]
            for row in dict.fromkeys(cell.row.id for cell in own):
                same = [cell.jobs == described[cell.key].jobs for cell in own if cell.row.id == row]
                if all(same):
                    file = paper.folder / "protocols.yaml"
                    yield f"{file}: {protocol.id} changes nothing in row {row} of {item}; mend its change or its cells"


def status_verb(parser: ArgumentParser) -> Action:
    """Say how much of each item is there."""
    add_study_arguments(parser, "replicse status")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        files = {item.id: plan.evaluation_files(item) for item in plan.items.values()}
        every = dict.fromkeys(file for own in files.values() for file in own)
        broken = {file: problem for file in every if (problem := broken_evaluation(plan, file))}
        from replicse.report.formats.terminal import room

        rows = []
        for item, own in files.items():
            done = sum(not plan.paths.missing(file) and file not in broken for file in own)
            table = not plan.paths.missing(plan.paths.table(item))
            rows.append({"item": item, "evaluations": len(own), "done": done, "tabulated": table})
        machines = study_machines(plan, Evaluations(plan.paths))
        total = {
            "evaluations": len(every),
            "done": sum(not plan.paths.missing(file) and file not in broken for file in every),
            "runs": len(plan.runs),
            "trained": sum(not plan.paths.missing(plan.paths.run(run, "metrics.json")) for run in plan.runs),
        }
        jobs = Jobs(plan)
        begun = [job for job in jobs.all if jobs.began(job)]
        state = "running" if begun and at_work(Path.cwd()) else "failed"
        if arguments.json:
            made = [{"machine": str(machine), "records": count} for machine, count in machines.items()]
            told = {"items": rows, "machines": made, "broken": list(broken.values()), "total": total}
            told[state] = [str(job) for job in begun]
            print(json.dumps({"scale": plan.scale.name, **told}, indent=1))
            return
        print(f"scale {plan.scale.name}")
        for row in rows:
            made = "tabulated" if row["tabulated"] else "not tabulated"
            print(f"{row['item']:<18}{row['done']:>5} of {row['evaluations']:>4} evaluations, {made}")
        print(
            f"{'total':<18}{total['done']:>5} of {total['evaluations']:>4} evaluations,"
            f" {total['trained']:,} of {total['runs']:,} runs trained"
        )
        width = room()
        for job in begun:
            print(shortened(f"{state}: {job}, {minutes(job.age)}: {job.tail[-1] if job.tail else ''}", width))
        if machines:
            print(f"mixed: made on {len(machines)} machines" if len(machines) > 1 else "made on one machine")
        for machine, count in machines.items():
            print(f"{count:>6} runs and evaluations: {machine}")
        for problem in broken.values():
            print(f"broken: {problem}")

    return action


def minutes(seconds: float) -> str:
    """Return how long ago something was, as `now` or `12 min ago`."""
    return f"{seconds / 60:,.0f} min ago" if seconds >= 60 else "now"


def shortened(line: str, width: int) -> str:
    """Return a line that fits a terminal."""
    return line if len(line) <= width else f"{line[: width - 3]}..."


def broken_evaluation(plan: Plan, file: str) -> str:
    """Return the sentence that refuses an evaluation file; blank where it is sound, or not there yet."""
    try:
        Evaluations(plan.paths).read(file)
    except BadInput as error:
        return str(error)
    return ""


def show_verb(parser: ArgumentParser) -> Action:
    """Print one item as text, from the evaluations that are there."""
    add_study_arguments(parser, "replicse show simcse/table3")
    parser.add_argument("item", help="paper/item, for example simcse/table3")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        item = plan.item(arguments.item)
        kept = kept_file(plan, item)
        committed = ItemResult.of(read_json(kept), str(kept)) if kept else None
        result = committed or item_result(plan, item, Evaluations(plan.paths))
        if arguments.json:
            document = {"item": result.plain(), "cells": list(table_rows(result)), "committed": bool(kept)}
            print(json.dumps(document, indent=1, ensure_ascii=False))
            return
        from replicse.report.formats.terminal import coloured, item_text, room

        if kept:
            print(f"{plan.paths.results} has no evaluation of this item; the committed study's: {kept}\n")
        print(item_text(result, room(100), coloured()), end="")

    return action


def kept_file(plan: Plan, item: Item) -> Path | None:
    """Return the item of a committed study of the scale, where there is no evaluation of one's own.

    Of several studies that hold it the one that is named as the scale comes first, then the first by name.
    """
    if any(not plan.paths.missing(path) for path in plan.evaluation_files(item)):
        return None
    configs = Path(Paths("", plan.scale.name).results).parent.glob("*/config.json")
    studies = [file.parent.name for file in sorted(configs) if read_json(file)["scale"] == plan.scale.name]
    for name in sorted(studies, key=lambda study: study != plan.scale.name):
        file = Path(Paths("", name).item(item.id))
        if file.is_file():
            return file
    return None


def schemas_verb(parser: ArgumentParser) -> Action:
    """Write a JSON Schema of every kind of file, for editors: they are made from the models that check the files."""
    parser.epilog = "example:\n  replicse schemas .schemas"
    parser.add_argument("out", type=Path, help="the folder to write to")

    def action(arguments: Namespace) -> None:
        from pydantic import TypeAdapter

        from replicse.study.paper.claims import Claim
        from replicse.study.paper.datasets import Datasets
        from replicse.study.paper.papers import About
        from replicse.study.paper.protocols import Protocol
        from replicse.study.paper.recipes import Recipe
        from replicse.study.paper.scales import Scale

        kinds = {
            "config": Config, "paper": About, "table": Item, "recipes": dict[str, Recipe], "protocols": list[Protocol],
            "claims": list[Claim], "scale": Scale, "datasets": Datasets,
        }  # fmt: skip
        for name, kind in kinds.items():
            write_json(arguments.out / f"{name}.schema.json", TypeAdapter(kind).json_schema())
        print(f"wrote {len(kinds)} schemas to {arguments.out}")

    return action


def tabulate_verb(parser: ArgumentParser) -> Action:
    """Write the result of one item as JSON, and its judged cells as CSV."""
    add_study_arguments(
        parser,
        "replicse tabulate --study results/micro/config.json --item simcse/table3"
        " --out results/micro/items/simcse/table3.json --table results/micro/tables/simcse/table3.csv",
    )
    parser.add_argument("--item", required=True, help="paper/item")
    parser.add_argument("--out", type=Path, required=True, help="the item's result, JSON")
    parser.add_argument("--table", type=Path, required=True, help="the item's cells, CSV")

    def action(arguments: Namespace) -> None:
        from replicse.files import write_rows
        from replicse.study.results.tabulate import FIELDS

        plan = chosen_plan(arguments, only=arguments.item)
        result = item_result(plan, plan.item(arguments.item), Evaluations(plan.paths))
        write_json(arguments.out, result.plain())
        cells = write_rows(arguments.table, FIELDS, table_rows(result))
        print(f"wrote={arguments.table} cells={cells}")

    return action
