"""Tabulated cells: kinds of columns, statistics over jobs and seeds, intervals, other settings, failures."""

import json
import math
import re
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest
from made_up import made_plan, write_evaluation, write_paper
from places import ROOT

from replicse.errors import BadInput
from replicse.registry.corpora import STS_TASKS
from replicse.registry.suites import file_of
from replicse.study.results.pairs import packed_pairs
from replicse.study.results.tabulate import FIELDS, TIDY, item_result, table_rows, tidy_rows
from replicse.study.results.values import Evaluations

PATH = "sts/STS12/all"
GRID = {"optimisation.batch_size": [32, 64, 128, 256]}


def column(name="a", path=PATH, **more):
    return {"id": name, "metric_path": path, **more}


def row(name="r", **more):
    return {"id": name, "encoder": {"use": "plain"}, **more}


class Study:
    """A paper of one table in a folder of its own, and evaluations of its encoders."""

    def __init__(self, folder):
        self.folder = folder

    def plan(self, columns=None, rows=None, printed=(("r", "a", "70.0"),), seeds=2, scale="paper", **table):
        """Write the paper anew and plan it; `printed` holds row, column, value and further fields of reported.csv."""
        papers = self.folder / "workflow" / "papers"
        if (papers / "made").exists():
            shutil.rmtree(papers / "made")
        table = {
            "setting": {"metric": "spearman"},
            "columns": columns or [column()],
            "rows": rows or [row()],
            **table,
        }
        reported = [
            {"item": "table1", "row": name, "column": where, "value": value, **(more[0] if more else {})}
            for name, where, value, *more in printed
        ]
        write_paper(papers.parent, "made", {"table1": table}, reported)
        return made_plan(papers.parent, scale=scale, seeds=list(range(seeds)))

    def result(self, plan, scores=(), failures=None):
        """Return the result where the encoder of each seed has these numbers by metric path; None is not run."""
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        for cell in plan.cells["made/table1"]:
            for encoder, values in zip(cell.encoders, scores, strict=False):
                for group in {file_of(path) for path in values or ()}:
                    own = {path: value for path, value in values.items() if file_of(path) == group}
                    write_evaluation(plan, plan.paths.evaluation(encoder, group), own, failures)
        return item_result(plan, plan.item("made/table1"), Evaluations(plan))

    def cells(self, plan, scores=(), failures=None):
        """Return the CSV's rows."""
        return list(table_rows(self.result(plan, scores, failures)))


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Study(tmp_path)


def bounded(value, low, high, task="sts/STS12"):
    return {f"{task}/all": value, f"{task}/low": low, f"{task}/high": high}


def each(*numbers):
    return [{PATH: number} for number in numbers]


# Intervals over test pairs


def test_bounds_over_pairs_are_averaged_over_the_seeds(study):
    (cell,) = study.cells(study.plan(), [bounded(70.0, 68.0, 71.5), bounded(71.0, 69.5, 72.0)])
    assert set(cell) == set(FIELDS)
    assert float(cell["pairs_low"]) == pytest.approx(statistics.fmean([68.0, 69.5]))
    assert float(cell["pairs_high"]) == pytest.approx(statistics.fmean([71.5, 72.0]))


SUBTRACT = {"item": "made/table1", "column": "b", "metric": "spearman"}


@pytest.mark.parametrize(
    ("columns", "rows", "scores"),
    [
        # An average is no correlation over pairs, whatever bounds stand beside it.
        ([column(path="sts/avg")], None, {"sts/avg": 70.0, "sts/low": 60.0, "sts/high": 80.0}),
        ([column(path="sts/STS12/wmean")], None, {**bounded(70.0, 68.0, 72.0), "sts/STS12/wmean": 71.0}),
        ([column(kind="difference", subtract=SUBTRACT), column("b")], None, bounded(70.0, 68.0, 72.0)),
        ([column(kind="derived", metric_path=None, formula="{b} * 2"), column("b")], None, bounded(70.0, 68.0, 72.0)),
        ([column(over={"seeds": "max"})], None, bounded(70.0, 68.0, 72.0)),
        ([column()], None, {PATH: 70.0}),
    ],
    ids=["average", "wmean", "difference", "derived", "max", "no-bounds"],
)  # fmt: skip
def test_numbers_that_are_no_correlation_over_pairs_have_no_bounds_over_them(study, columns, rows, scores):
    columns = [{key: entry for key, entry in each.items() if entry is not None} for each in columns]
    printed = [("r", "b", "65.0")] if len(columns) == 2 else []
    (cell, *_) = study.cells(study.plan(columns, rows, printed), [scores, scores])
    assert cell["reproduced"] != ""
    assert (cell["pairs_low"], cell["pairs_high"]) == ("", "")


