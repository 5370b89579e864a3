"""The verb that tests what the papers state, on their numbers and on ours."""

import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from replicse.cli.answers import answer, room
from replicse.cli.arguments import add_study_arguments
from replicse.cli.selected_study import selected_study
from replicse.errors import check_known
from replicse.judge.claims import cells_read, judged_claims, study_claims
from replicse.judge.judgements import JudgedClaim
from replicse.judge.study import results_of
from replicse.show.pages.claims import FOR_OR_AGAINST, contradicted, probability_text


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse claims simcse --scale compact")
    parser.add_argument("name", nargs="?", help="a paper or a claim paper/claim; default: all papers")


def run(arguments: Namespace) -> None:
    """Judge every claim in print, in the reproduction study's numbers and in ours."""
    shown = selected_study(arguments)
    plan = shown.plan
    claims = study_claims(plan.papers, plan.studied)
    if (name := arguments.name) is not None:
        known = [*plan.studied, *(claim.name for claim in claims)]
        check_known(name, known, f'no paper or claim "{name}" in this study')
        claims = [claim for claim in claims if name in (claim.paper, claim.name)]
    shown.announce(arguments.json)
    read = cells_read(claims, plan.papers)
    results = results_of({cell.item for cell in read}, shown.measurements, read)
    rows = list(judged_claims(plan, claims, results))
    document = {"scale": plan.scale.name, "study": shown.folder, "claims": [row.facts() for row in rows]}
    lines = claim_lines(rows, room()) if rows else [f"{name or 'the study'} states no claim"]
    lines = [f"scale {plan.scale.name}", *lines]
    answer(arguments.json, document, lines, probability="1", n_seeds="count")


def claim_lines(rows: Sequence[JudgedClaim], room: int) -> Iterator[str]:
    """Yield each claim with its outcomes, and below them the sentence and its place."""
    for row in rows:
        ours = f"{row.ours} ({row.cells_run} cells)" if row.ours in FOR_OR_AGAINST else row.ours
        holds = probability_text(row.probability)
        chance = f"; P {holds}" if holds.startswith(("<", ">")) else f"; P = {holds}" if holds else ""
        yield row.claim
        print_and_rerun = f"paper's numbers: {row.reported}; reproduction: {row.reproduction or '-'}"
        yield f"  {print_and_rerun}; our runs: {ours}{chance}"
        for text in (f"{row.text} ({row.place})", row.remark, *contradicted(row, rows)):
            yield from textwrap.wrap(text, room, initial_indent="  ", subsequent_indent="  ")
