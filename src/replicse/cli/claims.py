"""The verb `claims`: test the papers' claims on their numbers and on ours."""

import textwrap
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from replicse.cli.answers import add_all_argument, answer, on_a_screen, room, shortened
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_study
from replicse.errors import check_known
from replicse.judge.claims.judge_claims import cells_read, judge_claims, study_claims
from replicse.judge.report.judge_study import claim_numbers, results_of
from replicse.judge.report.judgements import JudgedClaim
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.judge.verdicts.table import ItemResult
from replicse.printable import several
from replicse.show.content.outcomes import FOR_OR_AGAINST, SYMBOLS, contradicted, marked, probability_text
from replicse.spec.counterparts import counterparts

FEW_CLAIMS = 3  # maximum number of claims to show in full by default
FEW_CELLS = 6  # maximum number of cells to list for a claim


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse claims simcse --scale compact")
    parser.add_argument("name", nargs="?", help="a paper or paper/claim; default: all papers")
    add_all_argument(parser)


def run(arguments: Namespace) -> None:
    """Judge each claim by printed numbers, a reproduction's and ours.

    Args:
        arguments: the parsed arguments; `name` is a paper or paper/claim. Default: all papers.
    """
    shown = selected_study(arguments)
    plan = shown.plan
    claims = study_claims(plan.names, plan.studied)
    if (name := arguments.name) is not None:
        known = [*plan.studied, *(claim.name for claim in claims)]
        check_known(name, known, f'the study does not contain a paper or claim "{name}"')
        claims = [claim for claim in claims if name in (claim.paper, claim.name)]
    shown.announce(arguments.json)
    read = cells_read(claims, plan.names)
    results = results_of({cell.item for cell in read}, shown.measurements, read)
    rows = list(judge_claims(plan, claims, results, claim_numbers(shown.measurements)))
    document = {"scale": plan.scale.name, "study": shown.folder, "claims": [row.facts() for row in rows]}
    repeated = {}
    for cell, other in counterparts(plan.papers).items():
        repeated[other.paper] = plan.papers[cell.paper].about.cited
    source, runs, whose = f"scale {plan.scale.name}", "our runs", "ours"
    if isinstance(shown.measurements, RecordMeasurements):
        source, runs, whose = "the record", "others", "others"
    head = [f"{source}: {several(len(rows), 'claim')}", *count_lines(rows, repeated, runs)]
    whole = arguments.all or len(rows) <= FEW_CLAIMS
    numbers = cell_numbers(results, whose) if whole else {}
    parts = claim_lines(rows, repeated, whole, numbers)
    lines = on_a_screen(arguments, head, parts, "claim", short=not whole)
    answer(arguments.json, document, lines, probability="1", n_seeds="count")


def count_lines(
    rows: Sequence[JudgedClaim], repeated: Mapping[str, str], whose: str = "our runs"
) -> Iterator[str]:
    """Yield the number of claims by outcome, one line for each source.

    Sources are our runs, the papers' numbers, and the numbers of each reproducibility study.

    Args:
        rows: the judged claims; if empty, there are no lines.
        repeated: a dict from paper to the citation of a study that reproduced the paper.
        whose: a name for our runs. Default: "our runs".
    """
    views: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        views[whose][row.ours] += 1
        views["paper's numbers"][row.reported] += 1
    for row in rows:
        if row.reproduction:
            views[repeating(row, repeated)][row.reproduction] += 1
    for view, counts in views.items():
        counted = [f"{counts[outcome]} {outcome}" for outcome in SYMBOLS if counts[outcome]]
        yield f"{view}: {', '.join(counted)}"


