"""The verb that tells the story of one cell."""

import json
import textwrap
from argparse import ArgumentParser, Namespace

from replicse.commands import Action
from replicse.commands.study import add_study_arguments, chosen_plan
from replicse.study.judge.audit import audit, audit_plan
from replicse.study.judge.claims import claim_rows
from replicse.study.judge.story import cell_story, find_cell
from replicse.study.results.tabulate import Evaluations

WIDTH, HEADING = 116, 12


def why_verb(parser: ArgumentParser) -> Action:
    """Tell where one cell comes from: printed place, values per seed, verdict, variants, claims, audit, runs."""
    add_study_arguments(parser, "replicse why simcse/table3/p0.1/stsb-dev")
    parser.add_argument("cell", help="paper/item/row/column[/metric][@protocol]")

    def action(arguments: Namespace) -> None:
        plan = chosen_plan(arguments)
        cell = find_cell(plan, arguments.cell)
        evaluations = Evaluations(plan.paths)
        findings = audit(audit_plan(arguments.workflow))
        story = cell_story(plan, cell, evaluations, claim_rows(plan, evaluations), findings)
        if arguments.json:
            print(json.dumps(story, indent=1, ensure_ascii=False))
            return
        for heading, lines in story.items():
            print(told(heading, lines))

    return action


def told(heading: str, lines: list[str]) -> str:
    """Return lines behind their heading, wrapped and indented below it."""
    indent = " " * HEADING
    paragraphs = [
        textwrap.fill(line, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ") for line in lines
    ]
    return f"{heading:<{HEADING}}" + "\n".join(paragraphs)[HEADING:]
