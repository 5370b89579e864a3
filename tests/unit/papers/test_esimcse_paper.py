"""ESimCSE as data: every collected number is in, or left out for a reason; recipes are those of the script."""

import pytest
from places import ROOT

from replicse.study.plan.planner import load_plan

PAPERS = ROOT / "workflow" / "papers"
BACKBONES = {
    "bert-base": "ESimCSE-bert-base-uncased",
    "bert-large": "ESimCSE-bert-large-uncased",
    "roberta-base": "ESimCSE-roberta-base",
    "roberta-large": "ESimCSE-roberta-large",
}
# Item of the collection: paper and item here, the names of rows and of columns that differ.
# Left out, by item or by item and row.


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
