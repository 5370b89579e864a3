"""Tabulated cells: intervals over test pairs, settings that differ, collapsed encoders, chosen hyper-parameters."""

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import write_evaluation

from replicse.study.plan.paths import Paths
from replicse.study.results.tabulate import FIELDS, Evaluations, tabulate

READ = "sts/STS12/all"


def column(name="a", read=READ, metric="spearman", **more):
    return {"id": name, "metric": metric, "read": read, "minus": False, "choose": "", **more}


def manifest(
    columns=None, facts=None, encoders=("s0", "s1"), protocols=("as-described",), quoted=False, **more
):
    """A manifest of one row; every column reads the same encoders under every protocol."""
    columns = columns or [column()]
    names = [f"{entry['id']}|{entry['metric']}" for entry in columns]
    groups = dict.fromkeys(names, "all") if encoders else {}
    return {
        "columns": columns,
        "rows": [{"id": "r", "label": "R", "quoted": quoted, "protocols": dict.fromkeys(protocols, groups)}],
        "encoders": {"all": list(encoders)},
        "cells": {f"r|{name}": {"reported": "70.0", "source": "x", **(facts or {})} for name in names},
        "seedless": [],
        "comparable": True,
        "scale": "paper",
        **more,
    }


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Tabulate a manifest with made-up evaluations: a mapping of suite paths to values per encoder."""
    monkeypatch.chdir(tmp_path)
    paths = Paths("paper")

    def judged(document, scores, failures=None):
        for encoder, values in scores.items():
            write_evaluation(
                paths.encoder(encoder, "evaluation"), values, failures=(failures or {}).get(encoder)
            )
        return list(tabulate(document, Evaluations(paths)))

    return judged


def bounded(value, low, high, task="sts/STS12"):
    return {f"{task}/all": value, f"{task}/low": low, f"{task}/high": high}


def test_bounds_over_pairs_are_averaged_over_the_seeds(table):
    scores = {"s0": bounded(70.0, 68.0, 71.5), "s1": bounded(71.0, 69.5, 72.0)}
    (cell,) = table(manifest(), scores)
    assert list(cell) == FIELDS
    assert float(cell["pairs_low"]) == pytest.approx(statistics.fmean([68.0, 69.5]))
    assert float(cell["pairs_high"]) == pytest.approx(statistics.fmean([71.5, 72.0]))


def test_every_protocol_has_the_bounds_of_its_own_encoders(table):
    document = manifest(protocols=("as-described", "variant"))
    document["encoders"]["other"] = ["v0"]
    document["rows"][0]["protocols"]["variant"] = {"a|spearman": "other"}
    scores = {name: bounded(70.0, 68.0, 72.0) for name in ("s0", "s1")} | {"v0": bounded(60.0, 55.0, 65.0)}
    described, variant = table(document, scores)
    assert (described["pairs_low"], variant["pairs_low"]) == ("68.0", "55.0")


@pytest.mark.parametrize(
    ("columns", "scores"),
    [
        # An average is no correlation over pairs, whatever bounds stand beside it.
        ([column(read="sts/avg")], {"sts/avg": 70.0, "sts/low": 60.0, "sts/high": 80.0}),
        ([column(read="sts/STS12/wmean")], {**bounded(70.0, 68.0, 72.0), "sts/STS12/wmean": 71.0}),
        ([column(minus=True)], bounded(70.0, 68.0, 72.0)),
        ([column(choose="optimisation.batch_size")], bounded(70.0, 68.0, 72.0)),
        ([column()], {READ: 70.0}),
        ([column(metric="text")], {READ: "A sentence."}),
    ],
    ids=["average", "wmean", "minus", "choose", "no-bounds", "text"],
)
def test_numbers_that_are_no_correlation_over_pairs_have_no_bounds_over_them(table, columns, scores):
    facts = {"minus": "65.0", "choices": {"s0": 64.0, "s1": 128.0}}
    (cell,) = table(manifest(columns, facts), {"s0": scores, "s1": scores})
    assert cell["reproduced"] != ""
    assert (cell["pairs_low"], cell["pairs_high"]) == ("", "")


def test_no_bounds_while_an_evaluation_is_missing_or_one_collapsed(table):
    (missing,) = table(manifest(), {"s0": bounded(70.0, 68.0, 72.0)})
    assert (missing["verdict"], missing["reproduced"]) == ("not run", "70.0")
    assert (missing["pairs_low"], missing["pairs_high"]) == ("", "")
    collapsed = bounded(None, None, None)
    (failed,) = table(
        manifest(),
        {"s0": bounded(70.0, 68.0, 72.0), "s1": collapsed},
        {"s1": {READ: "all embeddings are equal"}},
    )
    assert (failed["verdict"], failed["reproduced"], failed["reason"]) == (
        "failed",
        "",
        "all embeddings are equal",
    )
    assert (failed["pairs_low"], failed["pairs_high"]) == ("", "")


def test_a_collapsed_encoder_fails_whatever_else_is_wrong(table):
    """Failed stands before not run, before another setting and before a smaller scale."""
    document = manifest(facts={"why_not": "read with split dev, printed with split test"}, comparable=False)
    (cell,) = table(
        document, {"s0": bounded(None, None, None)}, {"s0": {READ: "correlation of a constant is undefined"}}
    )
    assert (cell["verdict"], cell["reason"]) == ("failed", "correlation of a constant is undefined")


@pytest.mark.parametrize(
    "why_not",
    [
        "read with aggregation all, printed with aggregation wmean",
        "read with split dev, printed with split test",
        "read with pooling cls, printed with pooling cls-head",
    ],
)
def test_another_setting_is_not_comparable_and_says_so(table, why_not):
    scores = {name: {READ: 70.0} for name in ("s0", "s1")}
    (cell,) = table(manifest(facts={"why_not": why_not, "spread": 0.84}), scores)
    assert (cell["verdict"], cell["reason"]) == ("not comparable", why_not)
    assert (cell["reproduced"], cell["delta"], cell["borrowed"]) == ("70.0", "0.0", "")


def test_a_smaller_scale_is_not_comparable_and_says_so(table):
    document = manifest(comparable=False, scale="compact")
    (cell,) = table(document, {name: {READ: 70.0} for name in ("s0", "s1")})
    assert (cell["verdict"], cell["reason"]) == (
        "not comparable",
        "the compact scale is not the paper's setting",
    )


def test_a_part_that_is_missing_leaves_the_average_blank(table):
    """An average with a missing task is None in the evaluation; it is neither a number nor a failure."""
    scores = {name: {"sts/avg": None, READ: 70.0} for name in ("s0", "s1")}
    (cell,) = table(manifest([column(read="sts/avg")]), scores)
    assert (cell["verdict"], cell["reproduced"], cell["delta"]) == ("not run", "", "")


def test_a_minus_column_subtracts_what_is_printed_and_is_blank_where_nothing_is(table):
    scores = {"s0": {READ: 70.0}, "s1": {READ: 71.0}}
    (cell,) = table(manifest([column(minus=True)], {"minus": "72.5", "reported": "-2.0"}), scores)
    assert float(cell["reproduced"]) == pytest.approx(-2.0)
    assert float(cell["delta"]) == pytest.approx(0.0)
    (blank,) = table(manifest([column(minus=True)], {"minus": "-"}), scores)
    assert (blank["reproduced"], blank["verdict"]) == ("", "not run")


def test_an_encoder_without_a_seed_is_judged_by_the_digit_alone(table):
    for value, verdict in ((70.04, "within seed spread"), (70.06, "higher"), (69.94, "lower")):
        (cell,) = table(manifest(encoders=("s0",), seedless=["s0"]), {"s0": {READ: value}})
        assert cell["verdict"] == verdict
        assert cell["borrowed"] == ""


def test_one_seed_is_undetermined_or_borrows(table):
    (alone,) = table(manifest(encoders=("s0",)), {"s0": {READ: 70.5}})
    assert (alone["verdict"], alone["low"], alone["high"]) == ("undetermined", "", "")
    (lent,) = table(manifest(encoders=("s0",), facts={"spread": 0.84}), {"s0": {READ: 70.5}})
    assert (lent["verdict"], lent["borrowed"]) == ("within seed spread", "yes")


def test_what_is_quoted_has_no_verdict(table):
    (cell,) = table(manifest(encoders=(), quoted=True), {})
    assert (cell["reported"], cell["verdict"], cell["reproduced"], cell["encoders"]) == ("70.0", "", "", "")
    assert cell["reason"] == "quoted by the paper from elsewhere"


def test_a_sentence_is_shown_and_never_judged(table):
    document = manifest([column(metric="text", read="retrieval/first")], {"reported": "A dog."})
    (cell,) = table(document, {"s0": {"retrieval/first": "A cat."}, "s1": {"retrieval/first": "A cow."}})
    assert (cell["reproduced"], cell["n_seeds"], cell["verdict"]) == ("A cat. / A cow.", "2", "")
    (nothing,) = table({**document, "encoders": {"all": ["s9"]}}, {})
    assert nothing["verdict"] == "not run"


def test_a_choice_shows_the_hyper_parameter_of_the_best_run(table):
    document = manifest(
        [column(choose="optimisation.batch_size")],
        {"reported": "64", "choices": {"s0": 64.0, "s1": 128.0}},
    )
    (cell,) = table(document, {"s0": {READ: 80.0}, "s1": {READ: 81.0}})
    assert cell["reproduced"] == "128.0"
    (half,) = table({**document, "encoders": {"all": ["s0", "s2"]}}, {})
    assert (half["reproduced"], half["verdict"]) == ("", "not run")


VALUES = st.lists(st.integers(5000, 9000).map(lambda cents: cents / 100), min_size=2, max_size=5, unique=True)


class Scores:
    """Evaluations held in memory."""

    def __init__(self, values):
        self.values = values

    def value(self, encoder, read):
        return self.values.get(encoder), ""


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_seeds_rows_and_columns_changes_no_cell(values, random):
    names = [f"s{place}" for place in range(len(values))]
    scores = Scores(dict(zip(names, values, strict=True)))
    document = manifest([column("a"), column("b")], encoders=names)
    shuffled = random.sample(names, len(names))
    other = manifest([column("b"), column("a")], encoders=shuffled)
    first, second = (
        {
            cell["column"]: {name: text for name, text in cell.items() if name != "encoders"}
            for cell in tabulate(entry, scores)
        }
        for entry in (document, other)
    )
    assert first == second


def test_every_verdict_can_be_reached(table):
    """What a reader may meet in a table, each once, from evaluations alone."""
    from replicse.study.results.verdict import VERDICTS

    near, far = ({"s0": {READ: value}, "s1": {READ: value + 0.1}} for value in (70.0, 90.0))
    low = {"s0": {READ: 10.0}, "s1": {READ: 10.1}}
    seen = [
        table(manifest(encoders=("x0",)), {}),
        table(manifest(encoders=("s0",)), near),
        table(manifest(comparable=False), near),
        table(manifest(), near),
        table(manifest(), far),
        table(manifest(), low),
        table(manifest(), low, {"s0": {READ: "undefined"}}),
    ]
    assert {cell["verdict"] for cell in itertools.chain(*seen)} == set(VERDICTS)
