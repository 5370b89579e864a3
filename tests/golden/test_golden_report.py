"""Every format of the example tables, byte for byte."""

import pytest
from golden import example_report as example
from pandas import DataFrame

from replicse.show.content.contents import Headline, Page
from replicse.show.content.records import as_csv, records_of
from replicse.show.content.sheets import Sheet
from replicse.show.content.tables import grid_of
from replicse.show.formats import html, latex, markdown
from replicse.show.formats.terminal import item_text, page_text

HTML = html._environment().get_template("table.html.j2").module
FORMATS = {"md": markdown.grid, "tex": latex.grid, "html": HTML.grid}
SHEETS = {"md": markdown.sheet, "tex": latex.sheet, "html": HTML.sheet}
CLAIMS = Sheet(
    "Claims",
    ("Paper", "Claim", "Seeds", "Holds"),
    (
        ("simcse", "Dropout noise beats every discrete augmentation | by 100%.", "5", "yes"),
        ("repro", "No *marks* of a_markup_language <work> here.", "", "not run"),
    ),
    note="One line per *claim*.",
)
PAGE = Page("What the papers state", ("Each sentence under three sets of *numbers*.",), (CLAIMS,))


@pytest.mark.parametrize("name", example.REPORTED)
@pytest.mark.parametrize("suffix", FORMATS)
def test_table(golden, name, suffix):
    golden(f"{name}.{suffix}", str(FORMATS[suffix](grid_of(example.item(name)))))


@pytest.mark.parametrize("name", example.REPORTED)
def test_terminal(golden, name):
    golden(f"{name}.txt", item_text(example.item(name)))


@pytest.mark.parametrize("name", ("trajectory", "scatter", "dropout", "augmentation", "spectrum", "density"))
def test_what_a_figure_is_drawn_from(golden, name):
    records = records_of(example.item(name))
    golden(f"{name}.csv", DataFrame(as_csv(records)).to_csv(index=False, float_format="%.4f"))


@pytest.mark.parametrize("suffix", SHEETS)
def test_sheet(golden, suffix):
    golden(f"claims.{suffix}", str(SHEETS[suffix](CLAIMS)))


@pytest.mark.parametrize("suffix", SHEETS)
def test_adjudication(golden, suffix):
    (sheet,) = example.adjudication().sheets
    golden(f"adjudication.{suffix}", str(SHEETS[suffix](sheet)))


@pytest.mark.parametrize("scale", ("paper", "micro", "compact"))
def test_page_in_a_terminal(golden, scale):
    name = "adjudication" if scale == "paper" else f"adjudication-{scale}"
    golden(f"{name}.txt", page_text(example.adjudication(scale)))


def test_smaller_scale_shows_no_verdict(golden):
    smaller = example.item("dropout", "micro")
    golden("dropout-micro.md", markdown.grid(grid_of(smaller)))
    golden("dropout-embedded.md", markdown.grid(grid_of(smaller.replace(is_embedded=True))))


@pytest.mark.parametrize("suffix", FORMATS)
def test_two_seeds_are_shown_themselves_and_differences_carry_the_scale(golden, suffix):
    golden(f"two-seeds.{suffix}", FORMATS[suffix](grid_of(example.few_seeds("temperature"))))


def test_two_seeds_in_a_terminal(golden):
    items = map(example.few_seeds, ("dropout", "temperature"))
    golden("two-seeds.txt", "\n".join(item_text(item, 80) for item in items))


@pytest.mark.parametrize("suffix", ("md", "tex", "html", "paper.html"))
def test_report(golden, suffix):
    items = [example.item("dropout", "compact"), example.item("augmentation", "compact")]
    study = {**example.STUDY, "scale": "compact", "shows": "Orders and *no* numbers.", "dirty": True}
    report = example.document(
        study,
        items,
        [PAGE],
        [Headline("The runs test 1 of 2 claims.", "simcse/table3, scale compact", "what-the-papers-state")],
    )
    pictures = {item.item: "" for item in items}
    render = {
        "md": lambda: markdown.document(report, pictures),
        "tex": lambda: latex.document(report, pictures),
        "html": lambda: html.document(report),
        "paper.html": lambda: html.paper(report, report.sections[0], pictures),
    }
    golden(f"report.{suffix}", render[suffix]())
