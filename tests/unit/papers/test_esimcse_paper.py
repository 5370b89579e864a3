"""ESimCSE as data: every collected number is in, or left out for a reason; recipes are those of the script."""

import re
from collections import Counter
from decimal import Decimal

import pytest
from collected import collected, printed_of
from places import ROOT

from replicse.study.plan.planner import load_plan

PAPERS = ROOT / "workflow" / "papers"
BACKBONES = {
    "bert-base": "ESimCSE-bert-base-uncased",
    "bert-large": "ESimCSE-bert-large-uncased",
    "roberta-base": "ESimCSE-roberta-base",
    "roberta-large": "ESimCSE-roberta-large",
}
OURS = {name: row for row, name in BACKBONES.items()}
COLUMNS = {"STSB": "STS-B", "SICKR": "SICK-R", "avg_transfer": "avg"}
# Item of the collection: paper and item here, the names of rows and of columns that differ.
PLACES = {
    "official-log-test": ("esimcse", "sts", OURS, COLUMNS),
    "readme-models": ("esimcse", "readme", OURS, {}),
    "official-log-dev": (
        "esimcse",
        "development",
        OURS,
        {
            "STSB-dev best": "stsb-best",
            "SICKR-dev at best": "sick-best",
            "STSB-dev last (epoch 1.0)": "stsb-last",
            "epoch of best": "selected-at",
            "number of dev evaluations": "evaluations",
        },
    ),
    "official-log-transfer-dev-fast": ("esimcse", "transfer", OURS, COLUMNS),
    "third-party-baselines": (
        "esimcse",
        "sts",
        {
            "unsup SimCSE-BERT-base": "simcse-bert-base",
            "SNCSE-BERT-base": "sncse-bert-base",
            "unsup SimCSE-RoBERTa-base": "simcse-roberta-base",
            "SNCSE-RoBERTa-base": "sncse-roberta-base",
        },
        COLUMNS,
    ),
    "rerun-paddlenlp-en": (
        "reruns",
        "table3",
        {
            "SimCSE (bert-base, Paddle)": "paddle-simcse",
            "SimCSE + word repetition (Paddle)": "paddle-repetition",
        },
        COLUMNS,
    ),
    "third-party-stsb": (
        "reruns",
        "table3",
        {
            "ESimCSE-BERT-base published (as quoted)": "third-esimcse-print",
            "ESimCSE-BERT-base own rerun": "third-esimcse",
            "SimCSE-BERT-base published (as quoted)": "third-simcse-print",
            "SimCSE-BERT-base own rerun": "third-simcse",
        },
        COLUMNS,
    ),
}
SINGLE = {
    ("rerun-sncse3", "SimCSE bert-base user rerun"): ("reruns", "table2", "sncse-3", "avg"),
    ("rerun-sncse3", "SimCSE bert-base published (as quoted)"): ("reruns", "table2", "simcse-print", "avg"),
    ("rerun-sncse3", "word repetition gain in the paper ablation (as quoted)"): (
        "esimcse",
        "text",
        "repetition-gain",
        "avg",
    ),
    ("abstract", "gain of ESimCSE over SimCSE, BERT-base"): ("esimcse", "text", "gain-over-simcse", "avg"),
}
# Left out, by item or by item and row.
EXCLUDED = {
    ("rerun-paddlenlp-zh", None): "Chinese: no corpus and no test set of another language is here",
    ("rerun-sncse3", "word repetition gain, user rerun (upper bound)"): "a bound is no number; notes say it",
}


@pytest.fixture(scope="module")
def printed():
    return {paper: printed_of(paper) for paper in ("esimcse", "reruns")}


def place_of(row):
    """Return paper and cell of a collected number; None where it is left out."""
    key = (row["item"], row["row"])
    if key in EXCLUDED or (row["item"], None) in EXCLUDED:
        return None
    if key in SINGLE:
        return SINGLE[key]
    paper, item, rows, columns = PLACES[row["item"]]
    return (paper, item, rows[row["row"]], columns.get(row["column"], row["column"]))


def test_every_collected_number_is_there_or_left_out_for_a_reason(printed):
    material = collected("esimcse")
    placed = [(row, place_of(row)) for row in material]
    assert Counter(place is None for _, place in placed) == {False: 144, True: 13}
    for row, place in placed:
        if place is None:
            continue
        paper, *cell = place
        here = printed[paper][tuple(cell)]
        assert here["value"] == row["value"], place
        repository = re.match(r"[\w-]+/[\w-]+", row["source"])
        # The number that SNCSE#3 quotes of SimCSE has SimCSE's own table as its source here.
        if repository and cell[1] != "simcse-print":
            assert repository[0] in here["source"], place
    places = [place for _, place in placed if place]
    assert len(places) == len(set(places))
    # What is here besides: two averages that the first table has as well, for the parts.
    here = {("esimcse", *cell) for cell in printed["esimcse"]}
    assert here - set(places) == {
        ("esimcse", "parts", "simcse-print", "avg"),
        ("esimcse", "parts", "esimcse", "avg"),
    }


