"""Cost estimates by hand."""

import pytest
from places import ROOT

from replicse.study.plan.cost import FILLED, passed_parameters, run_hours
from replicse.study.plan.needs import amounts, needs
from replicse.study.plan.planner import load_plan
from replicse.study.plan.specs import Init, RunSpec

RUN = {
    "init": {"hub": "bert-base-uncased", "revision": "x"},
    "corpus": {"name": "wiki"},
    "views": [{"column": "text"}] * 2,
    "objective": [{"term": "infonce"}],
}


def spec(**changes):
    return RunSpec.of({**RUN, **changes}, "run")


def test_an_epoch_of_unsupervised_simcse_takes_its_authors_gpu_under_an_hour():
    hours = run_hours(spec(), 1_000_000, 8e12, {})
    tokens = 15_625 * 64 * 2 * 32 * FILLED
    assert hours == pytest.approx(6 * 12 * 12 * 768**2 * tokens / 8e12 / 3600)
    assert 0.3 < hours < 1


def test_steps_cap_the_rows_and_masked_lm_encodes_again():
    capped = run_hours(spec(optimisation={"steps": 100}), 1_000_000, 1e12, {})
    assert capped == pytest.approx(run_hours(spec(), 6400, 1e12, {}))
    both = spec(objective=[{"term": "infonce"}, {"term": "mlm", "weight": 0.1}])
    assert run_hours(both, 6400, 1e12, {}) == pytest.approx(2 * capped)


def test_a_chain_is_followed_and_an_unknown_size_is_none():
    parent = {"first": spec().init}
    chained = spec(init={"run": "first"})
    assert run_hours(chained, 6400, 1e12, parent) == run_hours(spec(), 6400, 1e12, parent)
    assert run_hours(spec(init={"hub": "nobody/knows", "revision": "x"}), 6400, 1e12, parent) is None
    assert run_hours(spec(), None, 1e12, parent) is None


BASE, DISTIL, TINY = 12 * 12 * 768**2, 12 * 6 * 768**2, 12 * 2 * 128**2
SMALL = {"layers": 1, "hidden": 10, "heads": 1, "intermediate": 20, "positions": 8}
SOURCES = {
    "backbones/distilbert": Init(hub="distilbert-base-uncased"),
    "backbones/tiny": Init(hub="google/bert_uncased_L-2_H-128_A-2"),
    "runs/generator/last": Init(run="generator"),
    "generator": Init.of({"fresh": {"architecture": SMALL, "tokenizer": {"name": "x"}}}, "init"),
    "backbones/unknown": Init(hub="nobody/knows"),
}
NEXT = [*RUN["views"], {"column": "text", "augment": {"name": "next-sentence"}}]


def rtd(generator="backbones/distilbert", **more):
    return {"term": "rtd", "generator": generator, **more}


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({"objective": [{"term": "infonce"}]}, 2 * BASE),
        ({"objective": [{"term": "infonce"}, rtd()]}, 4 * BASE + 2 * DISTIL / 3),
        ({"objective": [{"term": "infonce"}, rtd("backbones/tiny")]}, 4 * BASE + 2 * TINY / 3),
        ({"objective": [{"term": "infonce"}, rtd("runs/generator/last")]}, 4 * BASE + 2 * 1200 / 3),
        # Nothing generates where tokens are deleted or only masked.
        ({"objective": [{"term": "infonce"}, {"term": "rtd", "edit": "delete"}]}, 4 * BASE),
        ({"objective": [{"term": "infonce"}, {"term": "conditional-mlm"}]}, 4 * BASE),
        ({"objective": [{"term": "infonce"}, {**rtd(), "term": "corrective-lm"}]}, 4 * BASE + 2 * DISTIL / 3),
        # The discriminator asks for the two vectors, so they are encoded without a contrastive term too.
        ({"objective": [rtd()]}, 4 * BASE + 2 * DISTIL / 3),
        ({"objective": [rtd(views=[0, 1], condition=1)]}, 3 * BASE + 2 * DISTIL / 3),
        # The next sentence is edited twice, but never encoded.
        (
            {
                "views": NEXT,
                "objective": [{"term": "infonce", "views": [0, 1]}, rtd(views=[2, 2], condition=[0, 1])],
            },
            4 * BASE + 2 * DISTIL / 3,
        ),
        ({"views": NEXT, "objective": [{"term": "infonce", "views": [0, 1]}]}, 2 * BASE),
        ({"views": NEXT, "objective": [{"term": "infonce"}]}, 3 * BASE),
        ({"objective": [{"term": "infonce"}, {"term": "mlm"}]}, 4 * BASE),
        ({"views": NEXT[2:], "objective": [{"term": "mlm"}]}, BASE),
    ],
)
def test_what_a_row_passes_by_hand(changes, passed):
    assert passed_parameters(spec(**changes), SOURCES) == pytest.approx(passed)
    tokens = 100 * 64 * 32 * FILLED
    assert run_hours(spec(**changes), 6400, 1e12, SOURCES) == pytest.approx(6 * passed * tokens / 1e12 / 3600)


def test_a_generator_of_unknown_size_leaves_the_hours_open():
    assert run_hours(spec(objective=[rtd("backbones/unknown")]), 6400, 1e12, SOURCES) is None


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_the_plan_knows_the_size_of_every_generator(scale):
    config = {"scale": scale, "papers": {"diffcse": ["table6"]}, "seeds": [0]}
    plan = load_plan(config, ROOT / "workflow")
    hours = {
        cell.row.id: plan.hours([plan.encoders[cell.encoders[0]].source.run])
        for cell in plan.cells["diffcse/table6"]
        if cell.column.id == "stsb-dev"
    }
    sizes = [
        "simcse",
        "bert-tiny",
        "bert-mini",
        "bert-small",
        "bert-medium",
        "distilbert-base",
        "bert-base",
        "bert-large",
    ]
    if scale == "paper":
        assert sorted(hours, key=hours.get) == sizes
    assert None not in hours.values()


def test_runs_that_only_searches_ask_for_are_told_apart():
    values = {"scale": "paper", "papers": {"simcse": ["tableA1", "table3"]}, "seeds": [0]}
    plan = load_plan(values, ROOT / "workflow")
    rows = plan.cells["simcse/tableA1"]
    tried = {plan.encoders[one].source.run for cell in rows for group in cell.jobs for one in group}
    single = plan.runs_of(plan.item("simcse/table3"))
    assert plan.searched() == tried - single
    assert tried & single, "the search tries the value of the text too"


def test_what_a_plan_downloads_is_counted_with_its_copies_on_the_disk():
    values = {"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0]}
    wanted = list(needs(load_plan(values, ROOT / "workflow")))
    assert [need.name for need in wanted][3:] == ["bert-base-uncased"]
    artefacts, weights = 89_800_000 + 120_000_000 + 49_000_000, wanted[3].bytes
    assert weights == pytest.approx(440e6, rel=0.03)
    assert amounts(wanted) == (artefacts + weights, 2 * (artefacts + weights), 0)
