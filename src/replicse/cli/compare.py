"""The verb `compare`: differences between two results folders."""

import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path

from replicse.cli.answers import add_all_argument, on_a_screen, print_block, print_json, room
from replicse.cli.results_table import FORMATS, differing_data, results_table
from replicse.errors import BadInput
from replicse.judge.values.compare import Comparison, compare
from replicse.judge.values.folder import study_folder
from replicse.judge.values.result_differences import (
    NUMERICS,
    ComparedScore,
    Differences,
    Pair,
    compare_results,
)
from replicse.judge.values.result_files import read_results
from replicse.judge.values.result_scores import AVERAGED
from replicse.printable import columns, several, some
from replicse.registry.suites import unit_of
from replicse.spec.config import use_all_plugins

NUMBERS, INTERVAL = 42, 18  # width of the numbers, and of the interval, in characters
LISTED = ("beyond spread", "no spread", "missing", "within spread")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = (
        "example:\n  replicse compare compact results/compact\n  replicse compare mteb/MODEL_A mteb/MODEL_B\n"
        "  replicse compare a.json b.json c.json --format latex"
    )
    parser.add_argument("a", help="a results folder, a committed study, or a file of another tool")
    parser.add_argument(
        "b", nargs="+", help="the results to compare with; if there are several, one table is printed"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="print one table of the scores in this format; the best score is bold",
    )
    add_all_argument(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: Namespace) -> None:
    """Compare results of two studies, or files of other evaluation tools."""
    places = [arguments.a, *arguments.b]
    if len(places) > 2 or arguments.format:
        print_table(places, arguments.format or "text")
        return
    if not any(map(_of_a_study, places)):
        compare_others(arguments, *places)
        return
    a, b = map(study_folder, places)
    comparison = compare(a, b)
    if arguments.json:
        use_all_plugins()
        cells = [{**cell, "unit": unit_of(cell["metric"])} for cell in comparison.plain()["cells"]]
        print_json({**comparison.plain(), "cells": cells}, spreads="standard deviations")
    else:
        rows = ([line] for line in cell_lines(comparison))
        print("\n".join(on_a_screen(arguments, comparison_lines(comparison, a, b), rows, "line")))


def _of_a_study(name: str) -> bool:
    """Return whether a name is the folder of a study or a committed study."""
    return Path(name, "items").is_dir() or (Path(name).name == name and not Path(name).exists())


def print_table(places: Sequence[str], form: str) -> None:
    """Print one table of the scores of several results.

    Args:
        places: the files or folders.
        form: the format of the table.

    Raises:
        BadInput: if a place is the folder of a study.
    """
    for place in places:
        if _of_a_study(place):
            raise BadInput(f"{place}: is a study; compare two studies without --format")
    results = [read_results(Path(place)) for place in places]
    print(results_table(results, form))
    for line in differing_data(results):
        print(line, file=sys.stderr)


def comparison_lines(comparison: Comparison, a: Path, b: Path) -> Iterator[str]:
    """Yield machines, the number of cells by state, and different runs.

    Args:
        comparison: the comparison of two studies.
        a: the first folder.
        b: the second folder.
    """
    for name, folder, machines in (("A", a, comparison.machines_a), ("B", b, comparison.machines_b)):
        mixed = f", mixed: {len(machines)} machines" if len(machines) > 1 else ""
        yield f"{name} is {folder}{mixed}"
        for machine in machines or ("the machine is not recorded",):
            yield f"  {machine}"
    packages_a, packages_b = set(comparison.packages_a), set(comparison.packages_b)
    if packages_a and packages_b and packages_a != packages_b:
        yield "different versions of the package: some differences may come from the code, not the machine"
    counts = ", ".join(f"{count} {state}" for state, count in comparison.counts.items() if count)
    yield f"{several(len(comparison.cells), 'cell')} in both: {counts}"
    yield "spread: standard deviation over seeds within A and B; *: published"
    if comparison.only_a or comparison.only_b or comparison.other_runs:
        yield (
            f"{comparison.only_a} only in A, {comparison.only_b} only in B,"
            f" {len(comparison.other_runs)} with other runs in B"
        )
    names = f": {some(comparison.different)}" if comparison.different else ""
    yield (
        f"{several(comparison.runs, 'run')} in both, {len(comparison.different)} with different numbers{names}"
    )
    for name, runs in (("A", comparison.runs_only_a), ("B", comparison.runs_only_b)):
        if runs:
            yield f"{several(len(runs), 'run')} only in {name}: {some(runs)}"


