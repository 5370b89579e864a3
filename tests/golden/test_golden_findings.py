"""The first sentences of a report, from synthetic data.

Each sentence has numbers, a scale and a link.
"""

from dataclasses import replace

import numpy as np
from golden import example_report as example

from replicse.judge.report.build_report import report
from replicse.judge.report.judgements import Finding, JudgedClaim, Judgements
from replicse.judge.report.summary import seconds_by_part
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.show.pages.findings import findings
from replicse.spec.protocols import ON_BACKBONE

COMPACT = {**example.STUDY, "scale": "compact", "comparable": False, "judges_orders": True}
MICRO = {**example.STUDY, "scale": "micro", "comparable": False, "judges_orders": False}
PATH = "sts-dev/STS-B/all"


def ablation(rows, crossed=(), name="simcse/table3", scale="compact", path=PATH):
    """Return a table whose first row is the baseline.

    Args:
        rows: List of (id, label, reported number, scores by seed).
        crossed: Ids of rows also run on the backbones of the other seeds. Default: no rows.
        name: Id of the item. Default: "simcse/table3".
        scale: Scale of the study. Default: "compact".
        path: Metric path. Default: `PATH`.
    """
    cells = []
    for row, _, printed, values in rows:
        cells.append(example.judged(row, "dev", printed, values, scale=scale, metric_path=path))
        for backbone in range(len(values) if row in crossed else 0):
            shifted = [value + backbone for value in values]
            protocol = f"{ON_BACKBONE}{backbone}"
            cells.append(
                example.judged(row, "dev", printed, shifted, protocol=protocol, scale=scale, metric_path=path)
            )
    heads = [(row, label) for row, label, *_ in rows]
    return example.result(
        name, "Dropout", [("dev", "STS-B dev")], heads, cells, scale=scale, baseline=rows[0][0]
    )


DROPOUT = [
    ("p0.1", "p = 0.1", "82.5", [64.0, 63.0, 65.0]),
    ("p0.0", "p = 0.0", "71.1", [52.0, 51.5, 52.5]),
    ("crop", "Crop 20%", "71.4", [68.0, 67.5, 69.0]),
    ("p0.2", "p = 0.2", "80.5", [64.0, 62.0, 66.0]),
]


CLAIM = JudgedClaim("simcse/c", "All are lower.", "Table 3", (), "supported", "", "not run", 0, None, 0)
UNDECIDED = [DROPOUT[0], ("p0.2", "p = 0.2", "80.5", [64.5, 62.0, 66.5])]
# A paper is only counted if at least one finding is certain.
AUDIT = [
    Finding("simcse", "rule", "Table 1", (), "1", "2", "certain"),
    Finding("repro", "rule", "Table 1", (), "1", "2", "certain"),
    Finding("diffcse", "rule", "Table 1", (), "1", "2", "certain"),
    Finding("repro", "rule", "Table 1", (), "1", "2", "unless"),
    Finding("esimcse", "rule", "Table 1", (), "1", "2", "unless"),
]
SECONDS = seconds_by_part({"infonce-s0-1": 3.0, "infonce-s0-2": 2.0, "mlm-s0-3": 4.0}, {"e": 6.0})


def many():
    """Return a table of forty cells; half are far above the published number."""
    draws = np.random.default_rng(3).normal(70, 0.5, size=(40, 5))
    draws[:20] += 30
    rows = [(f"r{place}", f"R{place}", "70.0", values.tolist()) for place, values in enumerate(draws)]
    return adjust_verdicts([ablation(rows, scale="paper")])


CASES = {
    "effects with and against print": (COMPACT, [ablation(DROPOUT)]),
    "an effect on several backbones": (COMPACT, [ablation(DROPOUT, crossed=("p0.1", "p0.0"))]),
    "one difference in two tables": (
        COMPACT,
        [ablation(DROPOUT[:2], name="repro/table5"), ablation(DROPOUT[:2], crossed=("p0.1", "p0.0"))],
    ),
    "two seeds": (COMPACT, [ablation([(*row, values[:2]) for *row, values in DROPOUT])]),
    "an undecided effect is no finding": (COMPACT, [ablation(UNDECIDED)]),
    "a claim that the runs contradict": (
        COMPACT,
        [],
        [replace(CLAIM, ours="against", probability=0.004), CLAIM],
    ),
    "a claim that one value contradicts": (COMPACT, [], [replace(CLAIM, ours="contradicted"), CLAIM]),
    "a claim that is open": (COMPACT, [], [replace(CLAIM, ours="undetermined"), CLAIM]),
    "a claim that is not run": (COMPACT, [], [CLAIM]),
    "an audit that nothing crowds out": (COMPACT, [ablation(DROPOUT)], [replace(CLAIM, ours="for")], AUDIT),
    "a machine that works": (MICRO, [ablation(DROPOUT[:1], scale="micro")]),
    "a machine that lost a cell": (MICRO, [ablation([("a", "A", "1.0", [None])], scale="micro")]),
    "verdicts of which some are false": (example.STUDY, many()),
}


def test_what_a_report_begins_with(golden):
    lines = []
    for name, (study, items, *more) in CASES.items():
        claims, audit = [*more, [], []][:2]
        lines.append(name)
        works = name == "a machine that works"
        found = report(study, items, Judgements(claims=claims, audit=audit), SECONDS if works else None)
        for one in findings(found):
            lines.append(f"  {one.sentence}\n    {one.detail} -> {one.target}")
    golden("findings.txt", "\n".join(lines))
