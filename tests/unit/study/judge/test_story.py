"""The story of one cell: every heading on made-up evaluations, and what the verb prints."""

import json
from functools import cache

import numpy as np
import pytest
import yaml
from made_up import write_evaluation, write_scores
from planned import WORKFLOW, shipped_plan
from scipy import stats

from replicse.cli import main
from replicse.errors import BadInput
from replicse.evaluation.correlation import spearman
from replicse.study.judge.findings import Finding
from replicse.study.judge.story import cell_story, find_cell
from replicse.study.judge.study import controlled_item
from replicse.study.results.pairs import packed_pairs
from replicse.study.results.tabulate import item_result
from replicse.study.results.values import Evaluations

CONFIG = {
    "scale": "paper",
    "papers": {"simcse": ["table1", "table5", "table8", "tableA1", "figure2"], "repro": ["table4"]},
    "seeds": [0, 1, 2],
    "adjudicate": ["repro/table4", "simcse/table1"],
}
CELL = "repro/table4/crop-10/stsb-dev"
PENALTY = {"low-dropout": 4.0, "character-crop": 6.0, "as-run": 10.0}
GOLD = np.round(np.random.default_rng(0).uniform(0, 5, 150), 1)


def score(cell, place):
    """The baseline row stands at 80, the others at 75; a variant costs its penalty, and each seed adds a half."""
    base = 80.0 if cell.row.id == "none" else 75.0
    return base + 0.5 * place - PENALTY.get(cell.protocol, 0.0) * (1 + 0.1 * place)


@cache
def noisy(value, seed):
    """Return pairs whose correlation (x 100) is a value: gold scores with as much noise as that takes."""
    noise, low, high = np.random.default_rng(seed).normal(0, 1, len(GOLD)), 0.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 100 * spearman(GOLD + middle * noise, GOLD) > value else (low, middle)
    return packed_pairs(GOLD + low * noise, GOLD)


@pytest.fixture(scope="module")
def plan():
    return shipped_plan(**CONFIG)


@pytest.fixture
def results(plan, tmp_path, monkeypatch):
    """Evaluations of repro's Table 4: scores, their bounds over pairs, and the pairs themselves."""
    monkeypatch.chdir(tmp_path)
    for cell in plan.cells["repro/table4"]:
        if cell.protocol in ("as-described", *PENALTY):
            for place, encoder in enumerate(cell.encoders):
                value = score(cell, place)
                bounds = {"all": value, "low": value - 2, "high": value + 1.5}
                write_evaluation(
                    plan,
                    plan.paths.evaluation(encoder, "fast"),
                    {
                        f"sts-dev/{task}/{key}": one
                        for task in ("STS-B", "SICK-R")
                        for key, one in bounds.items()
                    },
                    pairs={"sts-dev/STS-B": noisy(value, place)},
                )
    return Evaluations(plan)


def story_of(plan, name, evaluations=None, claims=(), findings=()):
    evaluations, cell = evaluations or Evaluations(plan), find_cell(plan, name)
    return cell_story(plan, cell, item_result(plan, cell.item, evaluations), evaluations, claims, findings)


# Names


def test_a_cell_is_found_with_or_without_its_metric_and_under_a_protocol(plan):
    plain = find_cell(plan, CELL)
    assert plain is find_cell(plan, f"{CELL}/spearman")
    assert (plain.row.id, plain.column.id, plain.protocol) == ("crop-10", "stsb-dev", "as-described")
    assert plain is find_cell(plan, f"{CELL}@as-described")
    variant = find_cell(plan, f"{CELL}@character-crop")
    assert variant.protocol == "character-crop"
    assert variant is find_cell(plan, f"{CELL}/spearman@character-crop")
    assert variant.encoders != plain.encoders
    uniformity = find_cell(plan, "simcse/figure2/unsup-simcse/final/uniformity")
    assert uniformity.column.metric == "uniformity"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("repro/table4/crop-10", "expected paper/item/row/column"),
        ("repro/tabel4/crop-10/stsb-dev", 'no item "repro/tabel4".*did you mean "repro/table4"'),
        ("repro/table4/corp-10/stsb-dev", f'no cell "repro/table4/corp-10/stsb-dev".*mean "{CELL}'),
        (f"{CELL}@caracter-crop", f'no cell ".*did you mean "{CELL}@character-crop"'),
    ],
)
def test_a_name_that_is_no_cell_is_told_with_the_nearest(plan, name, words):
    with pytest.raises(BadInput, match=words):
        find_cell(plan, name)


# Headings


def test_numbers_of_both_papers_and_ours_with_their_intervals_and_verdict(plan, results):
    story, cell = story_of(plan, CELL, results), find_cell(plan, CELL)
    assert story["cell"] == ["repro/table4 · Crop 10% · STS-B dev"]
    assert story["printed"] == ["64.60  (Table 4)", "77.8  (simcse, Table 1)"]
    assert story["read"] == ["sts-dev/STS-B/all"]
    assert [line.split()[0] for line in story["seeds"]] == ["75.0000", "75.5000", "76.0000"]
    assert [line.split()[1] for line in story["seeds"]] == list(cell.encoders)
    assert story["files"] == [plan.paths.evaluation(cell.encoders[0], "fast")]
    value, seeds, pairs = story["reproduced"]
    assert value == "75.5000, +10.9000 to the printed number"
    half = stats.t.ppf(0.975, 2) * 0.5 * np.sqrt(4 / 3) + 0.005
    assert seeds == f"one more run is expected in {75.5 - half:.2f} to {75.5 + half:.2f}"
    assert pairs == "other test pairs would give 73.50 to 77.00"
    assert story["verdict"][0].startswith("higher: the reported 64.6 lies below")


