"""Pages drawn from all items: what reproduces, claims, audit, adjudication; and a page as text for a terminal."""

import json
import re
import shutil
from pathlib import Path

import pytest
from golden import example_report as example
from made_up import write_scores
from places import ROOT

import replicse
from replicse.commands import coloured, room
from replicse.commands.render import figures_verb, keep_verb, pages, report_verb
from replicse.errors import BadInput
from replicse.evaluation.bootstrap import Estimate
from replicse.files import read_json, read_rows, write_json, write_rows
from replicse.report.content.cells import printed_difference
from replicse.report.content.contents import Page, coverage
from replicse.report.content.tables import Sheet, verdict_counts
from replicse.report.formats.terminal import page_text
from replicse.report.formats.waterfall import waterfall_svg
from replicse.report.pages.adjudication import adjudication_page
from replicse.report.pages.audit import against, audit_page
from replicse.report.pages.claims import claims_page
from replicse.report.pages.reproduces import (
    aggregate_sheet,
    difference_sheet,
    reproduces_page,
    verdict_sheet,
)
from replicse.study.plan.paths import Paths
from replicse.study.plan.planner import load_plan
from replicse.study.results.aggregate import RowAggregate
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations

ENTRY = {
    "item": "repro/table4",
    "row": "crop-10",
    "column": "dev",
    "metric": "spearman",
    "protocol": "low-dropout",
    "n_seeds": "3",
    "note": "",
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
    "by_seed": "-2.0; -2.1; -2.2",
    "outcome": "in part",
}


def table(*columns, item="repro/table4"):
    """Return an item of these columns, by default one: (id, further facts)."""
    heads = [
        {"id": name, "label": name.upper(), "metric": "spearman", **facts}
        for name, facts in columns or [("dev", {})]
    ]
    rows = [("crop-10", "Crop 10%"), ("crop-20", "Crop 20%")]
    return example.result(
        item, "Augmentations", heads, rows, [], variants={"low-dropout": "Dropout 0.02 and 0.01"}
    )


def entries(*changes):
    return [ENTRY | FULL | change for change in changes]


def only_sheet(rows, item=None):
    page = adjudication_page(rows, {"repro/table4": item or table()}, comparable=True)
    (sheet,) = page.sheets
    return sheet


# Adjudication


def test_both_printed_numbers_ours_and_the_share_stand_in_one_line():
    sheet = only_sheet(entries({}))
    assert sheet.title == "repro/table4: Augmentations, DEV · scale paper"
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
        "Explains it?": "in part",
    }


def test_few_seeds_have_no_interval_and_a_variant_that_was_not_run_no_numbers():
    alone = dict.fromkeys(("low", "high", "share", "share_low", "share_high"), "") | {
        "outcome": "undetermined"
    }
    missing = dict.fromkeys(("ours", "effect", "by_seed", "outcome"), "") | {"protocol": "as-run"}
    pair, one = alone | {"by_seed": "-2.0; -2.2"}, alone | {"by_seed": "-2.1"}
    two, single, none = only_sheet(entries(pair, one, alone | missing)).rows
    assert two[-3:] == ("68.90", "−2.10 {−2.00, −2.20}", "undetermined"), "no share, so no column for it"
    assert single[-3:] == ("68.90", "−2.10", "undetermined")
    assert none[-4:] == ("as-run", "not run", "", "")
    assert none[:5] == ("",) * 5, "what is the same for every variant of a cell is said once"


def test_what_is_explained_at_a_smaller_scale_carries_its_name():
    smaller = example.result(
        "repro/table4", "T", [("dev", "DEV")], [("crop-10", "Crop")], [], scale="compact"
    )
    sheet = only_sheet(entries({}), smaller)
    assert sheet.rows[0][-1] == "in part (compact)"
    assert sheet.title.endswith(" · compact: not comparable")


def test_numbers_have_the_decimals_of_the_most_exact_print():
    coarse = {"reported": "64", "reported_other": "77.8"}
    unprinted = {"row": "crop-20", "reported": "", "reported_other": "", "gap": "", "share": ""}
    first, second = only_sheet(entries(coarse, unprinted | {"ours": "0.1234"})).rows
    assert (first[3], first[6]) == ("−13.2", "68.9")
    assert second[6] == "0.12", "where nothing is printed two decimals are shown"