def test_no_bounds_while_an_evaluation_is_missing_or_one_collapsed(study):
    plan = study.plan()
    (missing,) = study.cells(plan, [bounded(70.0, 68.0, 72.0)])
    assert (missing["verdict"], missing["reproduced"]) == ("not run", "70.0")
    assert (missing["pairs_low"], missing["pairs_high"]) == ("", "")
    failures = {PATH: "all embeddings are equal"}
    (failed,) = study.cells(plan, [bounded(70.0, 68.0, 72.0), bounded(None, None, None)], failures)
    assert (failed["verdict"], failed["reproduced"]) == ("failed", "")
    assert failed["reason"] == "all embeddings are equal", "told once, however many seeds it happened to"
    assert (failed["pairs_low"], failed["pairs_high"]) == ("", "")


# Settings, seeds, failures


def test_a_collapsed_encoder_fails_whatever_else_is_wrong(study):
    """Failed stands before not run, before another setting and before a smaller scale."""
    plan = study.plan(setting={"metric": "spearman", "aggregation": "mean"}, scale="micro")
    (cell,) = study.cells(plan, each(None), {PATH: "correlation of a constant is undefined"})
    assert (cell["verdict"], cell["reason"]) == ("failed", "correlation of a constant is undefined")


@pytest.mark.parametrize(
    ("setting", "why_not"),
    [
        ({"aggregation": "wmean"}, "read with aggregation all, printed with aggregation wmean"),
        ({"split": "dev"}, "read with split test, printed with split dev"),
        ({"pooling": "cls-head"}, "read with pooling cls, printed with pooling cls-head"),
    ],
)
def test_another_setting_is_not_comparable_and_says_so(study, setting, why_not):
    plan = study.plan(setting={"metric": "spearman", **setting})
    (cell,) = study.cells(plan, each(70.0, 70.0))
    assert (cell["verdict"], cell["reason"]) == ("not comparable", why_not)
    assert (cell["reproduced"], cell["delta"], cell["borrowed"]) == ("70.0", "0.0", "")


def test_a_part_that_is_missing_leaves_the_average_blank(study):
    """An average with a missing task is None in the evaluation; it is neither a number nor a failure."""
    (cell,) = study.cells(study.plan([column(path="sts/avg")]), [{"sts/avg": None, PATH: 70.0}] * 2)
    assert (cell["verdict"], cell["reproduced"], cell["delta"]) == ("not run", "", "")


def test_a_difference_subtracts_what_is_printed_and_is_blank_where_nothing_is(study):
    columns = [column("b"), column(kind="difference", subtract=SUBTRACT)]
    (_, cell) = study.cells(
        study.plan(columns, printed=[("r", "b", "72.5"), ("r", "a", "-2.0")]), each(70.0, 71.0)
    )
    assert float(cell["reproduced"]) == pytest.approx(-2.0)
    assert float(cell["delta"]) == pytest.approx(0.0)
    for printed in ([("r", "b", "-")], []):
        (_, blank) = study.cells(study.plan(columns, printed=printed), each(70.0, 71.0))
        assert (blank["reproduced"], blank["verdict"]) == ("", "not run")


def test_an_encoder_without_a_seed_is_judged_by_the_digit_alone(study):
    plan = study.plan(rows=[row(encoder={"backbone": "bert-base"})])
    for value, verdict in ((70.04, "within seed spread"), (70.06, "higher"), (69.94, "lower")):
        result = study.result(plan, each(value))
        (cell,) = table_rows(result)
        assert (cell["verdict"], cell["borrowed"], cell["n_seeds"]) == (verdict, "", "1")
        assert result.cells[0].seedless and result.cells[0].values[0].seed is None


def test_one_seed_is_undetermined_or_borrows(study):
    (alone,) = study.cells(study.plan(seeds=1), each(70.5))
    assert (alone["verdict"], alone["low"], alone["high"]) == ("undetermined", "", "")
    spread = {"statistic": "mean", "seeds": 50, "sd": 0.84}
    table = {
        "columns": [column()],
        "setting": {"metric": "spearman"},
        "rows": [row(encoder={"use": "made/plain"})],
    }
    reported = [{"item": "table1", "row": "r", "column": "a", "value": "70.1", **spread}]
    write_paper(study.folder / "workflow", "measured", {"table1": table}, reported)
    (lent,) = study.cells(study.plan(seeds=1), each(70.5))
    assert (lent["verdict"], lent["borrowed"]) == ("within seed spread", "yes")
    assert float(lent["high"]) - float(lent["low"]) == pytest.approx(2 * (2.009575 * 0.84 * 2**0.5 + 0.05))