def cell_lines(comparison: Comparison) -> Iterator[str]:
    """Yield a heading and the cells with differences beyond rounding.

    Cells with differences beyond the spread come first.
    """
    listed = [cell for cell in comparison.cells if cell.state in LISTED]
    listed.sort(key=lambda cell: (LISTED.index(cell.state), -abs(cell.spreads or 0)))
    if not listed:
        return
    rows = [("cell", "A", "B", "B - A", "spreads", "state")]
    for cell in listed:
        spreads = ""
        if cell.spreads is not None:
            spreads = f"{cell.spreads:+.1f}{'*' * cell.borrowed}"
        numbers = (_text(cell.a), _text(cell.b), _text(cell.difference, "+"), spreads)
        rows.append((cell.cell, *numbers, f"{cell.state}, {cell.metric}"))
    yield from columns(rows, numbers=(1, 2, 3, 4))


def _text(number: float | None, sign: str = "") -> str:
    """Format a number with two decimals, or with four digits if it is below 1.

    By default, only negative numbers have a sign.
    """
    if number is None:
        return ""
    return f"{number:{sign}.4g}" if abs(number) < 1 else f"{number:{sign}.2f}"


def compare_others(arguments: Namespace, a: str, b: str, markdown: bool = False) -> None:
    """Print scores, different inputs and settings of two results files.

    Args:
        arguments: the parsed arguments.
        a: a file or folder of another evaluation tool.
        b: the file or folder to compare with.
        markdown: whether to print a Markdown code block. Default: False.
    """
    found = compare_results(read_results(Path(a)), read_results(Path(b)))
    if arguments.json:
        print_json({**asdict(found), "numerics": NUMERICS})
        return
    heading, *rows = score_rows(found.scores)
    parts = chain(rows, ([line] for line in other_lines(found)))
    print_block(on_a_screen(arguments, [*difference_lines(found), *heading], parts, "line"), markdown)


def score_rows(scores: Mapping[str, ComparedScore]) -> Iterator[list[str]]:
    """Yield the lines of the heading and of each score.

    Different scores come first. A long name is on a separate line.

    Args:
        scores: a dict from metric path to the compared score.
    """
    order: dict[str, int] = {"beyond numerics": 0, "within numerics": 1, "equal": 1, "another dataset": 2}
    has_intervals = any(score.low is not None for score in scores.values())
    interval = ["95% interval"] if has_intervals else []
    space = room() - NUMBERS - INTERVAL * has_intervals
    rows: list[list[Sequence[str] | str]] = [[("score", "A", "B", "B - A", *interval, "difference")]]
    for name, score in sorted(scores.items(), key=lambda each: order[each[1].standing]):
        difference = "" if score.difference is None else f"{score.difference:+.2f}"
        if has_intervals:
            interval = ["" if score.low is None else f"{score.low:+.2f} to {score.high:+.2f}"]
        numbers = (f"{score.a:.2f}", f"{score.b:.2f}", difference, *interval, score.standing)
        if len(name) <= space:
            rows.append([(name, *numbers)])
        else:
            rows.append([name, ("", *numbers)])
    lines = columns(chain.from_iterable(rows), numbers=(1, 2, 3, 4) if has_intervals else (1, 2, 3))
    for row in rows:
        yield list(islice(lines, len(row)))


def difference_lines(found: Differences) -> Iterator[str]:
    """Yield the number of different scores, and different inputs."""
    yield f"A is {found.a}, B is {found.b}"
    standings = [score.standing for name, score in found.scores.items() if name not in AVERAGED]
    other = standings.count("another dataset")
    if len(standings) > other:
        yield (
            f"{standings.count('beyond numerics')} of {len(standings) - other} scores differ by more than"
            f" {NUMERICS:.2f}, the difference that half precision or another batch size can cause."
        )
    if any(score.low is not None for score in found.scores.values()):
        yield (
            "95% interval: paired bootstrap over sentence pairs; if it does not include 0, other pairs would hardly"
            " change the order of A and B"
        )
    if other:
        yield f"{several(other, 'score')} computed on different datasets in A and B, so not compared:"
    facts = {}
    for name, pairs in found.data.items():
        for fact, pair in pairs.items():
            facts[f"{name}: {fact}"] = pair
    for line in pair_lines(facts):
        yield f"  {line}"
    yield from pair_lines(found.inputs)


def other_lines(found: Differences) -> Iterator[str]:
    """Yield scores of only one result, unread files, different settings."""
    for name, only, remarks in (("A", found.only_a, found.remarks_a), ("B", found.only_b, found.remarks_b)):
        if only:
            yield f"Only in {name}: {some(only)}"
        for remark in remarks:
            yield f"{name}: {remark}"
    yield from pair_lines(found.settings)


def pair_lines(pairs: Mapping[str, Pair]) -> Iterator[str]:
    """Yield values in A and B; names with the same values share a line.

    Args:
        pairs: a dict from name to the values in A and B.
    """
    names = defaultdict(list)
    for name, pair in pairs.items():
        names[f"{pair.a} in A, {pair.b} in B"].append(name)
    for values, same in names.items():
        yield f"{some(same)}: {values}"
