"""The audit: each rule on a made-up paper, and the whole list of findings on the shipped ones."""

import csv
import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from replicse.cli import main
from replicse.data.sts import STS_TASKS, load_sts
from replicse.data.transfer import TRANSFER_TASKS, load_transfer
from replicse.errors import BadInput
from replicse.registry.mteb import MTEB_NAMES, MTEB_TASKS
from replicse.report.pages.audit import audit_sheet, audit_text
from replicse.study.judge import audit as rules
from replicse.study.judge import rules_of_tables, rules_of_text
from replicse.study.judge.audit import audit, audit_plan, chosen
from replicse.study.judge.claims import study_claims
from replicse.study.judge.findings import CERTAIN, UNROUNDED, Finding
from replicse.study.paper.claims import load_claims
from replicse.study.paper.datasets import load_datasets
from replicse.study.paper.papers import load_papers
from replicse.study.paper.printed import Reported
from replicse.study.paper.running_text import spoken_numbers

WORKFLOW = ROOT / "workflow"
DATASETS = load_datasets(WORKFLOW)
# The average of these seven is 74.857, which is SBERT's row in SimCSE's Table 5.
SCORES = {
    "STS12": "70.97",
    "STS13": "76.53",
    "STS14": "73.19",
    "STS15": "79.09",
    "STS16": "74.30",
    "STS-B": "77.03",
    "SICK-R": "72.91",
    "avg": "74.86",
}
NUMBERS = {
    "first/main": SCORES,
    "second/main": SCORES,
    "quoted/main": SCORES,
    "first/wmean": {"STS-B": "77.03", "SICK-R": "72.9"},
    "first/transfer": {"TREC": "87.00", "recall": "92.78"},
    "first/parts": {"STS-B": "77.03", "TREC": "87.00", "mean": "82.02", "share": "88.54"},
    "first/sizes": {"STS12": "3,108", "STS16": "1.2k"},
    "first/differences": {"STS12": "+1.2", "STS13": "-3.45", "avg": "-1.39"},
}


def column(name, metric_path, **more):
    return {"id": name, "metric_path": metric_path, **more}


def plan_at(workflow):
    return audit_plan(load_papers(workflow), workflow)


def made_up_tables():
    encoder = {"backbone": "bert-base", "pooling": "cls"}
    sts = [column(task, f"sts/{task}/all", metric="spearman") for task in STS_TASKS]
    sts.append(column("avg", "sts/avg", metric="spearman"))
    rows = {
        "first": {"id": "first", "encoder": encoder},
        "second": {"id": "second", "encoder": encoder},
        "quoted": {"id": "quoted", "quoted": True},
    }
    subtract = {
        name: {"item": "other/main", "row": "first", "column": name, "metric": "spearman"}
        for name in ("STS12", "STS13", "avg")
    }
    tables = {
        "main": (sts, rows),
        "wmean": (
            [column(task, f"sts/{task}/wmean", metric="spearman") for task in ("STS-B", "SICK-R")],
            ["first"],
        ),
        "transfer": (
            [column("TREC", "transfer/TREC/accuracy"), column("recall", "recall/all/both/at1")],
            ["first"],
        ),
        "sizes": ([column(task, f"data/sts/{task}/test") for task in ("STS12", "STS16")], ["first"]),
        "parts": (
            [
                column("STS-B", "sts/STS-B/all", metric="spearman"),
                column("TREC", "transfer/TREC/accuracy"),
                {"id": "mean", "kind": "derived", "formula": "({STS-B} + {TREC}) / 2"},
                {"id": "share", "kind": "derived", "formula": "100 * {STS-B} / {TREC}"},
            ],
            ["first"],
        ),
        "differences": (
            [
                {**one, "kind": "difference", "subtract": subtract[one["id"]]}
                for one in sts
                if one["id"] in subtract
            ],
            ["first"],
        ),
    }
    return {
        name: {"columns": columns, "rows": [rows[row] for row in chosen_rows]}
        for name, (columns, chosen_rows) in tables.items()
    }


