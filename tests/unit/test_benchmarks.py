"""The benchmarks: arithmetic, records, and the tables of docs/speed.md.

No test asserts a time.
"""

import importlib.machinery
import importlib.util
import json
import sys
from collections import defaultdict

import numpy as np
import pytest
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import dry_run
import made_study
import products


@pytest.fixture(scope="module")
def run():
    loader = importlib.machinery.SourceFileLoader("benchmarks_run", str(ROOT / "benchmarks" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def test_the_page_on_speed_holds_the_tables_of_the_committed_records(run):
    gathered = json.loads(run.SUMMARY.read_text(encoding="utf-8"))
    page = run.PAGE.read_text(encoding="utf-8")
    assert run.with_table(page, gathered) == page
    missed = 0
    for entry in run.shown(gathered).values():
        for row in entry["rows"]:
            if row["met"] is False:
                missed += 1
                assert row["what"] in page
    assert missed


def test_every_row_that_missed_its_goal_says_why_and_no_other_does(run):
    missed = defaultdict(set)
    for kind, records in run.summary().items():
        for entry in records.values():
            missed[kind].update(row["what"] for row in entry["rows"] if row["met"] is False)
    reasons = run.reasons()
    for kind in reasons.keys() | missed.keys():
        assert set(reasons.get(kind, ())) == missed[kind]


def test_the_summary_holds_the_lines_of_every_committed_record(run):
    assert json.loads(run.SUMMARY.read_text(encoding="utf-8")) == run.summary()
    assert {path.stem for path in run.RECORDS.glob("*/*.json")} <= set(run.BENCHMARKS)


def test_every_benchmark_is_a_file_and_every_file_with_a_record_a_benchmark(run):
    files = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    parts_of_others = {"made_study", "peer", "products", "record"}
    parts_of_the_rehearsal = {
        "device_checks",
        "random_runs",
        "rehearsal",
        "rehearsal_rows",
        "rehearsal_study",
        "step_rates",
        "term_errors",
    }
    assert set(run.BENCHMARKS) == files - parts_of_others - parts_of_the_rehearsal


@pytest.mark.parametrize("first_only", [False, True])
def test_the_operations_of_a_pass_are_those_that_torch_counts(first_only, monkeypatch):
    """Compare with torch's counter, which does not count oneDNN's linear layers."""
    from torch.utils.flop_counter import FlopCounterMode

    from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN
    from replicse.encoder.batch import TokenBatch
    from replicse.encoder.packed.config import EncoderConfig
    from replicse.encoder.packed.transformer import PackedBackbone
    from replicse.registry.encoders import Architecture

    monkeypatch.setattr("replicse.encoder.packed.linear.multiplies_by_onednn", lambda: False)
    sizes = Architecture(family="bert", layers=3, hidden=32, heads=2, intermediate=128, positions=20)
    encoder = PackedBackbone(EncoderConfig.fresh(sizes, 30, 0))
    batch = TokenBatch.from_rows([np.arange(1, 9)] * 5)
    with FlopCounterMode(display=False) as counter:
        encoder(batch, FIRST_TOKEN if first_only else ALL_TOKENS)
    assert products.operations([8] * 5, 3, 32, first_only) == counter.get_total_flops()


def test_a_made_up_study_is_judged_and_reported(tmp_path, monkeypatch):
    for name in ("PAPERS", "TABLES"):
        monkeypatch.setattr(made_study, name, 1)
    made_study.write_study(tmp_path / "study", 1)
    monkeypatch.chdir(tmp_path / "study")
    made_study.judge()
    cells = made_study.ROWS * len(made_study.COLUMNS)
    assert made_study.report()["cells"] == cells
    text = (tmp_path / "study/reports/report.html").read_text(encoding="utf-8")
    assert f"{cells} of {cells} cells have a printed number" in text


def test_the_workflow_beside_a_dry_run_has_its_jobs_and_needs():
    shape = dry_run.shape(1)
    made, needed = set(), set()
    for stage, found in shape.items():
        assert found["needs"] and found["files"]
        for name, needs in found["needs"].items():
            made.add(f"results/paper/{stage}/{name}/0.{stage}")
            needed.update(needs)
    assert len(made) > 3000 and needed < made
