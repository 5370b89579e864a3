"""The audit: each rule on a made-up paper, and the whole list of findings on the shipped ones."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up import write_paper
from planned import WORKFLOW, shipped_audit

from replicse.data.sts import STS_TASKS, load_sts
from replicse.data.transfer import load_transfer
from replicse.files import read_rows
from replicse.study.judge import audit as rules
from replicse.study.judge import rules_of_tables, rules_of_text
from replicse.study.judge.audit import audit, audit_plan
from replicse.study.judge.claims import judged_in_print, study_claims
from replicse.study.judge.findings import CERTAIN, UNROUNDED
from replicse.study.paper.cell_names import CellNames
from replicse.study.paper.claims import load_claims
from replicse.study.paper.datasets import load_datasets
from replicse.study.paper.papers import load_papers
from replicse.study.paper.printed import Reported
from replicse.study.paper.running_text import spoken_numbers

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


def table(columns, *rows):
    """Return a table of one encoder, of which a quoted row shows what another paper printed."""
    encoder = {"backbone": "bert-base", "pooling": "cls"}
    shown = [{"id": row, **({"quoted": True} if row == "quoted" else {"encoder": encoder})} for row in rows]
    return {"columns": columns, "rows": shown}


def made_up_tables():
    score = {"metric": "spearman"}
    sts = [column(task, f"sts/{task}/all", **score) for task in STS_TASKS] + [
        column("avg", "sts/avg", **score)
    ]
    differences = [
        {
            **one,
            "kind": "difference",
            "subtract": {"item": "other/main", "row": "first", "column": one["id"], "metric": "spearman"},
        }
        for one in sts
        if one["id"] in ("STS12", "STS13", "avg")
    ]
    parts = [
        column("STS-B", "sts/STS-B/all", **score),
        column("TREC", "transfer/TREC/accuracy"),
        {"id": "mean", "kind": "derived", "formula": "({STS-B} + {TREC}) / 2"},
        {"id": "share", "kind": "derived", "formula": "100 * {STS-B} / {TREC}"},
    ]
    transfer = [column("TREC", "transfer/TREC/accuracy"), column("recall", "recall/all/both/at1")]
    return {
        "main": table(sts, "first", "second", "quoted"),
        "wmean": table([column(task, f"sts/{task}/wmean", **score) for task in ("STS-B", "SICK-R")], "first"),
        "transfer": table(transfer, "first"),
        "sizes": table([column(task, f"data/sts/{task}/test") for task in ("STS12", "STS16")], "first"),
        "parts": table(parts, "first"),
        "differences": table(differences, "first"),
    }


def printed_numbers(tables, numbers):
    """Yield the lines of reported.csv from {row/item: {column: value}}."""
    for place, values in numbers.items():
        row, item = place.split("/")
        metrics = {one["id"]: one.get("metric", "") for one in tables[item]["columns"]}
        for name, value in values.items():
            number = {"item": item, "row": row, "column": name, "metric": metrics[name], "value": value}
            note = "quoted: Somebody (2020); starred" if row == "quoted" else ""
            yield {**number, "source": f"Table {item}", "note": note}


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """A plan of two small papers without a mistake; `made` prints differences to `other`."""
    workflow, tables = tmp_path_factory.mktemp("workflow"), made_up_tables()
    write_paper(workflow, "made", tables, printed_numbers(tables, NUMBERS))
    others = {"first/main": {"STS12": "69.8", "STS13": "79.98", "avg": "76.25"}}
    write_paper(workflow, "other", {"main": tables["main"]}, printed_numbers(tables, others))
    return audit_plan(load_papers(workflow), workflow)


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


@pytest.mark.parametrize(
    ("rule", "printed"),
    [
        (rules_of_tables.averages, {("main", "first", "avg"): "10.00", ("main", "first", "STS14"): "-"}),
        (rules_of_tables.derived, {("parts", "first", "mean"): "90.00", ("parts", "first", "TREC"): "-"}),
    ],
)
def test_what_lacks_a_printed_part_is_not_judged(made_up, rule, printed):
    assert not found(rule, reprinted(made_up, printed))


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
    ("column", "printed", "follows", "certainty"),
    [
        ("TREC", "87.01", "87.00 or 87.20, which are 435 and 436 of 500 test questions", "14 or more runs"),
        ("recall", "89.6", "88.7 or 89.7, which are 86 and 87 of 97 queries", "cut off instead of rounded"),
        ("recall", "77.84", "77.32 or 78.35, which are 75 and 76 of 97 queries", "2 or more runs"),
        (
            "recall",
            "77.30",
            "76.29 or 77.32, which are 74 and 75 of 97 queries",
            "77.3 was printed with a zero",
        ),
    ],
)
def test_percentage_that_no_count_gives(made_up, column, printed, follows, certainty):
    plan = reprinted(made_up, {("transfer", "first", column): printed})
    [finding] = found(rules_of_tables.percentages, plan)
    assert finding.follows.startswith(follows) and certainty in finding.certainty
    assert finding.note.startswith("possible for 194" if printed == "77.84" else "")


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


@pytest.mark.parametrize(
    ("formula", "printed", "follows", "certainty"),
    [
        # 76.53 - 70.97 = 5.56; 5.57 is possible of numbers that were not rounded before, 5.58 is not.
        ("{main/first/STS13} - {main/first/STS12}", "5.6", "", ""),
        ("{main/first/STS13} - {main/first/STS12}", "5.57", "5.56, which is 76.53 - 70.97", UNROUNDED),
        ("{main/first/STS13} - {main/first/STS12}", "5.58", "5.56, which is 76.53 - 70.97", CERTAIN),
        ("{main/first/STS13} - {other/main/first/STS13}", "-3", "", ""),
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


# What the shipped papers hold


@pytest.fixture(scope="module")
def shipped():
    return shipped_audit()[0]


@pytest.fixture(scope="module")
def findings():
    return shipped_audit()[1]


def test_every_finding_is_expected(findings):
    """Checked by hand against the papers' texts: the reason stands beside a finding, that of a claim in claims.yaml."""
    expected = [
        tuple(row.values())[:4] for row in read_rows(Path(__file__).with_name("shipped_findings.csv"))
    ]
    found = [
        (one.cells[0], *(("", "") if one.rule == "claim" else (one.printed, one.follows)), one.certainty)
        for one in findings
    ]
    assert sorted(found) == sorted(expected)


