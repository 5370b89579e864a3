"""Papers run at micro in a workspace: with plug-ins, on an ELECTRA of the user's, with templates for each view."""

import json
import os
import shutil
import sys
from pathlib import Path

import yaml
from made_up import plugins_of, write_electra, write_workflow, write_workspace
from micro import sentences
from places import ROOT
from snakemake_runs import copied, ran

from replicse.files import read_rows

PLUGINS = sorted(folder.name for folder in (ROOT / "tests" / "papers").glob("*/") if plugins_of(folder))


def run(folder, *words):
    """Run a study in a folder; return its numbers by item, row and column."""
    words = [sys.executable, "-m", "replicse", "run", *words, "--cores", "2"]
    done = ran(*words, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = {}
    for table in folder.glob("results/micro/tables/*/*.csv"):
        found |= {
            (table.stem, cell["row"], cell["column"]): float(cell["reproduced"]) for cell in read_rows(table)
        }
    assert all(-100 <= value <= 100 for value in found.values())
    return found


def configured(folder, **config):
    config = {"scale": "micro", "seeds": [0], **config}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def test_papers_with_plugins_name_them_in_their_records(tmp_path):
    plugins = [name for key in PLUGINS for name in write_workspace(tmp_path, key)["plugins"]]
    configured(tmp_path, papers=dict.fromkeys(PLUGINS, "all"), plugins=plugins)
    assert run(tmp_path)
    assert sorted(folder.name for folder in tmp_path.glob("results/micro/tables/*")) == PLUGINS
    files = ("runs/*/provenance.json", "encoders/*/*.json")
    records = [
        json.loads(file.read_text()) for name in files for file in tmp_path.glob(f"results/micro/{name}")
    ]
    records = [record.get("provenance", record) for record in records]
    named = {plugin["name"] for record in records for plugin in record.get("plugins", ())}
    assert named <= set(plugins) and sorted({Path(name).parts[1] for name in named}) == PLUGINS


def test_a_users_electra_is_trained_and_evaluated(tmp_path):
    shutil.rmtree(copied(tmp_path) / "workflow")
    write_workflow(tmp_path / "workflow")
    configured(tmp_path, papers={"electra": "all"})
    folder = tmp_path / "results" / "micro" / "data" / "electra-tiny"
    folder.mkdir(parents=True)
    write_electra(folder, sentences(100))
    cells = run(tmp_path, "electra/table1")
    assert len(cells) == 4 and cells["table1", "before", "avg"] != cells["table1", "after", "avg"]
    (run_folder,) = (tmp_path / "results/micro/runs").iterdir()
    assert json.loads((run_folder / "best" / "config.json").read_text())["model_type"] == "electra"


def test_promptbert_is_read_at_its_mask(tmp_path):
    rows = {"promptbert/ablation": ["unsup-bert", "one-template"], "promptbert/wording": ["this-colon"]}
    configured(tmp_path, papers={"promptbert": ["ablation", "wording"]}, rows=rows)
    cells = run(tmp_path, "promptbert")
    averages = {cell: value for cell, value in cells.items() if cell[2] == "avg"}
    assert len(averages) == len(set(averages.values())) == 3
    files = tmp_path.glob("results/micro/encoders/*/fast.json")
    poolings = [json.loads(file.read_text())["pooling"] for file in files]
    assert [each["pooling"] for each in poolings] == ["mask"] * 4
    assert sorted(each.get("full_stop", False) for each in poolings) == [False, True, True, True]
