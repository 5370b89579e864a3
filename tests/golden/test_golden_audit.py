"""The audit's rules on two small papers (audit.yaml), as text.

Each case changes some published numbers and shows the findings.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from planned import WORKFLOW

from replicse.compile.compiler import compile_study
from replicse.judge.audit.audit_papers import audit
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_papers
from replicse.spec.printed import Reported

AUDITED = Path(__file__).with_name("audited")
CASES = yaml.safe_load(Path(__file__).with_name("audit.yaml").read_text(encoding="utf-8"))
AS_AUDITED = {"scale": "paper", "papers": "all", "seeds": [0], "precision": "fp32"}


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Load two papers without a mistake: `made` and `other`."""
    workflow = shutil.copytree(AUDITED, tmp_path_factory.mktemp("audited"), dirs_exist_ok=True)
    (workflow / "scales").symlink_to(WORKFLOW / "scales")
    shutil.copy(WORKFLOW / "datasets.yaml", workflow)
    return workflow, load_papers(workflow)


def findings_where(papers, changes, **fields):
    """Return the findings as text if paper `made` has other numbers.

    Args:
        papers: The workflow folder and the loaded papers.
        changes: Dict from "item/row/column" to a new number, or to a dict of changed fields.
        fields: Changed fields of the paper; `said` is a dict of additional reported numbers.
    """
    workflow, loaded = papers
    made = loaded["made"]
    reported = dict(made.reported)
    for key in reported:
        told = changes.get(f"{key.item_name}/{key.row}/{key.column}", {})
        update = told if isinstance(told, dict) else {"value": told}
        reported[key] = reported[key].model_copy(update=update)
    changed = replace(made, reported=reported | fields.pop("said", {}), **fields)
    plan = compile_study(AS_AUDITED, workflow, papers={**loaded, "made": changed}, as_far_as_possible=True)
    found = audit(plan)
    return "".join(
        f"  {one.rule}, {one.place}: {one.printed} is printed; {one.follows} follows ({one.certainty})\n"
        f"    {' '.join(one.cells)}\n    {one.note} {'; '.join(one.against)}".rstrip()
        + "\n"
        for one in found
    )


def test_what_the_tables_print(golden, papers):
    told = [f"{name}\n{findings_where(papers, changes)}" for name, changes in CASES["tables"].items()]
    golden("audit-tables.txt", "\n".join(told))


def test_what_the_running_text_says(golden, papers, tmp_path):
    told = []
    for formula, printed in map(dict.values, CASES["text"]):
        (tmp_path / "text.yaml").write_text(yaml.safe_dump([{"numbers": ["gain/avg"], "is": formula}]))
        gain = CellId("made/text", "gain", "avg", "spearman")
        said = {gain: Reported(value=printed, source="Section 4")}
        told.append(f"{formula}: {printed}\n{findings_where(papers, {}, said=said, folder=tmp_path)}")
    golden("audit-text.txt", "\n".join(told))