def larger(row, gap, shares, **changes):
    """Return the row of a gap that is larger than its noise, under a variant of this share of it by seed."""
    each = [share * gap for share in shares]
    mean = sum(each) / len(each)
    told = {"share": mean / gap, "share_low": mean / gap - 0.2, "share_high": mean / gap + 0.2}
    numbers = {"gap": gap, "effect": mean, "low": mean - 1, "high": mean + 1, **told}
    effects = {"by_seed": "; ".join(map(repr, each)), "outcome": "explains"}
    return {"row": row, **{name: repr(value) for name, value in numbers.items()}, **effects, **changes}


def test_the_headline_names_the_variant_that_explains_the_most_and_its_share_of_all_gaps():
    first = larger("crop-10", -10.0, (0.9, 1.0, 1.1))
    second = larger("crop-20", 5.0, (0.9, 1.0, 1.1))
    page = adjudication_page(entries(first, second), {"repro/table4": table()}, comparable=True)
    # Student's t with two degrees: 4.303 * 0.1 / sqrt(3) = 0.248.
    said = "explains Crop 10%, Crop 20% of repro/table4: 100% [75, 125] of the gap."
    assert page.headline == f"“Dropout 0.02 and 0.01” {said}"
    assert page_text(page).startswith(f"Adjudication\n\n{page.headline}\n")
    # The longer gap counts for more: (10 * 1.2 + 5 * 0.6) / 15.
    uneven = larger("crop-10", -10.0, (1.2, 1.2, 1.2)), larger("crop-20", 5.0, (0.6, 0.6, 0.6))
    page = adjudication_page(entries(*uneven), {"repro/table4": table()}, comparable=True)
    assert "100% [100, 100]" in page.headline
    # A seed that failed in one of them leaves no pairs, and no interval of both.
    page = adjudication_page(
        entries(first, {**second, "by_seed": "4.5; 5.5"}), {"repro/table4": table()}, comparable=True
    )
    assert "100% of the gap" in page.headline


def test_a_waterfall_adds_the_variants_up_and_holds_them_against_all_of_the_code():
    other = {"protocol": "another", "effect": "-5.0", "low": "", "high": "", "by_seed": "-5.0"}
    whole = {"protocol": "as-run", "effect": "-10.0", "low": "-11.0", "high": "-9.0"}
    same = {"protocol": "same", "note": "same run", "effect": "0.0"}
    (fall,) = adjudication_page(
        entries(whole, {}, other, same), {"repro/table4": table()}, comparable=True
    ).waterfalls
    assert [(step.label, step.kind, step.start, round(step.end, 6)) for step in fall.steps] == [
        ("Printed gap", "gap", 0.0, -13.2),
        ("Dropout 0.02 and 0.01", "variant", 0.0, -2.1),
        ("another", "variant", -2.1, -7.1),
        ("Together, beyond their sum", "rest", -7.1, -10.0),
        ("as-run", "whole", 0.0, -10.0),
    ]
    assert (fall.steps[1].low, fall.steps[1].high) == (-2.35, -1.85) and fall.steps[2].low is None
    (fall,) = adjudication_page(entries({}, other), {"repro/table4": table()}, comparable=True).waterfalls
    assert (fall.steps[-1].label, fall.steps[-1].text) == ("Not explained", "−6.10")
    picture = waterfall_svg(fall)
    assert picture.count("<rect") == 4 and picture.count('class="range"') == 1
    assert "16% [14, 18]" in picture and 'role="img" aria-label="Crop 10%, DEV' in picture


# What reproduces


def item(name, verdicts, quoted=0):
    rows = [{"id": str(place), "label": "x"} for place in range(len(verdicts))]
    rows += [{"id": f"q{place}", "label": "x", "quoted": True} for place in range(quoted)]
    cells = [example.quotation(row["id"], "a", "70.0") for row in rows]
    for cell, verdict in zip(cells, verdicts, strict=False):
        cell.update(reproduced=70.0, verdict=verdict)
    return example.result(name, "t", [("a", "A")], rows, cells)


