"""Pages drawn from all items: what reproduces, claims, audit, adjudication; and a page as text for a terminal."""

import re
from pathlib import Path

import pytest
from made_up import write_scores
from places import ROOT

from replicse.commands.tables import pages
from replicse.files import read_json, read_rows, write_json
from replicse.report.content.contents import Page
from replicse.report.content.items import Item, Result, Row, make_item, read_results
from replicse.report.content.tables import Sheet
from replicse.report.formats.terminal import page_text, sheet_text
from replicse.report.pages.adjudication import adjudication_page
from replicse.report.pages.audit import audit_page
from replicse.report.pages.claims import claims_page
from replicse.report.pages.reproduces import aggregate_sheet, reproduces_page, verdict_sheet
from replicse.study.judge.adjudicate import FIELDS, adjudicate, adjudicated, write_adjudication
from replicse.study.judge.audit import audit, audit_plan, write_audit
from replicse.study.judge.claims import claim_rows, write_claims
from replicse.study.plan.planner import load_plan
from replicse.study.results.aggregate import RowAggregate
from replicse.study.results.manifest import manifest_of
from replicse.study.results.statistics import Estimate
from replicse.study.results.tabulate import Evaluations, write_table

WORKFLOW = ROOT / "workflow"
ENTRY = dict.fromkeys(FIELDS, "") | {
    "item": "repro/table4",
    "row": "crop-10",
    "column": "dev",
    "metric": "spearman",
    "protocol": "low-dropout",
    "n_seeds": "3",
}
FULL = {
    "other": "simcse/table1/crop-10/stsb-dev/spearman",
    "reported_other": "77.8",
    "reported": "64.60",
    "gap": "-13.2",
    "described": "71.0",
    "ours": "68.9",
    "effect": "-2.1",
    "low": "-2.35",
    "high": "-1.85",
    "share": "0.1591",
    "share_low": "0.1402",
    "share_high": "0.178",
}


def manifest(columns=(("dev", "sts-dev/STS-B/all"),), metrics=("spearman",)):
    return {
        "item": "repro/table4",
        "title": "Augmentations",
        "rows": [{"id": "crop-10", "label": "Crop 10%"}, {"id": "crop-20", "label": "Crop 20%"}],
        "columns": [
            {"id": name, "label": name.upper(), "metric": metric, "read": read}
            for name, read in columns
            for metric in metrics
        ],
        "variants": {"low-dropout": "Dropout 0.02 and 0.01"},
    }


def entries(*changes):
    return [ENTRY | FULL | change for change in changes]


def only_sheet(rows, document=None):
    page = adjudication_page(rows, {"repro/table4": document or manifest()}, comparable=True)
    (sheet,) = page.sheets
    return sheet


# Adjudication


def test_both_printed_numbers_ours_and_the_share_stand_in_one_line():
    sheet = only_sheet(entries({}))
    assert sheet.title == "repro/table4: Augmentations, DEV"
    assert dict(zip(sheet.header, sheet.rows[0], strict=True)) == {
        "Row": "Crop 10%",
        "Printed by simcse": "77.8",
        "Printed by repro": "64.60",
        "Gap": "−13.20",
        "As described": "71.00",
        "Variant": "Dropout 0.02 and 0.01",
        "Ours": "68.90",
        "Effect": "−2.10 [−2.35, −1.85]",
        "Share of the gap": "16% [14, 18]",
    }


def test_one_seed_has_no_interval_and_a_variant_that_was_not_run_no_numbers():
    alone = dict.fromkeys(("low", "high", "share_low", "share_high"), "")
    missing = dict.fromkeys(("ours", "effect", "share"), "") | alone | {"protocol": "as-run"}
    one, none = only_sheet(entries(alone, missing)).rows
    assert one[-3:] == ("68.90", "−2.10", "16%")
    assert none[-4:] == ("as-run", "not run", "", "")
    assert none[:5] == ("",) * 5, "what is the same for every variant of a cell is said once"


def test_a_negative_share_and_a_share_of_no_gap():
    widening = {"share": "-0.25", "share_low": "-0.5", "share_high": "0.1"}
    no_gap = {"row": "crop-20", "gap": "", "share": "", "share_low": "", "share_high": ""}
    first, second = only_sheet(entries(widening, no_gap)).rows
    assert first[-1] == "−25% [−50, 10]"
    assert (second[3], second[-1]) == ("", "")


