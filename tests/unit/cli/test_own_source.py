"""A user's record source in a workspace: output, and mistakes in files."""

import csv
from pathlib import Path

import pytest
from places import ROOT

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import find_spread

CELL = "simcse/table5/unsup-simcse-bert-base/avg"
ABOUT = """\
who: a stranger
repository: stranger/rerun
commit: "0123456789012345678901234567890123456789"
year: 2026
code: princeton-nlp/SimCSE, unchanged
settings:
  printed: {as: printed, encoder: retrained, read_off: machine-file}
"""
HEADER = "cell,setting,seed,value,place"
SEEDS = [
    f"{CELL},printed,{seed},{value},logs/{seed}.txt" for seed, value in enumerate(("75.10", "75.90", "76.40"))
]


def write_source(about=ABOUT, lines=(HEADER, *SEEDS)):
    """Write a source of the record; the default source is valid."""
    Path("record").mkdir(exist_ok=True)
    Path("record/mine.yaml").write_text(about, encoding="utf-8")
    Path("record/mine.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Create an empty workspace, and the shipped workflow without the record."""
    workflow = tmp_path / "workflow"
    workflow.mkdir()
    for path in (ROOT / "workflow").iterdir():
        if path.name != "record":
            (workflow / path.name).symlink_to(path)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(workflow))
    monkeypatch.setenv("COLUMNS", "80")
    Path("config.yaml").write_text("{scale: paper, papers: {simcse: [table5]}, seeds: [0]}", encoding="utf-8")
    write_source()
    return workflow


def test_a_strangers_source_is_shown_with_its_verdict_and_its_files(own, capsys):
    assert main(["validate"]) == 0
    capsys.readouterr()
    assert main(["show", "simcse/table5", "--study", "record"]) == 0
    assert "75.80 (sd 0.66, n 3)," in capsys.readouterr().out
    assert main(["why", CELL, "--study", "record", "--all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "mine: 75.80, sd 0.66, 3 runs; within seed spread" in text
    assert (
        "https://github.com/stranger/rerun/blob/0123456789012345678901234567890123456789/logs/0.txt" in text
    )
    # In the tables of our studies, the column of other measurements should contain the source, too.
    assert main(["show", "simcse/table5"]) == 0
    assert "75.80 (sd 0.66, n 3)," in capsys.readouterr().out


def test_a_strangers_source_is_on_the_page_and_lends_its_spread(own):
    assert main(["report", "--study", "record"]) == 0
    page = Path("reports/studies/record/record.html").read_text(encoding="utf-8")
    assert "(3 values from 1 source)" in page and "a stranger" in page
    with Path("reports/studies/record/tables/simcse/table5.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["n_seeds"] == "3")
    assert (row["row"], row["reproduced"], row["verdict"]) == (
        "unsup-simcse-bert-base", "75.8", "within seed spread",
    )  # fmt: skip
    config = {"scale": "paper", "papers": {"simcse": ["table5"]}, "seeds": [0]}
    study = compile_study(config, own)
    cell = next(cell for cell in study.cells["simcse/table5"] if cell.id.described.short == CELL)
    assert find_spread(study, cell).degrees == 2


@pytest.mark.parametrize(
    ("about", "lines", "where", "remedy"),
    [
        (ABOUT, [HEADER, SEEDS[0].replace("bert-base", "bert-bse")], "record/mine.csv:2", f'did you mean "{CELL}"'),
        (ABOUT, [HEADER, SEEDS[0], SEEDS[1].replace("75.90", "7590")], "record/mine.csv:3", "correct the value"),
        (ABOUT, [HEADER, SEEDS[0].replace(",printed,", ",prnted,")], "record/mine.csv:2", 'did you mean "printed"'),
        (ABOUT, [HEADER, *SEEDS, SEEDS[0]], "record/mine.csv:5", "remove the duplicate"),
        (ABOUT.replace("encoder: retrained", "encoder: trained"), [HEADER, *SEEDS], "record/mine.yaml",
         'did you mean "retrained"'),
        (ABOUT, [HEADER, SEEDS[0].replace("simcse/", "nosuch/")], "record/mine.csv:2", "known: "),
    ],
    ids=["cell", "range", "setting", "twice", "key", "paper"],
)  # fmt: skip
def test_a_mistake_is_refused_with_file_line_and_remedy(own, capsys, about, lines, where, remedy):
    write_source(about, lines)
    assert main(["why", CELL, "--study", "record"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert where in said and remedy in said


def test_a_spread_for_a_paper_that_is_not_here_is_skipped(own):
    write_source(lines=[HEADER, *(line.replace("simcse/", "nosuch/") for line in SEEDS)])
    study = compile_study({"scale": "paper", "papers": {"simcse": ["table5"]}, "seeds": [0]}, own)
    assert study.cells["simcse/table5"]