def test_verdicts_are_counted_by_item_and_unused_ones_have_no_column():
    sheet = verdict_sheet([item("a/b", ["higher", "higher", "lower"], quoted=1), item("a/c", ["failed"])])
    assert sheet.header == ("Item", "▲ higher", "▼ lower", "✗ failed", "† quoted", "cells")
    assert sheet.rows == (("a/b", "2", "1", "0", "1", "4"), ("a/c", "0", "0", "1", "0", "1"))


def test_an_aggregate_has_an_interval_from_three_seeds_on():
    many = RowAggregate("a/b", "r", "R", 7, 5, 76.25, Estimate(75.111, 74.5, 75.9), (75.0,) * 5)
    two = RowAggregate("a/b", "p", "P", 7, 2, 76.25, Estimate(75.0, 75.0, 75.0), (74.5, 75.5))
    one = RowAggregate("a/b", "q", "Q", 7, 1, None, Estimate(-0.5, -0.5, -0.5), (-0.5,))
    sheet = aggregate_sheet([many, two, one])
    assert sheet.rows == (
        ("a/b", "R", "7", "5", "76.25", "75.11 [74.50, 75.90]"),
        ("a/b", "P", "7", "2", "76.25", "75.00 {74.50, 75.50}"),
        ("a/b", "Q", "7", "1", "", "−0.50"),
    )


# Claims and audit


def test_claims_have_a_sheet_per_outcome_of_ours():
    row = dict.fromkeys(("place", "reported", "reproduction", "ours", "probability"), "") | {
        "text": "A is better than B.",
        "cells": "a/b/c/d; a/b/e/d; a/b/f/d",
    }
    outcomes = {"simcse/one": "not run", "simcse/two": "supported", "repro/one": "supported"}
    page = claims_page(
        [
            row | {"claim": name, "ours": ours, "probability": "0.987" if ours == "supported" else ""}
            for name, ours in outcomes.items()
        ],
        True,
    )
    assert [(sheet.title, len(sheet.rows)) for sheet in page.sheets] == [
        ("✓ supported (2)", 2),
        ("○ not run (1)", 1),
    ]
    # The title says ours, and columns that say nothing are left out.
    supported, open_ = page.sheets
    assert supported.header == ("Claim", "Cells", "P(weakest part holds)") and open_.header == (
        "Claim",
        "Cells",
    )
    assert supported.rows[0] == ("simcse/two: A is better than B.", "a/b (3 cells)", "0.99")


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
    rounded = finding | {"certainty": "unless one number was rounded in two ways", "paper": "repro"}
    rows = [rounded, finding | {"paper": "simcse"}, finding | {"paper": "repro", "against": "Table 5"}]
    page = audit_page(rows, {"repro"})
    assert [sheet.title for sheet in page.sheets] == ["repro: 2 findings, 1 certain"]
    assert [sheet.title for sheet in page.further] == ["simcse: 1 finding, 1 certain"]
    assert page.sheets[0].rows[0] == ("Table 6: 74.10", "Table 5", "74.20", "certain"), "certain ones first"
    assert page.sheets[0].rows[1][3] == "unless one number was rounded in two ways"
    assert page.file == "audit.html"
    nothing = audit_page([], set())
    assert nothing.text[-1] == "Nothing was found." and nothing.sheets == nothing.further == ()


@pytest.mark.parametrize(
    ("follows", "place"),
    [
        ("78.21 (Table 1, DiffCSE-RoBERTa-base, Avg.)", "Table 1, DiffCSE-RoBERTa-base, Avg."),
        ("1 of 2 parts fails: [Table 4, a] > [Table 5, b] (68.56 and 68.62)", "Table 4, a; Table 5, b"),
        ("3,108, counted on the data", "the data"),
        ("84.95, the mean of the 7 printed parts", ""),
    ],
)
def test_the_second_place_of_a_finding_is_read_from_its_arithmetic(follows, place):
    assert against({"follows": follows}) == place
    assert against({"follows": follows, "against": "Table 9"}) == "Table 9"