def test_a_verdict_is_controlled_among_the_tabulated_items_of_its_paper(plan, results):
    result = item_result(plan, find_cell(plan, CELL).item, results)
    assert all(cell.p_adjusted is None for cell in result.cells)
    cell = next(cell for cell in controlled_item(plan, result).cells if cell.p is not None)
    assert cell.p_adjusted >= cell.p and "(Benjamini-Hochberg)" in cell.reason


def test_a_borrowed_spread_is_told(plan, results):
    lines = story_of(plan, "repro/table4/none/stsb-dev", results)["reproduced"]
    assert lines[1].endswith("(a published spread)")


def test_variants_have_an_effect_and_their_share_of_the_printed_gap(plan, results):
    lines = dict(line.split(": ", 1) for line in story_of(plan, CELL, results)["variants"])
    assert set(lines) == {"low-dropout", "character-crop", "last-checkpoint", "head-at-test", "as-run"}
    half = stats.t.ppf(0.975, 2) * 0.4 / np.sqrt(3)
    effect = f"-4.40 [{-4.4 - half:+.2f}, {-4.4 + half:+.2f}]"
    assert lines["low-dropout"] == f"{effect}, {100 * 4.4 / 13.2:.0f}% of the printed gap of -13.20, in part"
    assert lines["last-checkpoint"] == "not run"
    alone = dict(
        line.split(": ", 1)
        for line in story_of(plan, "repro/table4/deletion-10/stsb-dev", results)["variants"]
    )
    assert alone["low-dropout"].endswith(
        ", the printed gap of +2.28 is within its noise of 3.10, undetermined"
    ), "an effect against a gap that may be none has no share"


def test_claims_and_findings_that_name_the_cell(plan, results):
    def claim(name, cells, reported, ours):
        return {"claim": f"p/{name}", "cells": cells, "reported": reported, "ours": ours}

    def finding(name, printed):
        return Finding("repro", "rule", "Table 4", ("p/c", name), printed, "-13.2 follows", "certain")

    claims = [
        claim("with-metric", f"x/y/z/w; {CELL}/spearman", "supported", "not run"),
        claim("without", CELL, "contradicted", "undetermined"),
        claim("other", f"{CELL}-delta; repro/table4/crop-20/stsb-dev", "", ""),
    ]
    findings = [finding(f"{CELL}/spearman", "-13.3 is printed"), finding(f"{CELL}-delta/spearman", "other")]
    story = story_of(plan, CELL, results, claims, findings)
    assert story["claims"] == [
        "p/with-metric: in print supported, ours not run",
        "p/without: in print contradicted, ours undetermined",
    ]
    assert story["audit"] == ["-13.3 is printed; -13.2 follows (certain)"]


def test_the_run_what_it_starts_from_and_a_scale_that_is_not_comparable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    micro = shipped_plan(**{**CONFIG, "scale": "micro", "papers": {"repro": ["table4"]}})
    story, encoder = story_of(micro, CELL), micro.encoders[find_cell(micro, CELL).encoders[0]]
    run = micro.runs[encoder.source.run]
    assert story["run"][0] == micro.paths.run(encoder.source.run)
    assert story["run"][-1] == f"starts from {micro.paths.run(run.init.run)}"
    told_of = dict(line.split(": ", 1) for line in story["run"][1:-1])
    assert {key: json.loads(text) for key, text in told_of.items()} == run.canonical()
    assert story["verdict"] == ["not run: none of the planned runs (3) is there"]
    write_scores(micro, ["repro/table4"], score)
    story = story_of(micro, CELL)
    assert story["scale"] == ["micro: not comparable"]
    assert story["reproduced"][0].endswith(" to the printed number (micro: not comparable)")
    assert any(line.endswith(" (micro: not comparable)") for line in story["variants"])


# The verb


@pytest.fixture
def verb(plan, results, tmp_path, capsys):
    config = tmp_path / "study.yaml"
    config.write_text(yaml.safe_dump(CONFIG))

    def call(name, *more):
        assert main(["why", name, "--study", str(config), "--workflow", str(WORKFLOW), *more]) == 0
        return capsys.readouterr().out

    return call


def test_the_verb_prints_every_heading_and_its_json_holds_numbers(verb, plan):
    lines, told = verb(CELL).splitlines(), json.loads(verb(CELL, "--json"))
    assert len(lines) <= 60 and max(map(len, lines)) <= 120, "it fits a screen"
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(told["story"])
    assert [(one["paper"], one["number"]) for one in told["printed"]] == [("repro", 64.6), ("simcse", 77.8)]
    assert [each["value"] for each in told["result"]["values"]] == [75.0, 75.5, 76.0]
    assert told["result"]["reproduced"] == 75.5 and told["result"]["delta"] == pytest.approx(10.9)
    assert told["result"]["low"] < 75.5 < told["result"]["high"] and told["result"]["n_seeds"] == 3
    effects = {one["protocol"]: one["effect"] for one in told["variants"]}
    assert effects["low-dropout"] == pytest.approx(-4.4) and effects["last-checkpoint"] is None
    assert {type(one["n_seeds"]) for one in told["claims"]} == {int}
    assert told["runs"] == {
        run: plan.runs[run].canonical() for run in plan.trained_runs([find_cell(plan, CELL)])
    }
    assert (told["study"], told["cell"]) == ("results/paper", f"{CELL}/spearman")