def write_paper(folder, key, tables, numbers):
    (folder / "tables").mkdir(parents=True)
    about = {"title": key, "authors": "A", "year": 2021, "venue": "V", "url": "https://x"}
    (folder / "paper.yaml").write_text(yaml.safe_dump(about))
    for name, table in tables.items():
        document = {"id": f"{key}/{name}", "kind": "table", "title": name, "place": name, **table}
        (folder / "tables" / f"{name}.yaml").write_text(yaml.safe_dump(document))
    lines = [["item", "row", "column", "metric", "value", "source", "note"]]
    for place, values in numbers.items():
        row, item = place.split("/")
        note = "quoted: Somebody (2020); starred" if row == "quoted" else ""
        for name, value in values.items():
            metric = next((one.get("metric", "") for one in tables[item]["columns"] if one["id"] == name), "")
            lines.append([item, row, name, metric, value, f"Table {item}", note])
    with (folder / "reported.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(lines)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A plan of two small papers without a mistake; `made` prints differences to `other`."""
    workflow = tmp_path_factory.mktemp("workflow")
    shutil.copytree(WORKFLOW / "scales", workflow / "scales")
    shutil.copy(WORKFLOW / "datasets.yaml", workflow)
    tables = made_up_tables()
    write_paper(workflow / "papers" / "made", "made", tables, NUMBERS)
    others = {"first/main": {"STS12": "69.8", "STS13": "79.98", "avg": "76.25"}}
    write_paper(workflow / "papers" / "other", "other", {"main": tables["main"]}, others)
    return plan_at(workflow)


def reprinted(plan, changes, **fields):
    """Return the plan with other numbers in print: {(item, row, column): value}."""
    cells = {
        name: [
            replace(cell, reported=cell.reported.model_copy(update={"value": changes[key], **fields}))
            if (key := (cell.item.name, cell.row.id, cell.column.id)) in changes and cell.item.paper == "made"
            else cell
            for cell in cells
        ]
        for name, cells in plan.cells.items()
    }
    return replace(plan, cells=cells)


def found(rule, plan):
    if rule is rules.claims:
        return list(rule(plan, study_claims(plan.papers, plan.papers)))
    told = [spoken_numbers(plan.papers, DATASETS)] if rule in rules_of_text.RULES_OF_TEXT else []
    return list(rule(plan, DATASETS, *told))


def test_a_paper_without_mistakes_has_no_findings(made_up):
    assert len(made_up.cells["made/main"]) == 24
    assert audit(made_up) == []


@pytest.mark.parametrize(
    ("printed", "certainty"),
    [
        ("74.85", "unless the parts were averaged before they were rounded"),
        ("74.87", "unless the parts were averaged before they were rounded"),
        ("74.89", CERTAIN),
    ],
)
def test_average_that_does_not_follow(made_up, printed, certainty):
    [finding] = found(rules_of_tables.averages, reprinted(made_up, {("main", "first", "avg"): printed}))
    assert finding.cells == tuple(f"made/main/first/{name}/spearman" for name in ["avg", *STS_TASKS])
    assert (finding.printed, finding.certainty, finding.place) == (
        printed,
        certainty,
        "Table main, first, avg",
    )
    assert finding.follows == "74.86, the mean of the 7 printed parts"


def test_average_of_fewer_decimals_is_compared_at_its_own(made_up):
    assert not found(rules_of_tables.averages, reprinted(made_up, {("main", "first", "avg"): "74.9"}))
    [finding] = found(rules_of_tables.averages, reprinted(made_up, {("main", "first", "avg"): "74.8"}))
    assert (finding.follows.split(",")[0], finding.certainty) == ("74.9", CERTAIN)


def test_average_of_coarse_parts_has_the_room_of_their_rounding(made_up):
    coarse = {("main", "first", name): f"{float(value):.1f}" for name, value in SCORES.items()}
    for printed, count in (("74.82", 0), ("74.90", 0), ("74.75", 1), ("74.98", 1)):
        changed = reprinted(made_up, coarse | {("main", "first", "avg"): printed})
        assert len(found(rules_of_tables.averages, changed)) == count, printed


def test_average_with_a_missing_part_is_not_judged(made_up):
    plan = reprinted(made_up, {("main", "first", "avg"): "10.00", ("main", "first", "STS14"): "-"})
    assert not found(rules_of_tables.averages, plan)


cents = st.integers(0, 10_000)


@given(parts=st.lists(cents, min_size=7, max_size=7), shift=st.integers(-5, 5))
def test_average_agrees_with_decimal_rounding(made_up, parts, shift):
    exact = sum(map(Decimal, parts)) / 7
    printed = int(exact.quantize(Decimal(1), ROUND_HALF_UP)) + shift
    values = dict(zip(STS_TASKS, parts, strict=True)) | {"avg": printed}
    changes = {("main", "first", name): f"{Decimal(value) / 100:.2f}" for name, value in values.items()}
    findings = found(rules_of_tables.averages, reprinted(made_up, changes))
    assert len(findings) == (shift != 0)
    for finding in findings:
        # An average of unrounded scores is off by half a cent at most, and then rounded by another half.
        assert (finding.certainty == CERTAIN) == (abs(Fraction(*exact.as_integer_ratio()) - printed) > 1)
        assert finding.follows.startswith(f"{Decimal(printed - shift) / 100:.2f},")


def test_difference_that_does_not_follow(made_up):
    # 70.97 - 69.8 = 1.17 is printed as 1.2; 76.53 - 79.98 = -3.45; 74.86 - 76.25 = -1.39.
    changes = {("differences", "first", "STS12"): "+1.3", ("differences", "first", "avg"): "-1.40"}
    first, second = found(rules_of_tables.printed_differences, reprinted(made_up, changes))
    assert first.cells[0] == "made/differences/first/STS12/spearman"
    assert first.cells[1:] == ("made/main/first/STS12/spearman", "other/main/first/STS12/spearman")
    assert (first.follows, first.certainty) == ("+1.2, which is 70.97 less 69.8", CERTAIN)
    assert (second.follows, second.certainty) == (
        "-1.39, which is 74.86 less 76.25",
        "unless computed before rounding",
    )


def test_derived_number_that_does_not_follow(made_up):
    first, second = found(
        rules_of_tables.derived,
        reprinted(made_up, {("parts", "first", "mean"): "90.00", ("parts", "first", "share"): "88.55"}),
    )
    assert first.cells[0].startswith("made/parts/first/mean/") and len(first.cells) == 3
    assert (first.printed, first.certainty) == ("90.00", CERTAIN)
    # The mean is 82.015, which is printed as 82.02 or 82.01.
    assert first.follows == "82.02, which is (77.03 + 87.00) / 2"
    assert (second.follows, second.certainty) == ("88.54, which is 100 * 77.03 / 87.00", UNROUNDED)


def test_derived_number_of_coarse_ones_has_the_room_of_their_rounding(made_up):
    for printed, count in (("82.03", 0), ("81.97", 0), ("82.08", 1)):
        changes = {("parts", "first", "STS-B"): "77.0", ("parts", "first", "mean"): printed}
        changes |= {("parts", "first", "share"): "-"}
        assert len(found(rules_of_tables.derived, reprinted(made_up, changes))) == count, printed


def test_derived_number_that_lacks_a_printed_one_is_not_judged(made_up):
    changes = {("parts", "first", "mean"): "90.00", ("parts", "first", "TREC"): "-"}
    assert not found(rules_of_tables.derived, reprinted(made_up, changes))


@pytest.mark.parametrize(
    ("statistic", "columns"), [("single", ["mean", "share"]), ("mean", ["mean"]), ("max", [])]
)
def test_what_is_derived_from_other_statistics_need_not_follow(made_up, statistic, columns):
    changes = {("parts", "first", name): value for name, value in NUMBERS["first/parts"].items()}
    changes |= {("parts", "first", "mean"): "90.00", ("parts", "first", "share"): "90.00"}
    findings = found(rules_of_tables.derived, reprinted(made_up, changes, statistic=statistic))
    assert [one.cells[0].split("/")[3] for one in findings] == columns


def test_equal_numbers_that_differ(made_up):
    [finding] = found(rules_of_tables.equals, reprinted(made_up, {("main", "second", "STS13"): "76.54"}))
    assert finding.cells == ("made/main/first/STS13/spearman", "made/main/second/STS13/spearman")
    assert finding.printed == "76.53 (Table main), 76.54 (Table main)"
    assert finding.certainty == "unless one number was rounded in two ways"
    [finding] = found(rules_of_tables.equals, reprinted(made_up, {("main", "second", "STS13"): "76.55"}))
    assert finding.certainty == CERTAIN


def test_aggregations_of_a_single_file_are_one_number(made_up):
    [finding] = found(rules_of_tables.equals, reprinted(made_up, {("wmean", "first", "STS-B"): "77.05"}))
    assert finding.cells[-1] == "made/wmean/first/STS-B/spearman"
    assert finding.place == "Table main, first, STS-B"


def test_fewer_decimals_are_no_disagreement(made_up):
    assert not found(rules_of_tables.equals, reprinted(made_up, {("main", "second", "STS13"): "76.5"}))
    assert found(rules_of_tables.equals, reprinted(made_up, {("main", "second", "STS13"): "76.6"}))


def test_a_quotation_may_differ_from_a_measurement(made_up):
    changed = {("main", "second", "STS13"): "70.00"}
    assert not found(rules_of_tables.equals, reprinted(made_up, changed, note="quoted: Somebody (2020)"))
    # Nor does a quoted row stand for the encoders of another row.
    assert not found(rules_of_tables.equals, reprinted(made_up, {("main", "quoted", "STS13"): "70.00"}))


@pytest.mark.parametrize(
    ("column", "printed", "follows", "certainty", "note"),
    [
        (
            "TREC",
            "87.01",
            "87.00 or 87.20, which are 435 and 436 of 500 test questions",
            "unless it is the average of 14 or more runs",
            "",
        ),
        (
            "TREC",
            "88.64",
            "88.60 or 88.80, which are 443 and 444 of 500 test questions",
            "unless it is the average of 5 or more runs",
            "",
        ),
        (
            "recall",
            "89.6",
            "88.7 or 89.7, which are 86 and 87 of 97 queries",
            "unless cut off instead of rounded",
            "",
        ),
        (
            "recall",
            "77.84",
            "77.32 or 78.35, which are 75 and 76 of 97 queries",
            "unless it is the average of 2 or more runs",
            "possible for 194",
        ),
        (
            "recall",
            "77.30",
            "76.29 or 77.32, which are 74 and 75 of 97 queries",
            "unless 77.3 was printed with a zero after it",
            "",
        ),
    ],
)
def test_percentage_that_no_count_gives(made_up, column, printed, follows, certainty, note):
    [finding] = found(
        rules_of_tables.percentages, reprinted(made_up, {("transfer", "first", column): printed})
    )
    assert finding.follows.startswith(follows)
    assert finding.certainty == certainty
    assert finding.note.startswith(note)


@given(items=st.integers(1, 3000), data=st.data(), decimals=st.integers(0, 2))
def test_every_share_is_possible_at_any_number_of_decimals(items, data, decimals):
    count = data.draw(st.integers(0, items))
    printed = Reported(value=f"{100 * count / items:.{decimals}f}", source="").number
    assert printed.share_of(items)


def test_size_that_the_data_do_not_have(made_up):
    changes = {("sizes", "first", "STS12"): "750", ("sizes", "first", "STS16"): "1.1k"}
    first, second = found(rules_of_tables.sizes, reprinted(made_up, changes))
    assert (first.follows, first.note) == (
        "3,108, counted on the data",
        "the size of MSRpar or MSRvid or surprise.OnWN alone",
    )
    assert (second.printed, second.note) == ("1.1k", "")


def with_text(plan, folder, numbers, entries):
    """Return the plan with numbers in the running text of `made` and with its text.yaml."""
    (folder / "text.yaml").write_text(yaml.safe_dump(entries))
    said = {
        ("text", *name.split("/"), "spearman"): Reported(value=value, source="Section 4")
        for name, value in numbers.items()
    }
    paper = plan.papers["made"]
    paper = replace(paper, folder=folder, reported={**paper.reported, **said})
    return replace(plan, papers={**plan.papers, "made": paper})


def speaks(formula, *numbers):
    return {"numbers": list(numbers or ["gain/avg"]), "is": formula}


def test_number_of_the_text_that_no_cell_prints(made_up, tmp_path):
    lone = [speaks("{main/first/avg}")]
    [finding] = found(rules_of_text.running_text, with_text(made_up, tmp_path, {"gain/avg": "74.45"}, lone))
    assert (finding.printed, finding.follows, finding.certainty) == (
        "74.45",
        "74.86 (Table main, first, avg)",
        CERTAIN,
    )
    assert (finding.place, finding.cells) == (
        "Section 4",
        ("made/text/gain/avg/spearman", "made/main/first/avg/spearman"),
    )
    for value in ("74.86", "74.9"):
        assert not found(rules_of_text.running_text, with_text(made_up, tmp_path, {"gain/avg": value}, lone))


@pytest.mark.parametrize(
    ("formula", "printed", "follows", "certainty"),
    [
        # 76.53 - 70.97 = 5.56; 5.57 is possible of numbers that were not rounded before, 5.58 is not.
        ("{main/first/STS13} - {main/first/STS12}", "5.56", "", ""),
        ("{main/first/STS13} - {main/first/STS12}", "5.6", "", ""),
        ("{main/first/STS13} - {main/first/STS12}", "5.57", "5.56, which is 76.53 - 70.97", UNROUNDED),
        ("{main/first/STS13} - {main/first/STS12}", "5.58", "5.56, which is 76.53 - 70.97", CERTAIN),
        ("{main/first/STS13} - {other/main/first/STS13}", "-3", "", ""),
        (
            "100 * {main/first/STS13} / {other/main/first/STS13}",
            "90",
            "96, which is 100 * 76.53 / 79.98",
            CERTAIN,
        ),
        # Steps are rows over the batch size times epochs.
        ("{data/sts/STS-B/test} / 64 * 3", "65", "", ""),
        ("{data/sts/STS-B/test} / 64 * 3", "22", "65, which is 1379 / 64 * 3", CERTAIN),
    ],
)
def test_number_of_the_text_against_what_it_speaks_of(
    made_up, tmp_path, formula, printed, follows, certainty
):
    plan = with_text(made_up, tmp_path, {"gain/avg": printed}, [speaks(formula)])
    findings = found(rules_of_text.running_text, plan)
    assert [one.certainty for one in findings] == [certainty] * bool(certainty)
    assert all(one.follows.startswith(f"{follows} (") for one in findings)


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([speaks("{main/first/STS31}")], 'no cell "main/first/STS31".*did you mean "made/main/first/STS1'),
        ([speaks("{main/frist/STS13}")], 'no cell "main/frist/STS13"'),
        ([speaks("{data/sts/STS-C/test}")], 'no size "data/sts/STS-C/test" is counted; did you mean'),
        ([speaks("{main/first/STS13} **")], "sums, differences"),
        ([speaks("{main/first/STS13}", "gain/agv")], 'no cell "made/text/gain/agv"'),
        ([speaks("{main/first/STS13}"), speaks("{main/first/STS12}")], '"gain/avg" is described twice'),
        ([], '"gain/avg/spearman" of reported.csv speaks of nothing'),
        ([{"numbers": ["gain/avg"]}], "exactly one of is, claim, searched, alone"),
        ([{"numbers": ["gain/avg"], "claim": "first-best"}], 'no claim "first-best"'),
        ([{"numbers": ["gain/avg"], "searched": "optimisation.learning_rat"}], "learning_rate"),
    ],
)
def test_mistake_in_what_the_text_speaks_of(made_up, tmp_path, entries, told):
    with pytest.raises(BadInput, match=rf"text\.yaml.*{told}"):
        spoken_numbers(with_text(made_up, tmp_path, {"gain/avg": "5.56"}, entries).papers, DATASETS)


