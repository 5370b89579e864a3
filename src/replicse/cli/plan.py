"""The verb that lists items, runs and evaluations of a study, and what they cost."""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from replicse.cli.answers import answer, room, wrapped
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.compile.cost import Cost, Interval
from replicse.compile.needs import Need, amounts, amounts_text, needs
from replicse.compile.remarks import remarks
from replicse.compile.study import Study
from replicse.judge.evidence import detectable_differences, detects
from replicse.printable import columns, several


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse plan --scale paper --seeds 5")
    parser.epilog = f"{parser.epilog}\n  replicse plan --scale paper simcse/table5 diffcse --device 3090"
    add_items_argument(parser)
    parser.add_argument("--device", default="", help="a measured or published device, by a part of its name")


def run(arguments: Namespace) -> None:
    """List items with their cells, runs and evaluations, the cheapest first, and what all of it costs."""
    plan = chosen_study(arguments)
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
