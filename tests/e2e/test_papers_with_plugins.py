"""Papers with plug-ins, run at micro: what others brought is trained with, and named in the record."""

import json
import os
import subprocess
import sys

import pytest
from made_up import plugins_of, write_workspace
from places import ROOT

KEYS = sorted(folder.name for folder in (ROOT / "tests" / "papers").glob("*/") if plugins_of(folder))


@pytest.mark.parametrize("key", KEYS)
def test_a_paper_with_plugins_is_run(key, tmp_path):
    config = write_workspace(tmp_path, key)
    done = subprocess.run(
        [sys.executable, "-m", "replicse", "run", key, "--cores", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    records = [json.loads(file.read_text()) for file in tmp_path.glob("results/micro/runs/*/provenance.json")]
    evaluated = [json.loads(file.read_text()) for file in tmp_path.glob("results/micro/encoders/*/*.json")]
    records += [each["provenance"] for each in evaluated]
    named = {plugin["name"] for record in records for plugin in record.get("plugins", ())}
    assert named <= set(config["plugins"])
    for result in tmp_path.glob("results/micro/items/*/*.json"):
        cells = json.loads(result.read_text())["cells"]
        assert cells and all(cell["reproduced"] is not None for cell in cells if cell["encoders"])