def test_numbers_have_the_decimals_of_the_most_exact_print():
    coarse = {"reported": "64", "reported_other": "77.8"}
    unprinted = {"row": "crop-20", "reported": "", "reported_other": "", "gap": "", "share": ""}
    first, second = only_sheet(entries(coarse, unprinted | {"ours": "0.1234"})).rows
    assert (first[3], first[6]) == ("−13.2", "68.9")
    assert second[6] == "0.12", "where nothing is printed two decimals are shown"


def test_a_single_column_is_told_in_the_title_and_several_in_their_own():
    document = manifest((("dev", "sts-dev/STS-B/all"), ("sick", "sts-dev/SICK-R/all")))
    sheet = only_sheet(entries({}, {"column": "sick"}), document)
    assert sheet.title == "repro/table4: Augmentations"
    assert sheet.header[:2] == ("Row", "Column")
    assert [row[:2] for row in sheet.rows] == [("Crop 10%", "DEV"), ("Crop 10%", "SICK")]
    two = manifest(metrics=("alignment", "uniformity"))
    sheet = only_sheet(entries({"metric": "alignment"}, {"metric": "uniformity"}), two)
    assert [row[1] for row in sheet.rows] == ["DEV, alignment", "DEV, uniformity"]


def test_an_average_stands_for_its_parts_and_the_end_for_a_trajectory():
    document = manifest((("STS12", "sts/STS12/all"), ("avg", "sts/avg")))
    sheet = only_sheet(entries({"column": "STS12"}, {"column": "avg"}), document)
    assert sheet.title.endswith(", AVG") and len(sheet.rows) == 1
    assert sheet.note == "Further cells of the item in adjudication.csv: 1."
    document = manifest((("step 10", "trajectory/10/geometry"), ("final", "geometry/uniformity")))
    sheet = only_sheet(entries({"column": "step 10"}, {"column": "final"}), document)
    assert sheet.title.endswith(", FINAL") and len(sheet.rows) == 1


def test_cells_that_another_paper_prints_stand_before_those_that_none_does():
    alone = {"row": "crop-20", "other": "", "reported_other": ""}
    sheet = only_sheet(entries({}, alone))
    assert [row[0] for row in sheet.rows] == ["Crop 10%"]
    sheet = only_sheet(entries(alone))
    assert "Printed by simcse" not in sheet.header and sheet.rows[0][0] == "Crop 20%"


def test_each_other_paper_has_a_column_of_its_own():
    other = {"row": "crop-20", "other": "diffcse/table1/x/y/spearman", "reported_other": "70.1"}
    sheet = only_sheet(entries({}, other))
    assert sheet.header[1:3] == ("Printed by simcse", "Printed by diffcse")
    assert [row[1:3] for row in sheet.rows] == [("77.8", ""), ("", "70.1")]


def test_a_smaller_scale_says_that_a_share_is_no_verdict():
    at_scale, smaller = (
        adjudication_page(entries({}), {"repro/table4": manifest()}, comparable)
        for comparable in (True, False)
    )
    assert smaller.text[:-1] == at_scale.text
    assert "no verdict" in smaller.text[-1]
    assert adjudication_page([], {}, comparable=True) is None


def test_a_sheet_per_item():
    documents = {name: manifest() | {"item": name} for name in ("repro/table4", "simcse/table1")}
    page = adjudication_page(entries({}, {"item": "simcse/table1"}), documents, comparable=True)
    assert [sheet.title.partition(":")[0] for sheet in page.sheets] == list(documents)


# What reproduces


def item(name, verdicts, quoted=0):
    rows = [
        Row(id=str(place), label="x", quoted=place >= len(verdicts))
        for place in range(len(verdicts) + quoted)
    ]
    results = [
        Result(row=row.id, column="a", reported="70.0", reproduced=70.0, verdict=verdict)
        for row, verdict in zip(rows, [*verdicts, *[""] * quoted], strict=True)
    ]
    columns = ({"id": "a", "label": "A"},)
    document = {
        "item": name,
        "paper": "simcse",
        "kind": "table",
        "title": "t",
        "columns": columns,
        "rows": [],
    }
    found = make_item(document, (), scale="paper")
    return Item(**{**vars(found), "rows": tuple(rows), "results": tuple(results)})