def cell_numbers(results: Iterable[ItemResult], whose: str = "ours") -> dict[str, str]:
    """Format the printed and the reproduced number of each cell.

    Args:
        results: the results of the items.
        whose: who reproduced the numbers, "ours" or "others". Default: "ours".

    Returns:
        A dict from cell name to a string such as "82.5, ours 81.90". The keys are names with and without metric.
    """
    numbers: dict[str, str] = {}
    for result in results:
        for name, cell in result.described.items():
            printed = cell.reported.value if cell.reported else "not printed"
            number = "missing" if cell.reproduced is None else f"{cell.reproduced:.2f}"
            text = f"{printed}, {whose} {number}"
            numbers[str(name)] = text
            numbers.setdefault(name.short, text)
    return numbers


def claim_lines(
    rows: Sequence[JudgedClaim],
    repeated: Mapping[str, str],
    complete: bool,
    numbers: Mapping[str, str],
) -> Iterator[list[str]]:
    """Yield the lines of each claim.

    Args:
        rows: the judged claims, in the order of the papers.
        repeated: a dict from paper to the citation of a study that reproduced the paper.
        complete: whether to show outcomes, source, remarks and numbers of cells in the order of the papers. If false,
            each claim has two lines; claims that our runs decide come first, then claims that the printed numbers
            contradict.
        numbers: the dict of `cell_numbers`.
    """
    if complete:
        for row in rows:
            yield [*_whole(row, repeated, rows), *_cell_lines(row, numbers)]
        return
    for row in sorted(rows, key=_decided_first):
        heading = f"{_outcome(row)}; paper's numbers {row.reported}: {row.claim}"
        yield [shortened(heading, room()), shortened(f"  {row.text}", room())]


def _decided_first(row: JudgedClaim) -> int:
    """Return a sort key: decided by our runs, then contradicted, then others."""
    order = (*FOR_OR_AGAINST, "supported", "contradicted", "undetermined")
    if row.ours in order:
        return order.index(row.ours)
    return len(order) + (row.reported != "contradicted")


def _cell_lines(row: JudgedClaim, numbers: Mapping[str, str]) -> Iterator[str]:
    """Yield the reason of an outcome, numbers of cells, and a command."""
    if row.reason:
        yield from textwrap.wrap(row.reason, room(), initial_indent="  ", subsequent_indent="  ")
    known = [cell for cell in row.cells if cell in numbers]
    for cell in known[:FEW_CELLS]:
        yield f"  {cell}: {numbers[cell]}"
    if len(known) > FEW_CELLS:
        yield f"  {several(len(known) - FEW_CELLS, 'more cell')}: --json"
    if known:
        yield f"  replicse why {known[0]}"


def repeating(row: JudgedClaim, repeated: Mapping[str, str]) -> str:
    """Return the citation of the study of a claim's reproduction.

    Args:
        row: a judged claim with a reproduction.
        repeated: a dict from paper to citation.
    """
    papers = [cell.partition("/")[0] for cell in row.cells]
    return next(repeated[paper] for paper in papers if paper in repeated)


def _outcome(row: JudgedClaim) -> str:
    """Format the outcome of our runs with the probability, if known."""
    probability = probability_text(row.probability)
    if not probability:
        return marked(row.ours)
    sign = "" if probability.startswith(("<", ">")) else "= "
    return f"{marked(row.ours)}, P {sign}{probability}"


def _whole(row: JudgedClaim, repeated: Mapping[str, str], rows: Iterable[JudgedClaim]) -> Iterator[str]:
    """Yield the outcomes of a claim, then sentence, place and remarks."""
    cells = f" ({row.cells_run} cells)" if row.ours in FOR_OR_AGAINST else ""
    yield f"{_outcome(row)}{cells}: {row.claim}"
    outcomes = f"paper's numbers: {row.reported}"
    if row.reproduction:
        outcomes += f"; {repeating(row, repeated)}: {row.reproduction}"
    for text in (outcomes, f"{row.text} ({row.place})", row.remark, *contradicted(row, rows)):
        yield from textwrap.wrap(text, room(), initial_indent="  ", subsequent_indent="  ")
