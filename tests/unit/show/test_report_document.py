"""The complete report: text and links, and LaTeX that can be compiled."""

import logging
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from golden import example_report as example

from replicse.show.content import contents
from replicse.show.content.records import records_of
from replicse.show.content.sheets import Sheet
from replicse.show.document import write_report
from replicse.show.figures import draw
from replicse.show.formats import html
from replicse.show.formats.terminal import item_text

VOID = {"meta", "br", "img", "hr", "link", "input"}


class Page(HTMLParser):
    """Parse a page: check nesting, and list ids, links and external files."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.sources, self.text = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [facts["id"]] if "id" in facts else []
        self.links += [facts["href"]] if "href" in facts else []
        self.sources += [facts["src"]] if "src" in facts else []
        assert tag not in ("link", "iframe") and not (tag == "script" and facts)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Draw the figures of the examples.

    Returns:
        A list of items, and a dict from an item's id to the path of the figure.
    """
    folder = tmp_path_factory.mktemp("figures")
    items = list(map(example.item, example.REPORTED))
    drawings = {item.item: folder / item.item for item in items if item.figure}
    for item in items:
        if item.figure:
            draw(item.figure, records_of(item), drawings[item.item])
    return items, drawings


def test_all_formats_hold_every_item_in_the_papers_order(tmp_path, drawn, caplog):
    caplog.set_level(logging.INFO, logger="replicse")
    sheet = Sheet("Claims", ("Claim", "Holds"), (("Dropout helps.", "yes"),))
    claims = contents.Page("Claims", ("What the papers *state*.",), (sheet,))
    items, drawings = drawn
    audit = contents.Page("Audit", ("In print.",), (), file="audit.html")
    shuffled = [items[-1], *items[:-1]]
    written = write_report(
        tmp_path / "deep" / "reports", example.document(example.STUDY, shuffled, [claims, audit]), drawings
    )
    assert [path.name for path in written][:7] == [
        "report.md", "report.tex", "report.html", "audit.html", "simcse.html", "repro.html", "macros.tex",
    ]  # fmt: skip
    found = (path for path in written[0].parent.rglob("*") if path.is_file())
    assert sorted(found) == sorted(written) and len(written) == 7 + 2 * len(items)
    assert "items=7" in caplog.text
    for path in written[:3]:
        text = path.read_text(encoding="utf-8")
        assert all(item.title in text for item in items)
        if path.suffix == ".html":
            continue
        places = [text.rindex(item.title) for item in items]
        assert places == sorted(places), path.name
        assert text.rindex("Dropout helps.") > places[-1], "tables first, then what is drawn from all of them"
        for digest in (entry["sha256"] for entry in example.STUDY["data"]):
            assert digest[:16] in text
        assert "3f1c9a7e5b2d" in text and "NVIDIA A100 80GB" in text


def test_the_html_pages_are_self_contained_and_lead_to_each_other(tmp_path, drawn):
    items, drawings = drawn
    items = [items[0], example.percentages(items[1]), *items[2:]]
    found = [
        contents.Headline("All of them.", "simcse/table3", "counts"),
        contents.Headline("One of them.", "", "simcse/table3/p0.1/stsb-dev"),
    ]
    sheet = Sheet("simcse: 1", ("In print",), (("75.4 [Table 3]",),))
    audit = contents.Page("Audit", ("In print.",), (sheet,), file="audit.html", lines=True)
    about = "# Mine\nText of **people**."
    report = example.document(example.STUDY, items, [audit], found, about=about)
    write_report(tmp_path, report, drawings)
    texts, pages = {}, {}
    for path in tmp_path.glob("*.html"):
        texts[path.name] = path.read_text(encoding="utf-8")
        pages[path.name] = Page(texts[path.name])
    sources = []
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            file, _, anchor = link.partition("#")
            assert "://" in link or not anchor or anchor in pages[file or name].ids, link
        own = re.sub(r'src="data:[^"]*"', "", texts[name])
        assert "url(" not in own and "@import" not in own
        sources += page.sources
    assert len(sources) == len(drawings) == 4
    for source in sources:
        assert source.startswith("data:image/svg+xml,") and not set(source) & set('<>"#&')
    index = pages["report.html"].links
    assert "#counts" in index
    assert index.count("simcse.html#simcse-table3--p0.1--stsb-dev") == 2, "of its finding and of its point"
    assert "Text of <strong>people</strong>." in texts["report.html"]
    (row,) = (row for row in html.search_index(report) if row[0] == "simcse Table 3: 0.1")
    assert row[2] + row[3]["82.5"] == "simcse.html#simcse-table3--p0.1--stsb-dev"
    assert "replicse why simcse/table3/p0.1/stsb-dev --scale paper" in "".join(pages["simcse.html"].text)


