"""READMEs of the committed studies, compared with the studies.

Each interval, standard deviation and list of seeds should be in the study.
"""

import itertools
import re

import numpy as np
import pytest
from places import ROOT
from scipy import stats

import replicse
from replicse.cli.render import LEAVING
from replicse.files import read_rows
from replicse.judge.report.build_report import judged_item
from replicse.judge.statistics.intervals import mean_of_crossed, paired_difference
from replicse.judge.verdicts.table import ItemResult
from replicse.show.content.contents import Surroundings

NUMBER = r"[-+]?\d+\.\d+"
INTERVAL = re.compile(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]")
SPREAD = re.compile(rf"({NUMBER}) &#177;({NUMBER})")
# Lists such as `0.33, 0.31`, and rows of the crossed design.
SEEDS = re.compile(
    rf"(?<![\[\d.+-]){NUMBER}(?:, {NUMBER})+(?![\d\]])|(?<=backbone \d \| ){NUMBER}(?: \| {NUMBER})+"
)


def text_of(name):
    """Load a README without the column "earlier run" of a table.

    The data of the earlier run are not committed.
    """
    text = (ROOT / f"reports/studies/{name}/README.md").read_text(encoding="utf-8")
    before, head, after = text.partition("| conclusion | earlier run |")
    table, _, rest = after.partition("\n\n")
    return before + head + re.sub(r"(?m)^(\|[^|]*)\|[^|]*", r"\1", table) + rest


def differences(name, cells):
    """Yield mean, lower and upper bound of each effect of a study.

    These are paired differences between rows, protocols or columns, and adjudicated effects.

    Args:
        name: Name of the study.
        cells: Dict from (metric, row, column, protocol, item) to a list of scores.
    """
    for (one, first), (other, second) in itertools.permutations(cells.items(), 2):
        if (one[0] == other[0] or one[1] == other[1]) and len(first) == len(second) > 2:
            found = paired_difference(first, second)
            yield found.mean, found.low, found.high
    yield from effects_in(read_rows(str(ROOT / f"reports/studies/{name}/adjudication.csv")))


def effects_in(rows):
    """Yield mean, lower and upper bound of each row that has an interval."""
    for row in rows:
        if row["low"]:
            yield float(row["effect"]), float(row["low"]), float(row["high"])


def crossed(cells):
    """Return mean and interval of the difference if backbones are crossed.

    The difference is no dropout minus dropout noise; backbones are crossed with seeds.
    """
    differences = []
    for backbone in range(3):
        protocol = f"on-backbone-{backbone}"
        without = cells["sts-dev/STS-B/all", "p0.0", "stsb-dev", protocol, "table3"]
        noise = cells["sts-dev/STS-B/all", "p0.1", "stsb-dev", protocol, "table3"]
        differences.append(np.subtract(without, noise))
    found = mean_of_crossed(np.array(differences))
    return found.mean, found.low, found.high


def agree(texts, numbers):
    """Return whether strings are the rounded numbers."""
    return len(texts) == len(numbers) and all(
        abs(float(text) - number) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9
        for text, number in zip(texts, numbers, strict=True)
    )


def wrong(name, text):
    """Return the numbers in a README that are not in the study.

    Args:
        name: Name of the study.
        text: Text of the README.

    Returns:
        List of strings: intervals, standard deviations, and lists of seeds.
    """
    study = replicse.load(ROOT / f"reports/studies/{name}")
    values = study.values.dropna(subset="value").sort_values("seed")
    by_cell = values.groupby(["metric", "row", "column", "protocol", "item"])["value"]
    cells = {key: list(seeds) for key, seeds in by_cell}
    seeds = list(cells.values())
    known = [*differences(name, cells), *([crossed(cells)] if name == "compact" else [])]
    known += [(-mean, -high, -low) for mean, low, high in known]
    judged = study.cells.dropna(subset=["reproduced", "low", "high"])
    alone = [(row.reproduced, (row.high - row.low) / 2) for row in judged.itertuples()]
    found = []
    for pattern, among in ((INTERVAL, known), (SPREAD, alone), (SEEDS, seeds)):
        for match in pattern.finditer(text):
            numbers = re.findall(NUMBER, match[0])
            if not any(agree(numbers, each) for each in among):
                found.append(match[0])
    return found


@pytest.mark.parametrize("name", sorted(folder.name for folder in (ROOT / "reports/studies").glob("*/")))
def test_a_readme_prints_what_the_cells_of_its_study_give(name):
    assert wrong(name, text_of(name)) == []


