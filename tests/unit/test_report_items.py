"""Manifests and tabulated cells as they are read."""

import json

import pytest
from golden import example_report as example

from replicse.errors import BadInput, MissingData
from replicse.files import read_json
from replicse.report.content.items import make_item, read_results
from replicse.study.results.tabulate import CONTRACT

MANIFEST = {
    "item": "simcse/table6",
    "paper": "simcse",
    "kind": "table",
    "figure": None,
    "title": "Pooling",
    "caption": "",
    "place": "Table 6, p. 8",
    "setting": {"metric": "spearman"},
    "columns": [{"id": "unsup", "label": "Unsup.", "metric": "spearman", "decimals": 1, "better": "higher"}],
    "rows": [{"id": "0.1", "label": "0.10", "group": None, "quoted": False, "note": ""}],
    "notes": [],
    "deviations": "",
}
HEADER = ",".join(CONTRACT)
LINE = "0.1,unsup,spearman,as-described,82.50,80.123456789,-2.376543211,78.5,81.75,5,lower,a;b;c"


def write(folder, *lines, header=HEADER):
    path = folder / "table6.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def test_an_item_is_read_whole(tmp_path):
    manifest = tmp_path / "table6.json"
    manifest.write_text(json.dumps(MANIFEST), encoding="utf-8")
    item = make_item(
        read_json(manifest), read_results(write(tmp_path, LINE)), scale="paper", picture=tmp_path / "table6"
    )
    assert item.rows[0].id == "0.1" and item.rows[0].label == "0.10" and item.rows[0].group == ""
    (cell,) = item.results
    assert cell.reported == "82.50"
    assert (cell.reproduced, cell.delta, cell.low, cell.high) == (80.123456789, -2.376543211, 78.5, 81.75)
    assert cell.n_seeds == 5 and cell.encoders == ("a", "b", "c") and not cell.borrowed
    assert item.picture == tmp_path / "table6" and item.figure == ""


def test_blank_is_missing_and_further_columns_are_optional(tmp_path):
    path = write(
        tmp_path,
        "0.1,unsup,spearman,as-described,,,,,,,,,yes,because",
        header=f"{HEADER},borrowed,reason",
    )
    (cell,) = read_results(path)
    assert cell.reproduced is cell.delta is cell.low is cell.high is cell.n_seeds is None
    assert cell.encoders == () and cell.verdict == "" and cell.borrowed and cell.reason == "because"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE.replace("80.12", "8O.12"), ':2: reproduced is "8O.123456789"; expected a number'),
        (LINE.replace(",lower,", ",lowr,"), 'verdict is "lowr"; did you mean "lower"'),
        (LINE + ",more", "wrong number of fields"),
        ("0.1,unsup", "wrong number of fields"),
    ],
)
def test_a_mistake_in_the_table_names_its_line(tmp_path, line, message):
    with pytest.raises(BadInput) as raised:
        read_results(write(tmp_path, line))
    assert message in str(raised.value) and "table6.csv:2" in str(raised.value)


def test_a_missing_table_and_a_short_header(tmp_path):
    with pytest.raises(MissingData, match="tabulate"):
        read_results(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="lacks verdict, encoders"):
        read_results(write(tmp_path, header=HEADER.replace(",verdict,encoders", "")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "tabel"}, 'kind is "tabel"; did you mean "table"'),
        ({"figure": "scater"}, 'did you mean "scatter"'),
        ({"rows": [{"id": "0.2", "label": "x"}]}, 'row "0.1" is not in simcse/table6; did you mean "0.2"'),
        ({"columns": [{"id": "sup", "label": "x", "metric": "spearman"}]}, 'did you mean "sup, spearman"'),
        ({"rows": [{"id": "0.1", "lable": "x"}]}, "simcse/table6: rows: label must be given"),
    ],
)
def test_a_mistake_in_the_manifest_names_the_nearest_known_word(tmp_path, change, message):
    results = read_results(write(tmp_path, LINE))
    with pytest.raises(BadInput) as raised:
        make_item({**MANIFEST, **change}, results, scale="paper")
    assert message in str(raised.value)


def test_a_printed_number_keeps_its_place_and_a_sentence_stays_text(tmp_path):
    columns = [{"id": "found", "label": "Found", "metric": "text", "read": "retrieval/examples/0"}]
    cells = {"0.1|found|text": {"source": "Table 8, p. 9", "reported": "A dog."}}
    results = read_results(write(tmp_path, "0.1,found,text,as-described,A dog.,12,,,,1,,a"))
    item = make_item({**MANIFEST, "columns": columns, "cells": cells}, results, scale="paper")
    (cell,) = item.results
    assert (cell.reported, cell.text, cell.reproduced, cell.source) == ("A dog.", "12", None, "Table 8, p. 9")


def test_a_manifest_must_be_complete():
    with pytest.raises(BadInput, match="simcse/table6: kind, rows must be given"):
        make_item(
            {key: value for key, value in MANIFEST.items() if key not in ("kind", "rows")}, (), scale="paper"
        )


def test_examples_hold_what_the_contract_allows():
    for item in example.items():
        assert item.results and all(cell.reported == cell.reported.strip() for cell in item.results)
