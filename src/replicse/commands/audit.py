"""The verb `audit`: the arithmetic of the printed numbers, without any run."""

import json
import logging
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from replicse.commands import Action
from replicse.commands.study import add_workflow_argument
from replicse.study.judge.audit import audit, audit_plan, chosen, write_audit

log = logging.getLogger(__name__)


def audit_verb(parser: ArgumentParser) -> Action:
    """Check the papers' printed numbers against each other and against the data sets."""
    parser.epilog = "example:\n  replicse audit repro/table4"
    parser.add_argument("name", nargs="?", help="a paper or an item paper/item; default: all papers")
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--out", type=Path, help="write a CSV instead of printing")

    def action(arguments: Namespace) -> None:
        plan = audit_plan(arguments.workflow)
        findings = audit(plan)
        if arguments.name:
            findings = chosen(findings, arguments.name, plan)
        if arguments.out:
            write_audit(findings, arguments.out)
            log.info("wrote=%s findings=%d", arguments.out, len(findings))
        if arguments.json:
            print(json.dumps([asdict(one) for one in findings], indent=1, ensure_ascii=False))
        elif not arguments.out:
            from replicse.report.pages.audit import audit_text

            print(audit_text(findings))

    return action
