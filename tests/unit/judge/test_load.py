"""Test `replicse.load`, which returns results as DataFrames."""

import math
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from cases import cases

import replicse
from replicse.cli import main
from replicse.compile.specifications import hash_code
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.judge.report.csv_rows import TIDY
from replicse.provenance.source import SourceCode

READ = "sts-dev/STS-B/all"


def value(seed, number, encoder, run=""):
    """Return the score of a seed as a dict; the default is no run."""
    return {"seed": seed, "value": number, "encoder": encoder, "run": run}


def cell(row, column="stsb-dev", metric="spearman", **more):
    """Return a cell as a dict, by default Spearman on STS-B dev."""
    return {"row": row, "column": column, "metric": metric, "protocol": "as-described", **more}


NONE = cell(
    "none", metric_path=READ, reported={"value": "71.10", "source": "Table 3"}, reproduced=70.5, delta=-0.6, low=69.0,
    high=72.0, n_seeds=1, verdict="undetermined", encoders=["e1", "e2"],
    values=[value(0, 70.5, "e1", "r1"), value(1, None, "e2", "r2")],
)  # fmt: skip
NA = cell(
    "NA", metric_path=READ, protocol="as-run", encoders=["e3"], verdict="not run",
    values=[value(None, 71.25, "e3")],
)  # fmt: skip
TEXTS = cell(
    "first", column="nearest", metric="text", reported={"value": "A man, running.", "source": "Table 9"},
    text="A dog runs .", n_seeds=1, encoders=["e4"],
)  # fmt: skip
CONFIG = {"scale": "micro", "papers": {"simcse": ["table3"], "diffcse": "all"}, "seeds": [0, 1]}


def write_item(folder, name, *cells):
    """Write an item with some cells to a results folder.

    Args:
        folder: Results folder.
        name: Id of the item, such as "simcse/table3".
        cells: Cells as dicts.
    """
    rows = [{"id": one["row"], "label": one["row"]} for one in cells]
    columns = [{"id": one["column"], "label": one["column"]} for one in cells]
    head = {"item": name, "paper": name.split("/")[0], "scale": "micro", "comparable": False, "kind": "table"}
    document = {**head, "title": name, "place": name, "rows": rows, "columns": columns, "cells": cells}
    write_json(folder / "items" / f"{name}.json", document)


def test_results_from_somebody_else_run_no_code(results, capsys):
    """The plug-ins in the record of a results folder were once imported, wherever the folder came from."""
    Path("given.py").write_text("from pathlib import Path\nPath('code-was-run').touch()\n")
    corpora = {"own": {"format": "given", "file": "a.txt"}}
    for more in ({}, {"corpora": corpora}):
        write_json(results / "config.json", {**CONFIG, "plugins": ["given.py"], **more})
        for words in (["show", "simcse/table3"], ["plan"], ["status"], ["report"], ["audit", "simcse"]):
            assert main([*words, "--study", str(results)]) == 2
            told = "plugins are given.py, which config.yaml of this folder does not contain"
            assert told in capsys.readouterr().err
        with pytest.raises(BadInput, match="given") if more else nullcontext():
            replicse.load(results)
    assert not Path("code-was-run").exists()


@pytest.fixture
def results(tmp_path):
    """Create a results folder with two items, and an item of another study.

    An item has sentences instead of scores.
    """
    write_item(tmp_path, "simcse/table3", NONE, NA)
    write_item(tmp_path, "diffcse/table9", TEXTS)
    write_item(tmp_path, "simcse/table1", cell("none", values=[value(0, 1.0, "e9", "r9")]))
    write_json(tmp_path / "config.json", CONFIG)
    return tmp_path


def test_only_what_the_record_asks_for_is_loaded(results):
    """Only the items in the record are loaded.

    The folder can still contain items of earlier studies.
    """
    study = replicse.load(results)
    assert set(study.values["item"]) == {"table3"}
    assert set(study.cells["item"]) == {"table3", "table9"}


