"""The transcribed numbers of SimCSE and of its reproducibility study: form, completeness, consistency."""

import csv
import io
import re
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

PAPERS = Path(__file__).resolve().parents[2] / "workflow" / "papers"
HEADER = ["item", "row", "column", "metric", "value", "source", "note"]
STS_COLUMNS = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg"]
TRANSFER_COLUMNS = ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "avg"]

COUNTS = {
    "simcse": {
        "table1": 11,
        "table2": 8,
        "table3": 8,
        "table4": 26,
        "table5": 184,
        "table6": 8,
        "table7": 5,
        "table8": 15,
        "tableA1": 12,
        "tableB1": 22,
        "tableB2": 72,
        "tableB3": 96,
        "tableC1": 64,
        "tableD1": 6,
        "tableD2": 8,
        "tableE1": 168,
        "text": 35,
        "readme": 2,
    },
    "repro": {
        "table1": 4,
        "table2": 8,
        "table3": 12,
        "table4": 30,
        "table5": 21,
        "table6": 32,
        "table7": 24,
        "figure1": 80,
        "text": 46,
    },
}

# How many decimals a score of an item is printed with.
SCORE_DECIMALS = {
    ("simcse", "table1"): 1,
    ("simcse", "table2"): 1,
    ("simcse", "table3"): 1,
    ("simcse", "table4"): 1,
    ("simcse", "table5"): 2,
    ("simcse", "table6"): 1,
    ("simcse", "table7"): 1,
    ("simcse", "tableB2"): 2,
    ("simcse", "tableB3"): 2,
    ("simcse", "tableC1"): 2,
    ("simcse", "tableD1"): 1,
    ("simcse", "tableD2"): 1,
    ("simcse", "tableE1"): 2,
    ("simcse", "readme"): 2,
    ("repro", "table4"): 2,
    ("repro", "table5"): 2,
    ("repro", "table6"): 2,
    ("repro", "table7"): 2,
    ("repro", "figure1"): 4,
}
SCORES = {"spearman", "accuracy", "alignment", "uniformity"}
# Numbers the reproducibility study prints with one decimal among two-decimal neighbours.
SHORT_IN_PRINT = {
    ("table4", "crop-10", "stsb-dev-delta"): "-13.2",
    ("table4", "delete-one-word", "stsb-dev-delta"): "+1.2",
    ("table4", "mlm-15", "stsb-dev-delta"): "-0.9",
    ("table7", "unsup-simcse-roberta-large", "STS16"): "-4.2",
}

# Slips of the papers themselves, kept as printed.
AVERAGES_OFF_IN_PRINT = {
    ("simcse", "table5", "sbert-base"),
    ("simcse", "tableB2", "sbert-base-quoted"),
    ("simcse", "tableE1", "bert-base-avg"),
}
DELTAS_OFF_IN_PRINT = {
    ("table4", "deletion-10", "stsb-dev-delta"): "+2.88",
    ("table7", "unsup-simcse-roberta-base", "STS14"): "-1.12",
}


def text_of(paper: str) -> str:
    path = PAPERS / paper / "reported.csv"
    return path.read_bytes().decode("utf-8")


@cache
def rows_of(paper: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(paper), newline=""), strict=True))


@cache
def values_of(paper: str) -> dict[tuple[str, str, str], str]:
    """Return item, row, column -> value for correlations and accuracies, which never share a cell."""
    wanted = {"spearman", "accuracy"}
    return {(r["item"], r["row"], r["column"]): r["value"] for r in rows_of(paper) if r["metric"] in wanted}


each_paper = pytest.mark.parametrize("paper", sorted(COUNTS))


@each_paper
def test_the_file_is_plain_csv_that_a_writer_gives_back_unchanged(paper):
    text = text_of(paper)
    table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert table[0] == HEADER
    assert all(len(row) == len(HEADER) for row in table)
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(table)
    assert written.getvalue() == text
    assert "\r" not in text
    assert not text.startswith("\ufeff")


@each_paper
def test_every_item_has_all_its_values(paper):
    assert dict(Counter(r["item"] for r in rows_of(paper))) == COUNTS[paper]


@each_paper
def test_no_cell_is_given_twice(paper):
    keys = Counter((r["item"], r["row"], r["column"], r["metric"]) for r in rows_of(paper))
    assert [key for key, times in keys.items() if times > 1] == []


@each_paper
def test_every_row_has_a_value_and_a_source_that_fits_its_item(paper):
    place = {"text": r"(Abstract|Reproducibility Summary|Section|Appendix)", "readme": r"README"}
    for row in rows_of(paper):
        assert row["value"], row
        default = re.sub(r"^(table|figure)([A-Z]?)(\d+)$", _printed_name, row["item"])
        assert re.match(place.get(row["item"], re.escape(default) + r"(;|$)"), row["source"]), row


def _printed_name(match: re.Match) -> str:
    kind, letter, number = match.groups()
    return f"{kind.capitalize()} {letter + '.' if letter else ''}{number}"


@each_paper
def test_cells_have_no_stray_spaces_and_rows_are_slugs(paper):
    for row in rows_of(paper):
        for name, cell in row.items():
            assert cell == cell.strip(), (row, name)
            assert "  " not in cell, (row, name)
            assert not re.search(r"[\u00a0\u2009\u202f\t\n\\$]", cell), (row, name)
        assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", row["row"]), row