def test_a_claim_must_hold_the_number_that_it_is_named_for(made_up, tmp_path):
    relation = {"left": "main/first/STS13", "op": ">", "right": "main/first/STS12"}
    claim = {"id": "rises", "text": "A gain of 6 points.", "place": "Section 4", "relations": [relation]}
    file = tmp_path / "claims.yaml"
    file.write_text(yaml.safe_dump([claim]))
    entries = [{"numbers": ["gain/avg"], "claim": "rises"}]
    for value in ("+6", "5.56"):
        plan = with_text(made_up, tmp_path, {"gain/avg": value}, entries)
        papers = {**plan.papers, "made": replace(plan.papers["made"], claims=load_claims(file))}
        if value == "+6":
            assert [one.claim for one in spoken_numbers(papers, DATASETS).values()] == ["rises"]
        else:
            with pytest.raises(BadInput, match=r"claim rises does not say 5\.56"):
                spoken_numbers(papers, DATASETS)


def test_sentence_that_the_numbers_contradict(made_up, tmp_path):
    relation = {"left": "main/first/STS13", "op": "<", "right": "main/first/STS12"}
    falls = {"id": "falls", "text": "STS13 falls below STS12.", "place": "Section 4", "relations": [relation]}
    rises = {**falls, "id": "rises", "relations": [{**relation, "op": ">"}]}
    file = tmp_path / "made" / "claims.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump([falls, rises]))
    paper = replace(made_up.papers["made"], claims=load_claims(file))
    [finding] = found(rules.claims, replace(made_up, papers={**made_up.papers, "made": paper}))
    assert finding.cells == ("made/falls", "made/main/first/STS13", "made/main/first/STS12")
    assert (finding.place, finding.printed) == ("Section 4", "STS13 falls below STS12.")
    assert "[Table main, first, STS13] < [Table main, first, STS12] (76.53 and 70.97)" in finding.follows


