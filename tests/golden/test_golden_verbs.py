"""What verbs say in a terminal of 80 columns where nothing has run yet, and of what is no call (verbs.yaml)."""

import json
import shlex
from pathlib import Path

import pytest
import yaml
from places import ROOT

from replicse.cli import main
from replicse.cli.answers import SCREEN

FOLDERS = yaml.safe_load(Path(__file__).with_name("verbs.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_said(golden, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if config := FOLDERS[name].get("config"):
        text = (ROOT / config).read_text(encoding="utf-8") if isinstance(config, str) else json.dumps(config)
        Path("config.yaml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    told = []
    for words in FOLDERS[name]["calls"]:
        code = main(shlex.split(words))
        said = capsys.readouterr()
        assert "--all" in words or said.out.count("\n") <= SCREEN
        assert code == 0 or (code, said.err.count("\n"), said.out) == (2, 1, "")
        told.append(f"$ replicse {words}\n{said.out}{said.err}")
    golden(f"verbs-{name}.txt", "\n".join(told))
