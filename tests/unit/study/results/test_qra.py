"""CV* and its kin against published examples, and what a table and a paper give."""

from types import SimpleNamespace

import pytest

from replicse.study.paper.printed import Reported
from replicse.study.results.qra import FIELDS, assessments, cell_cv_star, cv_star
from replicse.study.results.table import CellResult, ColumnHead, ItemResult, RowHead, SeedValue

# Seven BLEU scores of NTS, default settings: Belz, Popovic and Mille 2022, table 4, and its authors' published code.
NTS = [84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20]


def test_cv_star_is_that_of_the_published_example():
    assert cv_star(NTS) == pytest.approx(1.5616560359100269, abs=1e-12)


PAIRS = {(4.71, 4.52): 4.10468, (4.08, 4.17): 2.17528, (4.39, 3.83): 13.58450}


@pytest.mark.parametrize("pair", PAIRS)
def test_cv_star_of_two_is_that_of_published_reproductions(pair):
    assert cv_star(pair) == pytest.approx(PAIRS[pair], abs=1e-5)


def test_cv_star_needs_two_numbers_on_a_scale_that_starts_at_zero():
    assert cv_star([75.0]) is None and cv_star([-1.0, -2.0]) is None and cv_star([75.0, 75.0]) == 0


def cell(row, printed, *values, **more):
    return CellResult(
        row=row, column="a", metric="spearman", protocol="as-described", encoders=(row,),
        reported={"value": printed, "source": "a page"} if printed else None,
        values=[SeedValue(seed=seed, value=value) for seed, value in enumerate(values)],
        reproduced=sum(values) / len(values), **more,
    )  # fmt: skip


def table(*cells, comparable=True, merged=()):
    rows = [
        RowHead(id=each.row, label=each.row, merged=("a",) if each.row in merged else ()) for each in cells
    ]
    return ItemResult(
        item="made/table1", paper="made", scale="paper", comparable=comparable, kind="table", title="t", place="t",
        baseline="base", columns=[ColumnHead(id="a", label="a", metric="spearman")], rows=rows, cells=cells,
    )  # fmt: skip


CELLS = (
    cell("base", "70.0", 71.0, 72.0),
    cell("b", "72.0", 74.0),
    cell("c", "69.0", 70.0),
    cell("d", "72.0", 71.0),
)
CLAIMS = [
    {"claim": "made/one", "reported": "supported", "ours": "for"},
    {"claim": "made/two", "reported": "supported", "ours": "contradicted"},
    {"claim": "made/three", "reported": "supported", "ours": "undetermined"},
    {"claim": "other/four", "reported": "supported", "ours": "for"},
]


def test_a_table_has_cv_star_effects_and_conclusions_and_a_paper_its_claims():
    one, paper = assessments([table(*CELLS)], CLAIMS)
    assert (one.item, paper.item, one.cells, one.effects) == ("table1", "", 4, 3)
    # Of six pairs one is tied in print; b over d is not asked, d falls below the baseline.
    assert (one.conclusions, one.upheld) == (5, 0.8)
    assert one.pearson == pytest.approx(5 / 52**0.5) and one.spearman == pytest.approx(0.75**0.5)
    assert one.cv_star == pytest.approx(sum(cell_cv_star(each, True) for each in CELLS) / 4)
    assert (paper.claims, paper.claims_upheld, one.claims_upheld) == (2, 0.5, None)
    assert tuple(one.row()) == FIELDS


def test_a_smaller_scale_has_no_cv_star_and_keeps_orders():
    one, _ = assessments([table(*CELLS, comparable=False)], [])
    assert one.cv_star is None and one.row()["cv_star"] == "" and one.conclusions == 5


def test_rows_that_share_all_runs_are_no_conclusions():
    one, _ = assessments([table(*CELLS, merged=("c", "d"))], [])
    assert one.conclusions == 1


def test_a_text_in_print_has_no_cv():
    text = Reported(value="A man riding a small boat in a harbor.", source="Table 8")
    cell = SimpleNamespace(reproduced=None, subtracted=None, verdict="", reported=text)
    assert cell_cv_star(cell, comparable=True) is None
