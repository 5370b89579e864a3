"""PromptBERT: the vector of each stage, full stops in training, protocols, and the best of ten runs."""

import numpy as np
import pytest
from collected import printed_of
from places import ROOT

from replicse.augment import augment
from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Reducer
from replicse.study.plan.graph import graph_of
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import borrowed_spread
from replicse.study.results.verdict import judge

WORKFLOW = ROOT / "workflow"
SCALES = ("micro", "short", "compact", "paper")
# Collected item and row: paper, item, row and column here; `{}` is the collected column.
# Read off the README's history (commit 8c0cb4c) besides what was collected.


# What is planned


@pytest.mark.parametrize("scale", SCALES)
def test_each_stage_reads_a_vector_of_its_own(scale):
    """In training through a template for each view, denoised and behind the head; at test with a full stop instead."""
    plan = load_plan({"scale": scale, "papers": {"promptbert": "all"}, "seeds": [0]}, WORKFLOW)
    cells = {(cell.row.id, cell.column.id): cell for cell in plan.described("promptbert/readme-sts")}
    templates = []
    for row in ("unsup-bert", "unsup-roberta"):
        (encoder,) = (plan.encoders[name] for name in cells[row, "avg"].encoders)
        run = plan.runs[encoder.source.run]
        first, second = run.poolings(run)
        templates.append((first.template, second.template))
        assert all(each.pooling == "mask" and each.denoise is True and each.head for each in (first, second))
        assert run.trains_head and len(set(plan.run_stores[run.run_id])) == 1
        selected, tested = run.pooling.selection, run.pooling.test
        assert (selected.denoise, selected.head, selected.full_stop) == (True, False, False)
        assert (tested.denoise, tested.head, tested.full_stop) == (False, False, True)
        assert selected.template == tested.template == first.template and encoder.pooling == tested
        told = graph_of(plan)["evaluate", encoder.encoder_id, "fast"].payload["pooling"]
        assert told == {"pooling": "mask", "template": first.template, "full_stop": True}
    assert templates == [
        ('This sentence of "{text}" means{mask}.', 'This sentence : "{text}" means{mask}.'),
        ("This sentence : ' {text} ' means{mask}.", "The sentence : ' {text} ' means{mask}."),
    ]
    (encoder,) = (plan.encoders[name] for name in cells["sup-roberta", "avg"].encoders)
    run = plan.runs[encoder.source.run]
    assert len(run.views) == 3 and len(set(run.poolings(run))) == 1
    assert encoder.pooling == run.pooling.train.replace(full_stop=True)


def test_settings_are_those_of_run_sh():
    plan = load_plan({"scale": "paper", "papers": {"promptbert": "all"}, "seeds": [0]}, WORKFLOW)
    settings = {
        cell.row.id: plan.runs[plan.encoders[cell.encoders[0]].source.run]
        for cell in plan.described("promptbert/readme-sts")
        if cell.encoders
    }
    shown = {
        row: (run.optimisation.batch_size, run.optimisation.learning_rate, run.optimisation.epochs)
        for row, run in settings.items()
    }
    assert shown == {
        "unsup-bert": (256, 1e-5, 1),
        "unsup-roberta": (256, 1e-5, 1),
        "sup-roberta": (512, 5e-5, 3),
    }
    for run in settings.values():
        assert (run.optimisation.max_length, run.precision, run.selection.every) == (34, "fp16", 125)
        assert run.selection.metric == "sts-dev/STS-B/all"
        assert [(term.term, term.temperature) for term in run.objective] == [("infonce", 0.05)]


def test_parts_differ_in_templates_and_denoising_alone():
    plan = load_plan({"scale": "paper", "papers": {"promptbert": ["ablation"]}, "seeds": [0]}, WORKFLOW)
    runs = {
        cell.row.id: plan.runs[plan.encoders[cell.encoders[0]].source.run]
        for cell in plan.described("promptbert/ablation")
    }
    parts = {}
    for row in ("unsup-bert", "two-templates", "one-template-denoised", "one-template"):
        run = runs[row]
        poolings = run.poolings(run)
        denoised = {bool(each.denoise) for each in (*poolings, run.pooling.selection)}
        assert len(denoised) == 1 and all(each.head for each in poolings)
        parts[row] = len({each.template for each in poolings}), denoised.pop()
        assert run.pooling.test == runs["unsup-bert"].pooling.test
        assert run.optimisation == runs["unsup-bert"].optimisation
    assert parts == {
        "unsup-bert": (2, True),
        "two-templates": (2, False),
        "one-template-denoised": (1, True),
        "one-template": (1, False),
    }