def test_what_others_ran_is_quoted_and_never_the_papers_own(printed):
    for (item, row, _), here in printed["esimcse"].items():
        quoted = row.startswith(("simcse", "sncse"))
        if item in ("sts", "readme", "development", "transfer"):
            assert here["note"].startswith("quoted:") == quoted
            assert ("caskcsg/sentemb@5eeec551" in here["source"]) != quoted
    assert all(
        here["note"].startswith("quoted:")
        for (item, *_), here in printed["reruns"].items()
        if item == "table3"
    )


def test_averages_are_means_of_their_rows(printed):
    values = {key: Decimal(row["value"]) for key, row in printed["esimcse"].items()}
    parts = {
        "sts": ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"],
        "transfer": ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"],
    }
    rows = {(item, row) for item, row, _ in values if item in parts}
    assert len(rows) == 12
    for item, row in rows:
        mean = sum(values[item, row, column] for column in parts[item]) / 7
        assert abs(mean - values[item, row, "avg"]) <= Decimal("0.01"), (item, row)
    for row in BACKBONES:
        assert values["readme", row, "avg"] == values["sts", row, "avg"]
        assert values["development", row, "stsb-last"] < values["development", row, "stsb-best"] - 2
    gain = values["parts", "esimcse", "avg"] - values["parts", "simcse-print", "avg"]
    assert gain == values["text", "gain-over-simcse", "avg"]


# As run.sh gives them: learning rate, keys, dropout, rate of repetition.
SCRIPT = {
    "bert-base": (3e-5, 160, 0.1, 0.32),
    "bert-large": (1e-5, 160, 0.1, 0.32),
    "roberta-base": (1e-5, 160, 0.1, 0.3),
    "roberta-large": (1e-5, 128, 0.15, 0.28),
}


@pytest.fixture(scope="module")
def plan():
    config = {"scale": "paper", "papers": {"esimcse": "all"}, "seeds": [0], "adjudicate": "all"}
    return load_plan(config, ROOT / "workflow")


def run_of(plan, item, row, protocol="as-described", column="avg"):
    (cell,) = [
        cell
        for cell in plan.cells[f"esimcse/{item}"]
        if (cell.row.id, cell.column.id, cell.protocol) == (row, column, protocol)
    ]
    encoder = plan.encoders[cell.jobs[0][0]]
    return plan.runs[encoder.source.run], encoder


@pytest.mark.parametrize("backbone", BACKBONES)
def test_runs_are_those_of_the_script(plan, backbone):
    run, _ = run_of(plan, "sts", backbone)
    (term,), second = run.objective, run.views[1].augment
    rates = run.dropout
    assert (run.optimisation.learning_rate, term.queue, rates.hidden, second.rate) == SCRIPT[backbone]
    assert rates.attention == rates.hidden and term.temperature == 0.05 and second.name == "repetition"
    assert (run.momentum.decay, run.momentum.start, run.momentum.head) == (0.995, "random", "trained")
    options = run.optimisation
    assert (options.batch_size, options.epochs, options.max_length, options.warmup) == (64, 1, 32, 0)
    assert (run.selection.every, run.precision, run.views[0].augment) == (125, "fp16", None)
    assert (str(run.pooling.train), str(run.pooling.test)) == ("cls-head", "cls")


def test_each_part_alone_lacks_the_other(plan):
    both, repetition, queue, neither = (
        run_of(plan, "parts", row)[0] for row in ("esimcse", "repetition", "queue", "simcse")
    )
    assert repetition.views == both.views and repetition.objective == neither.objective
    assert queue.views == neither.views and queue.objective == both.objective
    assert repetition.momentum is None and queue.momentum == both.momentum
    assert len({run.run_id for run in (both, repetition, queue, neither)}) == 4


@pytest.mark.parametrize(
    ("protocol", "row", "found"),
    [
        ("momentum-from-pretrained", "queue", lambda run: run.momentum.start == "trained"),
        ("momentum-head", "esimcse", lambda run: run.momentum.head == "averaged"),
        ("repetition-drawn-again", "repetition", lambda run: run.views[1].augment.seed == 43),
        ("whole-words", "esimcse", lambda run: run.views[1].augment.name == "word-repetition"),
    ],
)
def test_a_protocol_changes_one_thing(plan, protocol, row, found):
    described, _ = run_of(plan, "parts", row)
    run, _ = run_of(plan, "parts", row, protocol)
    assert found(run) and not found(described)
    before, after = described.canonical(), run.canonical()
    assert len([key for key in before | after if before.get(key) != after.get(key)]) == 1


def test_the_last_checkpoint_and_the_pooler_are_of_the_same_run(plan):
    described = run_of(plan, "parts", "esimcse")
    last = run_of(plan, "parts", "esimcse", "last-checkpoint")
    pooler = run_of(plan, "parts", "esimcse", "pooler-output")
    assert described[0] == last[0] == pooler[0]
    assert (described[1].checkpoint, last[1].checkpoint) == ("best", "last")
    assert (str(described[1].pooling), str(pooler[1].pooling)) == ("cls", "cls-head")
    assert run_of(plan, "development", "bert-base", column="stsb-last")[1].checkpoint == "last"
