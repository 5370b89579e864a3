"""The verb that lists items, runs and evaluations of a study, and what they cost."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from replicse.cli.answers import answer, room, wrapped
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.compile.cost import duration_text
from replicse.compile.needs import amounts_text
from replicse.compile.remarks import remarks
from replicse.compile.summary import ItemSummary, Summary, summary_of
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
    study = chosen_study(arguments)
    summary = summary_of(study, arguments.device)
    detectable = detectable_differences(study)
    items = [
        {
            "item": each.item.id,
            "cells": each.cells,
            **each.training.plain("runs"),
            "searched": each.searched,
            "evaluations": each.evaluations,
            "gap_told": detectable.get(each.item.id),
            "title": each.item.title,
        }
        for each in summary.items
    ]
    lines = wrapped(summary_lines(summary, detectable, room()))
    units = {"hours": "hours", "download_bytes": "bytes", "disk_bytes": "bytes"}
    answer(arguments.json, {**summary.plain(), "items": items}, lines, **units)


def summary_lines(summary: Summary, detectable: Mapping[str, float], width: int) -> Iterator[str]:
    """Yield the items of a study in the order of their cost, and what all of it takes."""
    study, items = summary.study, summary.items
    yield f"scale {study.scale.name}: {study.scale.title}; seeds {', '.join(map(str, study.seeds))}"
    yield from columns(_table(items, detectable), numbers=(1, 2, 3, 4, 5), width=width)
    if len(detectable) == 1:
        ((item, points),) = detectable.items()
        yield f"{item}: {detects(len(study.seeds), f'{points:.1f} points')}"
    elif detectable:
        difference = detects(len(study.seeds), "so many points")
        yield f"detects: {difference}, at the median of the cells of known spread"
    if study.left_out:
        yield f"left out: {', '.join(study.left_out)}: {study.left_out_text}"
    asked = sum(each.training.count for each in items)
    encoders = several(len(study.encoders), "encoder")
    yield (
        f"{several(len(items), 'item')} with {several(asked, 'run')}, {len(study.runs):,} distinct, on"
        f" {several(len(study.stores), 'tokenised column')}, evaluated as {encoders}"
    )
    yield "what it takes, the cheapest first:"
    if summary.released.count:
        yield (
            f"  released: {several(summary.released.count, 'encoder')} as others released them, no training:"
            f" {summary.released.text} (replicse run released --scale {study.scale.name})"
        )
    single, searches = summary.not_searched, summary.searched
    yield f"  training without searches: {several(single.count, 'run')}, {single.text}"
    if searches.count:
        yield f"  searches: {several(searches.count, 'run')} more, {searches.text}"
    if study.source != "embedded":
        yield f"  encoding STS and transfer sentences for {encoders}: {summary.evaluation.text}"
    yield f"  {origin(summary)}"
    if summary.needs:
        fetch = f"replicse fetch --scale {study.scale.name} --dry-run lists it"
        yield f"{amounts_text(summary.needs)} ({fetch})"
    yield from remarks(study)


def _table(
    items: tuple[ItemSummary, ...], detectable: Mapping[str, float]
) -> Iterator[str | tuple[str, ...]]:
    """Yield a line for each item, the cheapest first, below a heading for each kind."""
    ordered = sorted(items, key=lambda each: each.training.expected or 0)
    parts = {
        "without training": [each for each in ordered if not each.training.count],
        "trained": [each for each in ordered if each.training.count and not each.searched],
        "searches over hyper-parameters": [each for each in ordered if each.searched],
    }
    yield ("item", "cells", "runs", "time", "eval", "detects", "title")
    for heading, rows in parts.items():
        yield from [f"{heading}:"] if rows else []
        for each in rows:
            points = f"{detectable[each.item.id]:.1f}" if each.item.id in detectable else ""
            time = duration_text(each.training.expected).replace(" ", "")
            numbers = (str(each.cells), str(each.training.count), time, str(each.evaluations), points)
            yield (each.item.id, *numbers, each.item.title)


def origin(summary: Summary) -> str:
    """Return where the times of a study come from."""
    speed = summary.speed
    if speed.when:
        return f"times are as measured on {speed.device}, {speed.when}"
    return (
        f"times are an estimate for {speed.device}, good to a factor of two; replicse benchmark --scale"
        f" {summary.study.scale.name} measures this machine"
    )
