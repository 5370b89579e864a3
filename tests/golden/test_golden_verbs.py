"""What verbs say in a terminal of 80 columns where nothing has run yet, and of what is no call."""

import shlex
from pathlib import Path

import pytest
from places import ROOT

from replicse.cli import main
from replicse.cli.answers import SCREEN

# The config.yaml of a folder, and what is called there.
CONFIGS = {
    "paper": "scale: paper\npapers: all\nseeds: [0]\n",
    "some": "scale: micro\npapers: {simcse: [table3, figure2], repro: all}\nseeds: [0]\n",
    "reduced": (ROOT / "tests/e2e/reduced.yaml").read_text(encoding="utf-8"),
}
CALLS = {
    "paper": (
        "plan simcse/tableA1 simcse/table3 simcse/table6 simcse/tableB2",
        "plan diffcse",
    ),
    "some": (
        "show simcse",
        "claims",
        "claims repro/c1",
        "audit repro",
        "adjudicate repro",
        "show repro/table6",
        "show repro/table6 --columns avg,STS12",
        "show repro/table6 --columns avg,STS-12",
        "diagnose --help",
    ),
    "reduced": (
        "plan",
        "plan --all",
        "status",
        "status --all",
        "show simcse/table3",
        "why simcse/table3/p0.1/stsb-dev",
        "why simcse/table3/p0.1/stsb-dev --all",
        "show simcse/tabel3",
        "why simcse/table3/p0.11/stsb-dev",
        "adjudicate REPRO",
        "run simcse/tabel3",
        "plan --config seeds=[0",
        "plan --config scale=2021-02-30",
        "plan --seeds 100000000",
    ),
    "nothing": (
        "plan",
        "pln",
        "job tokenizer {} --out x",
        "job store '{\"corpus\": {}}' --out x",
        'job data \'{"source": "local", "root": "nowhere"}\' --out x.json',
        "evaluate --encoder e --out x",
        "evaluate --encoder e --out x --set a.csv text=t",
    ),
}


@pytest.mark.parametrize("config", CALLS)
def test_what_is_said(golden, tmp_path, monkeypatch, capsys, config):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if config in CONFIGS:
        Path("config.yaml").write_text(CONFIGS[config], encoding="utf-8")
    if config in CONFIGS:
        monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    told = []
    for words in CALLS[config]:
        code = main(shlex.split(words))
        said = capsys.readouterr()
        assert "--all" in words or said.out.count("\n") <= SCREEN
        assert code == 0 or (code, said.err.count("\n"), said.out) == (2, 1, "")
        told.append(f"$ replicse {words}\n{said.out}{said.err}")
    golden(f"verbs-{config}.txt", "\n".join(told))