# What the shipped papers hold. Checked by hand against their texts; the reason stands beside a finding.

EQUAL = "one number: the same encoder, read alike"
MEAN = "the mean of the 7 printed parts"
DATA = "counted on the data"


def share(below, printed, what):
    """Return what follows for an accuracy of one of three test sets: the shares around it."""
    total, items = {
        "SST2": (1821, "test sentences"),
        "TREC": (500, "test questions"),
        "MRPC": (1725, "test pairs"),
    }[what]
    shares = [f"{100 * count / total:.2f}" for count in (below, below + 1)]
    assert shares[0] < printed < shares[1]
    return f"{shares[0]} or {shares[1]}, which are {below} and {below + 1} of {total} {items}"


# DiffCSE's Table 2 copies rows of SimCSE's Table E.1 with all that is wrong in them; checked there. CMLM's numbers have
# one decimal in Yang et al. (2020).
DIFFCSE_COPIES = [
    ("skip-thought/SST2", "82.00", 1493, "unless 82.0 was printed with a zero after it"),
    ("skip-thought/MRPC", "73.00", 1259, "unless 73.0 was printed with a zero after it"),
    ("bert-base-avg/MRPC", "69.54", 1199, "unless it is the average of 2 or more runs"),
    ("is-bert-base/SST2", "85.96", 1565, "unless it is the average of 3 or more runs"),
    ("is-bert-base/TREC", "88.64", 443, "unless it is the average of 5 or more runs"),
    ("is-bert-base/MRPC", "74.24", 1280, "unless it is the average of 3 or more runs"),
    ("simcse-bert-base-mlm/SST2", "86.81", 1580, "unless it is the average of 4 or more runs"),
    ("simcse-bert-base-mlm/TREC", "87.01", 435, "unless it is the average of 14 or more runs"),
    ("simcse-bert-base-mlm/MRPC", "78.07", 1346, "unless it is the average of 3 or more runs"),
    ("cmlm-bert-base/SST2", "88.50", 1611, "unless 88.5 was printed with a zero after it"),
    ("cmlm-bert-base/MRPC", "69.70", 1202, "unless 69.7 was printed with a zero after it"),
]
QUERIES = "of 97 queries, one for each STS-B test pair of score 5"
TWICE = "unless it is the average of 2 or more runs"
SEED = "unless more than the seed differs"


def over(span, row):
    """Return what follows for a run beside the 50 published seeds of its training."""
    place = "Hayato Tsukagoshi (2022), github.com/hppRC/simple-simcse, README (50 seeds)"
    return f"{span} over 50 seeds ({place}, {row})"


