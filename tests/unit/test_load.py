"""`replicse.load`: results as DataFrames, and the example notebook on them."""

import math
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from places import ROOT

import replicse
from replicse.errors import BadInput, MissingData

NOTEBOOK = ROOT / "examples" / "results.ipynb"
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


@pytest.fixture
def execute(monkeypatch, tmp_path_factory):
    """A function that runs the example notebook, on a folder or on its own, and returns it with what it shows."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("jupyter")))

    def run(folder=None):
        if folder:
            monkeypatch.setenv("REPLICSE_RESULTS", str(folder))
        else:
            monkeypatch.delenv("REPLICSE_RESULTS", raising=False)
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        NotebookClient(
            notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}
        ).execute()
        return notebook

    return run


def shown(notebook):
    """Return what a notebook shows as text, and how many pictures."""
    outputs = [
        output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output
    ]
    return [data["text/plain"] for data in outputs], sum("image/png" in data for data in outputs)


def test_the_notebook_runs_on_any_results(results, execute):
    cell = "p0.1,stsb-dev,spearman,as-described,82.5,33.3,-49.2,,,2,lower,e"
    (results / "tables" / "simcse" / "table3.csv").write_text(f"{HEADER}\n{cell}\n")
    (results / "cells.csv").write_text(VALUES.replace("none", "p0.1").replace("70.5", "33.25"))
    texts, pictures = shown(execute(results))
    assert pictures == 1 and len(texts) == 6
    assert "diffcse" in texts[1] and "lower" in texts[1]
    assert "33.3" in texts[2] and "-49.2" in texts[2] and "33.25" in texts[3]


def test_the_committed_notebook_shows_what_it_gives(execute):
    committed = nbformat.read(NOTEBOOK, as_version=4)
    assert shown(committed) == shown(execute())
    assert "made_up" in committed.cells[0].source and shown(committed)[1] == 1
