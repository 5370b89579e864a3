"""Plans of the shipped papers, compiled once in a test run.

Tests must not change these plans; compile a separate plan to change it.
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
    """Return the plan of a config; the same config returns the same object.

    Args:
        config: Settings of the study. Default: scale micro, seed 0.
    """
    return _planned(json.dumps({"scale": "micro", "seeds": [0], **config}))


@cache
def shipped_audit() -> tuple[Study, list[Finding]]:
    """Return the plan for the audit of all shipped papers, and the findings."""
    plan = audit_plan(WORKFLOW)
    return plan, audit(plan)