# Terminal


def test_a_sheet_as_text_is_aligned_and_wraps_what_is_long():
    sheet = Sheet("Title", ("Name", "Count"), (("word " * 12, "7"), ("b", "1,234")), note="One *word*.")
    lines = page_text(Page("Page", (), (sheet,)), 50).splitlines()[2:]
    assert lines[0] == "Title" and set(lines[2]) == {"─"}
    assert lines[1].split() == ["Name", "Count"]
    column = lines[1].index("Count") + len("Count")
    numbers = [line[:column].split()[-1] for line in lines if re.search(r"\d$", line)]
    assert numbers == ["7", "1,234"], "numbers end in one column"
    assert sum("word" in line for line in lines[3:-1]) > 1 and max(map(len, lines)) <= 50
    assert lines[-1] == "One word."
    assert all(line == line.rstrip() for line in lines)


def test_a_terminal_gets_colour_and_its_own_width(monkeypatch):
    page = Page("Page", (), (Sheet("", ("text", "n"), (("[red]B[/red] " * 12, "1"),)),))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    plain = page_text(page, room(), coloured())
    assert "[red]B[/red]" in plain and "\x1b[" not in plain
    assert 40 < max(map(len, plain.splitlines())) <= 80, "a pipe has 80 columns"
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = page_text(page, room(), coloured())
    assert "\x1b[1m" in shown
    assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in shown.splitlines()) <= 40
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in page_text(page, room(), coloured())


# Coverage and differences


def test_the_first_screen_counts_the_cells_whose_number_is_printed():
    """78 of 87 cells of a paper once had no printed number, and no page said so."""
    table, figure = example.dropout_table(), example.trajectory_figure()
    blank = [cell.model_copy(update={"reported": None}) for cell in table.cells[:3]]
    partly = table.model_copy(update={"cells": (*blank, *table.cells[3:])})
    told = "Its table is lost."
    assert coverage({"coverage": told}, [partly]) == f"6 of 9 cells have a printed number. {told}"
    drawn = len(figure.described)
    known = sum(cell.reported is not None for cell in figure.described.values())
    both = (
        f"{9 + known} of {9 + drawn} cells have a printed number (tables 9 of 9, figures {known} of {drawn})."
    )
    assert coverage({}, [figure, table]) == both


def test_a_difference_to_the_baseline_row_is_paired_by_seed():
    """Two intervals that overlap say nothing of rows whose seeds are shared."""
    cells = [
        example.judged(row, "dev", printed, values, scale="compact")
        for row, printed, values in (
            ("base", "82.5", [60.0, 65.0, 70.0]),
            ("less", "71.1", [50.0, 54.0, 60.0]),
            ("lone", "71.0", [59.0]),
        )
    ]
    rows = [("base", "Base"), ("less", "Less"), ("lone", "Lone")]
    item = example.result("made/table1", "T", [("dev", "Dev")], rows, cells, scale="compact", baseline="base")
    sheet = difference_sheet([item])
    assert sheet.rows[0] == (
        "made/table1", "Dev", "Less less Base", "\u221211.4", "\u221210.33 [\u221211.77, \u22128.90]"
    )  # fmt: skip
    two = item.model_copy(
        update={"cells": tuple(cell.model_copy(update={"values": cell.values[:2]}) for cell in item.cells)}
    )
    assert difference_sheet([two]).rows[0][-1] == "\u221210.50 {\u221210.00, \u221211.00}"
    titles = [sheet.title for sheet in reproduces_page([item], comparable=False, orders=True).sheets]
    assert any(title.startswith("Differences to the baseline row") for title in titles)


# From files


