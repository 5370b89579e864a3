"""What `replicse compare` says of two results folders, of made-up cells in every state."""

import json

import pytest
from made_up import write_folder

from replicse.cli import main

GROUP = {"encoder": "", "run": ""}
LENT = {"published_sd": "0.5"}
# The values of a cell by seed in both folders, and what else is in its rows there.
CELLS = {
    "spreads of three seeds": ([70.0, 71.0, 72.5], [73.0, 74.5, 74.0]),
    "identical": ([70.0, 71.0], [70.0, 71.0]),
    "equal to rounding": ([70.0, 71.0], [70.0, 71.05]),  # printed is 70.0
    "not equal to rounding": ([70.0, 71.0], [70.0, 71.06]),
    "within spread": ([70.0, 71.0], [70.7, 71.7]),
    "beyond spread": ([70.0, 71.0], [70.8, 71.8]),
    "without spread": ([70.0, 70.0], [70.2, 70.2]),
    "one seed": ([70.0], [71.0]),
    "one seed borrows": ([70.0], [71.0], LENT, LENT),
    "two seeds borrow nothing": ([70.0, 71.0], [71.0], {"published_sd": "9"}),
    "one text": (["A man sails."], ["A man sails."]),
    "two texts": (["A man sails."], ["A dog runs."]),
    "missing in B": ([70.0, 71.0], [70.0, ""]),
    "missing in both": ([70.0, ""], [70.0, ""]),
    "other runs": ([70.0], [70.0], {}, {"encoder": "x", "run": "x"}),
    "other groups": ([5.0], [5.0], {"group": "1", **GROUP}, {"group": "2", **GROUP}),
    "other machines": ([70.0], [70.5], {}, {"machine": "Two (avx512), cpu, 1 thread", "package": "bb"}),
    "only in A": ([1.0], []),
}


def rows(row, values, **more):
    """Return the tidy rows of a cell, a value per seed, each of a run of its own."""
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
    sides = [], []
    for row, (first, second, *more) in CELLS.items():
        ours, theirs = [*more, {}, {}][:2]
        sides[0].extend(rows(row, first, **ours))
        sides[1].extend(rows(row, second, **theirs))
    for folder, held in zip("ab", sides, strict=True):
        write_folder(folder, held)
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
    assert f"{a} and {b} share no cell of the same runs; name two results folders" in error
    assert error.count("\n") == 1
