"""A paper written by data alone, whose encoder is an ELECTRA: trained, evaluated and tabulated by the workflow."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from made_up import write_electra, write_workflow
from micro import sentences
from places import ROOT

SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def test_an_electra_is_trained_and_evaluated_by_the_workflow(tmp_path):
    write_workflow(tmp_path / "workflow")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, tmp_path)
    config = {"scale": "micro", "papers": {"electra": "all"}, "seeds": [0]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    folder = tmp_path / "results" / "micro" / "data" / "electra-tiny"
    folder.mkdir(parents=True)
    write_electra(folder, sentences(100))
    done = subprocess.run(
        [str(SNAKEMAKE), "--cores", "2", "electra_table1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with (tmp_path / "results/micro/tables/electra/table1.csv").open() as stream:
        cells = {(cell["row"], cell["column"]): cell for cell in csv.DictReader(stream)}
    assert all(-100 < float(cell["reproduced"]) < 100 for cell in cells.values()) and len(cells) == 4
    assert cells["before", "avg"]["reproduced"] != cells["after", "avg"]["reproduced"]
    (run,) = (tmp_path / "results/micro/runs").iterdir()
    assert json.loads((run / "best" / "config.json").read_text())["model_type"] == "electra"