def test_protocols_change_the_vector_that_is_trained_selected_or_tested():
    config = {"scale": "paper", "papers": {"promptbert": ["readme-sts"]}, "seeds": [0], "adjudicate": "all"}
    plan = load_plan(config, WORKFLOW)
    encoders = {
        (cell.row.id, cell.protocol): plan.encoders[cell.encoders[0]]
        for cell in plan.cells["promptbert/readme-sts"]
        if cell.column.id == "avg" and cell.encoders
    }
    as_described = encoders["unsup-bert", "as-described"]
    for name, change in (
        ("denoised-at-test", {"denoise": True}),
        ("no-full-stop", {"full_stop": False}),
    ):
        encoder = encoders["unsup-bert", name]
        assert encoder.source == as_described.source
        assert encoder.pooling == as_described.pooling.replace(**change)
    sup = encoders["sup-roberta", "unshifted-bias"]
    assert sup.pooling == encoders["sup-roberta", "as-described"].pooling.replace(denoise="unshifted")
    zero = encoders["sup-roberta", "sup-positions-from-zero"]
    trained = (
        plan.runs[zero.source.run],
        plan.runs[encoders["unsup-roberta", "positions-from-zero"].source.run],
    )
    assert all(each.denoise == "from-zero" for run in trained for each in run.poolings(run))
    assert all(run.pooling.selection.denoise == "from-zero" for run in trained)
    as_run = encoders["sup-roberta", "as-run"]
    assert as_run.source == zero.source and (zero.pooling.denoise, as_run.pooling) == (
        "from-zero",
        sup.pooling,
    )
    ended = plan.runs[encoders["unsup-bert", "full-stop-in-training"].source.run]
    assert [view.augment.name for view in ended.views] == ["full-stop"] * 2
    assert len(set(plan.run_stores[ended.run_id])) == 1
    selected = plan.runs[encoders["unsup-bert", "selected-as-tested"].source.run]
    assert selected.pooling.selection == selected.pooling.test
    worst = plan.runs[encoders["unsup-roberta", "worst-checkpoint"].source.run]
    assert (
        worst.selection.keeps == "lowest"
        and encoders["unsup-roberta", "worst-checkpoint"].checkpoint == "best"
    )
    one = plan.runs[encoders["unsup-roberta", "one-template"].source.run]
    assert one.poolings(one)[0] == one.poolings(one)[1]


# The best of ten runs

BEST = Reported(value="78.87", source="a page", statistic="max", seeds=10)


def test_a_seed_or_two_are_judged_by_the_spread_that_the_readme_prints():
    printed = printed_of("promptbert")
    plan = load_plan({"scale": "paper", "papers": {"promptbert": ["readme-sts"]}, "seeds": [0]}, WORKFLOW)
    for cell in plan.described("promptbert/readme-sts"):
        here = printed.get(("readme-sts", cell.row.id, cell.column.id))
        if here and here["statistic"] == "mean":
            assert borrowed_spread(plan, cell) == (float(here["sd"]), 9)


def judged(mean, sd, count=10):
    """Return what ten runs of ours with a mean and a standard deviation say of the released checkpoint."""
    places = np.linspace(-1, 1, count)
    values = mean + sd * places / places.std(ddof=1)
    return judge([*values], BEST, planned=count, comparable=True, reducer=Reducer(statistic="max"))


def test_the_cell_of_the_maximum_judges_the_released_checkpoint():
    found = judged(78.54, 0.15)
    assert found.verdict == "within seed spread" and found.low < 78.77 < found.high
    assert judged(78.54, 0.05).verdict == "lower"
    assert judged(79.2, 0.15).verdict == "higher"
    # As one more draw of the same ten, 78.87 would be just inside too; the middle of the interval is not theirs.
    assert (found.low + found.high) / 2 > 78.54 + 0.15


def test_a_full_stop_ends_a_line_without_an_end_and_nothing_else():
    """PromptBERT's evaluation: none of . ? " ' at the end; an exclamation mark is no end there."""
    lines = ["a b", "a b.", "a b?", 'a "b"', "a 'b'", "a b!", ""]
    ended = ["a b.", "a b.", "a b?", 'a "b"', "a 'b'", "a b!.", ""]
    assert augment(lines, {"name": "full-stop"}) == ended == augment(ended, {"name": "full-stop", "seed": 7})
