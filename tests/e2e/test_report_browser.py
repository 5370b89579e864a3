"""A report in a browser: keyboard, copied commands, and row filters.

Also tests that axe-core finds no accessibility errors.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from browser import faults, title_of, with_axe, with_browser
from golden import example_report as example

from replicse.judge.report.build_report import report
from replicse.judge.report.judgements import Finding, Judgements
from replicse.show.content.contents import Headline
from replicse.show.formats import html
from replicse.show.pages.audit import audit_page
from replicse.spec.cell_id import CellId

ACTS = Path(__file__).with_name("report_browser.js").read_text(encoding="utf-8")


@with_browser
def test_a_cell_is_reached_and_its_command_copied_by_keyboard(tmp_path):
    items = [example.item("dropout"), example.item("sts")]
    run = items[0].described[CellId(items[0].item, "p0.1", "stsb-dev", "spearman")].values[0].run
    report = example.document(example.STUDY, items, root="../..", json="items/ITEM.json")
    text = html.paper(report, report.sections[0], {item.item: "" for item in items})
    file = tmp_path / "simcse.html"
    file.write_text(text.replace("</body>", f"<script>{ACTS}</script></body>"), encoding="utf-8")
    seen = title_of(file)
    assert seen["tip"] == "grid" and seen["open"] and seen["closed"]
    assert "82.5 (Table 3" in seen["panel"] and seen["hash"] == "#simcse-table3--p0.1--stsb-dev"
    assert "replicse run simcse/table3 --config results/paper/config.json" in seen["panel"]
    assert f"logs/paper/train/{run}.log" in seen["panel"] and f"runs/{run}/provenance.json" in seen["panel"]
    assert seen["copied"] == "replicse why simcse/table3/p0.1/stsb-dev --scale paper"
    assert seen["rows"] == 1
    links = seen["links"]
    assert links[:3] == [
        "https://aclanthology.org/2021.emnlp-main.552",
        "report.html#data",
        "items/simcse/table3.json",
    ]
    assert links[3] == f"../../logs/paper/train/{run}.log"
    assert seen["sorted"] == ["Fixed 0.1a", "0.0", "No dropoutb"] and seen["restored"]


def shown_pages():
    """Return a page of each kind as a dict: front page, paper, item."""
    items = [example.item("dropout"), example.item("augmentation"), example.item("trajectory")]
    items[0] = example.percentages(items[0])
    findings = [Headline("All cells.", "all of them", "counts"), Headline("Gaps.", "one", "adjudication")]
    found = [
        Finding(paper, "average", "Table 6", (), "74.10", "74.20", "certain")
        for paper in ("simcse", "diffcse")
    ]
    audit = audit_page(report(example.STUDY, items[:1], Judgements(audit=found)))
    about = "# Mine\n## Part\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    whole = example.document(example.STUDY, items, [example.adjudication(), audit], findings, about=about)
    effects = example.document(example.STUDY | {"comparable": False}, items, [], findings, about=about)
    first = whole.sections[0]
    pictures = {item.item: "data:image/gif;base64,R0lGODlhAQABAAAAACw=" for item in items}
    return {
        "report": html.document(whole),
        "effects": html.document(replace(effects, picture="effects")),
        "audit": html.page(whole, audit),
        "simcse": html.paper(whole, first, pictures),
        "table3": html.paper(whole, replace(first, entries=first.entries[:1]), pictures, alone=True),
    }


@with_browser
@pytest.mark.parametrize("name", ["report", "effects", "audit", "simcse"])
def test_no_page_scrolls_sideways_on_a_telephone(name, tmp_path):
    """No page should scroll sideways on a telephone.

    The page is shown in a frame of 390 pixels with a scroll bar, because Chromium's windows are at least 500
    pixels wide.
    """
    inner = tmp_path / "inner.html"
    inner.write_text(shown_pages()[name], encoding="utf-8")
    file = tmp_path / "outer.html"
    file.write_text(
        '<title>[]</title><iframe src="inner.html" width="405" height="800" style="border:0"></iframe><script>'
        'addEventListener("load", function () { var inner = frames[0].document.documentElement;'
        "document.title = JSON.stringify([inner.scrollWidth, inner.clientWidth]); });</script>",
        encoding="utf-8",
    )
    wide, room = title_of(file, "--allow-file-access-from-files", "--virtual-time-budget=5000")
    assert wide <= room <= 390


@with_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["report", "effects", "audit", "simcse", "table3"])
def test_no_page_has_a_serious_fault_of_accessibility(name, dark, tmp_path):
    text = shown_pages()[name]
    # The default colours of the browser depend on the desktop.
    text = text.replace("@media (prefers-color-scheme: dark)", "@media all" if dark else "@media not all")
    text = text.replace('content="light dark"', f'content="{"dark" if dark else "light"}"')
    file = tmp_path / f"{name}.html"
    file.write_text(text.replace("</body>", f"{faults()}</body>"), encoding="utf-8")
    assert title_of(file, "--virtual-time-budget=60000", "--window-size=1440,900") == []


@with_axe
def test_a_fault_of_accessibility_is_found(tmp_path):
    file = tmp_path / "bad.html"
    file.write_text(
        f'<html lang="en"><title>Bad</title><body><img src="x">{faults()}</body></html>', encoding="utf-8"
    )
    assert [fault[0] for fault in title_of(file, "--virtual-time-budget=60000")] == ["image-alt"]