# Findings: significant differences, out of all that a study tests

AMONG = re.compile(r"(Not )?significant among (\d+)", re.IGNORECASE)
BOLD = re.compile(r"\*\*(.*?)\*\*", re.DOTALL)


def families(name):
    """Return the differences of three seeds, by number of tests.

    Returns:
        Dict from the number of differences that are tested together to a sorted list of (mean, low, high).
    """
    study = replicse.load(ROOT / f"reports/studies/{name}")
    values = study.values.dropna(subset="value").sort_values("seed")
    if name == "causes":
        measured = read_rows(ROOT / "workflow/causes-measured.csv")
        rows = [row for row in measured if row["encoder"] == "compact"]
        tested = [set(effects_in(rows))]
    elif name == "followups":
        means = values[values["column"] == "avg"].groupby("row")["value"].apply(list)
        pairs = [(row, "simcse") for row in means.index if row != "simcse"] + [("crops", "crops-dropout")]
        found = [paired_difference(means[one], means[other]) for one, other in pairs]
        tested = [{(each.mean, each.low, each.high) for each in found}]
    elif name == "compact":
        adjudicated = read_rows(ROOT / "reports/studies/compact/adjudication.csv")
        once = {}
        for effect in judged_effects(name):
            # "No dropout" on STS-B is crossed with backbones in a table; the other table has three of the runs.
            if effect.row != "No dropout" or "SICK" in effect.column:
                once[effect.ours.mean] = effect
        tested = [set(map(interval_of, once.values())), set(effects_in(adjudicated))]
    elif name == "minilm":
        tested = [set(map(interval_of, judged_effects(name)))]
    else:
        tested = []
    return {len(each): sorted(each) for each in tested}


def judged_effects(name):
    for file in sorted((ROOT / f"reports/studies/{name}/items").glob("*/*.json")):
        yield from judged_item(ItemResult.read(file)).effects


def interval_of(effect):
    return effect.ours.mean, effect.ours.low, effect.ours.high


def significant(family):
    """Return the differences that are significant after Holm's correction.

    Each difference has two degrees of freedom.
    """
    errors = [(high - low) / 2 / stats.t.ppf(0.975, 2) for _, low, high in family]
    p_values = [2 * stats.t.sf(abs(each[0]) / error, 2) for each, error in zip(family, errors, strict=True)]
    ranked = sorted(zip(p_values, family, strict=True))
    kept = itertools.takewhile(lambda each: each[1][0] <= 0.05 / (len(ranked) - each[0]), enumerate(ranked))
    return [difference for _, (_, difference) in kept]


def printed_in(text, family):
    """Return the differences whose intervals are in a text, with any sign."""
    found = []
    for interval in INTERVAL.finditer(text):
        numbers = re.findall(NUMBER, interval[0])
        for mean, low, high in family:
            if agree(numbers, (mean, low, high)) or agree(numbers, (-mean, -high, -low)):
                found.append((mean, low, high))
    return found


def findings(name):
    about = (ROOT / f"reports/studies/{name}/README.md").read_text(encoding="utf-8")
    return Surroundings(about=LEAVING.sub(r"\1", about)).findings


STUDIES = sorted(folder.name for folder in (ROOT / "reports/studies").glob("*/"))


@pytest.mark.parametrize("name", STUDIES)
def test_findings_say_what_is_significant_among_all_that_is_tested(name):
    known, named = families(name), []
    for bullet in findings(name).split("\n- ")[1:]:
        said = AMONG.search(bullet)
        if said is None:
            assert not any(printed_in(bullet, family) for family in known.values())
            continue
        family = known[int(said[2])]
        kept = significant(family)
        shown = printed_in(bullet, family)
        assert shown, bullet
        for each in shown:
            assert (each in kept) == (said[1] is None), bullet
        for bold in BOLD.findall(bullet):
            assert set(printed_in(bold, family)) <= set(kept)
        named += shown
    for family in known.values():
        assert set(significant(family)) <= set(named)


@pytest.mark.parametrize("name", STUDIES)
def test_a_committed_page_begins_with_the_findings(name):
    said = findings(name)
    assert said
    title, begins = (ROOT / f"reports/studies/{name}/report.md").read_text(encoding="utf-8").split("\n\n", 1)
    assert title.startswith("# RepliCSE report") and begins.startswith(said)
