"""The output of verbs and the page of the record, for a small record."""

import re
import shlex
from pathlib import Path

import pytest
from places import ROOT
from recorded import DIFFCSE, UNSUP, made_record, seeds_of

from replicse.cli import main
from replicse.cli.answers import SCREEN
from replicse.judge.values import record_measurements

FIVE = ("74.99", "76.40", "75.09", "74.98", "75.30")
LINES = [
    *seeds_of("five", UNSUP, "printed", FIVE),
    *seeds_of("five", UNSUP, "four", ("74.21", "75.70", "74.11", "75.02", "74.96")),
    *seeds_of("five", DIFFCSE, "printed", ("75.39", "77.41", "76.09", "77.42", "77.80")),
    ("one", UNSUP, "printed", None, "73.47"),
    ("one", "simcse/table1/none/stsb-dev", "printed", None, "81.2"),
    ("reader", UNSUP, "released", None, "76.25"),
    ("reader", UNSUP, "head", None, "75.34"),
    ("reader", "simcse/table5/sbert-base/STS-B", "released", None, "76.98"),
]
CALLS = (
    "show simcse/table5 --study record",
    "show diffcse/table1 --study record --columns avg --all",
    "show simcse/table3",
    f"why {UNSUP} --study record",
    f"why {UNSUP} --study record --all",
    f"why {UNSUP}@released --study record",
    "claims diffcse/sts-gain-of-2.3 --study record",
    f"diagnose 73.1 --item {UNSUP} --devices 4 --batch 256",
    f"diagnose 75.34 --item {UNSUP} --encoder-is released --pooling cls-head",
    "show simcse/table8 --study record",
    "show simcse/table5 --study record --seeds 3",
)


@pytest.fixture(autouse=True)
def small_record(_no_shipped_record, monkeypatch, tmp_path):
    """Use a small record in every verb, in an empty folder."""
    record = made_record(LINES)
    monkeypatch.setattr(record_measurements, "load_record", lambda workflow: record)
    monkeypatch.setattr("replicse.cli.write_record.load_record", lambda workflow: record)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(ROOT / "workflow"))
    config = "{scale: paper, papers: all, seeds: [0]}"
    Path("config.yaml").write_text(config, encoding="utf-8")


def test_what_verbs_say_of_the_record(golden, capsys):
    told = []
    for words in CALLS:
        code = main(shlex.split(words))
        said = capsys.readouterr()
        assert "--all" in words or said.out.count("\n") <= SCREEN
        assert code in (0, 2)
        told.append(f"$ replicse {words}\n{said.out}{said.err}")
    golden("record.txt", "\n".join(told))


def test_the_page_of_the_record(golden, capsys):
    assert main(["report", "--study", "record"]) == 0
    folder = Path("reports/studies/record")
    for name in ("report", "record"):
        text = (folder / f"{name}.html").read_text(encoding="utf-8")
        main_part = re.search(r"<main.*</main>", text, re.DOTALL)[0]
        golden(f"record-{name}.html", re.sub(r'src="data:[^"]*"', 'src=""', main_part) + "\n")
    assert Path("figures/studies/record/simcse/table5.svg").is_file()
    assert "75.35" in (folder / "tables/simcse/table5.csv").read_text(encoding="utf-8")
    again = (folder / "record.html").read_bytes()
    assert main(["report", "--study", "record"]) == 0
    assert (folder / "record.html").read_bytes() == again