EXPECTED = [
    ("diffcse/table2/bert-base-avg/avg/accuracy", "84.94", f"84.95, {MEAN}", CERTAIN),
    *(
        (
            f"diffcse/table2/{place}/accuracy",
            printed,
            share(below, printed, place.partition("/")[2]),
            certainty,
        )
        for place, printed, below, certainty in DIFFCSE_COPIES
    ),
    # 151, 153, 185 and 189 of 194: both sentences of the 97 pairs asked, where section 6.2 has one of them ask. The
    # other two, 180 and 186 of 194, are 90 and 93 of 97 as well.
    (
        "diffcse/table10/simcse-bert-base/at1/recall",
        "77.84",
        f"77.32 or 78.35, which are 75 and 76 {QUERIES}",
        TWICE,
    ),
    (
        "diffcse/table10/diffcse-bert-base/at1/recall",
        "78.87",
        f"78.35 or 79.38, which are 76 and 77 {QUERIES}",
        TWICE,
    ),
    (
        "diffcse/table10/diffcse-bert-base/at5/recall",
        "95.36",
        f"94.85 or 95.88, which are 92 and 93 {QUERIES}",
        TWICE,
    ),
    (
        "diffcse/table10/diffcse-bert-base/at10/recall",
        "97.42",
        f"96.91 or 97.94, which are 94 and 95 {QUERIES}",
        TWICE,
    ),
    # Section 4.3 against Tables 1 and 2; the seven parts of each row give the table's number.
    (
        "diffcse/text/diffcse-roberta-base/avg/spearman",
        "77.80",
        "78.21 (Table 1, DiffCSE-RoBERTa-base, Avg.)",
        CERTAIN,
    ),
    (
        "diffcse/text/simcse-bert-base/avg/accuracy",
        "85.56",
        "85.81 (Table 2, SimCSE-BERT-base, Avg.)",
        CERTAIN,
    ),
    # Tables 7 and 8 against the search of appendix A.
    (
        "diffcse/table7/ratio-25/stsb-dev/spearman",
        "25%, 50%",
        "none of the values searched: 0.15, 0.20, 0.30, 0.40 (Appendix A)",
        CERTAIN,
    ),
    (
        "diffcse/table8/lambda-0/stsb-dev/spearman",
        "λ = 0, λ = 0.0001, λ = 0.0005",
        "none of the values searched: 0.1, 0.05, 0.01, 0.005, 0.001 (Appendix A)",
        CERTAIN,
    ),
    (
        "diffcse/table1/simcse-roberta-base-reproduce/avg/spearman",
        "76.41",
        over("74.17 to 75.14", "RoBERTa-base"),
        SEED,
    ),
    # One epoch of 10^6 sentences in batches of 64, as sections 3.2 and 3.3 have it.
    (
        "repro/text/training-iterations/total/count",
        "3700",
        "15625, which is 1,000,000 / 64 * 1"
        " (Section 3.2; Section 3.3; Table 3, Epochs per experiment, Reproduction count)",
        CERTAIN,
    ),
    # The README of the authors prints 78.41 of the same training.
    (
        "repro/table6/unsup-simcse-bert-large/avg/spearman",
        "60.40",
        over("70.31 to 77.28", "BERT-large"),
        SEED,
    ),
    (
        "simcse/readme/unsup-simcse-bert-large/avg/spearman",
        "78.41",
        over("70.31 to 77.28", "BERT-large"),
        SEED,
    ),
    (
        "simcse/table5/unsup-simcse-roberta-base/avg/spearman",
        "76.57",
        over("74.17 to 75.14", "RoBERTa-base"),
        SEED,
    ),
    (
        "simcse/table5/unsup-simcse-roberta-large/avg/spearman",
        "78.90",
        over("75.64 to 77.69", "RoBERTa-large"),
        SEED,
    ),
    # Table 6 averages the columns of Table 4, which stand in another table; summarization is a single data set.
    *(
        (
            f"noncontrastive/table6/roberta-base-{row}/{column}/score",
            value,
            f"{mean}, the mean of the {parts} printed parts",
            "unless the parts were averaged before they were rounded",
        )
        for row, column, value, mean, parts in (
            ("vicreg-dropout", "clustering", "33.4", "33.3", 11),
            ("barlow-twins-dropout", "pair-classification", "70.6", "70.7", 3),
            ("barlow-twins-nli", "pair-classification", "71.2", "71.3", 3),
            ("barlow-twins-nli", "retrieval", "25.1", "25.2", 15),
        )
    ),
    (
        "noncontrastive/table6/roberta-base-simcse/summarization/score",
        "27.7 (Table 6, section 4), 27.6 (Table 4, appendix C)",
        EQUAL,
        "unless one number was rounded in two ways",
    ),
    # 2.119 / 3; with the correlation 0.788 counted as 0.894 it would be 2.225 / 3 = 0.7417. One place names all three.
    (
        "twotier/text/leaderboard/average/score",
        "0.742",
        "0.706, which is (0.533 + 0.798 + 0.788) / 3 (Section 4.3.7)",
        CERTAIN,
    ),
    # 549.66 / 7 = 78.523: means of ten seeds, whose average lies between 78.518 and 78.528 before rounding.
    ("promptbert/readme-sts/unsup-bert/avg/spearman", "78.54", f"78.52, {MEAN}", CERTAIN),
    # 78.18 against 75.9 in SimCSE's Table 1; the other nine differences of the column are right.
    ("repro/table4/deletion-10/stsb-dev-delta/spearman", "+2.88", "+2.28, which is 78.18 less 75.9", CERTAIN),
    # 72.13 in Table 6 against 73.24 in SimCSE's Table 5.
    (
        "repro/table7/unsup-simcse-roberta-base/STS14/spearman",
        "-1.12",
        "-1.11, which is 72.13 less 73.24",
        "unless computed before rounding",
    ),
    # "# test sent. pairs"; 750 is the size of single files of the four years.
    ("repro/table2/sts12/test-pairs/count", "750", f"3,108, {DATA}", CERTAIN),
    ("repro/table2/sts13/test-pairs/count", "750", f"1,500, {DATA}", CERTAIN),
    ("repro/table2/sts14/test-pairs/count", "750", f"3,750, {DATA}", CERTAIN),
    ("repro/table2/sts15/test-pairs/count", "750", f"3,000, {DATA}", CERTAIN),
    ("repro/table2/sts16/test-pairs/count", "862", f"1,186, {DATA}", CERTAIN),
    ("repro/table2/sts-b/test-pairs/count", "937", f"1,379, {DATA}", CERTAIN),
    ("repro/table2/sick-r/test-pairs/count", "5000", f"4,927, {DATA}", CERTAIN),
    # 524.02 / 7 = 74.860, both times quoted from Reimers and Gurevych; the own row of Table B.2 is right.
    ("simcse/table5/sbert-base/avg/spearman", "74.89", f"74.86, {MEAN}", CERTAIN),
    ("simcse/tableB2/sbert-base-quoted/avg/spearman", "74.89", f"74.86, {MEAN}", CERTAIN),
    # 594.68 / 7 = 84.954; before rounding the parts' mean lay between 84.949 and 84.959, which is never 84.94.
    ("simcse/tableE1/bert-base-avg/avg/accuracy", "84.94", f"84.95, {MEAN}", CERTAIN),
    # Whitening has no seed and Tables 5, B.2 and C.1 measure it alike: "all", own implementation.
    (
        "simcse/table5/bert-base-whitening/STS14/spearman",
        "60.90 (Table 5), 60.89 (Table B.2), 60.90 (Table C.1)",
        EQUAL,
        "unless one number was rounded in two ways",
    ),
    (
        "simcse/table5/bert-base-whitening/STS16/spearman",
        "71.31 (Table 5), 71.30 (Table B.2), 71.31 (Table C.1)",
        EQUAL,
        "unless one number was rounded in two ways",
    ),
    # The test set of STS-B is one file, so the "wmean" row of Table B.2 is that number too.
    (
        "simcse/table5/bert-base-whitening/STS-B/spearman",
        "68.24 (Table 5), 68.23 (Table B.2), 68.23 (Table B.2), 68.24 (Table C.1)",
        EQUAL,
        "unless one number was rounded in two ways",
    ),
    (
        "simcse/tableB2/bert-base-whitening-target-all/STS14/spearman",
        "66.27 (Table B.2), 66.28 (Table C.1)",
        EQUAL,
        "unless one number was rounded in two ways",
    ),
    # Table E.1, single test sets. Skip-thought is quoted with a zero that its own authors did not print.
    (
        "simcse/tableE1/skip-thought/SST2/accuracy",
        "82.00",
        "81.99 or 82.04, which are 1493 and 1494 of 1821 test sentences",
        "unless 82.0 was printed with a zero after it",
    ),
    (
        "simcse/tableE1/skip-thought/MRPC/accuracy",
        "73.00",
        "72.99 or 73.04, which are 1259 and 1260 of 1725 test pairs",
        "unless 73.0 was printed with a zero after it",
    ),
    # 69.45 in place of 69.54 would be 1198 of 1725, and would make the printed average of the row right.
    (
        "simcse/tableE1/bert-base-avg/MRPC/accuracy",
        "69.54",
        "69.51 or 69.57, which are 1199 and 1200 of 1725 test pairs",
        "unless it is the average of 2 or more runs",
    ),
    # All three of the row are shares of five times the test set.
    (
        "simcse/tableE1/is-bert-base/SST2/accuracy",
        "85.96",
        "85.94 or 86.00, which are 1565 and 1566 of 1821 test sentences",
        "unless it is the average of 3 or more runs",
    ),
    (
        "simcse/tableE1/is-bert-base/TREC/accuracy",
        "88.64",
        "88.60 or 88.80, which are 443 and 444 of 500 test questions",
        "unless it is the average of 5 or more runs",
    ),
    (
        "simcse/tableE1/is-bert-base/MRPC/accuracy",
        "74.24",
        "74.20 or 74.26, which are 1280 and 1281 of 1725 test pairs",
        "unless it is the average of 3 or more runs",
    ),
    # The authors' own row, all three single tests of it.
    (
        "simcse/tableE1/unsup-simcse-bert-base-mlm/SST2/accuracy",
        "86.81",
        "86.77 or 86.82, which are 1580 and 1581 of 1821 test sentences",
        "unless it is the average of 4 or more runs",
    ),
    (
        "simcse/tableE1/unsup-simcse-bert-base-mlm/TREC/accuracy",
        "87.01",
        "87.00 or 87.20, which are 435 and 436 of 500 test questions",
        "unless it is the average of 14 or more runs",
    ),
    (
        "simcse/tableE1/unsup-simcse-bert-base-mlm/MRPC/accuracy",
        "78.07",
        "78.03 or 78.09, which are 1346 and 1347 of 1725 test pairs",
        "unless it is the average of 3 or more runs",
    ),
]


