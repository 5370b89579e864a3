"""Published numbers of a cell: settings, seeds, reruns and intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from replicse.judge.adjudication.published import SeedSpread, published_cell
from replicse.spec.papers import load_papers
from replicse.workspace import packaged

UNSUP = "simcse/table5/unsup-simcse-bert-base/avg"


@pytest.fixture(scope="module")
def papers():
    return load_papers(packaged("workflow"))


def test_what_other_papers_print_of_a_recipe_is_a_rerun_of_it(papers):
    known = published_cell(papers, UNSUP)
    assert sorted(known.reruns.values())[-1] == 76.16, "DiffCSE's own run of SimCSE"
    for place in known.reruns:
        assert "Table" in place


def test_one_more_run_lies_within_the_bounds_as_often_as_they_say():
    generator = np.random.default_rng(0)
    values = generator.normal(0, 1, (4000, 10))
    spreads = [SeedSpread("", row[:9].mean(), row[:9].std(ddof=1), 9).bounds() for row in values]
    hits = sum(low <= row[9] <= high for row, (low, high) in zip(values, spreads, strict=True))
    assert 0.94 < hits / 4000 < 0.96


def test_a_mean_of_seeds_varies_less_but_for_what_labs_differ_by(papers):
    """The uncertainty of a published mean should include lab differences.

    Simulates 10,000 labs with an offset and five seeds each. The mean of ten published seeds is uncertain,
    too.
    """
    random = np.random.default_rng(1)
    labs = random.normal(75.0, 0.6, 10_000)
    means = labs + random.normal(0.0, 0.8, (5, 10_000)).mean(0)
    assert SeedSpread("", 75.0, 1.0, 10).of_means(5, shared=0.6).sd == pytest.approx(means.std(), abs=0.01)
    alone = SeedSpread("", 75.0, 1.0, 10).of_means(5)
    missed = random.normal(0.0, 1.0, (5, 10_000)).mean(0) - random.normal(0.0, 1.0, (10, 10_000)).mean(0)
    assert math.hypot(alone.sd, alone.error) == pytest.approx(missed.std(), abs=0.01)
    seeds = SeedSpread("", 75.1, 0.84, 50)
    reruns = dict(zip("abcde", (73.5, 74.8, 76.0, 75.9, 75.3), strict=True))
    known = replace(published_cell(papers, UNSUP), seeds=(seeds,), reruns=reruns)
    five = replace(known, averaged=5)
    assert (
        five.spreads[0].sd == pytest.approx(0.84 / math.sqrt(5))
        and five.spreads[0].error == known.seeds[0].error
    )
    between = known.between_labs.sd**2 - 0.84**2
    assert five.spreads[1].sd == pytest.approx(math.sqrt(between + 0.84**2 / 5))
