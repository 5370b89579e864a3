"""The output of verbs in a terminal of 80 columns (verbs.yaml).

No job has run yet. Some commands are invalid.
"""

import json
import shlex
from pathlib import Path

import pytest
import yaml
from places import ROOT
from recorded import UNSUP, made_record, seeds_of

from replicse.cli import main
from replicse.cli.answers import SCREEN
from replicse.judge.values import record_measurements

# Measurements by others, used by `diagnose`: five seeds of a source, and three users with a run each.
RECORDED = [
    *seeds_of("five", UNSUP, "printed", ("74.99", "76.40", "75.09", "74.98", "75.30")),
    *(
        (f"user-{place}", UNSUP, "printed", None, value)
        for place, value in enumerate(("73.47", "74.84", "75.99"))
    ),
]
FOLDERS = yaml.safe_load(Path(__file__).with_name("verbs.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_said(golden, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if config := FOLDERS[name].get("config"):
        text = (ROOT / config).read_text(encoding="utf-8") if isinstance(config, str) else json.dumps(config)
        Path("config.yaml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    if name == "diagnose":
        monkeypatch.setattr(record_measurements, "load_record", lambda workflow: made_record(RECORDED))
    told = []
    for words in FOLDERS[name]["calls"]:
        code = main(shlex.split(words))
        said = capsys.readouterr()
        assert "--all" in words or said.out.count("\n") <= SCREEN
        assert code == 0 or (code, said.err.count("\n"), said.out) == (2, 1, "")
        told.append(f"$ replicse {words}\n{said.out}{said.err}")
    golden(f"verbs-{name}.txt", "\n".join(told))