@pytest.fixture(scope="module")
def shipped():
    return plan_at(WORKFLOW)


@pytest.fixture(scope="module")
def findings(shipped):
    return audit(shipped)


def test_every_finding_on_numbers_is_expected(findings):
    numbers = [one for one in findings if one.rule != "claim"]
    assert sorted((one.cells[0], one.printed, one.follows, one.certainty) for one in numbers) == sorted(
        EXPECTED
    )
    assert Counter(one.rule for one in numbers) == {
        "difference": 2,
        "size": 7,
        "average": 5 + 4,
        "equal": 4 + 1,
        "percentage": 9 + 11 + 4,
        "text": 4,
        "search": 2,
        "seeds": 5,
    }


def test_own_findings_stand_before_quoted_ones_and_certain_ones_before_others(findings):
    for paper in ("diffcse", "repro", "simcse"):
        ranks = [
            (one.note.startswith("quoted: "), one.certainty != CERTAIN)
            for one in findings
            if one.paper == paper
        ]
        assert ranks == sorted(ranks) and len(set(ranks)) > 1


def test_places_have_no_ids(shipped, findings):
    ids = [name for item in shipped.papers.values() for name in item.items if not name.isalpha()]
    for one in findings:
        said = " ".join((one.place, one.follows, one.note))
        assert not [name for name in ids if f"/{name}" in said], one


def test_the_runs_beside_each_other(findings):
    """The reproduction's BERT-large and the authors' own, each with the other."""
    notes = {one.printed: one.note for one in findings if one.rule == "seeds"}
    assert notes["60.40"].startswith("78.41 is printed in Gao et al. (2021), README of princeton-nlp/SimCSE")
    assert (
        notes["78.41"] == "60.40 is printed in Pandey and Sholokhov (2023), Table 6, SimCSE-BERT-large, Avg."
    )


def test_a_few_seeds_are_no_bound(shipped, findings):
    """DiffCSE's 78.49 lies above all four reruns of it, as one of five runs does by chance."""
    assert "diffcse/table1/diffcse-bert-base/avg/spearman" not in {one.cells[0] for one in findings}
    few = {
        name: [
            replace(cell, reported=cell.reported.model_copy(update={"seeds": 4}))
            if cell.reported and cell.reported.statistic in ("min", "max")
            else cell
            for cell in cells
        ]
        for name, cells in shipped.cells.items()
    }
    assert not found(rules_of_tables.seeds, replace(shipped, cells=few))


def test_tables_that_search_have_the_printed_values(shipped):
    """The grid that a table trains is that of the running text."""
    printed = {}
    for key, spoken in spoken_numbers(shipped.papers, DATASETS).items():
        if spoken.searched:
            place = (key[0].partition("/")[0], spoken.searched)
            number = shipped.papers[place[0]].reported[("text", *key[1:])].number
            printed.setdefault(place, set()).add(number.value)
    grids = {
        (paper.key, path): set(map(float, values))
        for paper in shipped.papers.values()
        for item in paper.items.values()
        for path, values in (item.encoder.grid or {}).items()
    }
    assert printed == grids and len(grids) == 6


def test_every_number_of_the_running_texts_is_accounted_for(shipped):
    counts = rules_of_text.spoken_counts(shipped, shipped.papers)
    assert counts.total() == sum(
        key[0] == "text" and key[3] != "text" and bool(printed.number)
        for paper in shipped.papers.values()
        for key, printed in paper.reported.items()
    )
    assert counts["compared with other numbers"] > 50


