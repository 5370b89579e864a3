"""The audit's rules on two small papers: the findings of each change of what they print, as text."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from planned import WORKFLOW

from replicse.compile.compiler import compile_study
from replicse.judge.audit import audit
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_papers
from replicse.spec.printed import Reported

AUDITED = Path(__file__).with_name("audited")
# What `made` prints instead, by item, row and column: a value, or further fields too. The mean of the seven is 74.857.
CHANGES = {
    "nothing": {},
    "an average that unrounded parts may have": {"main/first/avg": "74.85"},
    "an average above it": {"main/first/avg": "74.87"},
    "an average that no parts have": {"main/first/avg": "74.89"},
    "an average of one decimal": {"main/first/avg": "74.9"},
    "a wrong average of one decimal": {"main/first/avg": "74.8"},
    "an average without one of its parts": {"main/first/avg": "10.00", "main/first/STS14": "-"},
    "a derived number without one of its parts": {"parts/first/mean": "90.00", "parts/first/TREC": "-"},
    "differences": {"differences/first/STS12": "+1.3", "differences/first/avg": "-1.40"},
    "derived numbers": {"parts/first/mean": "90.00", "parts/first/share": "88.55"},
    "one number rounded in two ways": {"main/second/STS13": "76.54"},
    "one number printed as two": {"main/second/STS13": "76.55"},
    "one number with fewer decimals": {"main/second/STS13": "76.5"},
    "another number with fewer decimals": {"main/second/STS13": "76.6"},
    "aggregations of a single file": {"wmean/first/STS-B": "77.05"},
    "a quotation of a measurement": {
        "main/second/STS13": {"value": "70.00", "note": "quoted: Somebody (2020)"}
    },
    "a quoted row": {"main/quoted/STS13": "70.00"},
    "a percentage of a mean of runs": {"transfer/first/TREC": "87.01"},
    "a percentage that was cut off": {"transfer/first/recall": "89.6"},
    "a percentage of two runs": {"transfer/first/recall": "77.84"},
    "a percentage with a zero": {"transfer/first/recall": "77.30"},
}
# Numbers of the running text: what they speak of, and what is printed. 76.53 - 70.97 = 5.56.
SPOKEN = [
    ("{main/first/STS13} - {main/first/STS12}", "5.6"),
    ("{main/first/STS13} - {main/first/STS12}", "5.57"),
    ("{main/first/STS13} - {main/first/STS12}", "5.58"),
    ("{main/first/STS13} - {other/main/first/STS13}", "-3"),
    ("{data/sts/STS-B/test} / 64 * 3", "65"),
    ("{data/sts/STS-B/test} / 64 * 3", "22"),
]
AS_AUDITED = {"scale": "paper", "papers": "all", "seeds": [0], "precision": "fp32"}


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Two papers without a mistake; `made` prints differences to `other`."""
    workflow = shutil.copytree(AUDITED, tmp_path_factory.mktemp("audited"), dirs_exist_ok=True)
    (workflow / "scales").symlink_to(WORKFLOW / "scales")
    shutil.copy(WORKFLOW / "datasets.yaml", workflow)
    return workflow, load_papers(workflow)


def findings_where(papers, changes, **fields):
    """Return as text what is found where `made` prints other numbers, and has other fields."""
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
    told = [f"{name}\n{findings_where(papers, changes)}" for name, changes in CHANGES.items()]
    golden("audit-tables.txt", "\n".join(told))


def test_what_the_running_text_says(golden, papers, tmp_path):
    told = []
    for formula, printed in SPOKEN:
        (tmp_path / "text.yaml").write_text(yaml.safe_dump([{"numbers": ["gain/avg"], "is": formula}]))
        gain = CellId("made/text", "gain", "avg", "spearman")
        said = {gain: Reported(value=printed, source="Section 4")}
        told.append(f"{formula}: {printed}\n{findings_where(papers, {}, said=said, folder=tmp_path)}")
    golden("audit-text.txt", "\n".join(told))
