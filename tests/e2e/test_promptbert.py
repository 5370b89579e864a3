"""PromptBERT, written by data alone, in a workspace: trained, selected, evaluated and tabulated at micro."""

import csv
import json
import os
import subprocess
import sys

from made_up import write_workspace
from places import ROOT


def test_promptbert_is_trained_and_evaluated_in_a_workspace(tmp_path):
    write_workspace(tmp_path, "promptbert")
    done = subprocess.run(
        [sys.executable, "-m", "replicse", "run", "promptbert", "--cores", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with (tmp_path / "results/micro/tables/promptbert/table1.csv").open() as stream:
        cells = {(cell["row"], cell["column"]): float(cell["reproduced"]) for cell in csv.DictReader(stream)}
    assert all(-100 < value < 100 for value in cells.values()) and len(cells) == 6
    assert len({cells[row, "avg"] for row in ("manual", "one-template", "promptbert")}) == 3
    evaluations = [
        json.loads(file.read_text()) for file in tmp_path.glob("results/micro/encoders/*/fast.json")
    ]
    assert len(evaluations) == 3
    assert all(each["pooling"]["pooling"] == "mask" and each["pooling"]["full_stop"] for each in evaluations)