def test_values_have_numbers_and_whole_seeds_and_keep_names_as_they_are(results):
    values = replicse.load(results).values
    assert tuple(values.columns) == TIDY
    assert values["row"].tolist() == ["none", "none", "NA"]
    assert values["value"].dtype == float and values["value"].dropna().tolist() == [70.5, 71.25]
    assert values["seed"].dtype == "Int64" and values["seed"].dropna().tolist() == [0, 1]
    assert values["run"].tolist() == ["r1", "r2", ""]


@pytest.mark.parametrize(("printed", "number"), [("110M", 110e6), ("75.11 ± 0.84", 75.11), ("1,500", 1500)])
def test_a_printed_number_of_any_form_is_a_number(results, printed, number):
    write_item(
        results, "simcse/table3", NONE | {"reported": {"value": printed, "source": "x"}, "delta": None}
    )
    cells = replicse.load(results).cells
    assert cells[cells["row"] == "none"]["reported"].tolist() == [number]


def test_cells_of_all_tables_stand_under_each_other_with_paper_and_item(results):
    cells = replicse.load(str(results)).cells
    assert cells.columns.tolist()[:4] == ["paper", "item", "row", "column"]
    table = cells[cells["paper"] == "simcse"].set_index("row")
    assert table["item"].tolist() == ["table3", "table3"]
    assert table.loc["none", ["reported", "reproduced", "delta"]].tolist() == [71.1, 70.5, -0.6]
    assert math.isnan(table.loc["NA", "delta"]) and table.loc["NA", "verdict"] == "not run"
    assert table["n_seeds"].tolist() == [1, 0]


@cases
def test_an_item_that_contradicts_itself_is_refused(results, change, sentence):
    write_item(results, "simcse/table3", NONE | change, NA)
    with pytest.raises(BadInput, match=re.escape(sentence)):
        replicse.load(results)


def test_numbers_of_a_run_of_other_code_are_loaded_with_a_warning(results, caplog, monkeypatch):
    """If scores are from a run of older code, a warning is logged.

    Such results must not be shown as current results.
    """
    modules = ["replicse.evaluation.correlation"]
    digests = {"code": hash_code(SourceCode(), modules)}
    evaluation = {"stage": "evaluate", "id": "e1.fast", "digests": digests, "modules": modules, "inputs": []}
    table = {"stage": "tabulate", "id": "simcse/table3", "digests": {"code": ""}, "modules": []}
    table["inputs"] = [str(results / "encoders/e1/fast.json")]
    copies = {"encoders/e1/fast.json.job": evaluation, "items/simcse/table3.json.job": table}
    for name, specification in copies.items():
        write_json(results / name, {"specification": specification, "written": {}})
    replicse.load(results)
    for broken in ({"specification": 5}, {"specification": {}}, []):
        write_json(results / "items/diffcse/table9.json.job", broken)
        replicse.load(results)
    assert not caplog.text
    other = {**evaluation, "digests": {"code": "other"}}
    write_json(results / "encoders/e1/fast.json.job", {"specification": other, "written": {}})
    replicse.load(results)
    monkeypatch.chdir(results.parent)
    replicse.load(results.name)  # a folder without a parent in its path was once a traceback
    said = "simcse/table3: out of date, because the code has changed; replicse run recomputes them"
    assert [record.getMessage() for record in caplog.records] == [said] * 2


def test_numbers_of_a_plugin_that_is_not_loaded_are_not_out_of_date(results, caplog):
    modules = ["hinge.loss:Hinge", "papers.mine.method:near", "replicse.evaluation.correlation"]
    evaluation = {
        "stage": "evaluate",
        "id": "e1.fast",
        "digests": {"code": "x"},
        "modules": modules,
        "inputs": [],
    }
    table = {"stage": "tabulate", "id": "simcse/table3", "digests": {"code": ""}, "modules": []}
    table["inputs"] = [str(results / "encoders/e1/fast.json")]
    write_json(results / "encoders/e1/fast.json.job", {"specification": evaluation, "written": {}})
    write_json(results / "items/simcse/table3.json.job", {"specification": table, "written": {}})
    replicse.load(results)
    assert [record.getMessage() for record in caplog.records] == [
        "simcse/table3: computed with plug-ins that are not loaded here (hinge, papers.mine), so changes of their code"
        " are unknown; load the results in their workspace to check it"
    ]