def test_what_is_quoted_has_no_verdict(study):
    (cell,) = study.cells(study.plan(rows=[{"id": "r", "quoted": True}]))
    assert (cell["reported"], cell["verdict"], cell["reproduced"], cell["encoders"]) == ("70.0", "", "", "")
    assert cell["reason"] == "quoted by the paper from elsewhere"


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("a  DOG runs .", "kept: the printed sentence"),
        ("A cat sleeps!", "another rank: the printed sentence is ours elsewhere"),
        ("A cow.", "absent"),
    ],
)
def test_a_printed_sentence_is_kept_or_of_another_rank_or_absent(study, printed, reason):
    first, second = (f"retrieval/neighbours/first/{rank}/sentence" for rank in (1, 2))
    rows = [row("r", metric_paths={"a": first}), row("s", metric_paths={"a": second})]
    texts = [("r", "a", printed, {"metric": "text"})]
    plan = study.plan([{"id": "a", "kind": "text"}], rows, printed=texts)
    cell, other = study.cells(plan, [{first: "A dog runs.", second: "A cat sleeps."}] * 2)
    assert (cell["reason"], cell["verdict"], other["reason"]) == (reason, "", "")
    smaller = study.plan([{"id": "a", "kind": "text"}], rows, printed=texts, scale="compact")
    assert study.cells(smaller, [{first: "A dog runs.", second: "A cat sleeps."}] * 2)[0]["reason"] == ""


# What is taken over jobs and over seeds


def search(study, *overs, **more):
    columns = [column(f"c{place}", over=over) for place, over in enumerate(overs)]
    rows = [row(encoder={"use": "plain", "grid": GRID})]
    return study.plan(columns, rows, **{"printed": [], **more})


def test_the_jobs_of_a_search_become_one_number_by_what_the_column_says(study):
    overs = ["max", "min", "median", "mean", "sd", {"percentile": 75}, {"argmax": "optimisation.batch_size"}]
    numbers = [80.0, 83.0, 82.0, 70.0]
    result = study.result(search(study, *({"jobs": over} for over in overs)), each(*numbers))
    expected = [83.0, 70.0, 81.0, 78.75, statistics.stdev(numbers), np.percentile(numbers, 75), 64.0]
    assert [cell.reproduced for cell in result.cells] == pytest.approx(expected)
    assert {cell.n_seeds for cell in result.cells} == {1}, "four jobs are one draw"
    assert [head.chosen for head in result.columns] == [""] * 6 + ["optimisation.batch_size"]


def test_the_best_of_six_jobs_is_no_mean_over_six_seeds(study):
    """Six jobs whose maximum equals the printed value once read "80.45, within seed spread, 6 seeds"."""
    plan = search(study, {"jobs": "max"}, printed=[("r", "c0", "82.5")])
    (cell,) = study.cells(plan, each(82.5, 80.0, 79.0, 80.0))
    assert (cell["reproduced"], cell["n_seeds"], cell["verdict"]) == ("82.5", "1", "undetermined")


def test_a_formula_over_a_search_and_seeds_has_the_one_seed_that_both_have(study):
    """The search of seed 0 once stood beside every seed: two values, and half of the spread missing."""
    columns = [column("a", over={"jobs": "max"}), column("b"), derived("{a} - {b}")]
    rows = [row(cells={"a": {"use": "plain", "grid": GRID}})]
    plan = study.plan(columns, rows, printed=[("r", "d", "1.0")], seeds=3)
    search, score, last = plan.cells["made/table1"]
    assert (search.seeds, score.seeds, last.seeds) == ((0,), (0, 1, 2), (0,))
    for encoder, value in [*zip(score.encoders, (70.0, 60.0, 50.0), strict=True),
                           *zip(search.encoders, (80.0, 83.0, 82.0, 70.0), strict=True)]:  # fmt: skip
        write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: value})
    cell = item_result(plan, plan.item("made/table1"), Evaluations(plan)).cells[-1]
    first = next(value.value for value in cell.values)
    assert [value.seed for value in cell.values] == [0] and first == cell.reproduced
    assert (cell.n_seeds, cell.verdict, cell.low) == (1, "undetermined", None)