@each_paper
def test_numbers_are_plain_numbers(paper):
    for row in rows_of(paper):
        if row["metric"] == "text":
            continue
        pattern = {
            "count": r"\d{1,3}(,\d{3})*|\d+[kmM]?",
            "hyperparameter": r"\d+(\.\d+)?(e-\d+)?",
        }.get(row["metric"], r"[+-]?\d+(\.\d+)?")
        assert re.fullmatch(pattern, row["value"]), row


@pytest.mark.parametrize(("paper", "item"), sorted(SCORE_DECIMALS))
def test_scores_keep_the_printed_decimals(paper, item):
    scores = [r for r in rows_of(paper) if r["item"] == item and r["metric"] in SCORES]
    assert scores
    for row in scores:
        cell = (item, row["row"], row["column"])
        if paper == "repro" and cell in SHORT_IN_PRINT:
            assert row["value"] == SHORT_IN_PRINT[cell]
        else:
            assert len(row["value"].partition(".")[2]) == SCORE_DECIMALS[paper, item], row


@each_paper
def test_scores_lie_in_their_range(paper):
    ranges = {"spearman": (-100, 100), "accuracy": (0, 100), "alignment": (0, 4), "uniformity": (-8, 0)}
    for row in rows_of(paper):
        if row["metric"] in ranges:
            low, high = ranges[row["metric"]]
            assert low < Decimal(row["value"]) < high, row


@each_paper
def test_printed_averages_are_the_means_of_their_rows(paper):
    off = set()
    for item, row in {key[:2] for key in values_of(paper) if key[2] == "avg"}:
        columns = TRANSFER_COLUMNS if item == "tableE1" else STS_COLUMNS
        if item in ("readme", "table7"):
            continue
        printed = [Decimal(values_of(paper)[item, row, column]) for column in columns]
        # Half a unit of the last digit, plus as much again for seven rounded parts.
        if abs(sum(printed[:-1]) / 7 - printed[-1]) > Decimal("0.01"):
            off.add((paper, item, row))
    assert off == {entry for entry in AVERAGES_OFF_IN_PRINT if entry[0] == paper}


def test_printed_differences_are_reproduced_minus_original():
    original, again = values_of("simcse"), values_of("repro")
    off, seen = {}, 0
    for (item, row, column), value in again.items():
        if item in ("table4", "table5") and column == "stsb-dev-delta":
            source = {"table4": "table1", "table5": "table3"}[item]
            exact = Decimal(again[item, row, "stsb-dev"]) - Decimal(original[source, row, "stsb-dev"])
        elif item == "table7":
            exact = Decimal(again["table6", row, column]) - Decimal(original["table5", row, column])
        else:
            continue
        seen += 1
        if exact != Decimal(value):
            off[item, row, column] = value
    assert seen == 10 + 7 + 24
    assert off == DELTAS_OFF_IN_PRINT


def test_arrows_and_signs_agree():
    arrows = {"-": "↓", "+": "↑"}
    deltas = [r for r in rows_of("repro") if r["item"] == "table7" or r["column"].endswith("-delta")]
    assert len(deltas) == 41
    for row in deltas:
        sign, number = row["value"][0], row["value"][1:]
        assert f'printed as "({arrows[sign]} {number})"' in row["note"], row


def test_numbers_printed_in_two_tables_agree():
    value = values_of("simcse")
    for method in ("bert-base-flow", "bert-base-whitening", "sbert-base-flow", "sbert-base-whitening"):
        for column in STS_COLUMNS:
            assert value["table5", method, column] == value["tableC1", f"{method}-nli", column]
    assert value["table1", "none", "stsb-dev"] == value["table3", "p0.1", "stsb-dev"]
    assert value["table1", "none", "stsb-dev"] == value["table2", "unsup-simcse", "one-encoder"]
    assert value["table1", "none", "stsb-dev"] == value["table6", "cls-head-train-only", "unsup"]
    assert value["table4", "entailment", "full"] == value["table7", "none", "stsb-dev"]
    assert value["table4", "entailment-hard-negatives", "full"] == value["tableD1", "t0.05", "stsb-dev"]
    again = values_of("repro")
    assert again["table4", "none", "sick-dev"] == again["table5", "p0.1", "sick-dev"]


def test_what_the_papers_mark_as_quoted_is_marked_here():
    quoted = {(r["item"], r["row"]) for r in rows_of("simcse") if r["note"].startswith("quoted: ")}
    assert {row for item, row in quoted if item == "table5"} == {
        "glove",
        "is-bert-base",
        "infersent-glove",
        "use",
        "sbert-base",
        "sroberta-base",
    }
    assert Counter(item for item, _ in quoted) == {"table5": 6, "tableB2": 3, "tableB3": 10, "tableE1": 8}
    marked = [r for r in rows_of("simcse") if re.search("[♣♡♠]", r["note"])]
    assert all(r["note"].startswith("quoted: ") for r in marked)
    assert len(marked) == (6 + 3 + 10 + 8) * 8


@each_paper
def test_deviations_are_sorted_under_items_that_exist(paper):
    text = (PAPERS / paper / "deviations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    figures = {"simcse": {"figure2", "figure3", "figureF1", "figureG1"}, "repro": set()}[paper]
    assert len(headings) == len(set(headings))
    assert set(headings) == {"general"} | set(COUNTS[paper]) | figures
    assert all(part.strip() for part in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:])
