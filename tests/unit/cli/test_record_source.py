"""Write a kept study as a record source: two files that pass the checks."""

import pytest
from places import ROOT

from replicse.cli import main
from replicse.files import write_json, write_rows
from replicse.judge.report.csv_rows import TIDY
from replicse.spec.papers import load_papers
from replicse.spec.record import check_record, load_record

WORKFLOW = ROOT / "workflow"
PUBLISHED = f"lab/replication@{'a' * 40}"
FACTS = {
    "scale": "paper",
    "comparable": True,
    "commit": "b" * 40,
    "generated": "2027-01-31T10:00:00+00:00",
    "versions": {"torch": "2.13.0", "transformers": "5.23.0"},
}
TABLE5 = {
    "paper": "simcse",
    "item": "table5",
    "row": "unsup-simcse-bert-base",
    "column": "avg",
    "metric": "sts/avg",
}
FIRST = {**TABLE5, "protocol": "as-described", "seed": 0, "value": 75.4125, "run": "infonce-s0"}
VALUES = [
    FIRST,
    {**FIRST, "seed": 1, "value": 76.5, "run": "infonce-s1"},
    {**TABLE5, "protocol": "released", "seed": "", "value": 76.25, "run": ""},
    {**FIRST, "row": "bert-base-first-last", "protocol": "first-transformer-layer", "seed": "", "run": ""},
    {
        **FIRST,
        "item": "tableA1",
        "column": "best-64",
        "metric": "sts-dev/STS-B/all",
    },  # the maximum of several runs
    {**FIRST, "seed": 2, "value": ""},
]


def keep(*words):
    return main(["keep", "lab", "--record", "--workflow", str(WORKFLOW), *words])


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write the scores and measurements of a kept study; return the folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports" / "studies" / "lab"
    write_json(folder / "config.json", {"scale": "paper"})
    write_json(folder / "record.json", FACTS)
    blank = dict.fromkeys(TIDY, "")
    write_rows(folder / "cells.csv", TIDY, [{**blank, **row} for row in VALUES])
    return folder


def test_the_source_has_each_value_under_its_setting_and_passes_the_checks(study, capsys):
    assert keep("--who", "a laboratory", "--published", PUBLISHED) == 0
    assert "readings=4" in capsys.readouterr().out
    record = load_record(WORKFLOW)
    check_record(record, load_papers(WORKFLOW))
    readings = [reading for reading in record.readings if reading.source == "lab"]
    row = "simcse/table5/unsup-simcse-bert-base/avg"
    assert [(each.cell, each.setting, each.seed, each.value) for each in readings] == [
        (row, "retrained-printed", 0, "75.4125"),
        (row, "retrained-printed", 1, "76.5"),
        (row, "released-printed", None, "76.25"),
        ("simcse/table5/bert-base-first-last/avg", "released-first-transformer-layer", None, "75.4125"),
    ]
    settings = record.sources["lab"].settings
    assert [(each.encoder, each.as_) for each in settings.values()] == [
        ("retrained", "printed"),
        ("released", "printed"),
        ("released", "first-transformer-layer"),
    ]
    source = record.sources["lab"]
    assert (source.who, source.year, source.stack) == (
        "a laboratory",
        2027,
        "torch 2.13.0, transformers 5.23.0",
    )
    assert record.link(readings[0]).endswith(f"/blob/{'a' * 40}/reports/studies/lab/cells.csv")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], '--record needs --who "YOUR LABORATORY" and --published OWNER/REPOSITORY@COMMIT'),
        (["--who", "me", "--published", "lab/replication"], 'commit is ""'),
        (["--who", "me", "--published", f"replication@{'a' * 40}"], 'repository is "replication"'),
    ],
)
def test_who_measured_and_where_it_is_public_must_be_given(study, capsys, words, told):
    assert keep(*words) == 2
    assert told in capsys.readouterr().err


def test_a_study_of_a_smaller_scale_is_refused(study, capsys):
    write_json(study / "record.json", {**FACTS, "scale": "compact", "comparable": False})
    assert keep("--who", "me", "--published", PUBLISHED) == 2
    assert "record.json: scale is compact, not comparable with the papers" in capsys.readouterr().err
    assert not (study.parents[2] / "record").exists()
