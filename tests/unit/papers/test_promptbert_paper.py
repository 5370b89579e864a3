"""PromptBERT as data: collected numbers, the vector of each stage, wordings, the best of ten runs, what print says."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from collected import collected, printed_of
from places import ROOT
from scipy.special import ndtri
from scipy.stats import norm

from replicse.study.judge.claims import judged_in_print, study_claims
from replicse.study.paper.cell_names import CellNames
from replicse.study.paper.papers import load_papers
from replicse.study.paper.printed import Reported
from replicse.study.paper.tables import Reducer
from replicse.study.plan.graph import graph_of
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import borrowed_spread
from replicse.study.results.verdict import judge

WORKFLOW = ROOT / "workflow"
SCALES = ("micro", "short", "compact", "paper")
COLUMNS = {"STSB": "STS-B", "SICKR": "SICK-R"}
ROWS = {
    "unsup-PromptBERT": "unsup-bert",
    "unsup-PromptRoBERTa": "unsup-roberta",
    "sup-PromptBERT": "sup-bert",
    "sup-PromptRoBERTa": "sup-roberta",
}
ISSUE_13 = "fairseq roberta-base, "
# Collected item and row: paper, item, row and column here; `{}` is the collected column.
PLACES = {
    **{("readme-sts", name): ("promptbert", "readme-sts", row, "{}") for name, row in ROWS.items()},
    ("run-sh-bert-prompt", "bert-base-uncased untuned manual prompt"): (
        *("promptbert", "wording", "this-colon", "{}"),
    ),
    ("abstract", "gain over SimCSE, BERT unsup"): ("promptbert", "text", "gain-over-simcse", "unsup-bert"),
    ("abstract", "gain over SimCSE, RoBERTa unsup"): (
        *("promptbert", "text", "gain-over-simcse", "unsup-roberta"),
    ),
    ("rerun-issue15", "unsup-bert user training seed 0"): ("reruns", "table4", "promptbert-15", "avg"),
    ("rerun-issue15", "released unsup-bert checkpoint (best of 10)"): (
        *("reruns", "table4", "promptbert-15-released", "avg"),
    ),
    ("rerun-issue2", "released unsup-bert, wrong evaluation flags"): (
        *("reruns", "table4", "promptbert-2", "avg"),
    ),
    ("rerun-issue22", 'untuned, "The sentence of" template'): ("promptbert", "wording", "the-of", "plain"),
    ("rerun-issue22", 'untuned, ":" template'): ("promptbert", "wording", "the-colon", "plain"),
    ("rerun-issue22", 'untuned, ":" template and final period'): (
        *("promptbert", "wording", "the-colon", "avg"),
    ),
    ("rerun-issue22", "untuned, run.sh bert-prompt (maintainer)"): (
        *("promptbert", "wording", "this-colon", "avg"),
    ),
    ("rerun-issue13", f"{ISSUE_13}different templates without denoising"): (
        *("reruns", "table4", "promptroberta-13-plain", "avg"),
    ),
    ("rerun-issue13", f"{ISSUE_13}denoising with [CLS] bias"): (
        *("reruns", "table4", "promptroberta-13-cls", "avg"),
    ),
    ("rerun-issue13", f"{ISSUE_13}denoising with [MASK] bias"): (
        *("reruns", "table4", "promptroberta-13-mask", "avg"),
    ),
    ("rerun-issue13", "fairseq SimCSE re-implementation"): ("reruns", "table4", "simcse-13", "avg"),
    ("rerun-issue13", "SimCSE HF original (as quoted)"): ("reruns", "table4", "simcse-print", "avg"),
    ("rerun-issue27", "roberta-base, back-translation positives, different prompts"): (
        *("reruns", "table4", "promptroberta-27", "avg"),
    ),
    ("rerun-issue27", "roberta-base, back-translation positives only"): (
        *("reruns", "table4", "promptroberta-27-plain", "avg"),
    ),
}
# Read off the README's history (commit 8c0cb4c) besides what was collected.
README_2021 = {
    "unsup-bert": "71.98 84.66 77.13 84.52 81.10 82.03 70.64 78.87",
    "unsup-roberta": "73.98 84.73 77.88 84.93 81.89 82.74 69.21 79.34",
}
TASKS = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg"]


@pytest.fixture(scope="module")
def printed():
    return {paper: printed_of(paper) for paper in ("promptbert", "reruns")}


def test_every_collected_number_is_there_with_its_spread_and_seeds(printed):
    material = collected("promptbert")
    places = []
    for row in material:
        paper, *cell = PLACES[row["item"], row["row"]]
        place = tuple(part.format(COLUMNS.get(row["column"], row["column"])) for part in cell)
        here = printed[paper][place]
        places.append((paper, *place))
        assert Decimal(here["value"]) == Decimal(row["value"]), place
        if row["sd"]:
            expected = ("mean", row["sd"], row["seeds"])
            assert (here["statistic"], here["sd"], here["seeds"]) == expected, place
        if row["source"].startswith("kongds/Prompt-BERT") and place[1] != "simcse-print":
            assert "kongds/Prompt-BERT" in here["source"], place
        if row["item"].startswith("rerun") and place[1:] not in (
            ("this-colon", "avg"),
            ("simcse-print", "avg"),
        ):
            assert here["note"].startswith("quoted:"), place
    # The maintainer repeats the average of run.sh.
    assert [place for place, count in Counter(places).items() if count > 1] == [
        ("promptbert", "wording", "this-colon", "avg")
    ]
    more = {("promptbert", *place) for place in printed["promptbert"]} - set(places)
    assert more == {
        *(("promptbert", "readme-2021", row, task) for row in README_2021 for task in TASKS),
        *(("promptbert", "readme-sts", row, name) for row in README_2021 for name in ("avg-sd", "avg-max")),
    }


def test_the_readme_of_2021_is_that_of_the_best_runs(printed):
    here = printed["promptbert"]
    for row, line in README_2021.items():
        values = [here["readme-2021", row, task]["value"] for task in TASKS]
        assert values == line.split()
        mean = sum(map(Decimal, values[:-1])) / 7
        assert abs(mean - Decimal(values[-1])) <= Decimal("0.005")
        best = here["readme-sts", row, "avg-max"]
        assert (best["value"], best["statistic"], best["seeds"]) == (values[-1], "max", "10")
        spread = here["readme-sts", row, "avg-sd"]
        assert (spread["value"], spread["statistic"]) == (here["readme-sts", row, "avg"]["sd"], "sd")


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


@pytest.mark.parametrize("scale", SCALES)
def test_every_wording_is_read_with_and_without_a_full_stop(scale):
    plan = load_plan({"scale": scale, "papers": {"promptbert": ["wording"]}, "seeds": [0]}, WORKFLOW)
    read_as = {}
    for cell in plan.described("promptbert/wording"):
        if cell.column.id in ("plain", "avg"):
            (name,) = cell.encoders
            read_as[cell.row.id, cell.column.id] = plan.encoders[name].pooling
    rows = {row for row, _ in read_as}
    assert len(rows) == 8 and len({read_as[row, "avg"].template for row in rows}) == 8
    for row in rows:
        assert read_as[row, "plain"].replace(full_stop=True) == read_as[row, "avg"]
        assert not read_as[row, "plain"].full_stop and not read_as[row, "avg"].denoise


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


def test_the_largest_of_ten_draws_is_where_the_claim_says():
    """1.54 standard deviations above the mean, 0.5 to 2.8 in 95 of 100 cases; in closed form and by draws."""
    low, high = (float(ndtri(share ** (1 / 10))) for share in (0.025, 0.975))
    assert (round(low, 1), round(high, 1)) == (0.5, 2.8)
    grid = np.linspace(-8, 8, 20001)
    density = 10 * norm.pdf(grid) * norm.cdf(grid) ** 9
    expected = float(np.trapezoid(grid * density, grid))
    assert expected == pytest.approx(1.5388, abs=1e-4)
    draws = np.random.default_rng(0).normal(78.54, 0.15, (20000, 10)).max(axis=1)
    assert draws.mean() == pytest.approx(78.54 + expected * 0.15, abs=0.005)
    assert np.quantile(draws, (0.025, 0.975)) == pytest.approx(
        (78.54 + low * 0.15, 78.54 + high * 0.15), abs=0.01
    )
    assert np.mean(draws < 78.87) == pytest.approx(norm.cdf(2.2) ** 10, abs=0.01)


def test_a_seed_or_two_are_judged_by_the_spread_that_the_readme_prints(printed):
    plan = load_plan({"scale": "paper", "papers": {"promptbert": ["readme-sts"]}, "seeds": [0]}, WORKFLOW)
    for cell in plan.described("promptbert/readme-sts"):
        here = printed["promptbert"].get(("readme-sts", cell.row.id, cell.column.id))
        if here and here["statistic"] == "mean":
            assert borrowed_spread(plan, cell) == float(here["sd"])


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


@pytest.fixture(scope="module")
def in_print():
    papers = load_papers(WORKFLOW)
    names = CellNames(papers)
    return {claim.name: judged_in_print(claim, names) for claim in study_claims(papers, ["promptbert"])}


def test_what_print_says_of_the_claims(in_print):
    assert {name.partition("/")[2]: judged.outcome for name, judged in in_print.items()} == {
        "gains-over-simcse": "supported",
        "gap-to-supervised": "undetermined",
        "best-of-ten": "supported",
        "full-stop": "undetermined",
        "shifted-positions": "not run",
    }
    assert in_print["promptbert/best-of-ten"].readings == {
        "best-test-average": "supported",
        "as-good-as-any-run": "contradicted",
    }
