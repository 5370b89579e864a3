"""A small real study: two rows of a table, run up to the report.

It is run twice; the second run does nothing.
"""

import csv
import json
import re
import shutil
import zipfile

import pytest
import small_study
import yaml
from places import ROOT
from snakemake_runs import snakemake

from replicse import load


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Run a study of two rows of SimCSE's Table 3; return the folder.

    The study also contains a table of the user's datasets.
    """
    folder = small_study.checkout(tmp_path_factory.mktemp("study"))
    shutil.copytree(ROOT / "tests" / "papers" / "sets", folder / "workflow" / "papers" / "sets")
    config = {**small_study.CONFIG, "papers": {"simcse": ["table3"], "sets": "all"}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = snakemake(folder, env=small_study.environment(folder))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def test_the_table_holds_numbers_deltas_and_no_verdict(study):
    with (study / "results/micro/tables/simcse/table3.csv").open() as stream:
        cells = {cell["row"]: cell for cell in csv.DictReader(stream)}
    assert cells.keys() == {"p0.0", "p0.1"}
    for cell in cells.values():
        assert cell["verdict"] == "not comparable"
        assert 0 < float(cell["reproduced"]) < 100
        assert float(cell["delta"]) == pytest.approx(float(cell["reproduced"]) - float(cell["reported"]))
    assert cells["p0.0"]["encoders"] != cells["p0.1"]["encoders"]


def test_the_report_says_what_it_was_made_from(study):
    html = (study / "reports/micro/report.html").read_text(encoding="utf-8")
    markdown = (study / "reports/micro/report.md").read_text(encoding="utf-8")
    for name in ("macros.tex", "simcse/table3.tex", "simcse/table3.md", "simcse/table3.csv"):
        assert (study / "reports/micro/tables" / name).stat().st_size > 100
    for text in (html, markdown):
        assert "82.5" in text and "micro" in text
        assert "wiki/wiki.txt" in text, "data hashes"
        assert "torch" in text, "versions"
        assert "default-dropout-best" in text, "a claim"
    assert 'src="http' not in html, "self-contained"


def test_a_change_of_code_trains_again_what_uses_it(study):
    path = study / "src/replicse/objective/infonce.py"
    before = path.read_bytes()
    path.write_bytes(before + b"\nUNUSED = 1\n")
    planned = snakemake(study, "-n").stdout
    path.write_bytes(before)
    assert re.search(r"^train +2$", planned, re.MULTILINE)


def test_a_changed_set_evaluates_again_what_reads_it_and_nothing_else(study):
    file = study / "workflow/papers/sets/similarity.csv"
    before = file.read_text()
    file.write_text(f"{before}A diver.,A sailor.,2,news\n")
    planned = snakemake(study, "-n").stdout
    file.write_text(before)
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", planned, re.MULTILINE))
    assert jobs == {"evaluate": "1", "tabulate": "1", "judge": "1", "report": "1", "all": "1", "total": "5"}


def planned_jobs(study):
    return dict(re.findall(r"^(\w+) +(\d+)$", snakemake(study, "-n").stdout, re.MULTILINE))


def test_changes_are_seen_without_snakemakes_metadata_and_after_a_copy(study, monkeypatch, caplog):
    """Results stay up to date without dates and Snakemake's metadata.

    The results are copied without dates, and without the hidden folder.
    """
    (study / ".snakemake").rename(study / "kept")
    (study / "results").rename(study / "original")
    shutil.copytree(study / "original", study / "results", copy_function=shutil.copyfile)
    monkeypatch.setenv("REPLICSE_WORKFLOW", str(study / "workflow"))
    none = dict.fromkeys(("study", "train", "evaluate", "tabulate", "judge", "report"), 0)
    for name, line, wanted in (
        ("workflow/papers/simcse/reported.csv", b"\n", {"judge": 1, "report": 1}),
        ("src/replicse/objective/infonce.py", b"UNUSED = 1\n",
         {"train": 2, "evaluate": 2, "tabulate": 1, "judge": 1, "report": 1}),
        ("workflow/causes-page.yaml", b"\n", {"report": 1}),
    ):  # fmt: skip
        file = study / name
        before = file.read_bytes()
        file.write_bytes(before + line)
        planned = planned_jobs(study)
        load(study / "results/micro")
        file.write_bytes(before)
        assert {stage: int(planned.get(stage, 0)) for stage in none} == none | wanted, name
    assert caplog.text.count("simcse/table3: out of date") == 1
    assert "Nothing to be done" in snakemake(study, "-n").stdout
    for folder, kept in ((".snakemake", "kept"), ("results", "original")):
        shutil.rmtree(study / folder)
        (study / kept).rename(study / folder)


def test_the_report_of_snakemake_has_tables_figures_and_pages(study):
    done = snakemake(study, "--report", "workflow-report.zip", env=small_study.environment(study))
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(study / "workflow-report.zip") as archive:
        page = min((name for name in archive.namelist() if name.endswith("report.html")), key=len)
        text = archive.read(page).decode()
        names = " ".join(archive.namelist())
    for category in ("Tables", "Figures", "Judgements", "Pages"):
        assert f'"{category}"' in text, category
    assert "table3.csv" in names and "table3.svg" in names and "claims.csv" in names


def test_a_second_run_does_nothing_also_with_code_that_it_does_not_use(study):
    (study / "src/replicse/objective/hinge.py").write_text("UNUSED = 1\n")
    done = snakemake(study)
    assert "Nothing to be done" in done.stdout + done.stderr


def test_a_trained_encoder_is_evaluated_outside_the_study(study, tmp_path):
    from replicse.cli import main

    record = json.loads(next((study / "results/micro/encoders").glob("*/fast.json")).read_text())
    out, own = tmp_path / "again.json", study / "workflow/papers/sets/topics.jsonl"
    words = [
        "--encoder",
        str(study / record["encoder"]),
        "--pooling",
        record["pooling"],
        "--suite",
        "sts-dev",
    ]
    words += ["--set", str(own), "text=sentence", "label=topic", "split=part"]
    assert main(["evaluate", *words, "--data", str(study / "results/micro/data"), "--out", str(out)]) == 0
    suites = json.loads(out.read_text())["suites"]
    assert suites["sets"]["topics"]["n"] == 36 and suites["sets"]["topics"]["file"] == str(own)
    again = suites["sts-dev"]["STS-B"]["all"]
    assert again == pytest.approx(record["suites"]["sts-dev"]["STS-B"]["all"], abs=1e-6)