CLAIM = {
    "claim": "simcse/dropout",
    "text": "Dropout helps.",
    "place": "p. 4",
    "cells": "simcse/table3/p0.1/stsb-dev",
    "reported": "supported",
    "reproduction": "",
    "ours": "supported",
    "probability": "0.99",
}
FINDING = dict.fromkeys(("rule", "place", "cells", "printed", "follows", "certainty", "note"), "x")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study as its jobs leave it: record, items, claims, audit, adjudication; and what `study.json` holds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replicse.report.document.find_engine", lambda: None)
    items = [example.dropout_table(), example.adjudicated_table()]
    for item in items:
        write_json(f"results/paper/items/{item.item}.json", item.plain())
    for what, rows in {
        "claims": [CLAIM],
        "audit": [FINDING | {"paper": "simcse"}],
        "adjudication": entries({"column": "stsb-dev"}),
    }.items():
        write_rows(f"results/paper/{what}.csv", list(rows[0]), rows)
    record = {**example.STUDY, "items": [item.item for item in items]}
    write_json("results/paper/study.json", record)
    write_json("results/paper/data.json", {"root": "data", "files": example.STUDY["data"]})
    return record, items


def run(verb, *words):
    from argparse import ArgumentParser

    parser = ArgumentParser()
    action = verb(parser)
    action(parser.parse_args(words))


def test_the_pages_of_a_study_from_its_files(study):
    record, items = study
    found = {page.title: page for page in pages(record, items, Paths("paper"))[0]}
    assert list(found) == [
        "What reproduces", "Claims", "Adjudication", "What the papers' own numbers say",
    ]  # fmt: skip
    assert found["Claims"].sheets[0].title == "✓ supported (1)"
    assert found["What the papers' own numbers say"].sheets[0].title == "simcse: 1 finding, 0 certain"
    assert found["Adjudication"].sheets[0].rows[0][0] == "Crop 10%"
    findings = pages(record, items, Paths("paper"))[1]
    first = {finding.target: finding.sentence for finding in findings}
    assert first["counts"].startswith(f"{sum(verdict_counts(items).values())} cells: ")
    assert first["claims"] == "The runs test 1 of 1 claim of the papers: 1 supported."
    assert "explains in part" in first["adjudication"] and "τ" in findings[-2].detail
    assert list(first)[-1] == "audit" and first["audit"].startswith("0 certain contradictions")


@pytest.mark.parametrize(
    ("what", "field", "text"),
    [("claims", "probability", "high"), ("adjudication", "gap", "nan"), ("adjudication", "by_seed", "1.0;x")],
)
def test_a_judged_file_without_a_number_is_refused_with_its_row(study, what, field, text):
    record, items = study
    file = Path(f"results/paper/{what}.csv")
    rows = read_rows(file)
    write_rows(file, list(rows[0]), [{**rows[0], field: text}, *rows[1:]])
    with pytest.raises(
        BadInput, match=rf"{what}\.csv: row 1: {field} is '{text}'; expected a number; delete it"
    ):
        pages(record, items, Paths("paper"))
    write_rows(
        file, [name for name in rows[0] if name != field], [{k: v for k, v in rows[0].items() if k != field}]
    )
    with pytest.raises(BadInput, match=rf"{what}\.csv: no column {field}; delete it"):
        pages(record, items, Paths("paper"))


def test_the_verbs_draw_and_write_from_the_files_of_a_study(study, tmp_path):
    report = ("--study", "results/paper/study.json", "--data", "results/paper/data.json")
    item = ("--item", "results/paper/items/simcse/table3.json")
    run(figures_verb, *item, "--out", "figures/paper/simcse/table3.svg")
    run(report_verb, *report, "--out", "reports/paper/report.html")
    text = (tmp_path / "reports/paper/report.md").read_text(encoding="utf-8")
    assert "71.1 → 70.6 ±5.5 (−0.5) ≈ within seed spread" in text and "Dropout helps." in text
    assert "(../../figures/paper/simcse/table3.svg)" in text and "275,601" in text
    assert "torch" in text.partition("### Versions")[2]


