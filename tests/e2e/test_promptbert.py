"""PromptBERT, written by data alone: trained, selected, evaluated and tabulated by the workflow."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from made_up import write_workflow
from places import ROOT

SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def test_promptbert_is_trained_and_evaluated_by_the_workflow(tmp_path):
    write_workflow(tmp_path / "workflow")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, tmp_path)
    config = {"scale": "micro", "papers": {"promptbert": "all"}, "seeds": [0]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = subprocess.run(
        [str(SNAKEMAKE), "--cores", "2", "promptbert_table1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with (tmp_path / "results/micro/tables/promptbert/table1.csv").open() as stream:
        cells = {(cell["row"], cell["column"]): cell for cell in csv.DictReader(stream)}
    values = {key: float(cell["reproduced"]) for key, cell in cells.items()}
    assert all(-100 < value < 100 for value in values.values()) and len(values) == 6
    assert len({values[row, "avg"] for row in ("manual", "one-template", "promptbert")}) == 3
    evaluations = [
        json.loads(file.read_text()) for file in tmp_path.glob("results/micro/encoders/*/fast.json")
    ]
    assert len(evaluations) == 3
    assert all(each["pooling"]["pooling"] == "mask" and each["pooling"]["full_stop"] for each in evaluations)
