"""The verb that checks the papers' printed numbers against each other and against the data sets."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from replicse.cli.answers import answer, room
from replicse.cli.arguments import add_study_argument, add_workflow_argument, study_file
from replicse.judge.audit import audit, audit_plan, findings_on, of_items
from replicse.show.pages.audit import audit_text
from replicse.spec.config import SHIPPED, checked_config, read_config
from replicse.spec.papers import load_papers


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = "example:\n  replicse audit repro/table4"
    parser.add_argument("name", nargs="?", help="a paper or an item paper/item; default: all papers")
    add_study_argument(parser)
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(arguments: Namespace) -> None:
    """Check the papers' printed numbers against each other and against the data sets."""
    file = study_file(arguments.study) if arguments.study else SHIPPED
    there = arguments.study or file.is_file()
    config = checked_config(read_config([file]), str(file)) if there else None
    papers = load_papers(arguments.workflow, config.plugins if config else ())
    plan = audit_plan(papers, arguments.workflow, study=config)
    findings = audit(plan)
    if arguments.study and config:
        items = [item for item in plan.items if config.holds(item)]
        findings = of_items(findings, items)
    if arguments.name:
        findings = findings_on(findings, arguments.name, plan)
    document = {"findings": [asdict(one) for one in findings]}
    answer(arguments.json, document, [audit_text(findings, room())])
