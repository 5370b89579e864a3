"""`replicse.load`: results as DataFrames, and the example notebook on them."""

import math
import subprocess
import sys

import pytest

import replicse
from replicse.errors import BadInput, MissingData

VALUES = """\
paper,item,row,column,protocol,seed,metric,value,encoder,run
simcse,table3,none,stsb-dev,as-described,0,sts-dev/STS-B/all,70.5,e1,r1
simcse,table3,none,stsb-dev,as-described,1,sts-dev/STS-B/all,,e2,r2
simcse,table3,NA,stsb-dev,as-run,,sts-dev/STS-B/all,71.25,e3,
"""
HEADER = "row,column,metric,protocol,reported,reproduced,delta,low,high,n_seeds,verdict,encoders"
CELLS = f"""\
{HEADER}
none,stsb-dev,spearman,as-described,71.10,70.5,-0.6,69,72,1,undetermined,e1;e2
NA,stsb-dev,spearman,as-run,,,,,,0,not run,
"""
TEXTS = f'{HEADER}\nfirst,nearest,text,as-described,"A man, running.",A dog runs .,,,,1,,e4\n'


@pytest.fixture
def results(tmp_path):
    """A results folder of two tables, one of them of sentences."""
    for name, text in {"simcse/table3": CELLS, "diffcse/table9": TEXTS}.items():
        (tmp_path / "tables" / name).parent.mkdir(parents=True)
        (tmp_path / "tables" / f"{name}.csv").write_text(text)
    (tmp_path / "cells.csv").write_text(VALUES)
    return tmp_path


def test_values_have_numbers_and_whole_seeds_and_keep_names_as_they_are(results):
    values = replicse.load(results).values
    assert ",".join(values.columns) == VALUES.splitlines()[0]
    assert values["row"].tolist() == ["none", "none", "NA"]
    assert values["value"].dtype == float and values["value"].dropna().tolist() == [70.5, 71.25]
    assert values["seed"].dtype == "Int64" and values["seed"].dropna().tolist() == [0, 1]
    assert values["run"].tolist() == ["r1", "r2", ""]


def test_cells_of_all_tables_stand_under_each_other_with_paper_and_item(results):
    cells = replicse.load(str(results)).cells
    assert cells.columns.tolist()[:4] == ["paper", "item", "row", "column"]
    table = cells[cells["paper"] == "simcse"].set_index("row")
    assert table["item"].tolist() == ["table3", "table3"]
    assert table.loc["none", ["reported", "reproduced", "delta"]].tolist() == [71.1, 70.5, -0.6]
    assert math.isnan(table.loc["NA", "delta"]) and table.loc["NA", "verdict"] == "not run"
    assert table["n_seeds"].tolist() == [1, 0]


def test_a_text_in_place_of_a_number_stands_beside_it(results):
    cells = replicse.load(results).cells.set_index("row")
    assert math.isnan(cells.loc["first", "reported"])
    assert cells.loc["first", "reported_text"] == "A man, running."
    assert cells.loc["none", "reproduced_text"] == ""


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (".", "no such folder; name the results of a scale"),
        ("cells.csv", r"cells\.csv: no such file; run the study"),
        ("tables", "tables: no tables of papers in it; run the study"),
    ],
)
def test_what_is_absent_is_told_with_its_remedy(results, tmp_path_factory, gone, message):
    (results / gone).resolve().rename(tmp_path_factory.mktemp("elsewhere") / "moved")
    with pytest.raises(MissingData, match=message):
        replicse.load(results)


@pytest.mark.parametrize(
    ("text", "message"), [("", "not a table"), ("row,column\na,b\n", "lacks the column metric")]
)
def test_a_broken_table_is_told_by_its_name(results, text, message):
    (results / "tables" / "simcse" / "table3.csv").write_text(text)
    with pytest.raises(BadInput, match=f"table3.csv: {message}"):
        replicse.load(results)


def test_importing_the_package_imports_no_pandas_and_load_stays_a_function(results):
    question = (
        "import sys, replicse; assert 'pandas' not in sys.modules;"
        f"[replicse.load({str(results)!r}) for _ in range(2)]; print(len(replicse.load({str(results)!r}).cells))"
    )
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout == "3\n"
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        replicse.lod  # noqa: B018
