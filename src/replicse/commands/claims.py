"""The verb on claims: what the numbers say of the sentences that the papers state as results."""

import json
import logging
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from replicse.commands import Action
from replicse.commands.study import add_study_arguments, chosen_plan
from replicse.study.judge.claims import claim_rows, write_claims
from replicse.study.results.tabulate import Evaluations

LOG = logging.getLogger(__name__)
WIDTH = 110


def claims_verb(parser: ArgumentParser) -> Action:
    """Judge every claim in print, in the reproduction study's numbers and in ours."""
    add_study_arguments(parser, "replicse claims --scale compact")
    parser.add_argument("--out", type=Path, help="write the claims as CSV instead of printing them")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        rows = claim_rows(plan, Evaluations(plan.paths))
        if arguments.out:
            write_claims(rows, arguments.out)
            LOG.info("claims=%d out=%s", len(rows), arguments.out)
        if arguments.json:
            print(json.dumps({"scale": plan.scale.name, "claims": rows}, indent=1, ensure_ascii=False))
        elif not arguments.out:
            print(f"scale {plan.scale.name}")
            print("\n".join(claim_lines(rows)))

    return action


def claim_lines(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield an aligned page: a line of outcomes per claim, and below it the sentence and its place."""
    width = max((len(row["claim"]) for row in rows), default=0) + 2
    yield f"{'claim':<{width}}{'in print':<15}{'reproduction':<15}{'ours':<16}probability"
    for row in rows:
        outcomes = f"{row['reported']:<15}{row['reproduction'] or '-':<15}{row['ours']:<16}"
        probability = f"{float(row['probability']):.2f}" if row["probability"] else ""
        yield f"{row['claim']:<{width}}{outcomes}{probability}".rstrip()
        yield textwrap.fill(
            f"{row['text']} ({row['place']})", WIDTH, initial_indent="  ", subsequent_indent="  "
        )