# Sentences against the numbers of their own paper; what each relation reads into them stands in claims.yaml.
CONTRADICTED = [
    "diffcse/generator-size",  # BERT-medium 82.25, BERT-small 82.64
    "diffcse/positives-hurt",  # insertion on transfer tasks: 83.92, SimCSE 83.91
    "noncontrastive/bert-trails-by-few-points",  # 61.8 and 63.8, SimCSE 73.1
    "noncontrastive/vicreg-ahead-on-dev",  # for BERT Barlow Twins is ahead in five of ten columns
    "noncontrastive/pronounced-for-simcse",  # BERT: -2.62, both Barlow Twins and one VICReg below
    "noncontrastive/marginal-for-roberta",  # VICReg with dropout: 0.70 on RoBERTa, 0.60 on BERT
    "noncontrastive/geometry-of-the-unsupervised",  # Table 6 prints that of two supervised models
    "repro/c5",  # SICK-R: RoBERTa-base 68.56, CT-BERT 69.19
    "repro/word-deletion-gain",  # 10.11 points, not 14
    "repro/other-augmentations-lose",  # deleting one word gained 1.2
    "repro/dropout-differences",  # 5.49 points or 7.6%, not 6.8%; 1.43 at 0.2 and 1.29 at 0.5
    "repro/simcse-degrades",  # uniformity fell from -1.93 to -2.47, and lower is better
    "repro/roberta-large-differences",  # 7.76 points are not almost 10, and 5.04% and 5.13% not within 5%
    "repro/roberta-base-gain",  # 0.19 on STS-B
    "repro/conclusions-on-sick",  # 75.15, unsupervised SimCSE 74.15
    "repro/best-extremes",  # the two are the worst, each of the other's measure the best
    "repro/pareto-frontier",  # seven, as a sort by alignment shows
    "simcse/all-datasets-roberta",  # SICK-R: RoBERTa-base 68.56, DeCLUTR 68.62
    "twotier/paraphrase-epochs",  # 10 in section 4.3.1, 5 in 4.3.2
]
BY_ANOTHER_SENTENCE = {"noncontrastive/geometry-of-the-unsupervised", "twotier/paraphrase-epochs"}


def test_every_contradicted_sentence_is_expected(findings):
    sentences = [one for one in findings if one.rule == "claim"]
    assert [one.cells[0] for one in sentences] == CONTRADICTED
    assert {one.certainty for one in sentences} == {"unless the sentence is read otherwise"}
    assert {one.cells[0] for one in sentences if len(one.cells) == 1} == BY_ANOTHER_SENTENCE


def test_single_test_accuracies_against_all_counts(shipped, findings):
    items = {"SST2": 1821, "TREC": 500, "MRPC": 1725}
    possible = {
        name: {f"{100 * count / total:.2f}" for count in range(total + 1)} for name, total in items.items()
    }
    impossible = {
        f"{item}/{cell.row.id}/{cell.column.id}/accuracy"
        for item in ("simcse/tableE1", "diffcse/table2")
        for cell in shipped.cells[item]
        if cell.column.id in items
        and cell.protocol == "as-described"
        and cell.reported is not None
        and cell.reported.value not in possible[cell.column.id]
    }
    found = {one.cells[0] for one in findings if one.rule == "percentage"}
    assert impossible == {name for name in found if name.endswith("/accuracy")}


def test_recalls_against_all_counts(shipped, findings):
    """DiffCSE Table 10: of 97 queries only two of the six are possible, of 194 all are."""
    printed = {
        f"diffcse/table10/{cell.row.id}/{cell.column.id}/recall": cell.reported.value
        for cell in shipped.cells["diffcse/table10"]
        if cell.protocol == "as-described" and cell.reported
    }
    possible = {total: {f"{100 * count / total:.2f}" for count in range(total + 1)} for total in (97, 194)}
    found = {
        one.cells[0]: one.note for one in findings if one.cells[0] in printed and one.rule == "percentage"
    }
    assert {name for name, value in printed.items() if value not in possible[97]} == set(found)
    assert set(printed.values()) <= possible[194]
    assert set(found.values()) == {"possible for 194 queries, both sentences of each such pair"}


def test_each_cell_alone_has_the_findings_of_the_whole(shipped, findings):
    """What `why` plans around one cell is enough for every rule.

    Notes on seeds, which it does not tell, lack the numbers of other papers.
    """

    def of(name, found):
        return [
            replace(one, note="" if one.rule == "seeds" else one.note) for one in found if name in one.cells
        ]

    cells = {"/".join(cell.key): cell for item in shipped.items for cell in shipped.described(item)}
    wanted = {
        name
        for one in findings
        if one.rule in ("equal", "difference", "text", "search", "seeds")
        for name in one.cells
    }
    for name in sorted(wanted & set(cells)):
        alone = audit_plan(shipped.papers, WORKFLOW, cells[name])
        assert len(alone.items) < len(shipped.items) / 2
        assert of(name, audit(alone)) == of(name, findings)


@pytest.mark.parametrize(
    "rule", [rules_of_tables.averages, rules_of_tables.equals, rules_of_tables.percentages]
)
def test_other_statistics_of_the_same_runs_are_not_held_against_each_other(made_up, rule):
    first = {("main", "first", "avg"): "1.20", ("transfer", "first", "TREC"): "87.01"}
    assert found(rule, reprinted(made_up, first | {("main", "second", "avg"): "73.16"}))
    assert not found(rule, reprinted(made_up, first, statistic="sd", seeds=5))


def test_quotations_are_marked(findings):
    quoted = {one.cells[0]: one.note for one in findings if one.note.startswith("quoted: ")}
    assert quoted["simcse/table5/sbert-base/avg/spearman"] == "quoted: Reimers and Gurevych (2019), marked ♣"
    assert "simcse/tableE1/unsup-simcse-bert-base-mlm/TREC/accuracy" not in quoted


def test_sizes_are_those_of_the_data(real_data):
    for read in DATASETS.sizes:
        _, kind, task, split = read.split("/")
        if kind == "sts":
            subsets = {subset.name: len(subset.gold) for subset in load_sts(real_data, task, split)}
            parts = DATASETS.parts(read)
            assert list(parts.values()) == list(subsets.values()) if len(parts) == 1 else parts == subsets, (
                read
            )
        else:
            counted = len(load_transfer(real_data, task).splits[split].labels)
            assert sum(DATASETS.parts(read).values()) == counted, read