def test_a_cell_alone_has_the_findings_of_the_whole(shipped, findings):
    """What `why` plans around one cell is enough for every rule, but for the notes on seeds of other papers."""
    cells = {"/".join(cell.key): cell for item in shipped.items for cell in shipped.described(item)}
    for rule in ("equal", "text"):
        name = next(name for one in findings if one.rule == rule for name in one.cells if name in cells)
        alone = audit_plan(shipped.papers, WORKFLOW, cells[name])
        assert len(alone.items) < len(shipped.items) / 2
        told, expected = ([one for one in each if name in one.cells] for each in (audit(alone), findings))
        assert told == expected


def test_sizes_are_those_of_the_data(real_data):
    for read in DATASETS.sizes:
        _, kind, task, split = read.split("/")
        if kind == "sts":
            subsets = {subset.name: len(subset.gold) for subset in load_sts(real_data, task, split)}
            parts = DATASETS.parts(read)
            assert list(parts.values()) == list(subsets.values()) if len(parts) == 1 else parts == subsets, (
                read
            )
        elif task in ("SST2", "TREC"):
            counted = len(load_transfer(real_data, task).splits[split].labels)
            assert sum(DATASETS.parts(read).values()) == counted, read


def test_an_ablation_may_leave_the_values_that_were_searched(findings):
    """DiffCSE's Tables 7 and 8 are no search, and λ = 0 is SimCSE; (r + 1) / 2 explains 2-Tier's 0.742."""
    assert not [one for one in findings if one.rule == "search"]
    (mean,) = [one for one in findings if one.cells[0].startswith("twotier/text/leaderboard/average")]
    assert mean.certainty.startswith("unless the STS correlation r is counted as (r + 1) / 2")


def test_numbers_of_two_rows_are_counted_by_name(shipped):
    """Of seven categories VICReg trails SimCSE by less than five points in five, not in pair classification and STS."""
    claims = study_claims(shipped.papers, shipped.papers)
    claim = next(one for one in claims if one.name == "noncontrastive/bert-trails-by-few-points")
    outcome = judged_in_print(claim, CellNames(shipped.papers))
    assert outcome.outcome == "supported" and "(71.4286)" in outcome.reason


def test_the_place_of_an_item_is_text_and_no_pattern(made_up, tmp_path):
    relation = {"left": "wins({main/*/STS13}, {main/*/STS12})", "op": "<", "right": 10}
    file = tmp_path / "made" / "claims.yaml"
    file.parent.mkdir()
    file.write_text(
        yaml.safe_dump([{"id": "falls", "text": "STS13 falls.", "place": "4", "relations": [relation]}])
    )
    items = {
        key: item.model_copy(update={"place": r"Table \1"})
        for key, item in made_up.papers["made"].items.items()
    }
    paper = replace(made_up.papers["made"], items=items, claims=load_claims(file))
    [finding] = found(rules.claims, replace(made_up, papers={**made_up.papers, "made": paper}))
    assert r"% of rows of Table \1 where" in finding.follows
