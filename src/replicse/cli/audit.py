"""The verb `audit`: check published numbers against each other."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from replicse.cli.answers import SCREEN, add_all_argument, answer, on_a_screen, room, shortened
from replicse.cli.arguments import add_study_argument, add_workflow_argument, study_file
from replicse.judge.audit.audit_papers import audit, audit_plan, findings_on, findings_on_items
from replicse.judge.report.judgements import Finding
from replicse.printable import several
from replicse.show.content.audited import audit_parts, audit_text
from replicse.spec.config import SHIPPED, checked_config, read_config


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = "example:\n  replicse audit repro/table4"
    parser.add_argument("name", nargs="?", help="a paper or paper/item; default: all papers")
    add_all_argument(parser)
    add_study_argument(parser)
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: Namespace) -> None:
    """Check published numbers against each other and against the datasets.

    Args:
        arguments: the parsed arguments; `name` is a paper or paper/item. Default: all papers.
    """
    file = study_file(arguments.study) if arguments.study else SHIPPED
    there = arguments.study or file.is_file()
    config = checked_config(read_config([file]), str(file)) if there else None
    plan = audit_plan(arguments.workflow, study=config)
    findings = audit(plan)
    if arguments.study and config:
        items = [item for item in plan.items if config.holds(item)]
        findings = findings_on_items(findings, items)
    if arguments.name:
        findings = findings_on(findings, arguments.name, plan)
    document = {"findings": [asdict(one) for one in findings]}
    answer(arguments.json, document, audit_lines(findings, arguments))


def audit_lines(findings: Sequence[Finding], arguments: Namespace) -> Iterator[str]:
    """Yield the number of findings, then the findings.

    If the full text does not fit on a screen, each finding is shortened to one line.

    Args:
        findings: the findings; certain ones are shown first.
        arguments: the parsed arguments.
    """
    whole = audit_text(findings, room()).splitlines()
    if arguments.all or len(whole) <= SCREEN:
        return iter(whole)
    counts = []
    certain = 0
    for paper, rows in audit_parts(findings).items():
        certain_of_paper = sum(row.is_certain for row in rows)
        certain += certain_of_paper
        counts.append(f"{paper} {certain_of_paper} of {len(rows)}")
    head = [
        f"{several(len(findings), 'finding')}, {certain} certain: rounding cannot explain them",
        f"certain: {', '.join(counts)}",
    ]
    ordered = sorted(findings, key=lambda row: not row.is_certain)
    parts = ([shortened(_finding_line(row), room())] for row in ordered)
    return on_a_screen(arguments, head, parts, "finding", short=True)


def _finding_line(row: Finding) -> str:
    """Format a finding in one line."""
    symbol = "✗" if row.is_certain else "?"
    return f"{symbol} {row.paper}, {row.place}: {row.printed}; follows {row.follows}"
