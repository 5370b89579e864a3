"""`replicse compare` on two results folders (compare.yaml).

The cells are synthetic and include every state.
"""

import json
from itertools import chain
from pathlib import Path

import pytest
import yaml
from made_up import write_folder

from replicse.cli import main

CELLS = yaml.safe_load(Path(__file__).with_name("compare.yaml").read_text(encoding="utf-8"))


def rows(row, values, **more):
    """Return a cell's tidy rows: a value for each seed, from separate runs."""
    return [
        {
            "paper": "made", "item": "table1", "row": row, "column": "a", "protocol": "as-described",
            "metric": "sts/STS12/all", "seed": seed, "value": value, "encoder": f"{row}-s{seed}-cls",
            "run": f"{row}-s{seed}", "group": "", "machine": "One (avx2), cpu, 1 thread", "package": "aa",
            "reported": "70.0", "published_sd": "", **more,
        }
        for seed, value in enumerate(values)
    ]  # fmt: skip


def test_every_cell_of_two_folders(golden, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for side in "ab":
        held = [rows(cell["row"], cell[side], **cell.get(f"rows_{side}", {})) for cell in CELLS]
        write_folder(side, [*chain.from_iterable(held)])
    assert main(["compare", "a", "b"]) == 0
    golden("compare.txt", capsys.readouterr().out)
    assert main(["compare", "a", "b", "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_float=lambda text: round(float(text), 4))
    golden("compare.json", json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False))


@pytest.mark.parametrize("second", [{"row": "q"}, {"encoder": "x"}, {"value": ""}])
def test_folders_without_a_common_cell_are_refused_in_one_sentence(tmp_path, capsys, second):
    first = {"value": ""} if second == {"value": ""} else {}
    for folder, changed in (("a", first), ("b", second)):
        write_folder(tmp_path / folder, [{**row, **changed} for row in rows("r", [70.0])])
    a, b = tmp_path / "a", tmp_path / "b"
    assert main(["compare", str(a), str(b)]) == 2
    error = capsys.readouterr().err
    assert f"{a} and {b} do not share a cell with the same runs; use two results folders" in error
    assert error.count("\n") == 1
