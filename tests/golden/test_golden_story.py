"""What `replicse why` tells of cells on made-up evaluations, as text and as plain data."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from made_up import write_evaluation, write_scores
from planned import WORKFLOW, shipped_plan
from read_once import papers_read_once

from replicse.cli import main
from replicse.evaluation.correlation import spearman
from replicse.study.results.pairs import packed_pairs

__all__ = ["papers_read_once"]  # a fixture
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
GOLD = np.round(np.random.default_rng(0).uniform(0, 5, 150), 1)


def score(cell, place):
    """The baseline row stands at 80, the others at 75; a variant costs its penalty, and each seed adds a half."""
    base = 80.0 if cell.row.id == "none" else 75.0
    return base + 0.5 * place - PENALTY.get(cell.protocol, 0.0) * (1 + 0.1 * place)


@cache
def noisy(value, seed):
    """Return pairs whose correlation (x 100) is a value: gold scores with as much noise as that takes."""
    noise, low, high = np.random.default_rng(seed).normal(0, 1, len(GOLD)), 0.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 100 * spearman(GOLD + middle * noise, GOLD) > value else (low, middle)
    return packed_pairs(GOLD + low * noise, GOLD)


def write_paired_scores(plan):
    """Write evaluations of repro's Table 4: scores, their bounds over pairs, and the pairs themselves."""
    for cell in plan.cells["repro/table4"]:
        for place, encoder in enumerate(cell.encoders):
            value = score(cell, place)
            bounds = {"all": value, "low": value - 2, "high": value + 1.5}
            values = {
                f"sts-dev/{task}/{key}": one for task in ("STS-B", "SICK-R") for key, one in bounds.items()
            }
            if cell.protocol in ("as-described", *PENALTY):
                pairs = {"sts-dev/STS-B": noisy(value, place)}
                write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), values, pairs=pairs)


@pytest.mark.usefixtures("papers_read_once")
@pytest.mark.parametrize("scale", CALLS)
def test_the_story_of_a_cell(golden, tmp_path, monkeypatch, capsys, scale):
    monkeypatch.chdir(tmp_path)
    config = {**CONFIG, "scale": scale}
    plan = shipped_plan(**config)
    write_paired_scores(plan) if scale == "paper" else write_scores(plan, ["repro/table4"], score)
    Path("study.yaml").write_text(yaml.safe_dump(config))
    words, told = ["--study", "study.yaml", "--workflow", str(WORKFLOW)], []
    for name in CALLS[scale]:
        main(["why", name, *words])
        said = capsys.readouterr()
        told.append(f"$ replicse why {name}\n{said.out}{said.err}")
    golden(f"why-{scale}.txt", "\n".join(told))
    assert main(["why", CELL, *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_float=lambda text: round(float(text), 4))
    golden(f"why-{scale}.json", json.dumps(document, indent=1, ensure_ascii=False))
