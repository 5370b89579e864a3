"""`replicse why` for cells of synthetic evaluations, as text and JSON."""

import json
from pathlib import Path

import pytest
import yaml
from made_up import write_evaluation, write_scores
from planned import WORKFLOW, shipped_plan

from replicse.cli import main

CONFIG = {
    "scale": "paper",
    "papers": {"simcse": ["table1"], "repro": ["table4"]},
    "seeds": [0, 1, 2],
    "adjudicate": ["repro/table4", "simcse/table1"],
}
CELL = "repro/table4/crop-10/stsb-dev"
CALLS = {
    "paper": (
        CELL,
        f"{CELL}@character-crop",
        "repro/table4/none/stsb-dev",
        "repro/table4/deletion-10/stsb-dev",
        "repro/table4/crop-10",
        "repro/tabel4/crop-10/stsb-dev",
        "repro/table4/corp-10/stsb-dev",
        f"{CELL}@caracter-crop",
    ),
    "micro": (CELL,),
}
PENALTY = {"low-dropout": 4.0, "character-crop": 6.0, "as-run": 10.0}


def score(cell, place):
    """Return 80 for the baseline row, 75 for others, plus 0.5 for each seed.

    The penalty of a variant is subtracted.
    """
    base = 80.0 if cell.row.id == "none" else 75.0
    return base + 0.5 * place - PENALTY.get(cell.protocol, 0.0) * (1 + 0.1 * place)


def write_bounded_scores(plan):
    """Write evaluations of repro's Table 4: scores with bounds over pairs."""
    for cell in plan.cells["repro/table4"]:
        for place, encoder in enumerate(cell.encoders):
            value = score(cell, place)
            bounds = {"all": value, "low": value - 2, "high": value + 1.5}
            values = {
                f"sts-dev/{task}/{key}": one for task in ("STS-B", "SICK-R") for key, one in bounds.items()
            }
            if cell.protocol in ("as-described", *PENALTY):
                write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), values)


@pytest.mark.parametrize("scale", CALLS)
def test_the_story_of_a_cell(golden, monkeypatch, capsys, scale):
    config = {**CONFIG, "scale": scale}
    plan = shipped_plan(**config)
    write_bounded_scores(plan) if scale == "paper" else write_scores(plan, ["repro/table4"], score)
    Path("study.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(WORKFLOW))
    words, told = ["--study", "study.yaml", "--all"], []
    for name in CALLS[scale]:
        main(["why", name, *words])
        said = capsys.readouterr()
        told.append(f"$ replicse why {name}\n{said.out}{said.err}")
    golden(f"why-{scale}.txt", "\n".join(told))
    assert main(["why", CELL, *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_float=lambda text: round(float(text), 4))
    golden(f"why-{scale}.json", json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False))