def test_seeds_become_one_number_by_what_the_column_says(study):
    overs = ["max", "min", "median", "mean", "sd", {"percentile": 90}]
    columns = [column(f"c{place}", over={"seeds": over}) for place, over in enumerate(overs)]
    numbers = [80.0, 83.0, 82.0]
    result = study.result(study.plan(columns, printed=[], seeds=3), each(*numbers))
    expected = [83.0, 80.0, 82.0, statistics.fmean(numbers), statistics.stdev(numbers), 82.8]
    assert [cell.reproduced for cell in result.cells] == pytest.approx(expected)
    assert [head.statistic for head in result.columns] == [*overs[:5], "90th percentile"]
    (*_, spread, _) = study.result(study.plan(columns, printed=[], seeds=1), each(80.0)).cells
    assert spread.reproduced is None, "one seed has no spread"


# Derived columns


def derived(formula, **more):
    return {"id": "d", "kind": "derived", "formula": formula, **more}


def test_a_derived_column_is_computed_per_seed_and_judged(study):
    columns = [column("a"), column("b", "transfer/MR/accuracy"), derived("({a} + 100) / 2 - {b} * 0.5")]
    plan = study.plan(columns, printed=[("r", "d", "50.0")])
    scores = [{PATH: 70.0, "transfer/MR/accuracy": 80.0}, {PATH: 72.0, "transfer/MR/accuracy": 60.0}]
    result = study.result(plan, scores)
    cell = result.cells[-1]
    assert [value.value for value in cell.values] == [45.0, 56.0] and [
        value.seed for value in cell.values
    ] == [0, 1]
    assert (cell.reproduced, cell.delta, cell.n_seeds) == (50.5, 0.5, 2)
    assert (cell.verdict, cell.low, cell.few) == ("undetermined", None, (45.0, 56.0))
    assert set(cell.encoders) == set(result.cells[0].encoders) and result.columns[-1].kind == "derived"
    files = plan.evaluation_files(plan.item("made/table1"))
    assert sum(file.endswith("/transfer.json") for file in files) == 2


def test_a_formula_subtracts_another_row_of_ours_per_seed(study):
    rows = [row("base"), row("other", encoder={"use": "plain", "run": {"dropout": {"hidden": 0}}})]
    columns = [column(), derived("{a} - {base/a}")]
    plan = study.plan(columns, rows, printed=[])
    for cell, numbers in zip(plan.cells["made/table1"][::2], ((70.0, 72.0), (71.0, 71.0)), strict=True):
        for encoder, number in zip(cell.encoders, numbers, strict=True):
            write_evaluation(plan, plan.paths.evaluation(encoder, "fast"), {PATH: number})
    result = item_result(plan, plan.item("made/table1"), Evaluations(plan))
    assert [[value.value for value in cell.values] for cell in result.cells[1::2]] == [[0, 0], [1, -1]]
    with pytest.raises(BadInput, match='formula of d, not "bas"; did you mean "base"'):
        study.plan([column(), derived("{a} - {bas/a}")], rows, printed=[])


def test_a_derived_column_waits_for_its_parts_and_fails_with_them(study):
    plan = study.plan([column("a"), column("b", "sts/STS13/all"), derived("{a} / {b}")], printed=[])

    def last(scores, failures=None):
        cell = study.result(plan, scores, failures).cells[-1]
        return cell.verdict, cell.reproduced, cell.reason

    assert last([{PATH: 70.0}, {PATH: 70.0}])[:2] == ("not run", None)
    assert last([{PATH: 70.0, "sts/STS13/all": None}] * 2, {"sts/STS13/all": "collapsed"}) == (
        "failed",
        None,
        "collapsed",
    )
    assert last([{PATH: 70.0, "sts/STS13/all": 0.0}] * 2) == (
        "failed",
        None,
        "the formula of d divides by zero",
    )


# Values


@pytest.mark.parametrize("value", ["50", True, {"all": 50.0}, 100.5, -100.5, math.nan])
def test_what_is_no_number_is_refused_by_its_path(study, value):
    with pytest.raises(
        BadInput, match=rf"fast\.json: {PATH} is .*; expected a finite number from -100 to 100"
    ):
        study.cells(study.plan(seeds=1), each(value))


