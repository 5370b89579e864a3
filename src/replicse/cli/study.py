"""Verbs on the study as a whole: plan, validate, tabulate. None of them imports torch."""

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.cli.answers import Action, answer, room
from replicse.compile.compiler import compile_study
from replicse.compile.cost import Cost, Interval
from replicse.compile.needs import Need, amounts, amounts_text, needs
from replicse.compile.paths import Paths
from replicse.compile.remarks import remarks
from replicse.compile.resolve import check_parts
from replicse.compile.selection import chosen_items, chosen_scale, load_scales
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.judge.claims import study_claims
from replicse.judge.evidence import detectable_differences, detects
from replicse.judge.folder import study_folder
from replicse.printable import columns, several
from replicse.registry.artefacts import CONFIG, DATA
from replicse.registry.corpora import Table
from replicse.registry.poolings import PoolingParameters
from replicse.registry.sets import EvaluationSet
from replicse.spec.additions import with_additions
from replicse.spec.config import (
    SHIPPED,
    Config,
    by_paper,
    checked_config,
    read_config,
)
from replicse.spec.datasets import load_datasets
from replicse.spec.papers import Paper, load_papers
from replicse.spec.protocols import AS_DESCRIBED
from replicse.spec.running_text import numbers_in_text
from replicse.spec.scales import OfAnotherScale, Scale, load_scale
from replicse.workspace import workflow_folder

MOST_SEEDS = 1000


def add_study_arguments(parser: ArgumentParser, example: str) -> None:
    """Add the arguments that choose a study."""
    parser.epilog = f"example:\n  {example}"
    parser.add_argument(
        "--config", "--configfile", action="append", default=[], metavar="FILE or KEY=VALUE",
        help="a file that is merged over config.yaml, or one key's value above all files; repeatable",
    )  # fmt: skip
    add_study_argument(parser)
    parser.add_argument("--scale", help="use this scale instead of the config's")
    parser.add_argument("--seeds", type=int, help="so many seeds, from 0, instead of the config's")
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def add_study_argument(parser: ArgumentParser) -> None:
    """Add the argument that names a study that there is; `study_file` reads it."""
    parser.add_argument(
        "--study",
        metavar="STUDY",
        help="a committed study by its name, or the config.json of one that was started, or its folder",
    )


def study_file(name: str) -> Path:
    """Return the config of a study that was started or committed: a file, its folder, or a committed study's name."""
    file = Path(name)
    named = bool(file.suffix) and not file.is_dir()
    return file if named else study_folder(name) / CONFIG


def check_here(record: Path, paths: Paths) -> None:
    """Raise BadInput where the record of a study that was run is not that of this folder, whose results are read."""
    was_run = record.name == CONFIG and record.with_name(DATA).exists()
    if was_run and record.resolve() != Path(paths.config).resolve():
        raise BadInput(f"{record}: not {paths.config} of this folder; start replicse where the study was run")


def add_workflow_argument(parser: ArgumentParser) -> None:
    """Add the argument that names the folder of papers and scales; a job is given it by the workflow."""
    parser.add_argument(
        "--workflow",
        type=Path,
        default=workflow_folder(),
        help="default: $REPLICSE_WORKFLOW, else workflow, else that of the package",
    )


def add_items_argument(parser: ArgumentParser) -> None:
    """Add the argument that asks for some items alone; `chosen_config` reads it."""
    parser.add_argument(
        "items",
        nargs="*",
        metavar="ITEM",
        help="paper/item, or a paper; nothing: all of the config, or your own papers",
    )


def chosen_config(arguments: Namespace) -> tuple[dict[str, Any], str]:
    """Return the chosen config and the file that contains a mistake in it."""
    files, settings = config_layers(arguments)
    config = read_config(files, arguments.scale, arguments.seeds, settings)
    own = own_papers(config, arguments) if getattr(arguments, "items", None) == [] else {}
    return {**asked(config, arguments), **own}, str(files[-1])


