"""What people wrote of the committed studies: each interval, spread and list of seeds is one of the study's."""

import itertools
import re

import numpy as np
import pytest
from places import ROOT

import replicse
from replicse.files import read_rows
from replicse.judge.statistics import mean_of_crossed, paired_difference

NUMBER = r"[-+]?\d+\.\d+"
INTERVAL = re.compile(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]")
SPREAD = re.compile(rf"({NUMBER}) &#177;({NUMBER})")
# `0.33, 0.31`, and a line of the crossed design.
SEEDS = re.compile(
    rf"(?<![\[\d.+-]){NUMBER}(?:, {NUMBER})+(?![\d\]])|(?<=backbone \d \| ){NUMBER}(?: \| {NUMBER})+"
)


def text_of(name):
    """Return a README without the column of an earlier run, of which nothing is committed."""
    text = (ROOT / f"reports/studies/{name}/README.md").read_text(encoding="utf-8")
    before, head, after = text.partition("| conclusion | earlier run |")
    table, _, rest = after.partition("\n\n")
    return before + head + re.sub(r"(?m)^(\|[^|]*)\|[^|]*", r"\1", table) + rest


def differences(name, cells):
    """Yield mean and interval of each effect: paired between rows or protocols, between columns, and as adjudicated."""
    for (one, first), (other, second) in itertools.permutations(cells.items(), 2):
        if (one[0] == other[0] or one[1] == other[1]) and len(first) == len(second) > 2:
            found = paired_difference(first, second)
            yield found.mean, found.low, found.high
    for row in read_rows(str(ROOT / f"reports/studies/{name}/adjudication.csv")):
        if row["low"]:
            yield float(row["effect"]), float(row["low"]), float(row["high"])


def crossed(cells):
    """Return mean and interval of no dropout less dropout noise over backbones crossed with seeds."""
    first, second = (
        [cells["sts-dev/STS-B/all", row, "stsb-dev", f"on-backbone-{place}", "table3"] for place in range(3)]
        for row in ("p0.0", "p0.1")
    )
    found = mean_of_crossed(np.subtract(first, second))
    return found.mean, found.low, found.high


def agree(texts, numbers):
    """Return whether numbers were rounded to these texts."""
    return len(texts) == len(numbers) and all(
        abs(float(text) - number) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9
        for text, number in zip(texts, numbers, strict=True)
    )


def wrong(name, text):
    """Return the intervals, spreads and lists of seeds of a text that no cells of a study give."""
    study = replicse.load(ROOT / f"reports/studies/{name}")
    values = study.values.dropna(subset="value").sort_values("seed")
    by_cell = values.groupby(["metric", "row", "column", "protocol", "item"])["value"]
    cells = {key: list(seeds) for key, seeds in by_cell}
    seeds = list(cells.values())
    known = [*differences(name, cells), *([crossed(cells)] if name == "compact" else [])]
    known += [(-mean, -high, -low) for mean, low, high in known]
    judged = study.cells.dropna(subset=["reproduced", "low", "high"])
    alone = [(row.reproduced, (row.high - row.low) / 2) for row in judged.itertuples()]
    return [
        found[0]
        for pattern, among in ((INTERVAL, known), (SPREAD, alone), (SEEDS, seeds))
        for found in pattern.finditer(text)
        if not any(agree(re.findall(NUMBER, found[0]), each) for each in among)
    ]


@pytest.mark.parametrize("name", sorted(folder.name for folder in (ROOT / "reports/studies").glob("*/")))
def test_a_readme_prints_what_the_cells_of_its_study_give(name):
    assert wrong(name, text_of(name)) == []