def test_verdicts_are_counted_by_item_and_unused_ones_have_no_column():
    sheet = verdict_sheet([item("a/b", ["higher", "higher", "lower"], quoted=1), item("a/c", ["failed"])])
    assert sheet.header == ("Item", "▲ higher", "▼ lower", "✗ failed", "” quoted", "cells")
    assert sheet.rows == (("a/b", "2", "1", "0", "1", "4"), ("a/c", "0", "0", "1", "0", "1"))


def test_an_aggregate_has_an_interval_from_two_seeds_on():
    many = RowAggregate("a/b", "r", "R", 7, 5, 76.25, Estimate(75.111, 74.5, 75.9))
    one = RowAggregate("a/b", "q", "Q", 7, 1, None, Estimate(-0.5, -0.5, -0.5))
    sheet = aggregate_sheet([many, one])
    assert sheet.rows == (
        ("a/b", "R", "7", "5", "76.25", "75.11 [74.50, 75.90]"),
        ("a/b", "Q", "7", "1", "", "−0.50"),
    )


def test_a_smaller_scale_says_what_its_page_cannot_show():
    shape = Sheet("Shape", ("Item",), (("a/b",),))
    judged = reproduces_page([item("a/b", ["higher"])], shape, [], comparable=True, orders=True)
    assert [sheet.title for sheet in judged.sheets] == ["Verdicts by item", "Shape"], "no empty sheet"
    assert len(judged.text) == 1
    orders, machine = (
        reproduces_page([], shape, [], comparable=False, orders=orders) for orders in (True, False)
    )
    assert "orders and signs are" in orders.text[1] and "the machine only" in machine.text[1]


# Claims and audit


def test_claims_have_a_sheet_per_paper_in_their_order():
    row = dict.fromkeys(("place", "reported", "reproduction", "ours", "probability"), "") | {
        "text": "A is better than B.",
        "cells": "a/b/c/d; a/b/e/d; a/b/f/d",
    }
    page = claims_page([row | {"claim": name} for name in ("simcse/one", "simcse/two", "repro/one")], True)
    assert [(sheet.title, len(sheet.rows)) for sheet in page.sheets] == [("simcse", 2), ("repro", 1)]
    assert page.sheets[0].rows[0] == ("simcse/one: A is better than B.", "", "a/b (3 cells)", "", "", "", "")
    judged = claims_page([row | {"claim": "a/b", "ours": "supported", "probability": "0.987"}], True)
    assert judged.sheets[0].rows[0][-2:] == ("✓ supported", "0.99")


def test_findings_have_a_sheet_per_paper_and_none_is_said():
    finding = {
        "rule": "average",
        "place": "Table 6",
        "cells": "repro/table6/x/avg/spearman; repro/table6/x/STS12/spearman",
        "printed": "74.10",
        "follows": "74.20",
        "certainty": "certain",
        "note": "",
    }
    page = audit_page([finding | {"paper": "simcse"}, finding | {"paper": "repro"}])
    assert [sheet.title for sheet in page.sheets] == ["simcse", "repro"]
    assert page.sheets[1].rows == (("Table 6", "x / avg", "74.10", "74.20", "certain", ""),)
    assert audit_page([]).text[-1] == "Nothing was found." and audit_page([]).sheets == ()


# Terminal


def test_a_sheet_as_text_is_aligned_and_wraps_what_is_long():
    sheet = Sheet(
        "Title", ("Name", "Count", ""), (("word " * 12, "7", ""), ("b", "1,234", "")), note="One *word*."
    )
    text = sheet_text(sheet)
    lines = text.splitlines()
    assert lines[0] == "Title" and set(lines[2]) == {"-"}
    assert lines[1].split() == ["Name", "Count"]
    column = lines[1].index("Count") + len("Count")
    numbers = [line[:column].split()[-1] for line in lines if re.search(r"\d$", line)]
    assert numbers == ["7", "1,234"], "numbers end in one column"
    assert sum("word" in line for line in lines[3:-1]) > 1 and max(map(len, lines)) < 60
    assert lines[-1] == "One word."
    assert all(line == line.rstrip() for line in lines)


