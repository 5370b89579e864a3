"""All papers in the workflow: published numbers, plans and jobs."""

import csv
import io
import re
from decimal import Decimal
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pandas as pd
import pytest
import yaml
from collected import collected
from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.files import read_rows
from replicse.registry.suites import file_of
from replicse.spec.papers import load_papers
from replicse.spec.record import load_record

WORKFLOW = ROOT / "workflow"
KEYS = sorted(folder.name for folder in (WORKFLOW / "papers").iterdir())
SCALES = ("micro", "short", "compact", "minilm", "paper")
STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
RANGES = {"spearman": (-100, 100), "accuracy": (0, 100), "alignment": (0, 4), "uniformity": (-8, 0)}

# Mistakes of the papers, kept as published: an average differs from the mean of its row.
AVERAGES_OFF_IN_PRINT = {
    ("simcse", "table5", "sbert-base"),
    ("simcse", "tableB2", "sbert-base-quoted"),
    ("simcse", "tableE1", "bert-base-avg"),
    ("diffcse", "table2", "bert-base-avg"),
}
# Collected numbers that are not in a paper's file, by paper, with reasons.
LEFT_OUT = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@cache
def papers():
    return load_papers(WORKFLOW)


@cache
def plan_at(scale):
    """Return the plan of all items with all protocols.

    All items are named, because `all` would skip items that are only used by searches.
    """
    wanted = {key: list(paper.items) for key, paper in papers().items()}
    return compile_study({"scale": scale, "papers": wanted, "adjudicate": "all", "seeds": [0]}, WORKFLOW)


@cache
def rows_of(key):
    return read_rows(WORKFLOW / "papers" / key / "reported.csv")


def cells_of(plan, key):
    return [cell for item, cells in plan.cells.items() if item.startswith(f"{key}/") for cell in cells]


each_paper = pytest.mark.parametrize("key", KEYS)


# Published numbers


@each_paper
def test_the_file_of_printed_numbers_is_plain_csv_that_a_writer_gives_back_unchanged(key):
    text = (WORKFLOW / "papers" / key / "reported.csv").read_bytes().decode("utf-8")
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert written.getvalue() == text


@each_paper
def test_printed_numbers_are_given_once_with_their_source_and_lie_in_their_range(key):
    places = pd.DataFrame(rows_of(key), columns=["item", "row", "column", "metric"])
    assert places[places.duplicated()].empty
    for row in rows_of(key):
        assert row["value"] and row["source"], row
        for cell in row.values():
            assert cell == " ".join(cell.split()), row
        if row["metric"] in RANGES and row.get("statistic") != "sd":
            low, high = RANGES[row["metric"]]
            assert low < Decimal(row["value"]) < high, row


@each_paper
def test_printed_averages_are_the_means_of_their_rows(key):
    values = {(row["item"], row["row"], row["column"]): row for row in rows_of(key)}
    off = set()
    for item, row, column in values:
        printed = {column for *place, column in values if place == [item, row]}
        parts = next((each for each in (STS, TRANSFER) if printed.issuperset(each)), None)
        of_one_run = not values[item, row, column].get("statistic")
        if column == "avg" and parts and of_one_run:
            mean = sum(Decimal(values[item, row, part]["value"]) for part in parts) / len(parts)
            # Half a unit of the last digit, plus as much again for seven rounded parts.
            if abs(mean - Decimal(values[item, row, column]["value"])) > Decimal("0.01"):
                off.add((key, item, row))
    assert off == {place for place in AVERAGES_OFF_IN_PRINT if place[0] == key}


@pytest.mark.parametrize("key", LEFT_OUT)
def test_every_collected_number_is_in_a_paper_or_left_out_with_a_reason(key):
    printed = {numeric(row["value"]) for row in rows_of(key)}
    printed |= {numeric(reading.value) for reading in load_record(WORKFLOW).readings}
    missing = {row["row"] for row in collected(key) if numeric(row["value"]) not in printed}
    assert missing == LEFT_OUT[key].keys()


def numeric(text):
    return Decimal(text) if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) else text


# Plans


@pytest.mark.parametrize("scale", SCALES)
@each_paper
def test_every_printed_number_and_every_protocol_has_its_cell(key, scale):
    plan, paper = plan_at(scale), papers()[key]
    shown, items, protocols = set(), set(), set()
    for cell in cells_of(plan, key):
        shown.add(cell.id)
        items.add(cell.id.item)
        protocols.add(cell.protocol)
    assert items == {f"{key}/{item}" for item in paper.items}
    printed = {cell for cell in paper.reported if cell.item_name in paper.items}
    assert printed <= shown
    assert {protocol.id for protocol in paper.protocols} <= protocols


@pytest.mark.parametrize("scale", SCALES)
def test_every_number_of_a_cell_is_made_by_jobs_that_need_only_what_others_make(scale):
    plan = plan_at(scale)
    jobs = list_jobs(plan)
    made = {file: job for job in jobs.values() for file in job.outputs}
    earlier = {}
    for job in jobs.values():
        earlier[job.log] = [made[file].log for file in job.inputs]
    TopologicalSorter(earlier).prepare()
    trained = [job for job in jobs.values() if job.stage == "train"]
    assert {job.id for job in trained} == plan.runs.keys()
    for job in trained:
        read = (*job.payload["stores"], job.payload["init"], job.payload["tokenizer"])
        needed = {*job.inputs, *(str(Path(need).parent) for need in job.inputs)}
        assert needed >= set(filter(None, read)), "a training waits for all that it reads"
    for cells in plan.cells.values():
        for cell in cells:
            for operand in cell.operands or (cell,):
                for encoder in operand.encoders:
                    assert plan.paths.evaluation(encoder, file_of(operand.metric_path)) in made
