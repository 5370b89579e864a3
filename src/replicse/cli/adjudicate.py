"""The verb `adjudicate`: find the protocol difference behind a gap."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.cli.answers import (
    add_all_argument,
    coloured,
    on_a_screen,
    print_json,
    room,
    shortened,
)
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_items, selected_study
from replicse.compile.cache import load_or_compile
from replicse.compile.job_states import JobStates
from replicse.compile.study import Study
from replicse.compile.study_record import describe_study
from replicse.judge.adjudication.adjudicate import adjudicate, items_with_variants
from replicse.judge.report.build_report import report
from replicse.judge.report.judge_study import results_of
from replicse.judge.report.judgements import Explained, Judgements
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.table import ItemResult
from replicse.printable import several
from replicse.registry.suites import unit_of
from replicse.show.content.numbers import effect_text, finest_rounding, signed
from replicse.spec.cell_id import CellId
from replicse.spec.printed import parse_number


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse adjudicate repro/table4")
    parser.add_argument("item", nargs="?", help="a paper or paper/item; default: adjudicate of the config")
    add_all_argument(parser)


def run(arguments: Namespace) -> None:
    """Print how much of a gap each protocol variant explains.

    Args:
        arguments: the parsed arguments; `item` is a paper or paper/item, or None for all items of the config.
    """
    named: list[str] = []
    if arguments.item is not None:
        shown, named = selected_items(arguments, arguments.item)
    else:
        shown = selected_study(arguments)
    shown.announce(arguments.json)
    plan, measurements = shown.plan, shown.measurements
    committed = measurements.paths.kept
    if named and not committed:
        config = plan.config.model_copy(update={"adjudicate": tuple(named)})
        plan = load_or_compile(config, plan.workflow, only=named[0] if len(named) == 1 else "")
        measurements = Measurements(plan, JobStates(plan))
    items = [item for item in items_with_variants(plan) if not named or item in named]
    results: dict[str, ItemResult] = {}
    rows: list[Explained] = []
    for result in results_of(items, measurements):
        results[result.item] = result
        rows += adjudicate(plan.papers, result)
    if arguments.json:
        variants = [variant_facts(row, plan) for row in rows]
        document = {"scale": plan.scale.name, "study": shown.folder, "variants": variants}
        print_json(document, share="1", n_seeds="count")
        return
    if not rows:
        place = f"that was run in {shown.folder}" if committed else f"in {protocol_files(named, plan)}"
        print(f"cannot find a variant of {arguments.item or 'an item'} {place}")
        return
    from replicse.show.formats.terminal import page_text
    from replicse.show.pages.adjudication import adjudication_page, headline

    absent = []
    for name in results:
        files_of_item = plan.evaluation_files(plan.items[name])
        if not committed and not all(Path(file).exists() for file in files_of_item):
            absent.append(name)
    judged = report(describe_study(plan), list(results.values()), Judgements(adjudication=tuple(rows)))
    page = adjudication_page(judged)
    if arguments.all and page:
        print(page_text(page, room(), coloured()))
        print("\n".join(f"incomplete: {run_text(name)}" for name in absent))
        return
    ran = sum(row.effect is not None for row in rows)
    cells = by_cell(chain.from_iterable(part.shown for part in judged.adjudication))
    head = [
        f"scale {plan.scale.name}: {several(len(results), 'item')}, {ran} of {several(len(rows), 'variant')} run",
        headline(judged),
    ]
    if absent:
        head += [f"incomplete: {several(len(absent), 'item')}; to run the first:", run_text(absent[0])]
    parts = (cell_lines(cell, results[cell[0].item]) for cell in cells)
    print("\n".join(on_a_screen(arguments, filter(None, head), parts, "cell", short=True)))


def protocol_files(items: Sequence[str], plan: Study) -> str:
    """Return the protocols.yaml files of the papers of some items.

    Args:
        items: names of items; if empty, all items of the study.
        plan: the study.
    """
    files: dict[str, None] = {}
    for item in items or plan.items:
        paper = plan.papers[item.partition("/")[0]]
        files[str(paper.folder / "protocols.yaml")] = None
    return " or ".join(files)


def run_text(item: str) -> str:
    """Return the command to run an item with all protocol variants."""
    return f"replicse run {item} --config 'adjudicate=[{item}]'"


def by_cell(rows: Iterable[Explained]) -> list[list[Explained]]:
    """Group variants by cell, best explanations first.

    Args:
        rows: the variants of all cells.

    Returns:
        A list of the variants of each cell. Cells and the variants of a cell are sorted by `explained_first`.
    """
    cells: dict[CellId, list[Explained]] = {}
    for row in rows:
        cells.setdefault(row.cell, []).append(row)
    for variants in cells.values():
        variants.sort(key=explained_first)
    return sorted(cells.values(), key=lambda variants: explained_first(variants[0]))


def explained_first(row: Explained) -> tuple[object, ...]:
    """Return a sort key for variants: outcome, share, gap and effect.

    Variants with an explanation come first; larger absolute values come before smaller ones.
    """
    outcomes = ["explains", "in part", "undetermined", "no"]
    rank = outcomes.index(row.outcome) if row.outcome in outcomes else len(outcomes)
    return rank, row.effect is None, -abs(row.share or 0.0), -abs(row.gap or 0.0), -abs(row.effect or 0.0)


def cell_lines(cell: Sequence[Explained], item: ItemResult) -> list[str]:
    """Format a cell's gap and the strongest variant in two lines.

    Args:
        cell: the variants of the cell, strongest first.
        item: the result of the item that contains the cell.

    Returns:
        Two lines, shortened to the width of the terminal.
    """
    first, *others = cell
    signed_text = partial(signed, rounding=finest_rounding((first.reported, first.reported_other)))
    against = f"{first.reported_other} in {first.other_paper}" if first.other else "ours as described"
    gap = "gap unknown" if first.gap is None else f"gap {signed_text(first.gap)}"
    has_metrics = [column.id for column in item.columns].count(first.column) > 1
    name = str(first.cell) if has_metrics else first.cell.short
    parts = [effect_text(first.paired, signed_text) if first.paired else "not run"]
    if first.share is not None:
        parts.append(f"{first.share:.0%} of the gap")
    parts.append(first.note or first.outcome)
    variant = f"  {item.variants.get(first.protocol, first.protocol)}: {', '.join(filter(None, parts))}"
    if others:
        variant += f"; {several(len(others), 'other variant')}"
    heading = f"{name}: {gap} ({first.reported or 'not printed'} in {item.paper}, {against})"
    return [shortened(heading, room()), shortened(variant, room())]


def variant_facts(row: Explained, plan: Study) -> dict[str, Any]:
    """Return a variant as plain data, with numbers as floats."""
    printed = {"reported": _value(row.reported), "reported_other": _value(row.reported_other)}
    column = next(each for each in plan.items[row.item].columns if each.id == row.column)
    return {**asdict(row), **printed, "unit": unit_of(column.metric_path)}


def _value(printed: str) -> float | None:
    number = parse_number(printed)
    return number.value if number else None
