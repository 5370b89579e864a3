"""Pages with all items, and pages as text for a terminal.

These are reproductions, claims, audit and adjudication.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from golden import example_report as example
from job_files import write_job
from verbs import run

from replicse.cli import job
from replicse.errors import BadInput
from replicse.files import read_json, write_json
from replicse.judge.report.build_report import judged_item, report
from replicse.judge.report.judgements import Finding, JudgedClaim, Judgements
from replicse.judge.report.report_types import Report
from replicse.show.content.contents import Surroundings
from replicse.show.content.sheets import verdict_counts
from replicse.show.document import whole_document
from replicse.show.pages.reproduces import difference_sheet, reproduces_page

FIGURE = "figures/paper/simcse/table3.svg"

# Differences


def test_a_difference_to_the_baseline_row_is_paired_by_seed():
    """A difference to the baseline row is paired by seed.

    If rows share seeds, overlapping intervals mean nothing.
    """
    cells = [
        example.judged("base", "dev", "82.5", [60.0, 65.0, 70.0], scale="compact"),
        example.judged("less", "dev", "71.1", [50.0, 54.0, 60.0], scale="compact"),
        example.judged("lone", "dev", "71.0", [59.0], scale="compact"),
    ]
    rows = [("base", "Base"), ("less", "Less"), ("lone", "Lone")]
    item = example.result("made/table1", "T", [("dev", "Dev")], rows, cells, scale="compact", baseline="base")
    sheet = difference_sheet([item])
    assert sheet.rows[0] == (
        "made/table1", "Dev", "Less minus Base", "\u221211.4", "\u221210.33 [\u221211.77, \u22128.90]"
    )  # fmt: skip
    crossed = replace(item.effects[0], backbones=3)
    rows = difference_sheet([item.model_copy(update={"effects": (crossed,)})]).rows
    assert rows[0][-1].endswith("\u22128.90] over 3 pairs of backbone and seed")
    two = item.model_copy(
        update={"cells": tuple(cell.model_copy(update={"values": cell.values[:2]}) for cell in item.cells)}
    )
    assert difference_sheet([judged_item(two)]).rows[0][-1] == "\u221210.50 {\u221210.00, \u221211.00}"
    study = example.STUDY | {"scale": "compact", "comparable": False}
    titles = [sheet.title for sheet in reproduces_page(report(study, [item])).sheets]
    assert any(title.startswith("Differences to the baseline row") for title in titles)


# Pages from files


CLAIM = JudgedClaim(
    "simcse/dropout", "Dropout helps.", "p. 4", ("simcse/table3/p0.1/stsb-dev",), "supported", "", "supported", 1,
    0.99, 5,
)  # fmt: skip
FINDING = Finding("simcse", "x", "x", ("x",), "x", "x", "x")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write the files of a study as the jobs would; return study and record.

    These are record, items, claims, audit and adjudication.
    """
    monkeypatch.chdir(tmp_path)
    items = [example.item("dropout"), example.item("adjudicated")]
    for item in items:
        write_json(f"results/paper/items/{item.item}.json", example.plain(item))
    judgements = Judgements(claims=[CLAIM], audit=[FINDING], adjudication=example.adjudicated()[:1])
    write_json("results/paper/judgements.json", judgements.plain())
    record = {**example.STUDY, "items": [item.item for item in items]}
    write_json("results/paper/record.json", record)
    write_json("results/paper/data.json", {"root": "data", "files": example.STUDY["data"]})
    return record, items, judgements


def test_the_pages_of_a_study_from_its_files(study):
    record, items, judgements = study
    drawn = whole_document(report(record, items, judgements), Surroundings())
    found = {page.title: page for page in drawn.pages}
    assert list(found) == [
        "What reproduces", "Claims", "Adjudication", "Audit of the printed numbers",
    ]  # fmt: skip
    assert found["Claims"].sheets[0].title == "✓ supported (1)"
    assert found["Audit of the printed numbers"].sheets[0].title == "simcse: 1 finding, 0 certain"
    assert found["Adjudication"].sheets[0].rows[0][0] == "Crop 10%"
    first = {finding.target: finding.sentence for finding in drawn.findings}
    assert first["counts"].startswith(f"{sum(verdict_counts(items).values())} cells: ")
    assert first["claims"] == "The runs test 1 of 1 claim of the papers: 1 supported."
    assert list(first) == ["counts", "claims", "what-reproduces"] and "τ" in drawn.findings[-1].detail
    assert "explains in part" in found["Adjudication"].headline


def test_the_verbs_draw_and_write_from_the_files_of_a_study(study, tmp_path):
    item, record = "results/paper/items/simcse/table3.json", "results/paper/record.json"
    results, drawn, shown = map(Path, ("results/paper", FIGURE, "reports/paper/report.html"))
    run(job, *write_job(results, "figures", {"item": item}, [drawn])[1:])
    shown.parent.mkdir(parents=True, exist_ok=True)
    run(job, *write_job(results, "report", {"study": record}, [shown])[1:])
    text = (tmp_path / "reports/paper/report.md").read_text(encoding="utf-8")
    assert "71.1 → 70.6 ±5.5 (−0.5) ≈ within seed spread" in text and "Dropout helps." in text
    assert "(../../figures/paper/simcse/table3.svg)" in text and "275,601" in text
    assert "torch" in text.partition("### Versions")[2]
    kept = Report.of(read_json("reports/paper/report.json"), "report.json")
    assert kept.claims == (CLAIM,) and kept.adjudication[0].shown == study[2].adjudication


def test_a_mistake_in_an_items_file_is_named(study):
    write_json("results/paper/items/simcse/table3.json", example.plain(study[1][0]) | {"tittle": "x"})
    with pytest.raises(BadInput, match=r'table3\.json: unknown key "tittle"; did you mean "title"'):
        item = {"item": "results/paper/items/simcse/table3.json"}
        run(job, *write_job(Path("results/paper"), "figures", item, [Path("x.svg")])[1:])
