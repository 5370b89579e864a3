"""Plans of the shipped papers, created once in a test run.

A test that changes a plan must create its own.
"""

import json
from functools import cache
from typing import Any

from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.compile.study import Study
from replicse.judge.audit.audit_papers import audit, audit_plan
from replicse.judge.report.judgements import Finding

WORKFLOW = ROOT / "workflow"


@cache
def _planned(config: str) -> Study:
    return compile_study(json.loads(config), WORKFLOW)


def shipped_plan(**config: Any) -> Study:
    """Return a config's plan, by default of seed 0 at scale micro.

    The same config returns the same object.
    """
    return _planned(json.dumps({"scale": "micro", "seeds": [0], **config}))


@cache
def shipped_audit() -> tuple[Study, list[Finding]]:
    """Return the plan for the audit of all shipped papers, and its findings."""
    plan = audit_plan(WORKFLOW)
    return plan, audit(plan)