def test_numbers_of_items_are_those_of_the_data(real_data):
    for task, split, metric in (
        ("SST2", "test", "accuracy"),
        ("SST2", "dev", "dev_accuracy"),
        ("TREC", "test", "accuracy"),
        ("MRPC", "test", "accuracy"),
    ):
        for suite in ("transfer", "transfer-dev"):
            [reading] = DATASETS.readings(f"{suite}/{task}/{metric}")
            assert reading.items == len(load_transfer(real_data, task).splits[split].labels)
    perfect = sum(int((subset.gold == 5.0).sum()) for subset in load_sts(real_data, "STS-B"))
    for read in ("recall/all/forward/at1", "recall/distinct/both/at10"):
        assert [reading.items for reading in DATASETS.readings(read)] == [perfect, 2 * perfect]


def test_cross_validated_accuracies_are_no_shares_of_a_test_set():
    for task in ("MR", "CR", "SUBJ", "MPQA"):
        assert not DATASETS.readings(f"transfer/{task}/accuracy")
    assert not DATASETS.readings("transfer/TREC/dev_accuracy")


def test_single_files_are_those_that_aggregate_alike():
    single = {read.split("/")[2] for read in DATASETS.sizes if list(DATASETS.parts(read)) == [""]}
    alike = [group for group in DATASETS.same if group[0].startswith("sts/")]
    assert {group[0].split("/")[1] for group in alike} == single & set(STS_TASKS)
    (lone,) = (name for name, tasks in MTEB_TASKS.items() if len(tasks) == 1)
    assert (f"mteb/{MTEB_TASKS[lone][0]}", f"mteb/average/{lone}") in DATASETS.same
    assert DATASETS.one_name("sts/STS-B/wmean") == "sts/STS-B/all"
    assert DATASETS.one_name("sts/STS12/wmean") == "sts/STS12/wmean"


def test_averages_are_over_all_tasks():
    tasks = {"sts": STS_TASKS, "transfer": TRANSFER_TASKS, "transfer-dev": TRANSFER_TASKS}
    for read, wanted in DATASETS.averages.items():
        if read.startswith("mteb/"):
            names = {**MTEB_TASKS, "all": MTEB_NAMES}[read.rpartition("/")[2]]
            assert wanted.paths == tuple(sorted(f"mteb/{name}" for name in names))
        else:
            assert wanted.parts == len(tasks[read.split("/")[0]])


def test_mistake_in_the_datasets_names_the_key(tmp_path):
    document = yaml.safe_load((WORKFLOW / "datasets.yaml").read_text())
    document["averages"]["sts/avg"] = {"of": "sts/*/all", "part": 7}
    (tmp_path / "datasets.yaml").write_text(yaml.safe_dump(document))
    with pytest.raises(BadInput, match=r'datasets.yaml: .*"part".*did you mean "parts"'):
        load_datasets(tmp_path)


def test_choice_of_a_paper_or_an_item(shipped, findings):
    assert {one.paper for one in chosen(findings, "repro", shipped)} == {"repro"}
    assert [one.cells[0] for one in chosen(findings, "repro/table4", shipped) if one.rule != "claim"] == [
        "repro/table4/deletion-10/stsb-dev-delta/spearman"
    ]
    assert {one.cells[0] for one in chosen(findings, "diffcse/table10", shipped)} == {
        name for name, *_ in EXPECTED if name.startswith("diffcse/table10/")
    }
    assert len([one for one in chosen(findings, "simcse/tableC1", shipped) if one.rule != "claim"]) == 4
    with pytest.raises(BadInput, match='did you mean "repro/table4"'):
        chosen(findings, "repro/tabel4", shipped)


def run_verb(*words):
    return main(["audit", *map(str, words), "--workflow", str(WORKFLOW)])


def test_verb_prints_text_and_json(capsys, findings):
    assert run_verb() == 0
    text = capsys.readouterr().out
    own = [one.certainty for one in findings if one.paper == "diffcse"]
    assert text.startswith(f"diffcse: {len(own)} findings, {own.count(CERTAIN)} certain\n")
    assert "\nrepro: " in text
    assert "  Table 4, Word deletion 10%, Δ to SimCSE (difference)\n    printed    +2.88\n" in text
    assert max(map(len, text.splitlines())) <= 80
    counts = text.partition(" numbers of the running texts:\n")[2].split()
    assert sum(int(word) for word in counts if word.isdigit()) == int(
        text.split()[text.split().index("numbers") - 1]
    )
    run_verb("repro/table7", "--json")
    documents = json.loads(capsys.readouterr().out)["findings"]
    assert documents[0]["printed"] == "-1.12"
    assert documents[0]["cells"][2] == "simcse/table5/unsup-simcse-roberta-base/STS14/spearman"


def test_verb_counts_the_running_text_of_what_is_asked_for(shipped, capsys, tmp_path):
    counted = {key: rules_of_text.spoken_counts(shipped, [key]).total() for key in shipped.papers}
    silent = next(key for key, count in counted.items() if not count)
    study = tmp_path / "study.json"
    study.write_text(json.dumps({"scale": "micro", "papers": {"simcse": "all", silent: "all"}, "seeds": [0]}))
    asked = (["simcse"], ["simcse/table5"], [silent], ["--study", str(study)])
    for words, count in zip(asked, (counted["simcse"], counted["simcse"], 0, counted["simcse"]), strict=True):
        assert run_verb(*words) == 0
        told = capsys.readouterr().out
        assert (f"\n{count} numbers of the running texts:\n" in told) == bool(count), words
        assert ("numbers of the running texts" in told) == bool(count), words


def test_sheet_has_a_row_per_finding(findings):
    sheet = audit_sheet([one.row() for one in findings])
    assert len(sheet.rows) == len(findings)
    places = "Table 4, Word deletion 10%, STS-B dev; Gao et al. (2021), Table 1, Word deletion 10%, STS-B dev"
    assert ("Table 4, Word deletion 10%, Δ to SimCSE: +2.88", places) in [row[:2] for row in sheet.rows]


def test_nothing_found_is_said():
    assert audit_text([]) == "nothing found"
    claim = Finding(
        "repro", "claim", "Section 4", ("repro/all-lower",), "All are lower.", "one is not", CERTAIN
    )
    assert audit_text([claim.row()]).splitlines()[0] == "repro: 1 finding, 1 certain"


def test_audit_needs_no_heavy_library():
    code = (
        f"import sys; from replicse.cli import main; main(['audit', '--workflow', {str(WORKFLOW)!r}]);"
        "print(sorted({'torch', 'pandas', 'scipy', 'transformers', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