def asked(config: dict[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return a config with only those items that are asked for, where some are."""
    items = getattr(arguments, "items", None)
    return {**config, "papers": by_paper(items)} if items else config


def own_papers(config: Mapping[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return the papers of this folder as a config names them; nothing where there is none, or others are named."""
    keys = [file.parent.name for file in sorted(Path().glob("papers/*/paper.yaml"))]
    named = arguments.config or arguments.study or config.get("papers") != "all"
    return {"papers": by_paper(keys)} if keys and not named else {}


def config_layers(arguments: Namespace) -> tuple[list[Path], dict[str, str]]:
    """Return the files of the chosen config, each merged over the one before, and what is above them by key."""
    if arguments.seeds is not None and not 1 <= arguments.seeds <= MOST_SEEDS:
        raise BadInput(f"--seeds is {arguments.seeds}; expected 1 to {MOST_SEEDS:,}")
    settings: dict[str, str] = {}
    for word in (word for word in arguments.config if "=" in word):
        key, text = word.split("=", 1)
        first, *inner = key.split(".")
        for name in reversed(inner):
            text = f"{{{name}: {text}}}"
        if inner and first in settings:  # two keys of one mapping
            text = f"{settings[first].removesuffix('}')}, {text.removeprefix('{')}"
        settings[first] = text
    if rows := getattr(arguments, "row", None):
        own = own_rows(rows)
        if not arguments.item:
            raise BadInput("--row is for an item; name one, as simcse/table5")
        settings["rows"] = json.dumps({item.replace("_", "/", 1): own for item in arguments.item})
    files = [Path(word) for word in arguments.config if "=" not in word]
    layers = (
        [study_file(arguments.study)]
        if arguments.study
        else [SHIPPED, *(file for file in files if file != SHIPPED)]
    )
    return layers, settings


def own_rows(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return rows as a config has them, each given as NAME=FOLDER or NAME=HUB-ID, and perhaps :POOLING after it."""
    rows: dict[str, dict[str, str]] = {}
    for word in words:
        name, mark, place = word.partition("=")
        encoder, _, pooling = place.rpartition(":")
        if not encoder or pooling not in PoolingParameters.known:
            encoder, pooling = place, ""
        if not (mark and name and encoder):
            raise BadInput(
                f"--row {word}: expected NAME=FOLDER or NAME=HUB-ID, and perhaps :POOLING after it"
            )
        local = Path(encoder).is_dir() or encoder.startswith((".", "/", "~"))
        rows[name] = {"folder" if local else "hub": encoder} | ({"pooling": pooling} if pooling else {})
    return rows


def chosen_plan(arguments: Namespace, only: str = "") -> Study:
    """Return the plan of the chosen study, or of one of its items alone."""
    config, file = chosen_config(arguments)
    return compile_study(config, arguments.workflow, file, only)


def plan_of_file(file: str, only: str = "") -> Study:
    """Return the plan of a config that a job is given, or of one of its items alone."""
    return compile_study(read_config([Path(file)]), workflow_folder(), file, only)


def plan_verb(parser: ArgumentParser) -> Action:
    """List items with their cells, runs and evaluations, the cheapest first, and what all of it costs."""
    add_study_arguments(parser, "replicse plan --scale paper --seeds 5")
    parser.epilog += "\n  replicse plan --scale paper simcse/table5 diffcse --device 3090"
    add_items_argument(parser)
    parser.add_argument("--device", default="", help="a measured or published device, by a part of its name")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        cost = Cost(plan, arguments.device)
        searched = plan.searched()
        told, released = detectable_differences(plan), plan.downloaded()
        rows = [
            {
                "item": item.id,
                "cells": len(plan.cells[item.id]),
                **training_facts(cost, runs := plan.runs_of(item)),
                "searched": len(runs & searched),
                "evaluations": len(plan.evaluation_files(item)),
                "gap_told": told.get(item.id),
                "title": item.title,
            }
            for item in plan.items.values()
        ]
        wanted = list(needs(plan))
        download, disk, _ = amounts(wanted)
        document = {
            "scale": plan.scale.name,
            "seeds": plan.seeds,
            "device": cost.speed.device,
            "measured": cost.speed.when or None,
            "items": rows,
            **training_facts(cost, plan.runs),
            "searched": training_facts(cost, searched),
            "not_searched": training_facts(cost, plan.runs.keys() - searched),
            "released": {"encoders": len(released), **evaluation_facts(cost, released)},
            "encoders": len(plan.encoders),
            "evaluation": evaluation_facts(cost, plan.encoders),
            "stores": len(plan.stores),
            "download_bytes": download,
            "disk_bytes": disk,
            "left_out": plan.left_out,
            "unpinned": sorted(plan.unpinned),
            "notes": list(remarks(plan)),
        }
        lines = wrapped(plan_lines(plan, document, wanted, room()))
        units = {"hours": "hours", "download_bytes": "bytes", "disk_bytes": "bytes"}
        answer(arguments.json, document, lines, **units)

    return action


def plan_lines(plan: Study, document: Mapping[str, Any], wanted: list[Need], width: int) -> Iterator[str]:
    """Yield what a plan says: its items in the order of their cost, and what all of it takes."""
    yield f"scale {plan.scale.name}: {plan.scale.title}; seeds {', '.join(map(str, plan.seeds))}"
    items = sorted(document["items"], key=lambda row: row["hours"] or 0)
    parts = (
        ("without training", [row for row in items if not row["runs"]]),
        ("trained", [row for row in items if row["runs"] and not row["searched"]]),
        ("searches over hyper-parameters", [row for row in items if row["searched"]]),
    )
    table: list[str | tuple[str, ...]] = [("item", "cells", "runs", "hours", "eval", "gap", "title")]
    for heading, rows in parts:
        table += [f"{heading}:"] if rows else []
        for row in rows:
            gap = "" if row["gap_told"] is None else f"{row['gap_told']:.1f}"
            numbers = (row["cells"], row["runs"], hours_text(row["hours"]), row["evaluations"], gap)
            table.append((f"  {row['item']}", *map(str, numbers), row["title"]))
    yield from columns(table, numbers=(1, 2, 3, 4, 5), width=width)
    told = [row for row in items if row["gap_told"] is not None]
    if len(told) == 1:
        (row,) = told
        points = f"{row['gap_told']:.1f} points"
        yield f"{row['item']}: {detects(len(plan.seeds), points)}"
    elif told:
        yield f"gap: {detects(len(plan.seeds), 'so many points')}, at the median of the cells of known spread"
    if plan.left_out:
        yield f"left out: {', '.join(plan.left_out)}: {plan.left_out_text}"
    asked = sum(row["runs"] for row in document["items"])
    yield (
        f"{several(len(items), 'item')} with {several(asked, 'run')}, {document['runs']:,} distinct, on"
        f" {several(document['stores'], 'tokenised column')}, evaluated as {several(document['encoders'], 'encoder')}"
    )
    yield "what it takes, the cheapest first:"
    if (released := document["released"])["encoders"]:
        yield (
            f"  released: {several(released['encoders'], 'encoder')} as others released them, no training:"
            f" {encoding_text(released)} (replicse run released --scale {plan.scale.name})"
        )
    single, searches = document["not_searched"], document["searched"]
    yield f"  training without searches: {several(single['runs'], 'run')}, {interval_text(single)}"
    if searches["runs"]:
        yield f"  searches: {several(searches['runs'], 'run')} more, {interval_text(searches)}"
    if plan.source != "embedded":
        yield (
            f"  encoding STS and transfer sentences for {several(document['encoders'], 'encoder')}:"
            f" {encoding_text(document['evaluation'])}"
        )
    yield f"  {origin(plan, document)}"
    if wanted:
        yield f"{amounts_text(wanted)} (replicse fetch --scale {plan.scale.name} --dry-run lists it)"
    yield from document["notes"]


def origin(plan: Study, document: Mapping[str, Any]) -> str:
    """Return where the hours of a plan come from."""
    if document["measured"]:
        return f"hours are as measured on {document['device']}, {document['measured']}"
    return (
        f"hours are an estimate for {document['device']}, good to a factor of two; replicse benchmark --scale"
        f" {plan.scale.name} measures this machine"
    )


def training_facts(cost: Cost, runs: Collection[str]) -> dict[str, Any]:
    """Return how many runs there are, and the hours of training them, as plain data."""
    return {"runs": len(runs), **hours_facts(cost.hours(runs))}


def evaluation_facts(cost: Cost, encoders: Iterable[str]) -> dict[str, Any]:
    """Return the hours of encoding for evaluations as plain data, and what is not counted in them."""
    found = cost.evaluation(encoders)
    return {**hours_facts(found.hours), "unknown": found.unknown, "not_counted": found.not_counted}


def encoding_text(facts: Mapping[str, Any]) -> str:
    """Return the hours of encoding with their interval, and what is not counted in them, as text."""
    others = [f"{facts['unknown']} of unknown size"] * bool(facts["unknown"])
    others += [f"what {', '.join(facts['not_counted'])} encode"] * bool(facts["not_counted"])
    return interval_text(facts) + (f"; not counted: {' and '.join(others)}" if others else "")


def hours_facts(hours: Interval | None) -> dict[str, Any]:
    """Return hours and their interval as plain data; None where a size or a speed is not known."""
    return {"hours": hours and hours.expected, "hours_interval": hours and [hours.low, hours.high]}


def interval_text(facts: Mapping[str, Any]) -> str:
    """Return hours with their interval as text."""
    if facts["hours"] is None:
        return "? h (the size of an encoder is not known)"
    low, high = (hours_text(bound) for bound in facts["hours_interval"])
    return f"{hours_text(facts['hours'])} h ({low} to {high})"


def hours_text(hours: float | None) -> str:
    """Return estimated hours as text; a question mark where a size is not known."""
    return "?" if hours is None else f"{hours:.2f}" if hours < 10 else f"{hours:,.0f}"


def validate_verb(parser: ArgumentParser) -> Action:
    """Check the config, all papers and all scales, and plan everything at every scale."""
    add_study_arguments(parser, "replicse validate")

    def action(arguments: Namespace) -> None:
        workflow = arguments.workflow
        values, file = chosen_config(arguments)
        config = checked_config(values, file)
        papers = load_papers(workflow, config.plugins)
        numbers_in_text(papers, load_datasets(workflow))
        scale_files = load_scales(workflow)
        check_configs(arguments, papers)
        scales = [
            with_additions(load_scale(path, scale_files), papers, config, file, scale_files)
            for path in scale_files.values()
        ]
        claims = study_claims(papers, papers)
        for scale in scales:
            check_parts(scale, papers, workflow)
        by_name = {key: tuple(paper.items) for key, paper in papers.items()}
        elsewhere: dict[str, list[str]] = {}
        for scale in scales:
            everything = Config(
                scale=scale.name,
                papers=by_name,
                seeds=(0,),
                adjudicate="all",
                corpora=config.corpora,
                sets=config.sets,
            )
            plan = compile_study(everything, workflow, file, papers=papers, as_far_as_possible=True)
            for item, error in plan.unplanned.items():
                elsewhere.setdefault(item, []).append(scale.name)
                if not isinstance(error, OfAnotherScale) or len(elsewhere[item]) == len(scales):
                    raise error
            if scale.comparable:
                problem = next(unchanged_variants(plan), None)
                if problem:
                    raise BadInput(problem)
        plan = chosen_plan(arguments)
        check_tables(plan.scale)
        counts = {
            "papers": len(papers),
            "items": sum(len(paper.items) for paper in papers.values()),
            "cells": sum(map(len, plan.cells.values())),
            "runs": len(plan.runs),
            "claims": len(claims),
        }
        totals = ", ".join(several(count, what.removesuffix("s")) for what, count in counts.items())
        told = [f"{item} has no encoder at {', '.join(names)}" for item, names in elsewhere.items()]
        lines = wrapped([f"ok: {totals}", *told, *remarks(plan)])
        answer(arguments.json, {"scale": plan.scale.name, **counts}, lines)

    return action


def check_configs(arguments: Namespace, papers: dict[str, Paper]) -> None:
    """Check the config as each of its files leaves it, so that a mistake names the file it is in."""
    files, settings = config_layers(arguments)
    for count, file in enumerate(files, 1):
        config = checked_config(
            read_config(files[:count], arguments.scale, arguments.seeds, settings), str(file)
        )
        chosen_scale(config, arguments.workflow, str(file))
        list(chosen_items(config, papers, str(file)))


def check_tables(scale: Scale) -> None:
    """Read the corpora and evaluation sets of your own that are there, so that no job is the first to refuse them."""
    from replicse.data.corpora import read_corpus
    from replicse.data.set_tables import check_set

    for corpus in scale.corpora.values():
        if isinstance(corpus, Table) and Path(corpus.file).exists():
            read_corpus(Path(), corpus)
    for name, one in scale.options.get("sets", {}).get("sets", {}).items():
        if Path(one["file"]).exists():
            check_set(name, EvaluationSet.of(one, name))


def unchanged_variants(plan: Study) -> Iterator[str]:
    """Yield a sentence for each protocol that changes nothing in a row: its runs are those of the text."""
    for item, cells in plan.cells.items():
        described = {cell.key: cell for cell in cells if cell.protocol == AS_DESCRIBED}
        paper = plan.papers[plan.items[item].paper]
        for protocol in paper.protocols:
            variants = [cell for cell in cells if cell.protocol == protocol.id and cell.jobs]
            for row in dict.fromkeys(cell.row.id for cell in variants):
                same = [cell.jobs == described[cell.key].jobs for cell in variants if cell.row.id == row]
                if all(same):
                    file = paper.folder / "protocols.yaml"
                    where = f"row {row} of {item} at scale {plan.scale.name}"
                    yield f"{file}: {protocol.id} changes nothing in {where}; fix its change or its cells"


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that fit the terminal, the rest of each indented below it; a line that is a command stays one."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())] + "    "
        yield from (
            textwrap.wrap(
                line, room(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            if len(line) > room() and not line.lstrip().startswith("replicse ")
            else [line]
        )


def shortened(line: str, width: int) -> str:
    """Return a line that fits a terminal."""
    return line if len(line) <= width else f"{line[: width - 3]}..."