def test_the_picture_of_a_smaller_scale_is_of_effects_or_orders_never_of_absolute_differences():
    study = example.STUDY | {"scale": "compact", "comparable": False, "judges_orders": True}
    item = example.item("dropout", "compact")
    effects = html.document(example.document(study, [example.percentages(item)]))
    assert '<svg class="effects"' in effects and "Fixed 0.1 minus 0.1" in effects
    assert "points against the baseline row" in effects and '<svg class="deltas"' not in effects
    orders = html.document(example.document(study, [item]))
    assert orders.count('<svg class="slopes"') == 1 and "order of the rows, best first" in orders
    assert "compact: not comparable" in orders
    judged = html.document(example.document(example.STUDY, [example.percentages(example.item("dropout"))]))
    assert '<svg class="deltas"' in judged and "logarithmic beyond" in judged
    micro = study | {"scale": "micro", "judges_orders": False}
    machine = html.document(example.document(micro, [example.percentages(item)]))
    for kind in ("effects", "slopes", "deltas"):
        assert f'<svg class="{kind}"' not in machine


def test_texts_of_a_paper_run_no_script(tmp_path):
    """Texts of a paper should be escaped in Markdown and in the HTML page.

    The Markdown once contained raw HTML, and a comment in a title ended the script of the search.
    """
    text = "<!--<script><img src=x onerror=alert(1)>"
    item = example.item("dropout")
    rows = [item.rows[0].replace(note=text), *item.rows[1:]]
    item = item.replace(title=text, rows=tuple(rows), notes=(text,), deviations=f"{text}\n\n{text}")
    report = example.document(example.STUDY, [item], about=f"# Mine\n{text}")
    write_report(tmp_path, report, {})
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<!--" not in page and page.count("<script") == page.count("</script>") == 1
    files = [*tmp_path.rglob("*.md")]
    assert len(files) > 1
    for file in files:
        assert not re.search(
            r"(?<!\\)<(?!sup|/sup|br|a id|/a|https?:)[A-Za-z/!?]", file.read_text(encoding="utf-8")
        ), file


BARE = {"scale": "mine", "shows": "Only this.", "seeds": [0], "papers": {}, "protocols": []}


def test_a_study_with_little_in_it_still_gives_a_report(tmp_path):
    report = example.document(BARE, [])
    assert report.statement == "Only this."
    assert report.facts == (("Scale", "mine"), ("Seeds", "0"))
    assert report.sections == () and [sheet.title for sheet in report.provenance] == ["Study"]
    item = example.result("mine/table1", "Empty & bare", [], [], [])
    study = {**BARE, "papers": {"mine": {"title": "Mine", "year": 2025}}}
    write_report(tmp_path, example.document(study, [item]))
    page = Page((tmp_path / "mine.html").read_text(encoding="utf-8"))
    assert "mine-table1" in page.ids and "Empty & bare" in "".join(page.text)
    assert item_text(item).startswith("mine/table1  Empty & bare")


ENGINE = next(filter(None, map(shutil.which, ("pdflatex", "xelatex", "lualatex"))), None)


def compiled(source):
    """Compile a LaTeX file in its folder, and return the engine's output."""
    words = [ENGINE, "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", source.name]
    done = subprocess.run(words, cwd=source.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert source.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    return done.stdout


@pytest.mark.skipif(ENGINE is None, reason="no TeX engine is installed")
def test_the_report_compiles_and_so_does_every_table_in_a_document_of_its_own(tmp_path, drawn):
    """The report should compile, and each table in a separate document.

    A paper should be able to include a table unchanged: with the macros in the preamble, the table by name,
    and no picture.
    """
    items, drawings = drawn
    written = write_report(tmp_path, example.document(example.STUDY, items), drawings)
    said = compiled(tmp_path / "report.tex")
    assert "Overfull" not in said and "Missing character" not in said
    tables = [path.relative_to(tmp_path) for path in written if path.suffix == ".tex"][2:]
    assert len(tables) == len(items) and Path("tables/simcse/table5.tex") in tables
    long, body = [], []
    for name in tables:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert r"\toprule" in text and "includegraphics" not in text
        if "longtable" in text:
            long.append(rf"\input{{{name}}}")
        else:
            body.append(rf"\begin{{table}}\caption{{Mine.}}\input{{{name}}}\end{{table}}")
    preamble = [
        "\\documentclass[a4paper]{article}",
        "\\usepackage[margin=20mm]{geometry}",
        "\\input{tables/macros}",
    ]
    mine = tmp_path / "mine.tex"
    mine.write_text("\n".join([*preamble, r"\begin{document}", *long, *body, r"\end{document}"]))
    compiled(mine)