def kept(plan):
    """Return the evaluation file of the one encoder of a study of one seed."""
    return Path(plan.paths.evaluation(plan.cells["made/table1"][0].encoders[0], "fast"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encoder", "results/paper/runs/another/last"),
        ("pooling", "mean"),
        ("max_length", 64),
        ("postprocess", {"kind": "whitening"}),
    ],
)
def test_the_evaluation_of_another_encoder_is_refused_in_this_place(study, key, value):
    plan = study.plan(seeds=1)
    study.cells(plan, each(70.0))
    own = json.loads(kept(plan).read_text())
    assert Evaluations(plan).read(str(kept(plan))), "its own is read"
    for other in ({**own, key: value}, {name: own[name] for name in own if name != key}):
        kept(plan).write_text(json.dumps(other))
        with pytest.raises(
            BadInput, match=rf"fast\.json: {key} is .*, but the encoder in its place has .*; delete it"
        ):
            item_result(plan, plan.item("made/table1"), Evaluations(plan))


GOLD = [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("suites", "pairs", "problem"),
    [
        (bounded(99.9, 39.0, 39.95), {}, "all is 99.9, but its own interval goes from 39.0 to 39.95"),
        (bounded(70.0, 72.0, 68.0), {}, "low is 72.0, above high, which is 68.0"),
        ({PATH: 70.0, "sts/STS12/n": -7}, {}, "n is -7; expected a whole number"),
        ({PATH: 70.0, "sts/STS12/n": 7}, {"sts/STS12": GOLD}, "n is 7, but 5 pairs are kept"),
        ({PATH: 70.0}, {"sts/STS12": GOLD}, "all is 70.0, but its pairs have 100.00"),
        ({PATH: 70.0, "geometry/alignment": -0.1}, {}, "alignment is -0.1; expected a finite number from 0 to 4"),
        (
            {**{f"sts/{task}/all": 70.0 for task in STS_TASKS}, "sts/avg": 71.0},
            {},
            "avg is 71.0, but its parts have the mean 70.00",
        ),
    ],
)  # fmt: skip
def test_a_number_that_its_own_file_contradicts_is_refused(study, suites, pairs, problem):
    plan = study.plan(seeds=1)
    packed = {task: packed_pairs(np.array(gold) / 5, np.array(gold)) for task, gold in pairs.items()}
    write_evaluation(plan, kept(plan), suites, pairs=packed)
    with pytest.raises(BadInput, match=re.escape(problem)):
        item_result(plan, plan.item("made/table1"), Evaluations(plan))


def test_every_value_of_every_cell_is_a_row_of_the_tidy_table(study):
    plan = study.plan([column(over={"seeds": "mean"})], [row(), row("q", quoted=True)], printed=[])
    tidy = list(tidy_rows([study.result(plan, each(70.0, None))]))
    (cell,) = [cell for cell in plan.cells["made/table1"] if cell.jobs]
    runs = [plan.encoders[encoder].source.run for encoder in cell.encoders]
    assert [tuple(line) for line in tidy] == [TIDY, TIDY]
    assert [tuple(line.values())[:10] for line in tidy] == [
        ("made", "table1", "r", "a", "as-described", seed, PATH, value, encoder, run)
        for seed, value, encoder, run in zip((0, 1), (70.0, ""), cell.encoders, runs, strict=True)
    ]
    seedless = study.plan(rows=[row(encoder={"backbone": "bert-base"})])
    (only,) = tidy_rows([study.result(seedless, each(70.0))])
    assert (only["seed"], only["value"], only["run"]) == ("", 70.0, "")
    assert only["encoder"].startswith("bert-base-uncased-")


# Rows that a scale merges


def test_rows_that_a_scale_merges_into_one_run_are_marked(study):
    rates = {"small": 1e-5, "large": 3e-5, "other": 5e-5}
    rows = [row(name, encoder={"use": "plain", "run": {"optimisation": {"learning_rate": rate}}})
            for name, rate in rates.items()]  # fmt: skip
    rows[2]["encoder"]["run"]["dropout"] = {"hidden": 0.2}
    rows += [
        row("baseline", encoder={"backbone": "bert-base"}),
        row("again", encoder={"backbone": "bert-base"}),
    ]
    merged = {}
    scales = study.folder / "workflow" / "scales"
    for scale in ("paper", "merging"):
        plan = study.plan(rows=rows, printed=[], scale="paper")
        if scale == "merging":
            scales.unlink()
            shutil.copytree(ROOT / "workflow" / "scales", scales)
            with (scales / "paper.yaml").open("a", encoding="utf-8") as file:
                file.write("adjust:\n  - {path: optimisation.learning_rate, set: 3.0e-5}\n")
            plan = study.plan(rows=rows, printed=[], scale="paper")
        result = study.result(plan, each(70.0, 71.0))
        merged[scale] = {head.id: head.merged for head in result.rows if head.merged}
    assert merged == {"paper": {}, "merging": {"large": ("small",)}}, "baselines have no runs to be merged"