def test_a_committed_study_is_kept_with_all_it_is_written_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replicse.report.document.find_engine", lambda: None)
    config = {
        "scale": "compact",
        "papers": {"simcse": ["table3"], "diffcse": ["table7"]},
        "rows": {"simcse/table3": ["p0.0", "p0.1"], "diffcse/table7": ["ratio-30"]},
        "crossed": {"simcse/table3": ["p0.0", "p0.1"]},
        "seeds": [0, 1, 2],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    plan = load_plan(config, ROOT / "workflow")
    words = ("--workflow", str(ROOT / "workflow"))
    with pytest.raises(
        BadInput, match="simcse/table3, diffcse/table7 not tabulated; run the study to its report"
    ):
        run(keep_verb, "mine", "--study", "config.json", *words)
    write_scores(plan, plan.items, lambda cell, place: 60 + 5 * (cell.row.id == "p0.1") + place)
    clean = {"commit": "0123456789abcdef", "dirty": False}
    for name, spec in plan.runs.items():
        write_json(plan.paths.run(name, "provenance.json"), {**clean, "job": {"run": spec.canonical()}})
    for item in plan.items.values():
        write_json(plan.paths.item(item.id), item_result(plan, item, Evaluations(plan)).plain())
    write_json(plan.paths.data, {"root": "secret", "files": example.STUDY["data"]})
    monkeypatch.setattr("replicse.provenance.record.software", lambda: {**clean, "dirty": True})
    with pytest.raises(BadInput, match="the code differs from commit 0123456789ab; commit the changes"):
        run(keep_verb, "mine", "--study", "config.json", *words)
    monkeypatch.setattr("replicse.provenance.record.software", lambda: clean)
    trained = plan.paths.run(next(iter(plan.runs)), "provenance.json")
    evaluated = next(file for item in plan.items.values() for file in plan.evaluation_files(item))
    for file, record, changed in (
        (trained, read_json(trained), {**clean, "dirty": True}),
        (evaluated, read_json(evaluated), {"provenance": {**clean, "dirty": True}}),
    ):
        write_json(file, {**record, **changed})
        with pytest.raises(BadInput, match=f"{file}: made with uncommitted changes to commit 0123456789ab"):
            run(keep_verb, "mine", "--study", "config.json", *words)
        write_json(file, record)
    assert not (tmp_path / "reports").exists(), "nothing is written before it is known that all can be kept"
    run(keep_verb, "mine", "--study", "config.json", *words)
    shutil.rmtree("results")
    folder = tmp_path / "reports/studies/mine"
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "(../../../figures/studies/mine/simcse/table3.svg)" in report and "secret" not in report
    design = "3 backbones × 3 fine-tunings, mean {}; standard deviation 0.00 between backbones, {} between fine-tunings"
    assert design.format("66.00", "1.00") in report, "p0.1 is 65, 66 and 67 on each backbone"
    assert design.format("−5.00", "0.00") in report, (
        "no dropout less it, on the same backbone under the same seed"
    )
    assert report.index("SimCSE: Simple") < report.index("DiffCSE: Difference"), "in the order of the config"
    values = replicse.load(folder).values
    assert len(values[values["protocol"].str.startswith("on-backbone-")]) == 18
    for file in ("report.html", "claims.csv", "tables/simcse/table3.csv"):
        (folder / file).unlink()
    monkeypatch.setattr("replicse.commands.render.study_facts", None)
    run(report_verb, "--study", "mine", *words)
    assert (folder / "report.md").read_text(encoding="utf-8") == report, "written again as it was"
    assert (folder / "claims.csv").is_file() and (folder / "tables/simcse/table3.csv").is_file()
    with pytest.raises(BadInput, match=r'name is "\.\./mine"; expected small letters'):
        run(keep_verb, "../mine", "--study", "config.json", *words)
    with pytest.raises(BadInput, match='no committed study is named "mime"; did you mean "mine"'):
        run(report_verb, "--study", "mime", *words)


def test_a_mistake_in_an_items_file_is_named(study):
    write_json("results/paper/items/simcse/table3.json", study[1][0].plain() | {"tittle": "x"})
    with pytest.raises(BadInput, match=r'table3\.json: unknown key "tittle"; did you mean "title"'):
        run(figures_verb, "--item", "results/paper/items/simcse/table3.json", "--out", "x.svg")


def test_a_printed_difference_has_the_decimals_that_it_has():
    shown = [printed_difference(value) for value in (71.1 - 82.5, 80.5 - 82.5, 5e6 - 314e3, 0.0009, None)]
    assert shown == ["−11.4", "−2", "+4,686,000", "+0.0009", ""]
