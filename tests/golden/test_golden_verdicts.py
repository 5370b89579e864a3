"""The verdicts of synthetic cells (verdicts.yaml), as text."""

from pathlib import Path

import yaml

from replicse.judge.verdicts.verdict import judge
from replicse.spec.columns import Reducer
from replicse.spec.printed import Reported, Spread

CASES = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text(encoding="utf-8"))


def number(value):
    return "none" if value is None else f"{value:.4f}"


def test_the_verdict_of_every_cell(golden):
    lines = []
    for case in CASES:
        what, values, said = case.pop("what"), case.pop("values"), case.pop("said", {})
        reported = Reported.of({"value": case.pop("printed", "76.25"), "source": "x", **said}, what)
        taken = case.pop("taken", {key: said[key] for key in ("statistic", "q") if key in said})
        prior = {"prior": Spread(*case.pop("prior"))} if "prior" in case else {}
        facts = {"planned": len(values), "comparable": True, "reducer": Reducer(**taken), **prior, **case}
        cell = judge(values, reported, **facts)
        lines += [
            f"{what}: {cell.verdict or 'no verdict'}, {cell.n_seeds} seeds; {cell.reason}",
            f"    {number(cell.reproduced)} ({number(cell.delta)}), {number(cell.low)} to {number(cell.high)},"
            f" p {number(cell.p)}{', borrowed' * cell.borrowed}, as the best of ten: {cell.if_best}",
        ]
    golden("verdicts.txt", "\n".join(lines))
