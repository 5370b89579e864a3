"""PromptBERT in a workspace: templates are trained, selected, evaluated and tabulated at micro."""

import csv
import json
import os
import subprocess
import sys

import yaml
from places import ROOT


def test_promptbert_is_trained_and_evaluated_in_a_workspace(tmp_path):
    rows = {"promptbert/ablation": ["unsup-bert", "one-template"], "promptbert/wording": ["this-colon"]}
    config = {"scale": "micro", "papers": {"promptbert": ["ablation", "wording"]}, "rows": rows, "seeds": [0]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "replicse", "run", "promptbert", "--cores", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    cells = {}
    for item in ("ablation", "wording"):
        with (tmp_path / f"results/micro/tables/promptbert/{item}.csv").open() as stream:
            for cell in csv.DictReader(stream):
                cells[cell["row"], cell["column"]] = float(cell["reproduced"])
    assert all(-100 < value < 100 for value in cells.values()) and len(cells) == 2 * 2 + 10
    averages = [cells[row, "avg"] for row in ("unsup-bert", "one-template", "this-colon")]
    assert len({*averages, cells["this-colon", "plain"]}) == 4
    evaluations = [
        json.loads(file.read_text()) for file in tmp_path.glob("results/micro/encoders/*/fast.json")
    ]
    poolings = [each["pooling"] for each in evaluations]
    assert [each["pooling"] for each in poolings] == ["mask"] * 4
    assert sorted(each.get("full_stop", False) for each in poolings) == [False, True, True, True]
