"""Two results folders of the same runs: what differs, by how many seed spreads, and which runs and machines."""

import math
import shutil
import statistics

import pytest
from made_up import write_folder

from replicse.cli import main
from replicse.study.results.compare import compare

ONE, TWO = "One (avx2), cpu, 1 thread", "Two (avx512), cpu, 1 thread"


def rows(row, *values, machine=ONE, **more):
    """Return the tidy rows of a cell, a value per seed, each of a run of its own."""
    return [
        {
            "paper": "made", "item": "table1", "row": row, "column": "a", "protocol": "as-described",
            "metric": "sts/STS12/all", "seed": seed, "value": value, "encoder": f"{row}-s{seed}-cls",
            "run": f"{row}-s{seed}", "group": "", "machine": machine, "package": "aa", "reported": "70.0",
            "published_sd": "", **more,
        }
        for seed, value in enumerate(values)
    ]  # fmt: skip


@pytest.fixture
def folders(tmp_path):
    """Return a function that writes the rows of folders A and B and returns both."""

    def write(first, second):
        for name, held in (("a", first), ("b", second)):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            write_folder(tmp_path / name, held)
        return tmp_path / "a", tmp_path / "b"

    return write


def held(folders, first, second):
    """Return the one cell of a comparison."""
    (cell,) = compare(*folders(first, second)).cells
    return cell


def test_a_difference_is_told_in_units_of_the_spread_over_seeds(folders):
    cell = held(folders, rows("r", 70.0, 71.0, 72.5), rows("r", 73.0, 74.5, 74.0))
    pooled = math.sqrt((statistics.variance([70, 71, 72.5]) + statistics.variance([73, 74.5, 74])) / 2)
    assert (cell.cell, cell.seeds, cell.borrowed) == ("made/table1/r/a", 3, False)
    assert (cell.a, cell.b) == pytest.approx((213.5 / 3, 221.5 / 3))
    assert cell.difference == pytest.approx(8 / 3) and cell.largest == 3.5
    assert cell.spread == pytest.approx(pooled) and cell.spreads == pytest.approx(8 / 3 / pooled)
    assert cell.state == "beyond spread"


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ((70.0, 71.0), (70.0, 71.0), "identical"),
        ((70.0, 71.0), (70.0, 71.05), "equal to rounding"),  # printed is 70.0
        ((70.0, 71.0), (70.0, 71.06), "within spread"),
        ((70.0, 71.0), (70.7, 71.7), "within spread"),
        ((70.0, 71.0), (70.8, 71.8), "beyond spread"),
        ((70.0, 70.0), (70.2, 70.2), "beyond spread"),
        ((70.0,), (70.2,), "no spread"),
        (("A man sails.",), ("A man sails.",), "identical"),
        (("A man sails.",), ("A dog runs.",), "no spread"),
        ((70.0, 71.0), (70.0, ""), "missing"),
        ((70.0, ""), (70.0, ""), "missing"),
    ],
)
def test_every_state(folders, first, second, state):
    assert held(folders, rows("r", *first), rows("r", *second)).state == state


def test_one_seed_borrows_the_published_spread_and_two_do_not(folders):
    cell = held(folders, rows("r", 70.0, published_sd="0.5"), rows("r", 71.0, published_sd="0.5"))
    assert (cell.spread, cell.borrowed, cell.spreads) == (0.5, True, 2.0)
    cell = held(folders, rows("r", 70.0, 71.0, published_sd="9"), rows("r", 71.0))
    assert (cell.spread, cell.borrowed, cell.seeds) == (pytest.approx(math.sqrt(0.5)), False, 1)
    cell = held(folders, rows("r", 70.0), rows("r", 71.0))
    assert (cell.spread, cell.borrowed, cell.spreads) == (None, False, None)


def test_only_the_same_runs_are_held_against_each_other(folders):
    other = [{**row, "encoder": "x", "run": "x"} for row in rows("q", 70.0)]
    group = {"encoder": "", "run": ""}
    found = compare(
        *folders(
            [*rows("r", 70.0, 71.0), *rows("q", 70.0), *rows("p", 1.0), *rows("d", 5.0, group="1", **group)],
            [*rows("r", 70.0, 72.0), *other, *rows("d", 5.0, group="2", **group)],
        )
    )
    assert [cell.cell for cell in found.cells] == ["made/table1/r/a"]
    assert found.other_runs == ("made/table1/q/a", "made/table1/d/a")
    assert (found.only_a, found.only_b) == (1, 0)
    assert (found.runs, found.different) == (2, ("r-s1",))
    assert (found.runs_only_a, found.runs_only_b) == (("p-s0", "q-s0"), ("x",))


def test_folders_without_a_common_cell_are_refused_in_one_sentence(folders, capsys):
    for second in (rows("q", 70.0), [{**row, "encoder": "x"} for row in rows("r", 70.0)], rows("r", "")):
        a, b = folders(rows("r", 70.0) if second[0]["value"] else rows("r", ""), second)
        assert main(["compare", str(a), str(b)]) == 2
        error = capsys.readouterr().err
        assert f"{a} and {b} share no cell of the same runs; name two results folders" in error
        assert error.count("\n") == 1