def test_a_page_as_text_has_title_paragraphs_and_sheets():
    page = Page(
        "Claims",
        ("Each *sentence* is judged. " * 9,),
        (Sheet("One", ("A",), (("x",),)), Sheet("Two", ("B",), ())),
    )
    text = page_text(page)
    assert text.startswith("Claims\n\nEach sentence is judged.")
    assert text.endswith("\n\nOne\nA\n-\nx\n\nTwo\nB\n-\n")
    assert max(map(len, text.splitlines())) <= 120
    assert max(map(len, page_text(page, 60).splitlines())) <= 60
    assert page_text(None) == ""


# From files


CONFIG = {
    "scale": "paper",
    "papers": {"simcse": ["table1", "table5"], "repro": ["table4"]},
    "seeds": [0, 1, 2],
    "adjudicate": ["repro/table4"],
}


@pytest.fixture(scope="module")
def findings():
    return audit(audit_plan(WORKFLOW))


def filled(folder, findings, **changes):
    """Run a study on made-up scores up to the report: manifests, tables, claims, audit and adjudication."""
    plan = load_plan({**CONFIG, **changes}, WORKFLOW)
    penalty = {"as-described": 0.0, "low-dropout": 3.0}
    write_scores(
        plan,
        plan.items,
        lambda cell, place: 80.0 - len(cell.row.id) + 0.3 * place - penalty[cell.protocol],
        protocols=penalty,
    )
    evaluations = Evaluations(plan.paths)
    for name, entry in plan.items.items():
        document = manifest_of(plan, entry)
        write_json(folder / plan.paths.manifest(name), document)
        write_table(document, plan.paths, folder / plan.paths.table(name))
    write_claims(claim_rows(plan, evaluations), folder / plan.paths.judged("claims"))
    write_audit(findings, folder / plan.paths.judged("audit"))
    explained = (row for name in adjudicated(plan) for row in adjudicate(plan, name, evaluations))
    write_adjudication(explained, folder / plan.paths.judged("adjudication"))
    return plan


def pages_of(plan):
    manifests = [read_json(plan.paths.manifest(name)) for name in plan.items]
    items = [
        make_item(document, read_results(Path(plan.paths.table(document["item"]))), scale=plan.scale.name)
        for document in manifests
    ]
    return pages(plan.record, manifests, items)


def test_the_pages_of_a_study_from_its_files(tmp_path, monkeypatch, findings):
    monkeypatch.chdir(tmp_path)
    plan = filled(tmp_path, findings)
    found = {page.title: page for page in pages_of(plan)}
    assert list(found) == ["What reproduces", "Claims", "Audit", "Adjudication"]
    verdicts, shape, means = found["What reproduces"].sheets
    assert {row[0] for row in verdicts.rows} == set(plan.items)
    assert {row[0] for row in shape.rows} >= {"simcse/table1", "repro/table4"}
    mean = next(row for row in means.rows if row[1] == "* SimCSE-BERT-base (Unsupervised models)")
    assert mean[2:4] == ("7", "3")
    value = 80 - len("unsup-simcse-bert-base") + 0.3
    assert mean[5].startswith(f"{value:.2f} [")
    assert len(found["Audit"].sheets) == len({one.paper for one in findings})
    table5, table4 = found["Adjudication"].sheets
    assert (table5.title.partition(":")[0], table4.title.partition(":")[0]) == (
        "simcse/table5",
        "repro/table4",
    )
    first = dict(zip(table4.header, table4.rows[0], strict=True))
    assert (first["Variant"], first["Effect"]) == ("Dropout 0.02 and 0.01", "−3.00 [−3.00, −3.00]")
    assert {row[table4.header.index("Variant")] for row in table4.rows} >= {"All of the released code"}
    claims = {row[0].partition(":")[0] for sheet in found["Claims"].sheets for row in sheet.rows}
    assert claims == {row["claim"] for row in read_rows(plan.paths.judged("claims"))}
    for page in found.values():
        assert page.title in page_text(page)


def test_a_study_that_adjudicates_nothing_has_no_page_of_it(tmp_path, monkeypatch, findings):
    monkeypatch.chdir(tmp_path)
    plan = filled(tmp_path, findings, scale="micro", papers={"simcse": ["table1"]}, adjudicate=[])
    found = {page.title: page for page in pages_of(plan)}
    assert list(found) == ["What reproduces", "Claims", "Audit"]
    assert "the machine only" in found["What reproduces"].text[-1]
    assert "judges no claim" in found["Claims"].text[-1]
