"""The report of a study: its tables as CSV and as pages."""

import csv
from pathlib import Path

from golden import example_report as example

from replicse.cli.render import write_all
from replicse.compile.paths import Paths
from replicse.judge.report.csv_rows import table_rows
from replicse.judge.report.judgements import Judgements
from replicse.judge.statistics.multiplicity import FALSE


def test_the_csv_next_to_a_report_is_the_one_of_the_item_and_its_pages_adjust_verdicts(tmp_path, monkeypatch):
    """An item should have a single CSV file; pages should adjust verdicts.

    Two files with the same name once had different verdicts, and the reader could not see which were
    adjusted.
    """
    monkeypatch.chdir(tmp_path)
    item = example.item("dropout")
    write_all(Paths("paper"), example.STUDY, [item], Path("reports/paper"), Judgements())
    with Path("reports/paper/tables/simcse/table3.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, cell in zip(rows, item.cells, strict=True):
        assert row["verdict"] == cell.verdict
    assert rows == [dict.fromkeys(rows[0], "") | row for row in table_rows(item)]
    tested = [row for row in rows if row["p"]]
    assert tested and all(row["reason"].endswith("for this cell by itself") for row in tested)
    page = Path("reports/paper/simcse.html").read_text(encoding="utf-8")
    assert page.count("cells of the paper (Benjamini-Hochberg)") == len(tested)
    assert any(float(row["p"]) < FALSE for row in tested)
